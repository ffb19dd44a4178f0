"""Rows of text one after the other, by Python's own parser: of a stream, and of a body from a stranger.

A quote without an end would make one cell of all that follows, up to the next quote: text behind a closing quote is
refused, as mostly that quote was to open a cell, and so is a cell of more than `csv.field_size_limit()` characters.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from hld.tables.files.dialect import Dialect, decimal_mark
from hld.tables.files.text_cells import is_of_numbers


def text_rows(
    lines: Iterable[str], dialect: Dialect, called: str, *, has_header: bool = True
) -> Iterator[list[str]]:
    """The rows of a text, empty ones aside."""
    width, number = len(dialect.names), 0
    style: dict[str, Any] = {"delimiter": dialect.separator, "skipinitialspace": dialect.has_blanks}
    reader = csv.reader(lines, strict=True, **style)
    try:
        for row in reader:
            cells = row or [""] * (width == 1 and number > 0)  # an empty line, or a missing cell
            if len(cells) not in (0, width):
                raise ValueError(
                    f"{called} is not a table separated by {dialect.separator!r}: the row that ends in line "
                    f"{reader.line_num} has {len(cells)} cells, expected {width} as in the first"
                )
            if cells and (number or not has_header):
                yield cells
            number += bool(cells)
    except csv.Error as error:
        raise ValueError(
            f"{called} is not a table in CSV: line {reader.line_num}: {error}: check its quotes"
        ) from None


def mark_of_rows(rows: Sequence[list[str]], dialect: Dialect, fitted: dict[str, Any]) -> str | None:
    """The decimal mark in the columns of numbers of some rows; None where they show none, or commas separate cells."""
    numbers = [v for v, name in enumerate(dialect.names) if is_of_numbers(fitted.get(name))]
    cells = ([row[v] for row in rows] for v in numbers)
    return None if dialect.separator == "," else decimal_mark(cells, are_numbers=True)


class Texts:
    """Text cells (n,) that are numbered as those of a data frame are."""

    def __init__(self, cells: Sequence[str]) -> None:
        self.cells = cells

    def factorize(self) -> tuple[np.ndarray, list[str]]:
        """Numbers of the cells (n,), and the distinct cells."""
        known: dict[str, int] = {}
        codes = [known.setdefault(cell, len(known)) for cell in self.cells]
        return np.array(codes, dtype=np.int32), list(known)
