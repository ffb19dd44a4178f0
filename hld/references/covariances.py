"""Covariances of likelihood vectors mapped by a metric: as a matrix, from a table of rows, or of stretched directions.

All three have the methods of `hld.references.reference.Covariance`.  `through` is the rule that all references share
for few nodes: form S, and map it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hld.references.factors import pivoted_factor
from pcircuit.moments.leading import leading_eigenpairs
from pcircuit.moments.rounding import without_rounding

MOST_FORMED = 3000  # rows or coordinates of a product of a table with itself, all of whose eigenvalues are computed
MOST_KEPT = 6000  # the same, of one that is kept for iterations: 288 MB
FEW, MOSTLY = (
    300,
    0.9,
)  # of a matrix whose rank does not matter; share of it that makes no difference
MANY = 256  # leading eigenvalues that are found together
# residuals of leading eigenvectors, relative to the largest and to the smallest of their eigenvalues, at which
# iteration ends; errors of the eigenvalues are quadratic in them
FINE, COARSE = 1e-4, 0.05
MOST_AT_ONCE = 1500  # of a matrix that is formed: the leading eigenvalues of a larger one take a fraction of the time
SHARP, SHARP_LAST = 1e-6, 1e-3  # the same residuals there


@dataclass(frozen=True, eq=False)
class DenseCovariance:
    """A covariance that is formed; or G / (n - 1), G the products of n rows with each other, which has the same law.

    Of n rows in more than n coordinates it has the traces and the eigenvalues of X^T X / (n - 1), but for zeros.

    Shapes: matrix (l, l).
    """

    matrix: np.ndarray
    is_small = True

    @property
    def is_large(self) -> bool:
        """Whether leading eigenvalues take less time than all."""
        return len(self.matrix) > MOST_AT_ONCE

    @property
    def trace(self) -> float:
        """tr(S)."""
        return float(np.trace(self.matrix))

    @property
    def trace_sq(self) -> float:
        """tr(S^2)."""
        return float(np.vdot(self.matrix, self.matrix))

    def diagonal(self) -> np.ndarray:
        """(l,) variances."""
        return self.matrix.diagonal()

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
        if k is None or not self.is_large:
            smaller = (
                _without_null_space(matrix) if len(matrix) > FEW and not self.is_large else matrix
            )
            values = np.linalg.eigvalsh(smaller)[::-1]
            return without_rounding(np.pad(values, (0, len(matrix) - len(values))))[:k]
        values, _ = leading_eigenpairs(matrix, len(matrix), k, SHARP, coarse=SHARP_LAST)
        return without_rounding(values)


@dataclass(frozen=True, eq=False)
class RowCovariance:
    """The sample covariance of centred rows X, X^T X / (n - 1).

    Shapes: table (n, l).
    """

    table: np.ndarray

    @property
    def trace(self) -> float:
        """tr(S)."""
        return float(self.diagonal().sum())

    @property
    def is_small(self) -> bool:
        """Whether all eigenvalues take no longer than leading ones would by iteration."""
        return min(self.table.shape) <= MOST_FORMED

    @cached_property
    def trace_sq(self) -> float:
        """tr(S^2), from the smaller of the two products of the table with itself."""
        product = self._product if self._is_formed else self._smaller()
        return float(np.vdot(product, product))

    def diagonal(self) -> np.ndarray:
        """(l,) sample variances."""
        return np.einsum("ij,ij->j", self.table, self.table) / (len(self.table) - 1)

    def covariance(self) -> np.ndarray:
        """(l, l) sample covariance."""
        return self.table.T @ self.table / (len(self.table) - 1)

    def operator(self) -> Any:
        """S as a linear operator that never forms it."""
        from scipy.sparse.linalg import LinearOperator

        X = self.table

        def times(v: np.ndarray) -> np.ndarray:
            return X.T @ (X @ v) / (len(X) - 1)

        return LinearOperator((X.shape[1],) * 2, matvec=times, matmat=times, dtype=float)

    def eigenvalues(self, k: Any = None) -> np.ndarray:
        """All eigenvalues, or the k largest, in descending order; what is zero to working precision is 0.

        X^T X and X X^T have the same ones, but for zeros: the smaller of the two is formed where that is possible.
        """
        width = self.table.shape[1]
        if k is None or 4 * k > width or self.is_small:
            values = without_rounding(np.linalg.eigvalsh(self._smaller())[::-1])
            return np.pad(values, (0, max(width - len(values), 0)))[:k]
        return self._many[:k] if k <= MANY else self._leading(k)

    @cached_property
    def _many(self) -> np.ndarray:
        """The `MANY` largest: to begin anew whenever some more are asked for costs more."""
        return self._leading(MANY)

    def _leading(self, k: int) -> np.ndarray:
        """The k largest eigenvalues, by iteration; the traces, and so the sums of all others, do not depend on it."""
        operator = self._product if self._is_formed else self.operator()
        values, _ = leading_eigenpairs(operator, operator.shape[0], k, FINE, coarse=COARSE)
        return without_rounding(values)

    @property
    def _is_formed(self) -> bool:
        """Whether the smaller product is kept: iterations with it read a fraction of what those with the table do."""
        return min(self.table.shape) <= MOST_KEPT

    @cached_property
    def _product(self) -> np.ndarray:
        """The smaller product, kept."""
        return self._smaller()

    def _smaller(self) -> np.ndarray:
        """X^T X / (n - 1) or X X^T / (n - 1), whichever is smaller."""
        rows, width = self.table.shape
        return self.covariance() if width <= rows else self.table @ self.table.T / (rows - 1)


@dataclass(frozen=True, eq=False)
class StretchedCovariance:
    """F S F for F = r (I - V V^T) + V diag(f) V^T, where V spans leading eigenvectors of S, from S V alone.

    Along V it is diag(f) V^T S V diag(f), whose eigenvalues are known; of the others the traces give sum and sum of
    squares: tr(F S F) = tr(F^2 S), tr((F S F)^2) = tr((F^2 S)^2), and F^2 = r^2 I + V diag(f^2 - r^2) V^T.
    """

    inner: Any
    metric: Any

    @cached_property
    def _along(self) -> Any:
        """S V (m, k) and V^T S V (k, k)."""
        image = self.inner.operator() @ self.metric.vectors
        return image, self.metric.vectors.T @ image

    @property
    def trace(self) -> float:
        """tr(F S F)."""
        return float(
            self.metric.rest**2 * self.inner.trace + self._gains @ self._along[1].diagonal()
        )

    @property
    def trace_sq(self) -> float:
        """tr((F S F)^2)."""
        image, block = self._along
        once = self._gains @ (image**2).sum(axis=0)
        twice = self._gains @ block**2 @ self._gains
        return float(
            self.metric.rest**4 * self.inner.trace_sq + 2 * self.metric.rest**2 * once + twice
        )

    @property
    def bound(self) -> float:
        """A bound on the eigenvalues that `eigenvalues` leaves out."""
        return float(self.metric.rest**2 * np.linalg.eigvalsh(self._along[1])[0])

    def eigenvalues(self, k: Any = None) -> np.ndarray:
        """Those along V, in descending order, all of them whatever k is."""
        factors = self.metric.factors
        return np.linalg.eigvalsh(factors[:, None] * self._along[1] * factors)[::-1]

    @property
    def _gains(self) -> Any:
        """(k,) f^2 - r^2."""
        return self.metric.factors**2 - self.metric.rest**2


def _without_null_space(matrix: np.ndarray) -> np.ndarray:
    """A matrix of the same eigenvalues but for zeros, if many of them are zero; else the same."""
    factor = pivoted_factor(matrix)
    return factor @ factor.T if len(factor) < MOSTLY * len(matrix) else matrix


def through(metric: Any, covariance: np.ndarray) -> DenseCovariance:
    """F S F^T for a covariance S (m, m).

    Shapes: covariance (m, m).
    """
    return DenseCovariance(metric.apply(metric.apply(covariance).T))
