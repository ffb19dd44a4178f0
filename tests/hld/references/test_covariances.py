"""Sample covariances of more columns than rows and of fewer: formed or iterated, the same eigenvalues."""

import numpy as np
import pytest

from hld.laws.limit_law import limit_law
from hld.references import covariances
from hld.references.covariances import DenseCovariance, RowCovariance


@pytest.mark.parametrize("shape", [(6, 40), (40, 6), (30, 30), (2, 5)])
@pytest.mark.parametrize("small", [True, False])
def test_eigenvalues_are_those_of_the_sample_covariance(shape, small, rng, monkeypatch):
    monkeypatch.setattr(covariances, "MOST_AT_ONCE", 1500 if small else 1)
    table = rng.normal(size=shape)
    table -= table.mean(axis=0)
    covariance = RowCovariance(table)
    assert covariance.is_small == small
    expected = np.linalg.eigvalsh(np.cov(table.T))[::-1]
    np.testing.assert_allclose(covariance.eigenvalues(1), expected[:1], rtol=1e-9)
    if small:
        np.testing.assert_allclose(covariance.eigenvalues(), expected, atol=1e-13 * expected[0])


@pytest.mark.parametrize("decay", [1.0, 0.99])
def test_laws_by_iteration_are_those_of_all_eigenvalues(decay, rng, monkeypatch):
    """The squares of all but 32 eigenvalues are estimated by 64 random vectors, with the error that theory gives."""
    table = rng.normal(size=(450, 600)) * decay ** np.arange(600)
    table -= table.mean(axis=0)
    every = limit_law(RowCovariance(table))
    monkeypatch.setattr(covariances, "MOST_AT_ONCE", 1)
    covariance = RowCovariance(table)
    leading = limit_law(covariance)
    assert leading.num_eigenvalues < 450
    squares = every.eigenvalues**2
    allowed = 4 * np.sqrt(2 * (squares[32:] ** 2).sum() / covariances.PROBES) + 0.08 * squares[32]
    assert covariance.trace_sq == pytest.approx(squares.sum(), abs=allowed)
    for level in (0.1, 0.01, 1e-4):
        assert leading.threshold(level, 10) == pytest.approx(every.threshold(level, 10), rel=1e-3)


def test_leading_eigenvalues_of_a_large_matrix_are_enough_where_it_is_steep(rng, monkeypatch):
    root = rng.normal(size=(600, 400)) * np.r_[0.8 ** np.arange(40), np.full(360, 0.8**40)]
    matrix = root.T @ root / len(root)
    every = limit_law(DenseCovariance(matrix))
    assert every.num_eigenvalues == 400
    monkeypatch.setattr(covariances, "MOST_AT_ONCE", 399)
    leading = limit_law(DenseCovariance(matrix))
    assert leading.num_eigenvalues == 32
    assert leading.quantile_error <= 1e-3
    np.testing.assert_allclose(
        leading.eigenvalues[:32], every.eigenvalues[:32], atol=1e-6 * every.eigenvalues[0]
    )
    for level in (0.1, 0.01, 1e-4):
        assert leading.threshold(level, 10) == pytest.approx(every.threshold(level, 10), rel=1e-3)


def test_eigenvalues_that_are_zero_to_working_precision_are_zero():
    """Of three equal columns only one eigenvalue is left, formed or of rows."""
    column = np.random.default_rng(0).normal(size=(20, 1))
    table = column @ [[1.0, 1 / 3, 0.7]]
    for covariance in (RowCovariance(table), DenseCovariance(table.T @ table)):
        assert (covariance.eigenvalues() > 0).tolist() == [True, False, False]
