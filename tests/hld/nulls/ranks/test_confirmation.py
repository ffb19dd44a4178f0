"""The check of a small p-value by the batch's own rows: one batch, and many at once."""

import numpy as np
import pytest

from hld.laws.ranks.confirmation import pooled_law, sample_norms, widest_tail


@pytest.mark.parametrize("squared", [0.3, 1.0, 3.0])
def test_many_batches_at_once_are_judged_as_one_by_one(squared):
    norms, own_norms = np.array([2.0, 1.2, 0.9]), np.array([2.5, 1.5, 1.1])
    distances = np.array([0.05, 0.4, 0.8])

    def pvalue(distance, square):
        return widest_tail(*pooled_law(80, norms, 9.0, own_norms, 12.0, (distance, square, 10)))

    together = pvalue(distances, squared * distances)
    alone = [pvalue(float(d), squared * float(d)) for d in distances]
    np.testing.assert_allclose(together, alone, rtol=1e-9)
    assert together.min() < 0.9


@pytest.mark.parametrize("shape", [(4, 5, 3), (4, 3, 5), (2, 4, 1, 3)])
def test_norms_of_many_batches_are_those_of_each(shape):
    rows = np.random.default_rng(0).normal(size=shape)
    rows -= rows.mean(axis=-2, keepdims=True)
    found = sample_norms(rows)
    for index in np.ndindex(*shape[:-2]):
        values = (
            np.linalg.eigvalsh(np.cov(rows[index], rowvar=False)) if shape[-2] > 1 else np.zeros(1)
        )
        wanted = values.sum(), np.sqrt((values**2).sum()), values[-1]
        np.testing.assert_allclose(found[index], wanted, atol=1e-14)
