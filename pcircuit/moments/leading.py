r"""Leading eigenvectors of a covariance known only by its products with vectors: randomised block Krylov iteration.

From a random block Q_1 of b orthonormal columns the basis grows by b columns at a time,

.. math:: Q_{i + 1} = \mathrm{orth}(L_i), \qquad L_i = (I - B B^T) S Q_i, \qquad B = [Q_1 \ldots Q_i],

and the eigenvectors of the small matrix B^T S B = W \Lambda W^T give the pairs \Lambda, V = B W (Rayleigh and Ritz).
Its last columns, B^T S Q_i, are taken anyway to find L_i.  What S adds to all blocks before the last is in the basis.
So with w_j the last rows of column j of W

.. math:: S v_j - \lambda_j v_j = L_i w_j,

and it ends when these residuals of the k leading pairs are at most epsilon lambda_1 long, before which neither S B nor
V is formed.
Every eigenvalue found is then within epsilon lambda_1 of one of S.

Where the spectrum is flat, so that lambda_k is nearly lambda_1, hundreds of products would be needed to separate
directions that hardly differ.  There it ends when the residuals are at most a fifth of lambda_k: the part of a true
direction that the computed one misses has at most a variance of residual^2 / lambda_1, a twenty-fifth of that of each
direction beyond k, all of which are left out.  In contrast to Lanczos, which goes vector by vector, all work is
products of matrices, which take a tenth of the time, and nothing is restarted.
"""

from typing import Any

import numpy as np

BLOCK = 32  # columns at a time
MOST_COLUMNS, MOST_BLOCKS = (
    4,
    12,
)  # of the basis, times k and BLOCK: at both together pairs are taken as they are
GROWTH = 1.25  # of the basis between two looks, each of which costs the cube of its size
COARSE = 0.2  # residuals allowed, relative to the smallest eigenvalue that is wanted
WEAK = 1e-10  # share of a column's length below which nothing of it is left but rounding


def leading_eigenpairs(
    operator: Any, m: int, k: int, epsilon: float, *, coarse: float = 0.0, blocks: int = MOST_BLOCKS
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues and their vectors.

    Returns (k,).
    The random start is the same at every call.  Memory for one basis, of at most 4 k columns and `blocks` times 32.
    """
    rng, k = np.random.default_rng(0), min(k, m)
    most = min(MOST_COLUMNS * k + blocks * BLOCK, m)
    look, width = min(k + BLOCK, m), min(most + BLOCK, m)
    basis, small, size = np.empty((m, width), order="F"), np.zeros((width, width)), 0
    image = left = rng.standard_normal((m, min(BLOCK, m)))
    while True:
        block = _orthonormal(left[:, : width - size], image, basis[:, :size], rng)
        start, size = size, size + block.shape[1]
        basis[:, start:size] = block
        image = operator @ block
        small[:size, start:size] = basis[:, :size].T @ image
        left = image - _combined(basis[:, :size], small[:size, start:size])
        if size >= look:
            values, rotation = _leading(small[:size, :size], k)
            residuals = np.linalg.norm(left @ rotation[start:], axis=0)
            if size >= most or residuals.max() <= max(epsilon * values[0], coarse * values[-1]):
                return values, np.ascontiguousarray(_combined(basis[:, :size], rotation))
            look = min(int(size * GROWTH), most)


def _orthonormal(left: Any, image: Any, basis: Any, rng: np.random.Generator) -> Any:
    """An orthonormal basis of what is left of an image beside another basis; random directions where nothing is."""
    weak = np.linalg.norm(left, axis=0) <= WEAK * np.linalg.norm(image[:, : left.shape[1]], axis=0)
    left[:, weak] = rng.standard_normal((len(left), int(weak.sum())))
    block = np.linalg.qr(left)[0]
    block -= _combined(
        basis, basis.T @ block
    )  # what was taken away once leaves rounding of its size
    return _combined(block, np.linalg.inv(np.linalg.cholesky(block.T @ block)).T)


def _combined(basis: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """basis @ coefficients, column by column as a basis lies: that takes half the time of row by row."""
    combined: np.ndarray = (coefficients.T @ basis.T).T
    return combined


def _leading(small: Any, k: int) -> Any:
    """The k leading eigenvalues, and their vectors, of a symmetric matrix whose upper triangle is there."""
    values, rotation = np.linalg.eigh(small, UPLO="U")
    return values[::-1][:k], rotation[:, ::-1][:, :k]
