"""A batch that is too long to be held in memory: its rows come in chunks, and sums are kept.

From a batch a test needs the averages of its likelihood vectors over the rows that show each node, the numbers of these
rows, and a sample of its rows, to see which nodes are shown together and to check an alarm.  Averages come from sums,
which add up.  The sample is uniform: each row has a random number, and those with the smallest are kept.  A batch with
no more rows than are kept gives the same result as in one piece.

Where the columns have few categories many rows are equal, and each distinct row is evaluated once.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from hld.references.available import MOST_PAIRED, Shown
from hld.vectors.completion import complete

MOST_DISTINCT = 2 ** 20  # combinations of categories that are counted one by one
BLOCK_VALUES = 4_000_000  # likelihoods that are held at a time


class RowSums:
    """Sums over rows that come in chunks; one writer at a time.

    Parameters
    ----------
    test : HLDTest
        What will judge them.
    seed : int
        Seed of the sample.

    Examples
    --------
    >>> import hld
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> rows = pcircuit.sample(circuit, 100, rng=1)
    >>> sums = RowSums(hld.HLDTest(circuit))
    >>> sums.add(rows[:30]), sums.add(rows[30:]), sums.num_rows
    (None, None, 100)
    """

    def __init__(self, test: Any, seed: int = 0) -> None:
        self.test, self.num_rows, self.num_missing = test, 0, 0
        self._rng = np.random.default_rng([seed, 2])
        self._sizes = tuple(size + 1 for size in test.circuit.num_categories)  # and a hole
        self._times = np.zeros(math.prod(self._sizes) if math.prod(self._sizes) <= MOST_DISTINCT else 0, dtype=np.int64)
        self._sums, self._counts = np.zeros(test.vectors.size), np.zeros(test.vectors.size, dtype=np.int64)
        self._chosen, self._numbers = np.zeros((0, len(self._sizes)), dtype=np.int32), np.zeros(0)

    def add(self, rows: np.ndarray) -> None:
        """Take in a chunk (n, V) of evidence, -1 for a hole."""
        if not len(rows):
            return
        holes = int((rows < 0).sum()) if rows.dtype.kind == "i" else 0
        if holes and self.test.missing != "available":
            rows, _ = complete(self.test.circuit, rows, self.test.settings.seed + self.num_rows)
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
        return self._chosen

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
        mask = self.test.vectors.seen(self._chosen).astype(np.float32)
        pairs = (mask.T @ mask).astype(np.float64) * (self.num_rows / len(mask))
        np.fill_diagonal(pairs, self._counts)
        return Shown(self._sums / np.maximum(self._counts, 1), self._counts.copy(), self.num_rows, pairs)

    def _evaluate(self, rows: Any, times: Any) -> None:
        """Add the likelihoods of rows, each as often as it occurs."""
        look, step = self.test.vectors, max(1, BLOCK_VALUES // self.test.vectors.size)
        for start in range(0, len(rows), step):
            block = rows[start:start + step]
            weights = np.ones(len(block), dtype=np.int64) if times is None else times[start:start + step]
            if block.dtype.kind == "u" or block.min() >= 0:
                self._sums += weights @ look.rows(block) if times is not None else look.mean(block) * len(block)
                self._counts += weights.sum()
                continue
            seen = look.seen(block)
            self._sums += weights @ np.where(seen, look.rows(block), 0.0)
            self._counts += weights @ seen

    def _choose(self, rows: np.ndarray) -> None:
        """Keep the rows with the smallest random numbers, in their order."""
        numbers = self._rng.random(len(rows))
        if len(self._numbers) == MOST_PAIRED:
            below = numbers < self._numbers.max()
            rows, numbers = rows[below], numbers[below]
        numbers = np.concatenate([self._numbers, numbers])
        rows = np.concatenate([self._chosen, rows.astype(np.int32)])
        if len(numbers) > MOST_PAIRED:
            kept = np.sort(np.argpartition(numbers, MOST_PAIRED)[:MOST_PAIRED])
            rows, numbers = rows[kept], numbers[kept]
        self._chosen, self._numbers = rows, numbers
