"""Cells of a table: what is missing, what is a number, what is a level.

A table comes as an array or as a data frame; inside the encoder it is a list of V one-dimensional arrays of N
cells. Three facts about one cell are settled here and nowhere else.

* *Missing*: ``None``, whatever differs from itself (NaN, NaT), ``pandas.NA`` and masked entries. An empty
  string is text.
* *Plain value*: the ``bool``, ``int``, ``float`` or ``str`` that a level is kept as. NumPy scalars become
  Python ones, decimals and fractions the nearest double (from 2^53 on, whole ones stay whole numbers), bytes their
  UTF-8 text; dates, durations and times of the day have one text each, whatever form they come in, exact to the last
  digit (`hld.tables.times`); other objects are represented by ``str(cell)``. Containers, complex numbers and objects
  without a text of their own are refused.
* *Equality* is by value, as in Python: 1, 1.0 and True are one level, "1" is another.

Nothing is rounded on the way: whole numbers stay whole numbers, whatever their size, even beside missing cells.

===================  ==================================================================
`read_table`         a table as `Columns`
`distinct_values`    the plain values of a column in order, with their counts
`distinct_numbers`   the same of numbers, as an array
`as_numbers`         a column as numbers; text is no number
`plain_value`        one cell
===================  ==================================================================
"""

from __future__ import annotations

import collections
import collections.abc
import contextlib
import datetime
import math
import numbers
import re
import reprlib
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hld.tables.factored import Factored, object_cells
from hld.tables.forms import how_to_read, named_parts
from hld.tables.times import is_empty, is_missing, time_level, times_as_objects

TIME_TYPES = (datetime.date, datetime.timedelta, datetime.time)
REAL = (numbers.Real, Decimal, np.bool_)
EXACT = 2.0**53  # below it doubles hold every whole number
# Without blanks at its ends; at most one inside where several could be, so that long texts are read once.
_NUMBER = re.compile(
    r"[$\u20ac\u00a3\u00a5]?\s?[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([ ,.']\d{3})+([.,]\d+)?)"
    r"([eE][+-]?\d+)?\s?[%$\u20ac\u00a3\u00a5]?"
)


def plain_value(cell: Any, name: str) -> Any:
    """The bool, int, float or str that stands for a cell which is not missing."""
    if isinstance(cell, np.generic):
        # item() would turn dates with nanoseconds into bare integers
        cell = times_as_objects(cell).item() if cell.dtype.kind in "Mm" else cell.item()
    if isinstance(cell, (bool, str)):
        return cell if type(cell) in (bool, str) else str.__str__(cell)
    if isinstance(cell, TIME_TYPES):
        return time_level(cell)
    kind: Any = type(cell)
    if issubclass(kind, REAL):
        number = float(_as_doubles([cell], name)[0]) + 0.0
        is_large = isinstance(cell, (Decimal, numbers.Rational)) and EXACT <= abs(number) < math.inf
        is_exact = isinstance(cell, numbers.Integral) or (is_large and cell == int(cell))
        return int(cell) if is_exact else number
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace")
    opaque = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    if opaque or isinstance(cell, (complex, collections.abc.Collection)):
        raise not_a_level(cell, name)
    return str(cell)


def not_a_number(cell: Any, name: str) -> TypeError:
    """The error for a value in a column of numbers (text that could be parsed included)."""
    return TypeError(
        f"`table` column {name!r} holds {_described(cell)}, expected numbers, because this column is encoded as "
        "numbers: convert it to plain numbers first"
    )


def reads_as_number(text: str) -> bool:
    """Whether a person would read a text as a number: with a currency, thousands, a decimal comma or per cent."""
    return bool(_NUMBER.fullmatch(text.strip()))


def not_a_level(cell: Any, name: str) -> TypeError:
    """The error for a container, a complex number or an object that no text tells from another."""
    return TypeError(
        f"`table` column {name!r} holds {_described(cell)}, "
        f"expected text, numbers, booleans or dates: convert the column, or leave it out (drop it from the table; "
        "--drop on the command line)"
    )


def _described(cell: Any) -> str:
    """A cell in words."""
    what = "text" if isinstance(cell, (str, bytes)) else f"a {type(cell).__name__}"
    return f"{what} ({reprlib.repr(cell)})"


NUMERIC = "biuf"  # dtype kinds that compare as numbers
_TEXT = "UST"
_PREFERENCE = {
    int: 0,
    float: 1,
    bool: 2,
    str: 3,
}  # which of 1, 1.0, True names a level that came as all


@dataclass(frozen=True, eq=False)
class Columns:
    """A table taken apart: names or None, V arrays (N,), V flags "declared categories", the whole or None."""

    names: tuple[Any, ...] | None
    num_rows: int
    arrays: list[Any]
    declared: list[Any]
    whole: np.ndarray | None = None

    def keep(self, places: list[int]) -> Columns:
        """The columns at some places, in their order; the same object if these are all as they are."""
        if places == [*range(len(self.arrays))]:
            return self
        return Columns(
            None if self.names is None else tuple(self.names[v] for v in places),
            self.num_rows,
            [self.arrays[v] for v in places],
            [self.declared[v] for v in places],
        )

    def in_order(self, names: tuple[str, ...]) -> Columns:
        """The columns in the order of some names if they have exactly these; else the same object."""
        if self.names is None or self.names == names or set(self.names) != set(names):
            return self
        return self.keep([self.names.index(name) for name in names])


def read_table(table: Any) -> Columns:
    """Take a table apart into `Columns`; ValueError or TypeError says what is wrong with its form."""
    if isinstance(table, Columns):
        return table
    named = named_parts(table)
    if named is not None:
        names, arrays, declared = named
        arrays = [array if isinstance(array, Factored) else _readable(array) for array in arrays]
        return Columns(names, len(arrays[0]) if arrays else 0, arrays, list(declared))
    array = _as_array(table)
    if array.ndim != 2:
        raise ValueError(
            f"`table` has {array.ndim} dimension(s) ({type(table).__name__}), expected 2 (rows, "
            f"columns): {how_to_read(table)}"
        )
    whole = _checked_dtype(array)
    arrays = list(whole.T)
    return Columns(None, len(whole), arrays, [False] * len(arrays), whole)


def _as_array(table: ArrayLike) -> np.ndarray:
    """An array, or a list of rows as an array of objects; None in place of masked entries."""
    if isinstance(table, np.ma.MaskedArray):
        return unmasked(table)
    if hasattr(table, "__array__"):
        return np.asarray(table)
    if isinstance(table, (list, tuple)):
        table = [_row_of_objects(row) for row in table]
        if len({len(row) for row in table if isinstance(row, (list, tuple, np.ndarray))}) > 1:
            raise ValueError(
                "`table` has rows of different lengths, expected as many cells in each"
            )
    try:  # lists stay objects: otherwise one text among them would turn every number into text
        return np.asarray(table, dtype=object)
    except ValueError:
        raise ValueError(
            "`table` has lists among its cells, expected one value in each cell of each row: take the "
            "values out, or leave the column out"
        ) from None


def _row_of_objects(row: Any) -> Any:
    """A row as an array of objects takes it: None in place of masked cells, dates one by one."""
    if isinstance(row, np.ma.MaskedArray):
        row = unmasked(row)
    # a row of dates would turn into bare integers
    return list(row) if isinstance(row, np.ndarray) and row.dtype.kind in "Mm" else row


def unmasked(array: Any) -> np.ndarray:
    """Cells of a masked array (any shape), None where masked, or NaT."""
    mask = np.ma.getmaskarray(array) if array.dtype.names is None else np.False_
    # None among objects keeps large integers exact, which a detour through NaN would not.
    cells = _checked_dtype(array.data)
    if cells.dtype.kind in "Mm":
        return np.where(mask, np.array("NaT", dtype=cells.dtype), cells)
    return np.where(mask, None, cells) if mask.any() else cells  # type: ignore[return-value]


def _readable(array: Any) -> np.ndarray:
    """A column (N,) without a mask; as objects, to be refused where looked at, if no level has its dtype."""
    with contextlib.suppress(TypeError, ValueError):
        return unmasked(array) if np.ma.isMaskedArray(array) else _checked_dtype(array)
    return object_cells(list(np.ma.getdata(array)))


def _checked_dtype(array: Any) -> Any:
    """The array itself, texts of any length as objects; TypeError or ValueError for dtypes that no level has."""
    if array.dtype.kind == "c":
        raise ValueError(
            f"`table` has dtype {array.dtype}: Complex data not supported, give real and imaginary parts "
            "as columns"
        )
    is_count = array.dtype == "m8"  # durations without a unit
    if array.dtype.kind not in NUMERIC + _TEXT + "OMm" or is_count:
        raise TypeError(
            f"`table` has dtype {array.dtype}, expected numbers, booleans, text, objects, or times with a unit: "
            "convert it first"
        )
    return array.astype(object) if array.dtype.kind == "T" else array


def distinct_values(values: Any, name: str) -> tuple[list[Any], np.ndarray]:
    """Distinct plain values of a column (N,), in the order of `level_order`, and their counts (n,).

    An empty text among values that are no texts is missing, as it is in files of text.
    """
    if values.dtype.kind in NUMERIC:
        distinct, counts = distinct_numbers(values)
        return distinct.tolist(), counts
    found = factored(values, name)
    chosen: dict[Any, Any] = {}
    totals = collections.Counter[Any]()
    for cell, count in zip(found.levels.tolist(), found.counts().tolist(), strict=True):
        if count and not is_missing(cell):
            value = plain_value(cell, name)
            chosen[value] = min(chosen.get(value, value), value, key=lambda v: _PREFERENCE[type(v)])
            totals[value] += count
    if sum(isinstance(value, str) for value in chosen) == 1 < len(chosen):
        chosen.pop("", None)
    levels = sorted(chosen.values(), key=level_order)
    return levels, np.array([totals[level] for level in levels], dtype=np.int64)


def distinct_numbers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of a column of numbers (N,) as arrays: a million Python numbers take four times its memory."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
        values = values[~np.isnan(values)] + 0.0  # makes -0.0 the value 0.0
    return np.unique(values, return_counts=True)


def factored(values: Any, name: str) -> Factored:
    """A column (N,) by number; TypeError for cells that cannot be looked up."""
    if isinstance(values, Factored):
        return values
    cells = objects_of(values).tolist()
    try:
        return Factored.of(cells)
    except (TypeError, ValueError):
        for cell in cells:
            try:
                hash(cell)
            except (TypeError, ValueError):  # NumPy's for a duration without a unit
                raise not_a_level(cell, name) from None
        raise


def objects_of(values: Any) -> np.ndarray:
    """A column (N,) whose dates and durations, if it has such a dtype, are Python objects."""
    return times_as_objects(values) if values.dtype.kind in "Mm" else values


def level_order(level: float | str) -> tuple[Any, ...]:
    """Sort key of plain values: type name first, so that mixed columns have an order too."""
    return type(level).__name__, level


def as_numbers(values: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A column (N,) as numbers, NaN where missing; and flags (N,) of the cells that are anything else, NaN too.

    An empty text is missing, since files of text cannot tell it from a missing cell.
    """
    if isinstance(values, Factored):
        found, odd = as_numbers(values.levels, name)
        return values.spread(found.astype(np.float64), np.nan), values.spread(odd, False)
    odd = np.zeros(len(values), dtype=bool)
    if values.dtype.kind in NUMERIC:
        doubles = values.astype(np.float64, copy=False) if values.dtype.kind == "f" else values
        return doubles, odd
    cells = objects_of(values).tolist()
    # NumPy derives its durations from the integers, but they are no numbers here.
    others = {
        kind
        for kind in set(map(type, cells))
        if not issubclass(kind, REAL) or kind is np.timedelta64
    }
    if others:
        odd[:] = [type(cell) in others and not is_empty(cell) for cell in cells]
        cells = [np.nan if type(cell) in others else cell for cell in cells]
    return _as_doubles(cells, name), odd


def _as_doubles(cells: list[Any], name: str) -> np.ndarray:
    """Numbers as doubles (n,); ValueError for what a double cannot hold."""
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        raise ValueError(
            f"`table` column {name!r} holds a number beyond the range of double precision, "
            f"expected magnitudes below 1.8e308: keep such values as text, or write them as inf"
        ) from None
