r"""How the differences of nodes depend on one another where rows have holes: what own z-scores are made from.

The differences of a batch with holes from the reference have the covariance S o R, up to a factor
(`hld.references.available`), with S that of a row of the circuit and R by which rows show which nodes together.  A
result keeps the holes of the batch, a bit for each cell; R of the nodes that are listed is computed when it is asked
for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.references.available import MOST_PAIRED, Shown, correlations
from hld.vectors.row_vectors import RowVectors, some_rows


@dataclass(frozen=True, eq=False)
class SeenTogether:
    """The holes of a batch, and those of its reference.

    Shapes: weights (m,), shared (m, m).
    """

    vectors: RowVectors
    holes: np.ndarray
    num_rows: int
    weights: np.ndarray
    shared: Any
    num_held: int

    def __call__(self, positions: np.ndarray) -> np.ndarray:
        """(n, n) covariance, up to a factor, of the differences of the nodes at some positions (n,), ascending."""
        circuit, nodes = self.vectors.circuit, self.vectors.nodes[positions]
        missing = np.unpackbits(self.holes, axis=1, count=circuit.num_variables)
        seen = RowVectors(circuit, nodes).seen(-missing.astype(np.int8)).astype(np.float64)
        pairs = seen.T @ seen * (self.num_rows / len(seen))
        some = Shown(np.zeros(len(nodes)), pairs.diagonal(), self.num_rows, pairs)
        shared = (
            self.shared if np.ndim(self.shared) == 0 else self.shared[np.ix_(positions, positions)]
        )
        return pcircuit.exact_moments(circuit, nodes).covariance() * correlations(
            some, self.weights[positions], shared, self.num_held
        )


def seen_together(
    vectors: RowVectors, rows: np.ndarray, num_rows: int, weights: np.ndarray, kept: Any
) -> SeenTogether | None:
    """The holes of a batch compared with reference rows.

    Shapes: rows (r, V), weights (m,).
    """
    if kept.has_holes and not len(kept.shared):
        return None
    return SeenTogether(
        vectors,
        np.packbits(rows[some_rows(len(rows), MOST_PAIRED)] < 0, axis=1),
        num_rows,
        weights,
        kept.shared if kept.has_holes else 1 / kept.num_rows,
        kept.num_rows,
    )
