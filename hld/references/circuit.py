"""The circuit as reference: exact moments, and rows that are drawn from it.

Mean and covariance of the likelihood vector are exact (`pcircuit.exact_moments`).  Up to MAX_FULL_SPECTRUM nodes a
metric's image of the covariance is formed; beyond that, each form of map has its own way: a weighting of nodes is a
weighting of the circuit's moments, a few stretched directions need only S times these directions, a map to few
coordinates has a small image, and for any other map the image is estimated from drawn rows.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

import pcircuit
from hld.features.linear_maps import LinearMap, Stretched
from hld.features.row_vectors import RowVectors
from hld.references.covariances import DenseCovariance, RowCovariance, StretchedCovariance, through
from hld.references.reference import MAX_FULL_SPECTRUM

BLOCK_ROWS = 200_000  # rows drawn at a time
BLOCK_VALUES = 500_000  # likelihoods of several batches that are held: a call for each takes longer than its work
MOST_MAPPED = 10_000_000  # entries of F S, where F is formed
DRAWN_ROWS, DRAWN_BYTES = 20_000, 2**28  # where F S F^T is estimated from rows


class CircuitReference:
    """Likelihood vectors of rows that follow the circuit; shapes nodes (m,), mean (m,)."""

    num_rows = None

    def __init__(
        self, circuit: pcircuit.Circuit, nodes: np.ndarray, mean: np.ndarray | None = None
    ) -> None:
        self.circuit, self.nodes, self.vectors = circuit, nodes, RowVectors(circuit, nodes)
        self.kept: dict = {}  # type: ignore[type-arg]  # what metrics computed of S, for those that need the same
        self.mean = np.array(self.moments.mean) if mean is None else mean

    @cached_property
    def moments(self) -> pcircuit.Moments:
        """Exact moments."""
        return pcircuit.exact_moments(self.circuit, self.nodes)

    @property
    def model(self) -> CircuitReference:
        """Itself."""
        return self

    @property
    def at_deployment(self) -> CircuitReference:
        """Itself, without the moments."""
        return CircuitReference(self.circuit, self.nodes, self.mean)

    @property
    def trace(self) -> float:
        """tr(S)."""
        return self.moments.trace

    @property
    def trace_sq(self) -> float:
        """tr(S^2)."""
        return self.moments.trace_sq

    def diagonal(self) -> np.ndarray:
        """(m,) variances."""
        return self.moments.diagonal()

    def covariance(self) -> np.ndarray:
        """(m, m) S, kept."""
        return self._covariance

    @cached_property
    def _covariance(self) -> np.ndarray:
        return self.moments.covariance()

    def operator(self) -> Any:
        """S as a linear operator that never forms it."""
        return self.moments.operator()

    def eigenvalues(self, k: Any = None) -> np.ndarray:
        """All eigenvalues, or the k largest, in descending order."""
        return self.moments.eigenvalues(k)

    def rows(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, m) centred likelihood vectors of rows drawn from the circuit."""
        rows = pcircuit.sample(self.circuit, n, rng=rng)
        return pcircuit.node_likelihoods(self.circuit, rows, nodes=self.nodes) - self.mean

    def batch_means(self, T: Any, B: Any, rng: np.random.Generator) -> np.ndarray:
        """(B, m) centred means over batches of T rows drawn from the circuit."""
        means = np.empty((B, len(self.nodes)))
        step = max(1, BLOCK_ROWS // T)
        for start in range(0, B, step):
            batches = means[start : start + step]
            rows = pcircuit.sample(self.circuit, len(batches) * T, rng=rng)
            each = max(1, BLOCK_VALUES // (T * len(self.nodes)))
            for b in range(0, len(batches), each):
                batches[b : b + each] = self._means_of_batches(rows[b * T : (b + each) * T], T)
        return means - self.mean

    def _means_of_batches(self, rows: Any, T: Any) -> Any:
        """(b, m) means of the likelihoods of b successive batches of T rows."""
        if len(rows) == T > 1:
            return pcircuit.mean_node_likelihoods(self.circuit, rows, nodes=self.nodes)[None]
        vectors = pcircuit.node_likelihoods(self.circuit, rows, nodes=self.nodes)
        return vectors.reshape(-1, T, len(self.nodes)).mean(axis=1)

    def under(self, metric: LinearMap) -> Any:
        """F S F^T."""
        m = len(self.nodes)
        if m <= MAX_FULL_SPECTRUM:
            return through(metric, self.covariance())
        if metric.node_weights is not None:
            if (metric.node_weights == 1).all():
                return self.moments
            return pcircuit.exact_moments(
                self.circuit, self.nodes, node_weights=metric.node_weights
            )
        if isinstance(metric, Stretched):
            return StretchedCovariance(self.moments, metric)
        image_size = len(metric.apply(np.zeros(m)))
        if image_size * m <= MOST_MAPPED:
            transposed = metric.adjoint(np.eye(image_size)).T
            return DenseCovariance(metric.apply((self.operator() @ transposed).T))
        drawn = self.rows(
            int(np.clip(DRAWN_BYTES // (8 * m), 500, DRAWN_ROWS)), np.random.default_rng(0)
        )
        return RowCovariance(metric.apply(drawn))
