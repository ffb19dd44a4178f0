"""The circuit as reference: exact moments, and rows that are drawn from it.

Mean and covariance of the likelihood vector are exact (`pcircuit.exact_moments`).  Up to MAX_FULL_SPECTRUM nodes a
metric's image of the covariance is formed.  Beyond that a weighting of nodes is a weighting of the circuit's moments,
and for any other map the image is estimated from drawn rows.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

import pcircuit
from hld.features.linear_maps import LinearMap
from hld.features.row_vectors import RowVectors
from hld.references.covariances import RowCovariance, through
from hld.references.reference import MAX_FULL_SPECTRUM

BLOCK_ROWS = 200_000  # rows drawn at a time
BLOCK_VALUES = 500_000  # likelihoods of several batches that are held: a call for each takes longer than its work
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

    def diagonal(self) -> np.ndarray:
        """(m,) variances."""
        return self.moments.diagonal()

    def covariance(self) -> np.ndarray:
        """(m, m) S, kept."""
        return self._covariance

    @cached_property
    def _covariance(self) -> np.ndarray:
        return self.moments.covariance()

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
        drawn = self.rows(
            int(np.clip(DRAWN_BYTES // (8 * m), 500, DRAWN_ROWS)), np.random.default_rng(0)
        )
        return RowCovariance(metric.apply(drawn))
