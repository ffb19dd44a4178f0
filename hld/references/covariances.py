"""Covariances of likelihood vectors mapped by a metric: as a matrix, or from a table of rows.

Both have `trace`, `trace_sq` and `eigenvalues`, which the law of a squared length needs.  `through` is the rule that
all references share for few nodes: form S, and map it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pcircuit.moments.leading import leading_eigenpairs
from pcircuit.moments.rounding import without_rounding

MOST_FORMED = 3000  # rows or coordinates of a product of a table with itself that is formed
ROUNDING = 1e-15  # of the largest variance
FEWEST, PROBES = (
    32,
    64,
)  # leading eigenvalues found at a time, random vectors that tell the squares of the others
# residuals of leading eigenvectors, relative to the largest and to the smallest of their eigenvalues, at which
# iteration ends; errors of the eigenvalues are quadratic in them
FINE, COARSE = 1e-4, 0.05
MOST_AT_ONCE = 1500  # coordinates of which all eigenvalues are found
SHARP, SHARP_LAST = 1e-6, 1e-3  # the same residuals there


@dataclass(frozen=True, eq=False)
class DenseCovariance:
    """A covariance that is formed; or G / (n - 1), G the products of n rows with each other, which has the same law.

    Of n rows in more than n coordinates it has the traces and the eigenvalues of X^T X / (n - 1), but for zeros.

    Shapes: matrix (l, l).
    """

    matrix: np.ndarray

    @property
    def is_small(self) -> bool:
        """Whether all eigenvalues take no longer than leading ones."""
        return len(self.matrix) <= MOST_AT_ONCE

    @property
    def trace(self) -> float:
        """tr(S)."""
        return float(np.trace(self.matrix))

    @property
    def trace_sq(self) -> float:
        """tr(S^2)."""
        return float(np.vdot(self.matrix, self.matrix))

    def covariance(self) -> np.ndarray:
        """(l, l) S."""
        return self.matrix

    def eigenvalues(self, k: Any = None) -> np.ndarray:
        """All eigenvalues, or the k largest, in descending order; what is zero to working precision is 0.

        Of an empty matrix, of no rows that vary, one 0.
        """
        matrix = self.matrix
        if not len(matrix):
            return np.zeros(1)
        if self.is_small:
            return without_rounding(np.linalg.eigvalsh(matrix)[::-1])[:k]
        values, _ = leading_eigenpairs(matrix, len(matrix), k, SHARP, coarse=SHARP_LAST)
        return without_rounding(values)


@dataclass(frozen=True, eq=False)
class RowCovariance:
    """The sample covariance of centred rows X, X^T X / (n - 1); shapes table (n, l)."""

    table: np.ndarray

    @property
    def trace(self) -> float:
        """tr(S)."""
        return float(self.diagonal().sum())

    @property
    def is_small(self) -> bool:
        """Whether all eigenvalues take no longer than leading ones would by iteration."""
        return min(self.table.shape) <= MOST_AT_ONCE

    @cached_property
    def trace_sq(self) -> float:
        r"""tr(S^2), from the smaller of the two products of the table with itself; of a large table an estimate.

        With V the leading eigenvectors, P = I - V V^T and random signs g it is sum lambda^2 + E |S P g|^2.  The error
        of the mean over 64 g is about a sixth of \sqrt{\mathrm{tr} R^4} for what is left, R = P S P.
        """
        if self.is_small:
            product = self._smaller()
            return float(np.vdot(product, product))
        values, vectors = self._few
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(vectors), PROBES))
        image = self @ (signs - vectors @ (vectors.T @ signs))
        return float(values @ values + np.vdot(image, image) / PROBES)

    def diagonal(self) -> np.ndarray:
        """(l,) sample variances."""
        return np.einsum("ij,ij->j", self.table, self.table) / (len(self.table) - 1)

    def covariance(self) -> np.ndarray:
        """(l, l) sample covariance."""
        return self.table.T @ self.table / (len(self.table) - 1)

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        """S times some vectors (l, b), without S: thin factors on the left take two thirds of the time."""
        X = self.table
        return ((block.T @ X.T) @ X).T / (len(X) - 1)

    def eigenvalues(self, k: Any = None) -> np.ndarray:
        """All eigenvalues where it is small, or the k largest, descending; what is zero to working precision is 0.

        X^T X and X X^T have the same ones, but for zeros: the smaller of the two is formed where that is possible.
        """
        width = self.table.shape[1]
        if self.is_small:
            values = without_rounding(np.linalg.eigvalsh(self._smaller())[::-1])
            return np.pad(values, (0, max(width - len(values), 0)))[:k]
        return without_rounding((self._few if k <= FEWEST else self._leading(k))[0][:k])

    @cached_property
    def _few(self) -> tuple[np.ndarray, np.ndarray]:
        """The `FEWEST` leading eigenvalues and eigenvectors, which the squares of the others need, too."""
        return self._leading(FEWEST)

    def _leading(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k leading eigenvalues and eigenvectors, by iteration."""
        return leading_eigenpairs(self, self.table.shape[1], k, FINE, coarse=COARSE)

    def _smaller(self) -> np.ndarray:
        """X^T X / (n - 1) or X X^T / (n - 1), whichever is smaller."""
        rows, width = self.table.shape
        return self.covariance() if width <= rows else self.table @ self.table.T / (rows - 1)


def pivoted_factor(covariance: np.ndarray) -> np.ndarray:
    """(r, m) A with A^t A = S, but for 1e-15 of the largest variance in every variance: enough for its eigenvalues.

    Cholesky's algorithm with pivots (Higham 2002, section 10.3) takes the nodes in the order of the variance that is
    left of them given those before; likelihoods depend on one another, so that the rank r may be far below m.

    Shapes: covariance (m, m) -> (r, m).
    """
    from scipy.linalg.lapack import dpstrf

    tolerance = ROUNDING * float(covariance.diagonal().max(initial=0.0))
    if not tolerance > 0:
        return np.zeros((0, len(covariance)))
    upper, order, rank, _ = dpstrf(covariance, tol=tolerance)
    factor = np.empty((rank, len(covariance)))
    factor[:, order - 1] = np.triu(upper[:rank])
    return factor


def through(metric: Any, covariance: np.ndarray) -> DenseCovariance:
    """F S F^T for a covariance S (m, m)."""
    return DenseCovariance(metric.apply(metric.apply(covariance).T))
