"""SQLite, whose columns hold cells of any type: the slot of each cell by a function that SQLite calls.

The type of a column of SQLite is a wish.  A column of numbers also holds texts, which sort above every number, such as
the empty ones that files of text leave behind; there is no type for times, which are texts in any of several forms; and
texts may be compared by a collation that ignores case or blanks.  SQLite runs within this process, so it can call
Python: a function for each column takes a cell, of whatever type, as the encoder takes the same cell of a table of
rows, by the encoder's own code.  Cells that repeat are taken once.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from hld.schemas.columns import BinColumn, LevelColumn
from hld.schemas.encoding import level_lookup, look_up
from hld.sql.slots import MISSING, ODD
from hld.tables.calendar import part_of
from hld.tables.cells import as_numbers
from hld.tables.times import TIMES, seconds_of_text

KEPT = 2**16  # cells whose slots are kept, by column
NAME = "hld_slot_{}"


def sqlite_expression(
    v: int, column: BinColumn | LevelColumn, value: Any, part: str | None = None
) -> Any:
    """The slots of a column of a table of SQLite, as an expression of ibis; its connection learns the function."""
    import ibis

    def slot(cell):  # type: ignore[no-untyped-def]
        ...

    slot.__annotations__["return"] = ibis.dtype("int32")
    connection = value.get_backend().con
    connection.create_function(NAME.format(v), 1, slot_function(column, part), deterministic=True)
    return ibis.udf.scalar.builtin(slot, name=NAME.format(v))(value)


def forget(connection: Any, positions: Any) -> None:
    """Take the functions of columns from a connection of ibis again."""
    for v in positions:
        connection.con.create_function(NAME.format(v), 1, None)


def slot_function(column: BinColumn | LevelColumn, part: str | None = None) -> Callable[[Any], int]:
    """The slot of one cell: None, int, float, str or bytes."""
    if not isinstance(column, BinColumn):
        return _level_slots(column, part)
    *starts, high = column.marks
    marks = [*starts, math.nextafter(high, math.inf)]
    read = functools.lru_cache(KEPT, typed=True)(functools.partial(_read_slot, column, marks))
    if column.kind in TIMES:
        return read

    def slot(cell: Any) -> int:
        return bisect_right(marks, cell) if type(cell) is float else read(cell)

    return slot


def _read_slot(column: BinColumn, marks: list[float], cell: Any) -> int:
    """The slot of a cell of a binned column."""
    if column.kind in TIMES:
        seconds = seconds_of_text(cell, column.kind) if isinstance(cell, str) else None
        return (
            (ODD if cell not in (None, "") else MISSING)
            if seconds is None
            else bisect_right(marks, seconds)
        )
    odd: list[int] = []
    number = float(as_numbers(_single(cell), column.name, odd=odd)[0])
    return ODD if odd else MISSING if number != number else bisect_right(marks, number)


def _level_slots(column: LevelColumn, part: str | None) -> Callable[[Any], int]:
    """The slot of a cell of a column of levels."""
    lookup = level_lookup(column)

    def slot(cell: Any) -> int:
        cells = _single(cell) if part is None else part_of(_single(cell), part).cells()
        codes, odd = look_up(column, lookup, cells, is_strict=False)
        return (
            ODD if odd else int(codes[0])
        )  # -1, as missing cells are, or the position of the level

    return functools.lru_cache(KEPT, typed=True)(slot)


def _single(cell: Any) -> np.ndarray:
    """A column of one cell."""
    cells = np.empty(1, dtype=object)
    cells[0] = cell
    return cells
