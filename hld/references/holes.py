"""Rows from the circuit with the holes of a batch as reference: exact, and without filling them.

A row whose entries M are missing has the marginal likelihoods l_j(x_{S_j minus M}), the missing entries summed out.
Under the circuit these are the likelihoods of another circuit, in which every variable of M has a single category of
probability one; so their mean mu_M and covariance S_M are exact moments again.  If holes do not depend on the values
in them, a batch of T rows with patterns M_1..M_T has

    E[mean L] = (1/T) sum_t mu_{M_t}        T Cov[mean L] = (1/T) sum_t S_{M_t},

and its statistic has the generalised chi-square law of the averaged covariance, in the metric of the test.  Each
pattern costs one computation of moments, which is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import pcircuit
from hld.features.row_vectors import RowVectors
from hld.references.circuit import CircuitReference
from hld.references.covariances import DenseCovariance, through
from hld.references.reference import MAX_FULL_SPECTRUM
from pcircuit.evidence import is_missing

BLOCK_VALUES = 500_000  # likelihoods of several batches that are held
MOST_PATTERNS = 256  # kept; a batch may hold more, and then computes them anew


@dataclass(frozen=True, eq=False)
class HoleReference(DenseCovariance):
    """Likelihood vectors of rows of the circuit with the holes of a batch; S is the average over its patterns.

    Shapes: matrix (m, m), nodes (m,), patterns (P, V), means (P, m), which (T,).
    """

    circuit: pcircuit.Circuit
    nodes: np.ndarray
    patterns: np.ndarray
    means: np.ndarray
    which: np.ndarray
    num_rows = None

    @property
    def vectors(self) -> RowVectors:
        """Likelihoods of the nodes."""
        return RowVectors(self.circuit, self.nodes)

    @property
    def at_deployment(self) -> HoleReference:
        """Itself."""
        return self

    @cached_property
    def mean(self) -> np.ndarray:
        """(m,) expected mean of the batch."""
        return np.bincount(self.which, minlength=len(self.means)) @ self.means / len(self.which)

    @cached_property
    def model(self) -> CircuitReference:
        """The reference of complete rows of the circuit."""
        return CircuitReference(self.circuit, self.nodes)

    def under(self, metric: Any) -> Any:
        """F S F^T."""
        return through(metric, self.matrix)

    def rows(self, n: Any, rng: np.random.Generator) -> np.ndarray:
        """(n, m) vectors of rows of the circuit with holes drawn from those of the batch, minus their means."""
        return self._centred(rng.choice(self.which, n), rng)

    def batch_means(self, T: Any, B: Any, rng: np.random.Generator) -> np.ndarray:
        """(B, m) centred means over batches of T rows; for the batch's own T they have exactly its holes."""
        each = max(
            1, BLOCK_VALUES // (T * len(self.nodes))
        )  # many batches at a time: a call takes longer than one
        means = [self._means(T, min(each, B - start), rng) for start in range(0, B, each)]
        return np.concatenate(means)

    def _means(self, T: Any, B: Any, rng: np.random.Generator) -> Any:
        """(B, m) means of B batches of T rows."""
        which = np.tile(self.which, B) if len(self.which) == T else rng.choice(self.which, B * T)
        return self._centred(which, rng).reshape(B, T, -1).mean(axis=1)

    def _centred(self, which: Any, rng: np.random.Generator) -> Any:
        """Vectors of rows drawn from the circuit with the holes of the patterns `which`, minus their means."""
        rows = pcircuit.sample(self.circuit, len(which), rng=rng).astype(np.int64)
        rows[self.patterns[which]] = -1
        return pcircuit.node_likelihoods(self.circuit, rows, nodes=self.nodes) - self.means[which]


class HolePatterns:
    """Exact moments of marginal node likelihoods, pattern by pattern, kept; shapes nodes (m,)."""

    def __init__(self, circuit: pcircuit.Circuit, nodes: np.ndarray) -> None:
        if len(nodes) > MAX_FULL_SPECTRUM:
            raise ValueError(
                f"`missing` 'exact' forms covariances of at most {MAX_FULL_SPECTRUM} nodes, found "
                f"{len(nodes)}: select fewer `nodes`, or use missing='complete'"
            )
        self.circuit, self.nodes = circuit, nodes
        self._kept: dict[bytes, tuple[Any, ...]] = {}

    def reference(self, batch: np.ndarray) -> HoleReference:
        """What a batch (T, V) with these holes is compared with."""
        patterns, which = np.unique(is_missing(np.asarray(batch)), axis=0, return_inverse=True)
        which = which.reshape(-1)  # NumPy 2.0 gives it another axis
        found = [self.moments(pattern) for pattern in patterns]
        shares = np.bincount(which) / len(which)
        covariance = sum(share * one for share, (_, one) in zip(shares, found, strict=True))
        return HoleReference(
            covariance,
            self.circuit,
            self.nodes,
            patterns,
            np.stack([one for one, _ in found]),
            which,
        )

    def moments(self, pattern: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean (m,) and covariance (m, m) of marginal likelihoods where the variables of `pattern` (V,) are missing."""
        key = np.packbits(pattern).tobytes()
        if key in self._kept:
            return self._kept[key]
        circuit = self.circuit
        if pattern.any():
            circuit = pcircuit.Circuit(
                circuit.vtree,
                [
                    pcircuit.InputRegion(region.variable, np.ones((region.num_units, 1)))
                    if region.is_input and pattern[region.variable]
                    else region
                    for region in circuit.regions
                ],
            )
        moments = pcircuit.exact_moments(circuit, self.nodes)
        result = np.array(moments.mean), moments.covariance()
        if len(self._kept) < MOST_PATTERNS:
            self._kept[key] = result
        return result
