"""Moments of the training rows' hierarchical likelihood vectors: a reference that includes what the model misses.

The circuit's own moments are right for draws from the circuit.  Real rows follow the circuit only nearly, and a large
enough batch of them shows the difference.  Mean and covariance of the training rows' vectors L(x_1)..L(x_n),

    mean = (1/n) sum_i L(x_i)        S = (1/(n-1)) sum_i (L(x_i) - mean)(L(x_i) - mean)^t,

do not have this bias.  They are estimates, so the difference to a batch of T fresh rows has covariance S (1/T + 1/n).
What a test keeps of the rows are such averages, and eigenvalues and quantiles made from them, no row.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import pcircuit

PRIOR_ROWS = 30  # per node, what the circuit's covariance counts in a blend
ROUND_OFF = 64 * np.finfo(float).eps
MOST_BYTES = 2 ** 29  # of the table of training vectors while a test is built


@dataclass(frozen=True, eq=False)
class TrainingMoments:
    """Sample moments of weighted node likelihoods, with the methods of `hld.Moments` that a null needs.

    Attributes
    ----------
    nodes : (m,) int array
    mean : (m,) float array
    rows : (n, m) float array
        Centred weighted node likelihoods, or (n, l) what a metric maps them to.
    """

    nodes: np.ndarray
    mean: np.ndarray
    rows: np.ndarray

    @property
    def trace(self) -> float:
        """tr(S)."""
        return float(self.diagonal().sum())

    @property
    def trace_sq(self) -> float:
        """tr(S^2), from the smaller of the two products of the table with itself."""
        table = self.rows if self.rows.shape[1] <= len(self.rows) else self.rows.T
        return float(((table.T @ table / (len(self.rows) - 1)) ** 2).sum())

    def diagonal(self) -> np.ndarray:
        """(m,) sample variances."""
        return (self.rows ** 2).sum(axis=0) / (len(self.rows) - 1)

    def covariance(self) -> np.ndarray:
        """(m, m) sample covariance."""
        return self.rows.T @ self.rows / (len(self.rows) - 1)

    def operator(self):
        """S as a linear operator that never forms it."""
        from scipy.sparse.linalg import LinearOperator
        rows = self.rows
        return LinearOperator((rows.shape[1],) * 2, matvec=lambda v: rows.T @ (rows @ v) / (len(rows) - 1), dtype=float)

    def eigenvalues(self, k=None) -> np.ndarray:
        """All eigenvalues, or the k largest, in descending order."""
        width = self.rows.shape[1]
        if k is None or 4 * k > width:
            return np.linalg.eigvalsh(self.covariance())[::-1][:k]
        from scipy.sparse.linalg import eigsh
        start = np.random.default_rng(0).normal(size=width)
        return eigsh(self.operator(), k=k, which="LA", v0=start, return_eigenvectors=False)[::-1]


@dataclass(frozen=True, eq=False)
class BlendedCovariance:
    """Covariance of n training rows and the circuit's, (n S_train + k S_circuit) / (n + k) with k = 30 m.

    What a metric whitens by need not be the covariance of the null, but it should be near it in every direction that
    the metric magnifies.  That of few rows is too small in some of its m directions by chance alone, and the circuit's
    leaves out what the circuit does not model; rows count the more, the more of them there are for each node.

    Attributes
    ----------
    circuit : hld.Moments
        Exact moments of the circuit.
    training : TrainingMoments
        Of the same m nodes.
    """

    circuit: object
    training: TrainingMoments

    @property
    def nodes(self) -> np.ndarray:
        """(m,) node ids."""
        return self.training.nodes

    @property
    def share(self) -> float:
        """n / (n + k)."""
        n = len(self.training.rows)
        return n / (n + PRIOR_ROWS * len(self.nodes))

    def covariance(self) -> np.ndarray:
        """(m, m) blend."""
        return self.share * self.training.covariance() + (1 - self.share) * self.circuit.covariance()

    def operator(self):
        """The blend as a linear operator that never forms it."""
        return self.share * self.training.operator() + (1 - self.share) * self.circuit.operator()


def training_moments(circuit, data, nodes) -> TrainingMoments:
    """Sample moments of the node likelihoods of training rows.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    data : (n, V) integer array_like
        At least two complete rows.
    nodes : (m,) int array

    Returns
    -------
    TrainingMoments
        Its mean is over all rows; the table of centred rows is of every k-th row where it would take over 512 MiB.

    Raises
    ------
    ValueError
        If there are fewer than two rows.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> moments = training_moments(coin, [[0], [1]], np.array([0]))
    >>> moments.mean, moments.covariance()
    (array([0.5]), array([[0.125]]))
    """
    data = pcircuit.check_evidence(circuit, data, name="training_data")
    if len(data) < 2:
        raise ValueError(f"`training_data` has {len(data)} rows: a covariance needs at least two")
    mean = pcircuit.mean_node_likelihoods(circuit, data, nodes=nodes)
    step = -(-8 * len(nodes) * len(data) // MOST_BYTES)
    rows = pcircuit.node_likelihoods(circuit, data[::step], nodes=nodes)
    rows -= mean
    rows[np.abs(rows) <= ROUND_OFF * mean] = 0.0  # a node that cannot vary has no variance, not one of 1e-34
    return TrainingMoments(nodes, mean, rows)
