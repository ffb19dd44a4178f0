"""The decimal mark of a text file whose cells are not separated by commas: found from its cells, whatever their order.

Nine amounts in ten may be 0, and the first of them with a comma may come in any row.  So a table to learn from is
judged by all the rows that are learned from, and a batch by the columns that are numbers in the model: one cell such as
12,34 settles it, unless another one has a point.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from hld.schemas.columns import BINNED
from hld.tables.times import TIMES

NUMBER, COMMA, POINT = (
    re.compile(rf"[+-]?{digits}([eE][+-]?\d+)?", re.ASCII)
    for digits in (r"(\d+([.,]\d*)?|[.,]\d+)", r"\d*,\d+", r"\d*\.\d+")
)


def likely_decimal(
    columns: Iterable[Iterable[Any]], separator: str, missing: Iterable[str] = ()
) -> str:
    """A comma where some column has numbers with commas only, and no cell is a number with a point."""
    if separator == ",":
        return "."
    holes, is_found = {*missing, ""}, False
    for column in columns:
        cells = [cell for cell in {cell.strip() for cell in column if cell} if cell not in holes]
        if any(map(POINT.fullmatch, cells)):
            return "."
        is_found = is_found or (
            any(map(COMMA.fullmatch, cells)) and all(map(NUMBER.fullmatch, cells))
        )
    return "," if is_found else "."


def mark_of_batch(columns: Iterable[tuple[str, Any]], fitted: dict[str, Any]) -> str | None:
    """The decimal mark that the columns of numbers in a chunk of a batch show; None where they show none."""
    found = None
    for cells in _cells_of_numbers(columns, fitted):
        if any(map(POINT.fullmatch, cells)):
            return "."
        found = found or ("," if any(map(COMMA.fullmatch, cells)) else None)
    return found


def _cells_of_numbers(columns: Any, fitted: dict[str, Any]) -> Iterator[list[str]]:
    """Distinct text cells of each column that is fitted to numbers."""
    for name, column in columns:
        if _is_number(fitted.get(name)):
            yield [cell.strip() for cell in distinct_cells(column) if isinstance(cell, str)]


def _is_number(column: Any) -> bool:
    """Whether a fitted column is made of numbers."""
    if column is None or column.kind in TIMES or column.kind == "boolean":
        return False
    return column.kind in BINNED or (
        bool(column.levels) and not any(isinstance(one, str) for one in column.levels)
    )


def distinct_cells(column: Any) -> list[Any]:
    """The distinct cells of an Arrow or pandas column of text; none of an Arrow column that was parsed already."""
    if not hasattr(column, "to_pylist"):
        return column.dropna().unique().tolist()
    kind = str(column.type)
    return (
        column.unique().to_pylist()
        if kind.startswith(("dictionary", "string", "large_string"))
        else []
    )
