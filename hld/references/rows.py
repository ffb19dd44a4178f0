"""Rows as reference: one that includes what the circuit misses.

The circuit's own moments are right for draws from the circuit.  Real rows follow the circuit only nearly, and a large
enough batch of them shows the difference.  Mean and covariance of the vectors L(x_1)..L(x_n) of training rows,

    mean = (1/n) sum_i L(x_i)        S = (1/(n-1)) sum_i (L(x_i) - mean)(L(x_i) - mean)^t,

do not have this bias.  They are estimates, so the difference to a batch of T fresh rows has covariance S (1/T + 1/n).
What a test keeps of the rows are such averages, and eigenvalues and quantiles made from them, no row.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import pcircuit
from hld.references.circuit import CircuitReference
from hld.references.covariances import RowCovariance, through
from hld.references.reference import MAX_FULL_SPECTRUM

PRIOR_ROWS = 30  # per node, what the circuit's covariance counts in a blend
EPS = float(np.finfo(np.float64).eps)
MOST_BYTES = 2 ** 29  # of the table of likelihood vectors while a test is built
BLOCK_ROWS = 200_000  # rows drawn at a time


@dataclass(frozen=True, eq=False)
class RowReference(RowCovariance):
    """Likelihood vectors of given rows, each as likely as the others; S is their sample covariance.

    Attributes
    ----------
    table : (n, m) float array
        Vectors minus their mean.
    circuit : pcircuit.Circuit
    nodes : (m,) int array
    mean : (m,) float array
    """

    circuit: pcircuit.Circuit
    nodes: np.ndarray
    mean: np.ndarray
    at_deployment = None  # rows are not kept

    @cached_property
    def model(self) -> CircuitReference:
        """The circuit's own reference for these nodes."""
        return CircuitReference(self.circuit, self.nodes)

    @cached_property
    def _formed(self):
        return super().covariance()

    def covariance(self) -> np.ndarray:
        """(m, m) S, kept."""
        return self._formed

    def shrunk(self) -> BlendedCovariance:
        """S, blended with the circuit's covariance."""
        n = len(self.table)
        return BlendedCovariance(self, self.model, n / (n + PRIOR_ROWS * len(self.nodes)))

    def rows(self, n, rng) -> np.ndarray:
        """(n, m) of the centred vectors, without replacement; all of them where there are fewer."""
        return self.table[rng.permutation(len(self.table))[:n]]

    def batch_means(self, T, B, rng) -> np.ndarray:
        """(B, m) means of T of the centred vectors, drawn with replacement."""
        n, m = self.table.shape
        means, step = np.zeros((B, m)), max(1, BLOCK_ROWS // T)
        for start in range(0, B, step):
            batches = means[start:start + step]
            if n // 4 < T:  # counts are shorter than lists of rows
                batches += rng.multinomial(T, np.full(n, 1 / n), size=len(batches)) @ self.table
            else:
                for _ in range(T):
                    batches += self.table[rng.integers(0, n, len(batches))]
        return means / T

    def under(self, metric):
        """F S F^T: formed for few nodes, else by its mapped rows."""
        if len(self.nodes) <= MAX_FULL_SPECTRUM:
            return through(metric, self.covariance())
        return RowCovariance(metric.apply(self.table))


@dataclass(frozen=True, eq=False)
class BlendedCovariance:
    """share * S_rows + (1 - share) * S_circuit, for n rows and m nodes with share = n / (n + k), k = 30 m.

    What a metric whitens by need not be the covariance of the null, but it should be near it in every direction that
    the metric magnifies.  That of few rows is too small in some of its m directions by chance alone, and the circuit's
    leaves out what the circuit does not model; rows count the more, the more of them there are for each node.

    Attributes
    ----------
    rows : RowReference
    model : CircuitReference
    share : float
    """

    rows: RowReference
    model: CircuitReference
    share: float

    def covariance(self) -> np.ndarray:
        """(m, m) blend."""
        return self.share * self.rows.covariance() + (1 - self.share) * self.model.covariance()

    def operator(self):
        """The blend as a linear operator that never forms it."""
        return self.share * self.rows.operator() + (1 - self.share) * self.model.operator()


def row_reference(circuit, nodes, data) -> RowReference:
    """The reference of the rows of a table.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    nodes : (m,) int array
    data : (n, V) integer array_like
        At least two complete rows.

    Returns
    -------
    RowReference
        Its mean is over all rows; the table of centred rows is of every k-th row where it would take over 512 MiB.

    Raises
    ------
    ValueError
        If there are fewer than two rows.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> reference = row_reference(coin, np.array([0]), [[0], [1]])
    >>> reference.mean, reference.covariance()
    (array([0.5]), array([[0.125]]))
    """
    if len(data) < 2:
        raise ValueError(f"`training_data` has {len(data)} rows: a covariance needs at least two")
    mean = pcircuit.mean_node_likelihoods(circuit, data, nodes=nodes)
    step = -(-8 * len(nodes) * len(data) // MOST_BYTES)
    table = pcircuit.node_likelihoods(circuit, data[::step], nodes=nodes)
    table -= mean
    errors = (pcircuit.rounding_errors(circuit, nodes) + len(data) * EPS) * mean
    table[:, np.sqrt((table ** 2).mean(axis=0)) <= errors] = 0.0  # such a node is constant: what varies is rounding
    return RowReference(table, circuit, nodes, mean)
