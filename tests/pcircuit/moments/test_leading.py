"""Leading eigenpairs by block iteration, against those of the whole matrix."""

import numpy as np
import pytest

from pcircuit.moments.leading import COARSE, leading_eigenpairs


def covariance(rng, spectrum):
    """A matrix with given eigenvalues."""
    basis = np.linalg.qr(rng.standard_normal((len(spectrum), len(spectrum))))[0]
    return (basis * spectrum) @ basis.T


@pytest.mark.parametrize(
    "spectrum",
    [
        np.arange(1, 301.0) ** -2,
        0.97 ** np.arange(300),
        np.ones(300),
        np.r_[5.0, 5.0, 5.0, np.full(297, 1e-9)],
        np.r_[1.0, np.zeros(299)],
    ],
    ids=["steep", "slow", "equal", "repeated", "rank one"],
)
def test_eigenvalues_are_those_of_the_matrix_and_residuals_are_small(spectrum, rng):
    matrix = covariance(rng, spectrum)
    values, vectors = leading_eigenpairs(matrix, 300, 20, 1e-6)
    np.testing.assert_allclose(values, spectrum[:20], atol=1e-6 * spectrum[0])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-12)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() <= 1e-6 * spectrum[
        0
    ] * (1 + 1e-6)


@pytest.mark.parametrize("m", [1, 5, 33, 70])
def test_as_many_as_there_are_is_exact(m, rng):
    matrix = covariance(rng, rng.random(m))
    values, vectors = leading_eigenpairs(matrix, m, m, 1e-12)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1], atol=1e-13)
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-12)


def test_nothing_varies():
    values, vectors = leading_eigenpairs(np.zeros((100, 100)), 100, 10, 1e-6)
    assert (values == 0).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(10), atol=1e-12)


def test_coarse_directions_miss_little_of_a_flat_spectrum(rng):
    """Fewer products, and residuals of at most a fifth of the smallest eigenvalue that is wanted."""
    values = 1 + 0.5 * np.linspace(1, 0, 2000)
    products = []

    class Counted:
        def __matmul__(self, block):
            products.append(block.shape[1])
            return values[:, None] * block

    found, vectors = leading_eigenpairs(Counted(), 2000, 40, 1e-6, coarse=COARSE)
    coarse = sum(products)
    residuals = np.linalg.norm(values[:, None] * vectors - vectors * found, axis=0)
    assert residuals.max() <= COARSE * found[-1]
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(40), atol=1e-10)
    products.clear()
    leading_eigenpairs(Counted(), 2000, 40, 1e-6)
    assert 3 * coarse < sum(products)
