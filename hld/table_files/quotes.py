"""Quotes that do not end where they should: what lies behind them is one cell, and no row.

A reader cannot know where a quote was to end.  It ends at the next one, which was to open another cell, and the rows
between the two are gone; or there is no next one, and all rows up to the end of the file are gone.  The second is
certain where the last cell has lines and no quote ends the file.  The first is likely where the lines inside a cell
look like rows: each has as many separators as a row has.
"""

from __future__ import annotations

import reprlib
import warnings
from typing import Any

LEAST_LINES = 3  # inside a cell: of fewer lines all may have as many separators as a row by chance


def check_end(table: Any, column: str, tail: bytes, name: str) -> None:
    """Refuse a file that ends inside quotes, of which Arrow makes one cell of all lines behind them.

    Only in the last column: elsewhere a row lacks cells.  What lines a cell has, quotes have held, so they must be
    closed where the file ends.
    """
    if (
        table is None
        or column not in table.column_names
        or tail.rstrip(b"\r\n\t \0").endswith(b'"')
    ):
        return
    cell = table.column(column)[-1].as_py()
    if isinstance(cell, str) and "\n" in cell:
        raise ValueError(
            f"{name} ends inside quotes, expected them to be closed: all lines from {reprlib.repr(cell)} "
            "on are one cell of its last row"
        )


def warn_of_rows_in_cells(columns: Any, separator: str, num_columns: int, name: str) -> bool:
    """Warn of a cell whose lines look like rows."""
    for column, cells in columns:
        for cell in _cells_of_lines(cells):
            inside = cell.splitlines()[1:-1]
            if len(inside) >= LEAST_LINES and all(
                line.count(separator) == num_columns - 1 > 0 for line in inside
            ):
                warnings.warn(
                    f"{name} has a cell of {len(inside) + 2} lines in column {column!r} that look like rows, "
                    f"{reprlib.repr(cell)}: check its quotes, as all that follows one without an end is one "
                    "cell up to the next",
                    UserWarning,
                    stacklevel=4,
                )
                return True
    return False


def _cells_of_lines(column: Any) -> list[str]:
    """The distinct cells with several lines of a column of text; none of another one."""
    if not hasattr(column, "to_pylist"):
        return column[column.str.contains("\n", regex=False, na=False)].unique().tolist()
    import pyarrow
    import pyarrow.compute

    found: list[str] = []
    for chunk in column.chunks:
        texts = chunk.dictionary if pyarrow.types.is_dictionary(chunk.type) else chunk
        if pyarrow.types.is_string(texts.type):
            found += texts.filter(pyarrow.compute.match_substring(texts, "\n")).to_pylist()
    return found
