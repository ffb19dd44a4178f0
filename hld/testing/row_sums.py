"""A batch that is too long to be held in memory: its rows come in chunks, and sums are kept.

From a batch a test needs the averages of its likelihood vectors over the rows that show each node, the numbers of these
rows, and a sample of its rows, to see which nodes are shown together and to check an alarm.  Averages come from sums,
which add up, over chunks as over machines.  The sample is uniform: each row has a random number, and those with the
smallest are kept, of a part of the rows as of all.  A batch with no more rows than are kept gives the same result as in
one piece, but for holes that are filled by draws, as where the circuit is the reference: the draws of a chunk depend on
its place and size, as the rows that will follow are not known.

Where the columns have few categories many rows are equal, and each distinct row is evaluated once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.features.row_vectors import complete
from hld.references.available import MOST_PAIRED, Shown, shown_by
from pcircuit.evidence import is_missing

MOST_DISTINCT = 2**20  # combinations of categories that are counted one by one
BLOCK_VALUES = 4_000_000  # likelihoods that are held at a time
BLOCK_FLAGS = 2**16  # entries that are looked at together
PART = 2**32  # between the seeds of parts that are summed by themselves


@dataclass(frozen=True)
class RowTotals:
    """What `RowSums` found in a part of the rows: it travels, and adds up in the order of the rows.

    Shapes: places, times (k,), sums (m,), counts (m,), chosen (r, V), numbers (r,).
    """

    num_rows: int
    num_missing: int
    places: np.ndarray
    times: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    chosen: np.ndarray
    numbers: np.ndarray

    def __add__(self, other: RowTotals) -> RowTotals:
        """Those of both parts."""
        places, where = np.unique(np.concatenate([self.places, other.places]), return_inverse=True)
        times = np.zeros(len(places), dtype=np.int64)
        np.add.at(times, where, np.concatenate([self.times, other.times]))
        chosen, numbers = _smallest(
            np.concatenate([self.chosen, other.chosen]),
            np.concatenate([self.numbers, other.numbers]),
        )
        return RowTotals(
            self.num_rows + other.num_rows,
            self.num_missing + other.num_missing,
            places,
            times,
            self.sums + other.sums,
            self.counts + other.counts,
            chosen,
            numbers,
        )


class RowSums:
    """Sums over rows that come in chunks; one writer at a time."""

    def __init__(self, test: Any, seed: int = 0, part: int = 0) -> None:
        self.test, self.num_rows, self.num_missing = test, 0, 0
        self._rng, self._first = (
            np.random.default_rng([seed, 2, part] if part else [seed, 2]),
            part * PART,
        )
        self._sizes = tuple(size + 1 for size in test.circuit.num_categories)  # and a hole
        combinations = math.prod(self._sizes) if test.circuit.is_categorical else MOST_DISTINCT + 1
        self._times = np.zeros(combinations if combinations <= MOST_DISTINCT else 0, dtype=np.int64)
        self._sums, self._counts = (
            np.zeros(test.vectors.size),
            np.zeros(test.vectors.size, dtype=np.int64),
        )
        kept = np.min_scalar_type(-max(self._sizes)) if test.circuit.is_categorical else np.float64
        self._chosen = np.zeros((0, len(self._sizes)), dtype=kept)
        self._numbers = np.zeros(0)

    @classmethod
    def of(cls, test: Any, totals: RowTotals) -> RowSums:
        """Those of all rows, from the totals of their parts."""
        sums = cls(test)
        sums.num_rows, sums.num_missing = totals.num_rows, totals.num_missing
        sums._times[totals.places] = totals.times
        sums._sums, sums._counts = totals.sums.copy(), totals.counts.copy()
        sums._chosen, sums._numbers = totals.chosen, totals.numbers
        return sums

    def totals(self) -> RowTotals:
        """What was found so far."""
        (places,) = np.nonzero(self._times)
        return RowTotals(
            self.num_rows,
            self.num_missing,
            places,
            self._times[places],
            self._sums.copy(),
            self._counts.copy(),
            self._chosen,
            self._numbers,
        )

    def add(self, rows: np.ndarray) -> None:
        """Take in a chunk (n, V) of evidence, -1 for a hole."""
        if not len(rows):
            return
        holes = _num_holes(rows)
        if holes and self.test.missing != "available":
            rows, _ = complete(
                self.test.circuit, rows, self.test.settings.seed + self._first + self.num_rows
            )
        self.num_rows, self.num_missing = self.num_rows + len(rows), self.num_missing + holes
        self._choose(rows)
        if len(self._times):
            places = np.zeros(len(rows), dtype=np.int64)
            for v, size in enumerate(self._sizes):
                places *= size
                places += rows[:, v]
                places += 1
            self._times += np.bincount(places, minlength=len(self._times))
        else:
            self._evaluate(rows, None)

    def rows(self) -> np.ndarray:
        """The rows that are kept: all, if there are no more than that, in their order."""
        is_coded = self.test.circuit.is_categorical
        return self._chosen.astype(np.int32) if is_coded else self._chosen

    def is_whole(self) -> bool:
        """Whether every row is kept."""
        return self.num_rows == len(self._chosen)

    def shown(self) -> Shown:
        """What the rows show of the nodes of the test."""
        if len(self._times):
            (found,) = np.nonzero(self._times)
            rows = np.stack(np.unravel_index(found, self._sizes), axis=1).astype(np.int32) - 1
            self._sums[:], self._counts[:] = 0.0, 0
            self._evaluate(rows, self._times[found])
        return shown_by(
            self.test.vectors, self._sums, self._counts.copy(), self.num_rows, self.rows()
        )

    def _evaluate(self, rows: Any, times: Any) -> None:
        """Add the likelihoods of rows, each as often as it occurs."""
        look, step = self.test.vectors, max(1, BLOCK_VALUES // self.test.vectors.size)
        if times is None and self.test.circuit.is_categorical:
            step = len(rows)  # no likelihood is held: short blocks would not be for the kernels
        for start in range(0, len(rows), step):
            weights = None if times is None else times[start : start + step]
            sums, counts = look.sums(rows[start : start + step], weights)
            self._sums += sums
            self._counts += counts

    def _choose(self, rows: np.ndarray) -> None:
        """Keep the rows with the smallest random numbers, in their order."""
        numbers = self._rng.random(len(rows))
        if len(self._numbers) == MOST_PAIRED:
            (kept,) = np.nonzero(numbers < self._numbers.max())
            rows, numbers = rows[kept], numbers[kept]
        if len(rows) > MOST_PAIRED:
            kept = _places_of_smallest(numbers)
            rows, numbers = rows[kept], numbers[kept]
        self._chosen, self._numbers = _smallest(
            np.concatenate([self._chosen, rows.astype(self._chosen.dtype)]),
            np.concatenate([self._numbers, numbers]),
        )


def _smallest(rows: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows with the smallest numbers, as many as are kept, in their order."""
    if len(numbers) <= MOST_PAIRED:
        return rows, numbers
    kept = _places_of_smallest(numbers)
    return rows[kept], numbers[kept]


def _places_of_smallest(numbers: np.ndarray) -> np.ndarray:
    """Where the smallest of them are, as many as are kept, in ascending order."""
    return np.sort(np.argpartition(numbers, MOST_PAIRED)[:MOST_PAIRED])


def _num_holes(rows: np.ndarray) -> int:
    """Missing entries, counted in blocks, whose flags need no new memory."""
    if rows.dtype.kind == "u":
        return 0
    step = max(1, BLOCK_FLAGS // max(1, rows.shape[1]))
    starts = range(0, len(rows), step)
    return sum(int(np.count_nonzero(is_missing(rows[one : one + step]))) for one in starts)
