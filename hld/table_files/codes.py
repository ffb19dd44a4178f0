"""Columns of text files whose cells look like whole numbers and are codes: 01 and 1 in one column are two.

As numbers they would be one level, and a batch in which the one takes the place of the other would look as ever.  The
same codes come as text from data frames, Parquet and JSON, so they are text here, too.  Codes that all have zeros in
front, such as postal codes of one length, stay the numbers that they can be read as: no two of them become one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping
from typing import Any

from hld.table_files.decimal_marks import distinct_cells
from hld.tables.shown_names import listed

NUMBERS = ("continuous", "integer")  # kinds
DIGITS = re.compile("[0-9]+")


def code_columns(
    columns: Any, missing: Collection[str], kinds: Mapping[str, str], called: str
) -> list[str]:
    """Names of the columns of codes; a warning tells those that nobody said to be such."""
    found: dict[str, tuple[str, str]] = {}
    for name, column in columns:
        pair = (
            None
            if kinds.get(name) in NUMBERS
            else _equal_pair(distinct_cells(column), frozenset(missing))
        )
        if pair is not None:
            found[name] = pair
    untold = [name for name in found if kinds.get(name) != "categorical"]
    if untold:
        one, other = found[untold[0]]
        warnings.warn(
            f"{called} has columns of whole numbers of which some have zeros in front, as {other!r} beside "
            f"{one!r}: {listed(untold)}; each is learned as text, as codes are: name them in `continuous` if "
            "they are numbers, or in `categorical`",
            UserWarning,
            stacklevel=4,
        )
    return list(found)


def _equal_pair(cells: list[Any], missing: frozenset[str]) -> tuple[str, str] | None:
    """Two cells of digits that are one number, the shorter one first; None where a cell is anything else."""
    if not any(cell and cell[0] == "0" and len(cell) > 1 for cell in cells):
        return None
    texts: dict[str, str] = {}
    pair = None
    for cell in cells:
        if cell is None or cell in missing:
            continue
        if not DIGITS.fullmatch(cell):
            return None
        other = texts.setdefault(cell.lstrip("0"), cell)
        if other != cell and pair is None:
            pair = min(cell, other, key=len), max(cell, other, key=len)
    return pair
