"""Sample covariances of more columns than rows and of fewer: formed or iterated, the same eigenvalues."""
import numpy as np
import pytest

from hld.nulls.limit_law import law_of_leading, limit_law
from hld.references import covariances
from hld.references.covariances import RowCovariance


@pytest.mark.parametrize("shape", [(6, 40), (40, 6), (30, 30), (2, 5)])
@pytest.mark.parametrize("small", [True, False])
def test_eigenvalues_are_those_of_the_sample_covariance(shape, small, rng, monkeypatch):
    monkeypatch.setattr(covariances, "MOST_FORMED", 3000 if small else 1)
    table = rng.normal(size=shape)
    table -= table.mean(axis=0)
    covariance = RowCovariance(table)
    assert covariance.is_small == small
    expected = np.linalg.eigvalsh(np.cov(table.T))[::-1]
    np.testing.assert_allclose(covariance.eigenvalues(), expected, atol=1e-13 * expected[0])
    np.testing.assert_allclose(covariance.eigenvalues(1), expected[:1], rtol=1e-9)
    assert len(covariance.eigenvalues()) == shape[1]


def test_the_law_of_all_eigenvalues_is_that_of_leading_ones(rng):
    table = rng.normal(size=(200, 400)) * 0.97 ** np.arange(400)
    covariance = RowCovariance(table - table.mean(axis=0))
    every, leading = limit_law(covariance), law_of_leading(covariance)
    assert every.quantile_error == 0 or every.quantile_error <= 1e-12
    for level in (0.1, 0.01, 1e-4):
        assert every.threshold(level, 10) == pytest.approx(leading.threshold(level, 10), rel=2e-3)
