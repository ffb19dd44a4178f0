r"""Rows with holes, compared where they can be: every node using the rows that show its whole scope.

A likelihood is known where no variable of the node's scope is missing.  In a batch of T rows let T_j rows show node j,
and T_ij rows show both nodes i and j; among k reference rows, k_j and k_ij.  If holes do not depend on values, each
node's two averages have the same mean, whatever the source is, and with the weights

.. math:: Z_j = g_j (\bar L_j - \mu_j), \qquad g_j^2 = \frac{1/T + 1/k}{1/T_j + 1/k_j}, \qquad
          \mathrm{Cov}(Z) = (1/T + 1/k)\, S \circ R, \quad
          R_{ij} = g_i g_j \frac{T_{ij} / (T_i T_j) + k_{ij} / (k_i k_j)}{1/T + 1/k},

where R is positive semi-definite (it is a Gram matrix) with R_jj = 1: every node counts in Z with the variance that it
has without holes, and nodes that no row shows do not count.  So |F Z|^2 has the law given by the eigenvalues of
F (S o R) F^t.  For a metric that weighs nodes one by one these are majorised by those of F S F^t (Bapat and Sunder
1985), so that the law without holes is a little conservative; others need the covariance.  Nothing is filled in by the
circuit, hence the circuit's errors do not enter through the holes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hld.vectors.row_vectors import RowVectors, some_rows

FEWEST = 30  # rows that have to show a node, unless half of them do
BLOCK_VALUES = 20_000_000  # likelihoods that are held at a time
MOST_PAIRED = 20_000  # rows from which the shares T_ij / T are computed


@dataclass(frozen=True, eq=False)
class Shown:
    """What rows with holes show of each node.

    Shapes: means (m,), counts (m,), pairs (m, m).
    """

    means: np.ndarray
    counts: np.ndarray
    num_rows: int
    pairs: np.ndarray = field(repr=False)

    @property
    def enough(self) -> np.ndarray:
        """(m,) whether a node is shown by enough rows to count."""
        return self.counts >= max(min(self.num_rows / 2, FEWEST), 1)

    @property
    def shared(self) -> np.ndarray:
        """(m, m) T_ij / (T_i T_j), the covariance of two averages in units of that of a row."""
        counts = np.maximum(self.counts, 1)
        return self.pairs / np.outer(counts, counts)


def shown(vectors: RowVectors, rows: np.ndarray) -> Shown:
    """What rows (T, V), -1 for a hole, show of the numbers of a vector.

    Shapes: rows (T, V).
    """
    m = vectors.size
    sums, counts = np.zeros(m), np.zeros(m, dtype=np.int64)
    step = max(1, BLOCK_VALUES // m)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        seen = vectors.seen(block)
        sums += np.where(seen, vectors.rows(block), 0.0).sum(axis=0)
        counts += seen.sum(axis=0)
    return Shown(
        sums / np.maximum(counts, 1),
        counts,
        len(rows),
        seen_pairs(vectors, rows[some_rows(len(rows), MOST_PAIRED)], counts),
    )


def seen_pairs(vectors: RowVectors, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """T_ij: how many rows show two nodes, from a sample of them.

    Shapes: rows (r, V), counts (m,) -> (m, m).
    """
    mask = vectors.seen(rows).astype(np.float32)
    pairs = (mask.T @ mask).astype(np.float64)
    scale = np.sqrt(counts / np.maximum(pairs.diagonal(), 1))
    pairs *= np.outer(scale, scale)
    np.fill_diagonal(pairs, counts)
    return pairs


def weights(batch: Shown, counts: np.ndarray, num_rows: int) -> np.ndarray:
    """(m,) g_j for a batch, and for k_j of k reference rows; 0 where a node is not shown by enough of both.

    Shapes: counts (m,) -> (m,).
    """
    enough = batch.enough & (counts >= max(min(num_rows / 2, FEWEST), 1))
    spread = 1 / np.maximum(batch.counts, 1) + 1 / np.maximum(counts, 1)
    return np.where(enough, np.sqrt((1 / batch.num_rows + 1 / num_rows) / spread), 0.0)


def correlations(batch: Shown, g: np.ndarray, shared: float, num_rows: int) -> np.ndarray:
    """(m, m) R for weights g (m,), and for k_ij / (k_i k_j) of the reference (1 / k where it has no holes).

    Shapes: g (m,), shared (m, m) -> (m, m).
    """
    return np.outer(g, g) * (batch.shared + shared) / (1 / batch.num_rows + 1 / num_rows)
