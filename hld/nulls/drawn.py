"""Null distributions that are drawn: valid at every batch size, also for a single row.

Batches of T rows are drawn under H0, B of them, and each gives its squared statistics, one per metric.  If a drawn
batch is as good as the observed one, all B + 1 are exchangeable, so

    p = (1 + #{b : d_b >= d}) / (1 + B)

is below a with probability at most a, whatever the law is (Phipson and Smyth 2010).  With several metrics, each batch
gets for every metric its rank among the B + 1, and the harmonic mean of its ranks is its combined statistic
(`hld.nulls.joint`): ranks of exchangeable batches are exchangeable, so the same formula gives one p-value for all
metrics together.

`CircuitDraws` draws rows of the circuit.  `BatchTable` holds statistics of batches drawn from the training rows at
a grid of sizes, made when a detector is fitted; between the sizes p-values are interpolated.
"""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import pcircuit
from hld.nulls.joint import harmonic_mean

BLOCK_ROWS = 200_000  # rows drawn at a time
GRID = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 1000, 1500, 2000)


@dataclass(frozen=True, eq=False)
class CircuitDraws:
    """Statistics of batches drawn from a circuit; drawn once for each T and kept."""

    circuit: pcircuit.Circuit
    nodes: np.ndarray
    mean: np.ndarray
    metrics: tuple
    num_resamples: int
    seed: int
    _drawn: dict = field(default_factory=dict, repr=False)

    def describe(self) -> str:
        """One line."""
        return f"{self.num_resamples} batches drawn from the circuit"

    def at(self, T: int):
        """[(weight, (B, q) squared statistics)] for batches of T rows."""
        if T not in self._drawn:
            rng = np.random.default_rng([self.seed, T])
            deltas = np.empty((self.num_resamples, len(self.nodes)))
            done = 0
            while done < self.num_resamples:
                batches = min(self.num_resamples - done, max(1, BLOCK_ROWS // T))
                rows = pcircuit.sample(self.circuit, batches * T, rng=rng)
                for b in range(batches):
                    means = pcircuit.mean_node_likelihoods(self.circuit, rows[b * T:(b + 1) * T], nodes=self.nodes)
                    deltas[done + b] = means - self.mean
                done += batches
            self._drawn[T] = np.stack([metric.squared(deltas) for metric in self.metrics], axis=1)
        return [(1.0, self._drawn[T])]


@dataclass(frozen=True, eq=False)
class BatchTable:
    """Squared statistics (sizes, B, q) of batches of training rows, for the batch sizes `sizes` (ascending)."""

    sizes: np.ndarray
    squared: np.ndarray

    def describe(self) -> str:
        """One line."""
        return f"{self.squared.shape[1]} batches of training rows, at {len(self.sizes)} sizes up to {self.sizes[-1]}"

    def at(self, T: int):
        """[(weight, (B, q) squared statistics)]: of T itself, or of the sizes around it, scaled to T."""
        i = int(np.searchsorted(self.sizes, T))
        if i == len(self.sizes) or self.sizes[i] == T or i == 0:
            i = min(i, len(self.sizes) - 1)
            return [(1.0, self.squared[i] * (self.sizes[i] / T))]
        low, high = self.sizes[i - 1], self.sizes[i]
        share = (1 / T - 1 / high) / (1 / low - 1 / high)  # the law is nearly linear in 1 / T
        return [(share, self.squared[i - 1] * (low / T)), (1 - share, self.squared[i] * (high / T))]


def batch_table(rows, metrics, num_resamples, largest, rng) -> BatchTable:
    """Draw batches, with replacement, from centred node likelihoods.

    Parameters
    ----------
    rows : (n, m) float array
        Node likelihoods of training rows, minus their mean.
    metrics : tuple of Metric
    num_resamples : int
        B.
    largest : int
        Largest batch size wanted.
    rng : numpy.random.Generator

    Returns
    -------
    BatchTable

    Examples
    --------
    >>> from hld.metrics.metric import Metric
    >>> plain = Metric("euclidean", np.ones(1), 1.0, np.zeros((1, 0)), np.zeros(0))
    >>> table = batch_table(np.array([[-1.0], [1.0]]), (plain,), 3, 2, np.random.default_rng(0))
    >>> table.sizes.tolist(), table.squared[0, :, 0].tolist()        # one row: always at distance 1
    ([1, 2], [1.0, 1.0, 1.0])
    """
    sizes = [T for T in GRID if largest > T] + [int(largest)]
    squared = np.empty((len(sizes), num_resamples, len(metrics)))
    for i, T in enumerate(sizes):
        for start in range(0, num_resamples, max(1, BLOCK_ROWS // T)):
            batches = min(num_resamples - start, max(1, BLOCK_ROWS // T))
            counts = rng.multinomial(T, np.full(len(rows), 1 / len(rows)), size=batches) if len(rows) // 4 < T else None
            if counts is not None:
                means = counts @ rows / T
            else:
                means = np.zeros((batches, rows.shape[1]))
                for _ in range(T):
                    means += rows[rng.integers(0, len(rows), batches)]
                means /= T
            squared[i, start:start + batches] = np.stack([metric.squared(means) for metric in metrics], axis=1)
    return BatchTable(np.array(sizes), squared)


def drawn_pvalues(draws, squared, T: int):
    """p-values of squared statistics (q,) by drawn batches: one for each metric, and the combined one.

    Parameters
    ----------
    draws : CircuitDraws or BatchTable
    squared : (q,) float array
    T : int

    Returns
    -------
    (q,) float array, float

    Examples
    --------
    >>> table = BatchTable(np.array([1]), np.arange(1.0, 100.0).reshape(1, 99, 1))
    >>> drawn_pvalues(table, np.array([96.5]), 1)         # 97, 98 and 99 are larger
    (array([0.04]), 0.04)
    """
    single, combined = np.zeros(len(squared)), 0.0
    for share, null in draws.at(T):
        every = np.vstack([np.asarray(squared) * (1 - 1e-9), null])  # batches that differ by round-off are ties
        exceeding = np.stack([len(every) - np.searchsorted(np.sort(column), column, side="left")
                              for column in every.T], axis=1)  # of each batch, itself included
        means = harmonic_mean(exceeding / len(every))
        single += share * exceeding[0] / len(every)
        combined += share * (means <= means[0] * (1 + 1e-12)).sum() / len(every)
    return single, float(combined)


def drawn_threshold(draws, alpha: float, T: int) -> float:
    """Largest squared statistic of a single metric that is not rejected; infinite where B is too small to reject."""
    threshold = 0.0
    for share, null in draws.at(T):
        ordered = np.sort(null[:, 0])
        allowed = int(np.floor(alpha * (1 + len(ordered)) + 1e-9)) - 1  # batches that may exceed it
        if allowed < 0:
            return float("inf")
        threshold += share * (ordered[len(ordered) - 1 - allowed] if allowed < len(ordered) else 0.0)
    return float(threshold)
