"""Rows that are the header of their file again, as files have that were joined: they are left out, with a warning.

A row is taken for the header if each of its cells is the name of its column, and there are two and more: a single cell
may be such a name by chance.  Read as a row it would make text of every column of numbers in a table to learn from.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hld.table_files.decimal_marks import NUMBER

FEWEST_NAMES = 2
MARK = "\ufeff"  # that some programs put before a header


def is_header_again(row: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a row is the header."""
    if len(names) < FEWEST_NAMES or len(row) != len(names):
        return False
    return row[0].removeprefix(MARK) == names[0].removeprefix(MARK) and [*row[1:]] == [*names[1:]]


def beside_headers(rows: list[list[str]], names: list[str]) -> list[list[str]]:
    """The first rows of a file without those that are its header again, if a column of numbers shows that it is one.

    Where all is text the first row may be one like the others, which occurs twice.
    """
    others = [row for row in rows if not is_header_again(row, names)]
    columns = zip(*(row for row in others if len(row) == len(names)), strict=True)
    return others if any(_are_numbers(cells) for cells in columns) else rows


def _are_numbers(cells: Iterable[str]) -> bool:
    """Whether the cells of a column that are not empty are numbers."""
    found = [cell.strip() for cell in cells if cell.strip()]
    return bool(found) and all(map(NUMBER.fullmatch, found))


class Headers:
    """The repeated headers of one file, of which it is told once."""

    def __init__(self, name: str) -> None:
        self._name, self._told = name, False

    def tell(self) -> None:
        """Warn, at the first call, that there are such rows."""
        if not self._told:
            self._told = True
            warnings.warn(
                f"{self._name} has rows that are its header again, as files have that were joined: they are "
                "left out",
                UserWarning,
                stacklevel=4,
            )

    def rows(self, columns: Iterable[tuple[str, Any]], num_rows: int) -> np.ndarray | None:
        """(N,) whether rows are the header again; None where none is."""
        columns, found = list(columns), np.ones(num_rows, dtype=bool)
        if len(columns) < FEWEST_NAMES:
            return None
        for v, (name, cells) in enumerate(columns):
            found &= _are(cells, name) if v else _are(cells, name) | _are(cells, MARK + name)
            if not found.any():  # mostly after the first column
                return None
        self.tell()
        return found


def _are(cells: Any, text: str) -> np.ndarray:
    """(N,) whether the texts of a column are this one."""
    if not hasattr(cells, "to_pylist"):
        return np.asarray(cells.to_numpy(dtype=object) == text, dtype=bool)
    import pyarrow.compute

    return np.asarray(pyarrow.compute.equal(cells, text).fill_null(False))
