"""A column whose cells repeat, as numbers of the distinct ones.

Text in data frames and Arrow is most expensive when every cell becomes a Python object.  Where the library that holds
a column can number its distinct values, only these become objects, and everything else is arithmetic on numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Factored:
    """Cells by number, -1 where missing; shapes codes (N,), levels (n,)."""

    codes: np.ndarray
    levels: np.ndarray
    dtype = np.dtype(object)  # what the cells are

    @classmethod
    def of(cls, cells: Iterable[Any]) -> Factored:
        """Cells (N,) by number, the same one for those that are equal and of one type; TypeError if one has no hash."""
        known: dict[Any, int] = {}
        codes = [known.setdefault((type(cell), cell), len(known)) for cell in cells]
        return cls(np.array(codes, dtype=np.intp), object_cells([cell for _, cell in known]))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Factored:
        return Factored(self.codes[rows], self.levels)

    def spread(self, values: Any, missing: Any) -> np.ndarray:
        """For each cell the one of values (n,) that belongs to its level."""
        return np.append(values, missing)[self.codes]

    def cells(self) -> np.ndarray:
        """(N,) object array of the cells, None where missing."""
        return self.spread(self.levels, None)

    def tolist(self) -> list[Any]:
        """The cells as a list."""
        return self.cells().tolist()

    def counts(self) -> np.ndarray:
        """(n,) how often each of `levels` occurs."""
        return np.bincount(self.codes.astype(np.intp) + 1, minlength=len(self.levels) + 1)[1:]

    def without(self, holes: np.ndarray) -> Factored:
        """The same cells, those of some levels (n,) missing."""
        codes = np.where(holes, -1, np.arange(len(holes)))
        return Factored(self.spread(codes, -1), self.levels)


def whole_cells(values: Any) -> np.ndarray:
    """The cells of a column (N,), whether it is an array or factored."""
    return values.cells() if isinstance(values, Factored) else values


def object_cells(cells: Any) -> np.ndarray:
    """Cells (N,) as an array of objects (N,), whatever they are."""
    return np.fromiter(cells, object, len(cells))
