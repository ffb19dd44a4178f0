"""Covariances of likelihood vectors mapped by a metric: as a matrix, from a table of rows, or of stretched directions.

All three have the methods of `hld.references.reference.Covariance`.  `through` is the rule that all references share
for few nodes: form S, and map it.
"""
from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import pcircuit

MOST_FORMED = 3000  # rows or coordinates of a product of a table with itself, all of whose eigenvalues are computed


@dataclass(frozen=True, eq=False)
class DenseCovariance:
    """A covariance that is formed.

    Attributes
    ----------
    matrix : (l, l) float array
    """

    matrix: np.ndarray

    @property
    def trace(self) -> float:
        """tr(S)."""
        return float(np.trace(self.matrix))

    @property
    def trace_sq(self) -> float:
        """tr(S^2)."""
        return float((self.matrix ** 2).sum())

    def diagonal(self) -> np.ndarray:
        """(l,) variances."""
        return self.matrix.diagonal()

    def covariance(self) -> np.ndarray:
        """(l, l) S."""
        return self.matrix

    def operator(self) -> Any:
        """S as a linear operator."""
        from scipy.sparse.linalg import aslinearoperator
        return aslinearoperator(self.matrix)

    def eigenvalues(self, k: Any = None) -> np.ndarray:
        """All eigenvalues, or the k largest, in descending order; what is zero to working precision is 0."""
        return pcircuit.without_rounding(np.linalg.eigvalsh(self.matrix)[::-1])[:k]


@dataclass(frozen=True, eq=False)
class RowCovariance:
    """The sample covariance of centred rows X, X^T X / (n - 1).

    Attributes
    ----------
    table : (n, l) float array
        X; its columns have mean zero.
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

    @property
    def trace_sq(self) -> float:
        """tr(S^2), from the smaller of the two products of the table with itself."""
        table = self.table if self.table.shape[1] <= len(self.table) else self.table.T
        return float(((table.T @ table / (len(self.table) - 1)) ** 2).sum())

    def diagonal(self) -> np.ndarray:
        """(l,) sample variances."""
        return (self.table ** 2).sum(axis=0) / (len(self.table) - 1)

    def covariance(self) -> np.ndarray:
        """(l, l) sample covariance."""
        return self.table.T @ self.table / (len(self.table) - 1)

    def operator(self) -> Any:
        """S as a linear operator that never forms it."""
        from scipy.sparse.linalg import LinearOperator
        X = self.table
        return LinearOperator((X.shape[1],) * 2, matvec=lambda v: X.T @ (X @ v) / (len(X) - 1), dtype=float)

    def eigenvalues(self, k: Any = None) -> np.ndarray:
        """All eigenvalues, or the k largest, in descending order; what is zero to working precision is 0.

        X^T X and X X^T have the same ones, but for zeros: the smaller of the two is formed where that is possible.
        """
        rows, width = self.table.shape
        if k is None or 4 * k > width or self.is_small:
            small = self.covariance() if width <= rows else self.table @ self.table.T / (rows - 1)
            values = pcircuit.without_rounding(np.linalg.eigvalsh(small)[::-1])
            return np.pad(values, (0, width - len(values)))[:k]
        from scipy.sparse.linalg import eigsh
        start = np.random.default_rng(0).normal(size=width)
        values = eigsh(self.operator(), k=k, which="LA", v0=start, return_eigenvectors=False,
                       **_seeded_restarts())[::-1]
        return pcircuit.without_rounding(values)


def _seeded_restarts() -> dict[str, Any]:
    """A seed for the vectors with which Lanczos goes on after a full subspace; without it SciPy 1.17 draws its own."""
    from scipy.sparse.linalg import eigsh
    return {"rng": np.random.default_rng(1)} if "rng" in inspect.signature(eigsh).parameters else {}


@dataclass(frozen=True, eq=False)
class GramCovariance:
    """The sample covariance of n rows in more than n coordinates, by the products of the rows with each other.

    It has the traces and the eigenvalues of G / (n - 1), but for zeros, and those are all that a law needs.

    Attributes
    ----------
    gram : (n, n) float array
        G / (n - 1).
    """

    gram: np.ndarray
    is_small = True

    @property
    def trace(self) -> float:
        """tr(S)."""
        return float(np.trace(self.gram))

    @property
    def trace_sq(self) -> float:
        """tr(S^2)."""
        return float((self.gram ** 2).sum())

    def eigenvalues(self, k: Any = None) -> np.ndarray:
        """The n eigenvalues that may differ from 0, or the k largest, in descending order."""
        return pcircuit.without_rounding(np.linalg.eigvalsh(self.gram)[::-1])[:k]


@dataclass(frozen=True, eq=False)
class StretchedCovariance:
    """F S F for F = r (I - V V^T) + V diag(f) V^T, where V spans leading eigenvectors of S, from S V alone.

    Along V it is diag(f) V^T S V diag(f), whose eigenvalues are known; of the others the traces give sum and sum of
    squares: tr(F S F) = tr(F^2 S), tr((F S F)^2) = tr((F^2 S)^2), and F^2 = r^2 I + V diag(f^2 - r^2) V^T.

    Attributes
    ----------
    inner : Covariance
        S.
    metric : Stretched
        F.
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
        return float(self.metric.rest ** 2 * self.inner.trace + self._gains @ self._along[1].diagonal())

    @property
    def trace_sq(self) -> float:
        """tr((F S F)^2)."""
        image, block = self._along
        once = self._gains @ (image ** 2).sum(axis=0)
        twice = self._gains @ block ** 2 @ self._gains
        return float(self.metric.rest ** 4 * self.inner.trace_sq + 2 * self.metric.rest ** 2 * once + twice)

    @property
    def bound(self) -> float:
        """A bound on the eigenvalues that `eigenvalues` leaves out."""
        return float(self.metric.rest ** 2 * np.linalg.eigvalsh(self._along[1])[0])

    def eigenvalues(self, k: Any = None) -> np.ndarray:
        """Those along V, in descending order, all of them whatever k is."""
        factors = self.metric.factors
        return np.linalg.eigvalsh(factors[:, None] * self._along[1] * factors)[::-1]

    @property
    def _gains(self) -> Any:
        """(k,) f^2 - r^2."""
        return self.metric.factors ** 2 - self.metric.rest ** 2


def through(metric: Any, covariance: np.ndarray) -> DenseCovariance:
    """F S F^T for a covariance S (m, m).

    Parameters
    ----------
    metric : LinearMap
    covariance : (m, m) float array

    Returns
    -------
    DenseCovariance

    Examples
    --------
    >>> from hld.vectors.linear_maps import DenseRows
    >>> through(DenseRows("difference", np.array([[1.0, -1.0]])), np.diag([2.0, 3.0])).trace
    5.0
    """
    return DenseCovariance(metric.apply(metric.apply(covariance).T))
