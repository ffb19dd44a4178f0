r"""Leading eigenvectors of a covariance known only by its products with vectors: randomised block Krylov iteration.

From a random block Q_1 of b orthonormal columns the basis grows by b columns at a time,

.. math:: Q_{i + 1} = \mathrm{orth}\left( (I - B B^T) S Q_i \right), \qquad B = [Q_1 \ldots Q_i],

and the eigenvectors of the small matrix B^T S B = W \Lambda W^T give the pairs \Lambda, V = B W (Rayleigh and Ritz).
It ends when the residuals of the k leading ones, which need no further product, are small:

.. math:: \| S v_j - \lambda_j v_j \| \le \epsilon \lambda_1 .

Every eigenvalue found is then within epsilon lambda_1 of one of S.

Where the spectrum is flat, so that lambda_k is nearly lambda_1, hundreds of products would be needed to separate
directions that hardly differ.  There it ends when the residuals are at most a fifth of lambda_k: the part of a true
direction that the computed one misses has at most a variance of residual^2 / lambda_1, a twenty-fifth of that of each
direction beyond k, all of which are left out.  In contrast to Lanczos, which goes vector by vector, all work is
products of matrices, which take a tenth of the time, and nothing is restarted.
"""
from __future__ import annotations

from typing import Any

import numpy as np

BLOCK = 32  # columns at a time
MOST_COLUMNS, MOST_BLOCKS = 4, 12  # of the basis, times k and BLOCK: beyond both together pairs are taken as they are
GROWTH = 1.25  # of the basis between two looks, each of which costs the cube of its size
COARSE = 0.2  # residuals allowed, relative to the smallest eigenvalue that is wanted
WEAK = 1e-10  # share of a column's length below which nothing of it is left but rounding


def leading_eigenpairs(operator: Any, m: int, k: int, epsilon: float, *,
                       coarse: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues and their vectors.

    Parameters
    ----------
    operator : LinearOperator or (m, m) array
        S, positive semi-definite.
    m, k : int
    epsilon : float
        Residuals allowed, relative to the largest eigenvalue.
    coarse : float
        Residuals allowed, relative to the k-th eigenvalue: `COARSE` where it is enough to know the leading subspace.

    Returns
    -------
    (k,) and (m, k) float arrays
        Descending; the vectors are orthonormal.

    Notes
    -----
    The random start is the same at every call.  Memory for two bases, of 2 k columns and more.

    References
    ----------
    Musco and Musco (2015), Randomized block Krylov methods for stronger and faster approximate singular value
    decomposition, NeurIPS; Halko, Martinsson and Tropp (2011), SIAM Review 53.

    Examples
    --------
    >>> values, vectors = leading_eigenpairs(np.diag([1.0, 5.0, 3.0]), 3, 2, 1e-8)
    >>> values.round(6), np.abs(vectors).round(6)[:, 0]
    (array([5., 3.]), array([0., 1., 0.]))
    """
    rng, k = np.random.default_rng(0), min(k, m)
    basis, images = np.empty((m, 0)), np.empty((m, 0))
    block = rng.standard_normal((m, min(BLOCK, m)))
    most = min(MOST_COLUMNS * k + MOST_BLOCKS * BLOCK, m)
    look = min(k + BLOCK, m)
    while True:
        block = _orthonormal(block[:, :m - basis.shape[1]], basis, rng)
        image = operator @ block
        basis, images = np.hstack([basis, block]), np.hstack([images, image])
        size = basis.shape[1]
        if size >= look:
            values, vectors, residuals = _ritz(basis, images, k)
            allowed = max(epsilon * values[0], coarse * values[-1])
            if size >= most or residuals.max() <= allowed:
                return values, vectors
            look = min(int(size * GROWTH), most)
        block = image


def _orthonormal(block: Any, basis: Any, rng: np.random.Generator) -> Any:
    """An orthonormal basis of what a block adds to another basis; random directions for what it does not add."""
    lengths = np.linalg.norm(block, axis=0)
    for _ in range(2):  # once leaves rounding of the size of what was taken away
        block = block - basis @ (basis.T @ block)
    weak = np.linalg.norm(block, axis=0) <= WEAK * lengths
    block[:, weak] = rng.standard_normal((len(block), int(weak.sum())))
    block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
    return np.linalg.qr(block - basis @ (basis.T @ block))[0]


def _ritz(basis: Any, images: Any, k: Any) -> Any:
    """The k leading eigenvalues in the span of a basis, their vectors, and the lengths of the residuals."""
    small = basis.T @ images
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    values, rotation = values[::-1][:k], rotation[:, ::-1][:, :k]
    vectors = basis @ rotation
    return values, vectors, np.linalg.norm(images @ rotation - vectors * values, axis=0)
