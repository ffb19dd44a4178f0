"""What every reference can do.

A reference is a distribution of likelihood vectors L (m,), known by its mean and its covariance S, from which vectors
can be drawn.  `under` shows it through a metric F: the distribution of F (L - mean), whose covariance is F S F^T.
Nulls are made from that and from draws, and know nothing else of a reference; so a new kind of reference is one more
class with these methods, and one line in `hld.references.rows`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from hld.features.linear_maps import LinearMap
    from hld.features.row_vectors import RowVectors
    from pcircuit import Circuit

MAX_FULL_SPECTRUM = (
    1500  # coordinates up to which covariances are formed and all eigenvalues computed
)


class Covariance(Protocol):
    """A covariance matrix, formed or not: what the law of a squared length needs."""

    @property
    def trace(self) -> float:
        """tr(S)."""

    @property
    def trace_sq(self) -> float:
        """tr(S^2)."""

    def eigenvalues(self, k: int | None = None) -> np.ndarray:
        """All eigenvalues, or about the k largest, in descending order."""


class Reference(Protocol):
    """A distribution of likelihood vectors (m,); shapes nodes (m,), mean (size,)."""

    @property
    def circuit(self) -> Circuit:
        """The circuit that the nodes belong to."""

    @property
    def nodes(self) -> np.ndarray:
        """(m,) ids."""

    @property
    def vectors(self) -> RowVectors:
        """What a vector holds."""

    @property
    def mean(self) -> np.ndarray:
        """(size,) means."""

    @property
    def num_rows(self) -> int | None:
        """Rows that mean and covariance are estimated from."""

    @property
    def at_deployment(self) -> Reference | None:
        """What can be drawn from when batches are tested."""

    @property
    def model(self) -> Reference:
        """The circuit's reference."""

    def diagonal(self) -> np.ndarray:
        """(size,) variances."""

    def covariance(self) -> np.ndarray:
        """(size, size) S."""

    def rows(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, m) vectors of rows that follow the reference, minus the mean; fewer where there are fewer."""

    def batch_means(self, T: int, B: int, rng: np.random.Generator) -> np.ndarray:
        """(B, m) means over batches of T rows that follow the reference, minus the mean."""

    def under(self, metric: LinearMap) -> Covariance:
        """The covariance F S F^T of what the metric makes of a vector."""
