"""A batch that is too long to be held in memory: its rows come in chunks, and sums are kept.

From a batch a test needs the averages of its likelihood vectors over the rows that show each node, the numbers of these
rows, and a sample of its rows, to see which nodes are shown together and to check an alarm.  Averages come from sums,
which add up, over chunks as over machines.  The sample is uniform: each row has a random number, and those with the
smallest are kept, of a part of the rows as of all.  A batch with no more rows than are kept gives the same result as in
one piece, but for holes that are filled by draws, as where the circuit is the reference: the draws of a chunk depend on
its place and size, as the rows that will follow are not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.features.row_vectors import RowVectors, complete
from hld.references.available import MOST_PAIRED, Shown, shown_by
from pcircuit.evidence import is_missing


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over rows: they travel, and add up in the order of the rows.

    Shapes: sums, counts (size,), rows (r, V), numbers (r,).
    """

    num_rows: int
    num_missing: int
    sums: np.ndarray
    counts: np.ndarray
    rows: np.ndarray
    numbers: np.ndarray

    def __add__(self, other: RowSums) -> RowSums:
        """Those of both."""
        return RowSums(
            self.num_rows + other.num_rows,
            self.num_missing + other.num_missing,
            self.sums + other.sums,
            self.counts + other.counts,
            *_chosen(
                np.concatenate([self.rows, other.rows]),
                np.concatenate([self.numbers, other.numbers]),
            ),
        )

    @property
    def is_whole(self) -> bool:
        """Whether every row is kept."""
        return self.num_rows == len(self.rows)

    def shown(self, vectors: RowVectors) -> Shown:
        """What the rows show of the numbers of a vector."""
        return shown_by(vectors, self.sums, self.counts, self.num_rows, self.rows)


def row_sums(test: Any, rows: np.ndarray, rng: np.random.Generator, first: int) -> RowSums:
    """Sums over a chunk (n, V) of evidence, -1 for a hole; so many rows, or seeds, came before it."""
    missing = int(is_missing(rows).sum())
    if missing and test.missing != "available":
        rows, _ = complete(test.circuit, rows, test.settings.seed + first)
    sums, counts = test.vectors.sums(rows)
    return RowSums(len(rows), missing, sums, counts, *_chosen(rows, rng.random(len(rows))))


def _chosen(rows: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows with the smallest numbers, as many as are kept, in their order."""
    if len(numbers) <= MOST_PAIRED:
        return rows, numbers
    kept = np.sort(np.argpartition(numbers, MOST_PAIRED)[:MOST_PAIRED])
    return rows[kept], numbers[kept]
