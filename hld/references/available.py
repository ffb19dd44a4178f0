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

from dataclasses import dataclass, field, replace

import numpy as np

from hld.features.row_vectors import RowVectors, some_rows

FEWEST = 30  # rows that have to show a node, unless half of them do
BLOCK_VALUES = 20_000_000  # likelihoods that are held at a time
MOST_PAIRED = 20_000  # rows from which the shares T_ij / T are computed


@dataclass(frozen=True, eq=False)
class Shown:
    """What rows with holes show of each node; shapes means, counts, groups (m,), pairs (g, g)."""

    means: np.ndarray
    counts: np.ndarray
    num_rows: int
    pairs: np.ndarray = field(repr=False)  # of groups of nodes that the same rows show
    groups: np.ndarray = field(repr=False)

    def part(self, m: int) -> Shown:
        """What they show of the first m nodes."""
        return replace(self, means=self.means[:m], counts=self.counts[:m], groups=self.groups[:m])

    @property
    def shared(self) -> np.ndarray:
        """(m, m) T_ij / (T_i T_j), the covariance of two averages in units of that of a row."""
        counts = np.maximum(self.pairs.diagonal(), 1)
        return (self.pairs / np.outer(counts, counts))[np.ix_(self.groups, self.groups)]


def shown(vectors: RowVectors, rows: np.ndarray) -> Shown:
    """What rows (T, V), -1 for a hole, show of the numbers of a vector."""
    step = max(1, BLOCK_VALUES // vectors.size)
    parts = [vectors.sums(rows[start : start + step]) for start in range(0, len(rows), step)]
    sums, counts = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
    return shown_by(vectors, sums, counts, len(rows), rows[some_rows(len(rows), MOST_PAIRED)])


def shown_by(
    vectors: RowVectors, sums: np.ndarray, counts: np.ndarray, num_rows: int, some: np.ndarray
) -> Shown:
    """What rows show, from sums over them and a sample of them, which tells T_ij: how many show two nodes.

    Shapes: sums, counts (m,), some (r, V).
    """
    regions, first, groups = np.unique(vectors.regions, return_index=True, return_inverse=True)
    mask = vectors.seen_regions(some)[regions].astype(np.float32)
    pairs = (mask @ mask.T).astype(np.float64)
    scale = np.sqrt(counts[first] / np.maximum(pairs.diagonal(), 1))
    pairs *= np.outer(scale, scale)
    np.fill_diagonal(pairs, counts[first])
    return Shown(sums / np.maximum(counts, 1), counts, num_rows, pairs, groups)


def weights(batch: Shown, counts: np.ndarray, num_rows: int) -> np.ndarray:
    """(m,) g_j for a batch, and for k_j of k reference rows; 0 where a node is not shown by enough of both."""
    fewest, own_fewest = (max(min(n / 2, FEWEST), 1) for n in (num_rows, batch.num_rows))
    enough = (batch.counts >= own_fewest) & (counts >= fewest)
    spread = 1 / np.maximum(batch.counts, 1) + 1 / np.maximum(counts, 1)
    return np.where(enough, np.sqrt((1 / batch.num_rows + 1 / num_rows) / spread), 0.0)


def correlations(batch: Shown, g: np.ndarray, shared: float, num_rows: int) -> np.ndarray:
    """(m, m) R for weights g (m,), and for k_ij / (k_i k_j) of the reference (1 / k where it has no holes)."""
    return np.outer(g, g) * (batch.shared + shared) / (1 / batch.num_rows + 1 / num_rows)
