"""Moments of the training rows' hierarchical likelihood vectors: a reference that includes what the model misses.

The circuit's own moments are right for draws from the circuit.  Real rows follow the circuit only nearly, and a large
enough batch of them shows the difference.  Mean and covariance of the training rows' vectors L(x_1)..L(x_n),

    mean = (1/n) sum_i L(x_i)        S = (1/(n-1)) sum_i (L(x_i) - mean)(L(x_i) - mean)^t,

do not have this bias.  They are estimates, so the difference to a batch of T fresh rows has covariance S (1/T + 1/n).
What is kept of the rows are m + m(m+1)/2 averages, no row.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import pcircuit

BLOCK_ROWS = 4096
MAX_BYTES = 2 ** 31


@dataclass(frozen=True, eq=False)
class TrainingMoments:
    """Sample moments of weighted node likelihoods, with the attributes of `hld.Moments` that a null needs.

    Attributes
    ----------
    nodes : (m,) int array
    mean : (m,) float array
    matrix : (m, m) float array
        Sample covariance.
    """

    nodes: np.ndarray
    mean: np.ndarray
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
        """(m,) sample variances."""
        return np.diagonal(self.matrix).copy()

    def eigenvalues(self, k=None) -> np.ndarray:
        """All eigenvalues, or the k largest, in descending order."""
        return np.linalg.eigvalsh(self.matrix)[::-1][:k]


def training_moments(circuit, data, nodes, node_weights) -> TrainingMoments:
    """Sample mean and covariance of the weighted node likelihoods of training rows.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    data : (n, V) integer array_like
        At least two rows, -1 missing (integrated out).
    nodes : (m,) int array
    node_weights : (m,) float array

    Returns
    -------
    TrainingMoments

    Raises
    ------
    ValueError
        If there are fewer than two rows, or the covariance would take more than 2 GiB.

    Notes
    -----
    O(n m^2) time and O(m^2) memory; two passes over the rows, so that nothing cancels.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> moments = training_moments(coin, [[0], [1]], np.array([0]), np.ones(1))
    >>> moments.mean, moments.matrix
    (array([0.5]), array([[0.125]]))
    """
    data = pcircuit.check_evidence(circuit, data)
    m = len(nodes)
    if len(data) < 2:
        raise ValueError(f"`training_data` has {len(data)} rows: a covariance needs at least two")
    if 8 * m * m > MAX_BYTES:
        raise ValueError(f"the covariance of {m} nodes takes {8 * m * m / 2 ** 30:.1f} GiB, more than "
                         f"{MAX_BYTES / 2 ** 30:.0f}: select fewer `nodes`")
    mean = node_weights * pcircuit.mean_node_likelihoods(circuit, data, nodes=nodes)
    matrix = np.zeros((m, m))
    for start in range(0, len(data), BLOCK_ROWS):
        block = data[start:start + BLOCK_ROWS]
        centred = node_weights * pcircuit.node_likelihoods(circuit, block, nodes=nodes) - mean
        matrix += centred.T @ centred
    return TrainingMoments(nodes, mean, matrix / (len(data) - 1))
