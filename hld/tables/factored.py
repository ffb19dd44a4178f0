"""A column whose cells repeat, as numbers of the distinct ones.

Text in data frames and Arrow is most expensive when every cell becomes a Python object.  Where the library that holds
a column can number its distinct values, only these become objects, and everything else is arithmetic on numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

BLOCK_ROWS = 2**12  # counted at a time


@dataclass(frozen=True, eq=False)
class Factored:
    """Cells by number; shapes codes (N,), levels (n,)."""

    codes: np.ndarray
    levels: np.ndarray
    dtype = np.dtype(object)  # what the cells are

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Factored:
        return Factored(self.codes[rows], self.levels)

    def cells(self) -> np.ndarray:
        """(N,) object array of the cells, None where missing."""
        return np.append(self.levels, None)[self.codes]  # type: ignore[call-overload]

    def tolist(self) -> list[Any]:
        """The cells as a list."""
        return self.cells().tolist()

    def counts(self) -> np.ndarray:
        """(n,) how often each of `levels` occurs."""
        found = np.zeros(len(self.levels) + 1, dtype=np.int64)
        step = max(BLOCK_ROWS, len(found))  # temporaries of short blocks stay in the cache
        for start in range(0, len(self.codes), step):
            found += np.bincount(
                self.codes[start : start + step].astype(np.intp) + 1, minlength=len(found)
            )
        return found[1:]

    def write(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write to out (N,) for each row the one of values (n + 1,) that belongs to its level, the last if missing."""
        for start in range(0, len(self.codes), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            out[rows] = values[self.codes[rows]]


def whole_cells(values: Any) -> np.ndarray:
    """The cells of a column (N,), whether it is an array or factored."""
    return values.cells() if isinstance(values, Factored) else values


def object_cells(cells: Any) -> np.ndarray:
    """Cells (N,) as an array of objects (N,), whatever they are."""
    return np.fromiter(cells, object, len(cells))
