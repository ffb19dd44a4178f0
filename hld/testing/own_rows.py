r"""What the rows of a batch say of the covariance of their own mean, when an effect size is given its interval.

Of the rows, at most `MOST_VECTORS` of them, the differences from their mean, over T: the sum of their squares is the
covariance of the mean (`hld.results.effects`).  With holes each node has the mean of the T_j rows that show it, and the
differences are divided by T_j instead; so the sum allows for which rows show which nodes together.  It is computed when
the interval is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.nulls.ranks.confirmation import MOST_VECTORS
from hld.vectors.row_vectors import RowVectors, some_rows


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows of a batch.

    Shapes: rows (r, V), weights (m,).
    """

    vectors: RowVectors
    rows: np.ndarray
    num_rows: int
    weights: Any = 1.0

    def spread(self) -> np.ndarray:
        """(r, m) array Y such that Y^t Y is the covariance of the mean of the T rows."""
        m, r = len(self.vectors.nodes), len(self.rows)
        values = (
            pcircuit.node_likelihoods(self.vectors.circuit, self.rows, nodes=self.vectors.nodes)
            * self.weights
        )
        seen = self.vectors.seen(self.rows)[:, :m]
        counts = np.maximum(seen.sum(axis=0), 1)
        differences = np.where(seen, values - np.where(seen, values, 0.0).sum(axis=0) / counts, 0.0)
        return differences / counts * np.sqrt(r / self.num_rows)


def own_rows(vectors: RowVectors, rows: np.ndarray, num_rows: int, weights: Any = 1.0) -> OwnRows:
    """The rows of a batch, of many some, evenly spread.

    Shapes: rows (r, V), weights (m,).
    """
    return OwnRows(vectors, np.asarray(rows)[some_rows(len(rows), MOST_VECTORS)], num_rows, weights)
