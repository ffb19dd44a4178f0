"""The check of a small p-value by the batch's own rows: one batch, and many at once."""
import numpy as np
import pytest

from hld.nulls.ranks.confirmation import pooled_of_norms


@pytest.mark.parametrize("squared", [0.3, 1.0, 3.0])
def test_many_batches_at_once_are_judged_as_one_by_one(squared):
    norms, own_norms = np.array([2.0, 1.2, 0.9]), np.array([2.5, 1.5, 1.1])
    distances = np.array([0.05, 0.4, 0.8])

    def pvalue(distance, square):
        return pooled_of_norms(80, norms, 9.0, own_norms, 12.0, (distance, square, 10))

    together = pvalue(distances, squared * distances)
    alone = [pvalue(float(d), squared * float(d)) for d in distances]
    np.testing.assert_allclose(together, alone, rtol=1e-9)
    assert together.min() < 0.9
