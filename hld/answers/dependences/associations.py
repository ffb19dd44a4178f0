r"""Mean associations of pairs of columns: one number for each edge of the tree, which few rows can compare.

The association a_ij of two values is their log-likelihood ratio against independence under the circuit
(`hld.results.largest_dependence`).  Its mean over a batch falls when the dependence is lost, to the mean over the
products of both frequencies.  Without a shift the batch is T of N = n + T rows, drawn without replacement, so the
difference of its mean from that of all has the variance n / (N T) times that of the rows, and

.. math:: z_e = \frac{\bar a_{batch} - \bar a}{\mathrm{Sd}(a)} \sqrt{\frac{N T}{n}}, \qquad
          \lambda_e = \Bigl( \frac{\sum_{ij} (r_{i \cdot} r_{\cdot j} - r_{ij}) a_{ij}}{\mathrm{Sd}(a)} \Bigr)^2
                      \frac{n T}{N}

are nearly normal, and the noncentrality of z_e^2 where the dependence r of the held-out rows is lost.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

CLOSE = 1e-10  # standard deviation of what does not vary
CLEAR = 3.0  # standard errors of a mean below that of chance


class Associations(NamedTuple):
    """Associations along the edges, in held-out rows and a batch: (E,) arrays."""

    n: np.ndarray
    T: np.ndarray
    difference: np.ndarray  # of the mean over the batch from that over all rows
    deviation: np.ndarray  # standard deviation of all rows

    @property
    def varies(self) -> np.ndarray:
        """(E,) whether there is anything to compare."""
        return (self.n > 0) & (self.T > 0) & (self.deviation > CLOSE)


def associations_in(kept: Any, batch: Any) -> Associations:
    """Compare the associations of a batch with those of held-out rows."""
    a, r, b = (
        np.concatenate([one.ravel() for one in tables])
        for tables in (kept.associations, kept.pairs, batch.pairs)
    )
    sizes = np.array([one.size for one in kept.pairs])
    starts = np.cumsum(sizes) - sizes
    n, T = (np.add.reduceat(one, starts).astype(float) for one in (r, b))
    N = np.maximum(n + T, 1)
    mean = np.add.reduceat((r + b) * a, starts) / N
    variance = np.add.reduceat((r + b) * (a - np.repeat(mean, sizes)) ** 2, starts) / N
    return Associations(
        n, T, np.add.reduceat(b * a, starts) / np.maximum(T, 1) - mean, np.sqrt(variance)
    )


def changes_of_associations(kept: Any, batch: Any) -> list[tuple[int, float, float]]:
    """Edge, p-value of its z, and noncentrality where its dependence is lost, of each edge with anything to compare."""
    if kept.associations is None or not len(kept.edges):
        return []
    found = associations_in(kept, batch)
    result = []
    for e in np.flatnonzero(found.varies).tolist():
        n, T, deviation = float(found.n[e]), float(found.T[e]), float(found.deviation[e])
        z = float(found.difference[e]) / deviation * math.sqrt((n + T) * T / n)
        result.append(
            (
                e,
                math.erfc(abs(z) / math.sqrt(2)),
                (_loss(kept.associations[e], kept.pairs[e] / n) / deviation) ** 2 * n * T / (n + T),
            )
        )
    return result


def are_opposed(a: np.ndarray, counts: np.ndarray) -> bool:
    """Whether the pairs of a batch are those of low associations, clearly more often than chance makes them.

    Then a mean below that of the reference tells no weaker dependence, but one between other values.

    Shapes: a (C_u, C_v), counts (C_u, C_v).
    """
    T = int(counts.sum())
    if not T:
        return False
    alone = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / T**2
    mean = float((a * alone).sum())
    error = math.sqrt(float(((a - mean) ** 2 * alone).sum()) / T)
    return mean - float((a * counts).sum()) / T > CLEAR * error


def _loss(a: np.ndarray, shares: np.ndarray) -> float:
    """By how much the mean of a falls where values go together by chance."""
    return float((a * (np.outer(shares.sum(axis=1), shares.sum(axis=0)) - shares)).sum())
