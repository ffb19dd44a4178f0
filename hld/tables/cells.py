"""Cells of a table: what is missing, what is a number, what is a level.

A table comes as an array or as a data frame; inside the encoder it is a list of V one-dimensional arrays of N
cells. Three facts about one cell are settled here and nowhere else.

* *Missing*: ``None``, whatever differs from itself (NaN, NaT), ``pandas.NA`` and masked entries. An empty
  string is text.
* *Plain value*: the ``bool``, ``int``, ``float`` or ``str`` that a level is kept as. NumPy scalars become
  Python ones, decimals and fractions the nearest double (from 2^53 on, whole ones stay whole numbers), bytes their
  UTF-8 text; dates, durations and times of the day have one text each, whatever form they come in, exact to the last
  digit (`hld.tables.times`); other objects are represented by ``str(cell)``. Containers, complex numbers and
  objects without a text of their own are refused.
* *Equality* is by value, as in Python: 1, 1.0 and True are one level, "1" is another.

Nothing is rounded on the way: whole numbers stay whole numbers, whatever their size, even beside missing cells.

===================  ==================================================================
`read_table`         a table as `Columns`
`distinct_values`    the plain values of a column in order, with their counts
`distinct_numbers`   the same of numbers, as an array
`as_numbers`         a column as numbers; text is refused, not parsed
`plain_value`        one cell (`hld.tables.cells`)
`is_missing`         one cell
===================  ==================================================================

One cell of a table: whether it is missing, the plain value that it is kept as, and the errors for what it cannot be.

`hld.tables.cells` defines the terms.
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
from hld.tables.forms import (
    arrow_parts,
    exact_column,
    frame_parts,
    from_stream,
    how_to_read,
    is_arrow,
    is_frame,
    is_stream,
    mapping_parts,
    named_rows,
    records_parts,
)
from hld.tables.times import is_missing, time_level, times_as_objects

TIME_TYPES = (datetime.date, datetime.timedelta, datetime.time)
REAL = (numbers.Real, Decimal, np.bool_)
EXACT = 2.0**53  # below it doubles hold every whole number
# Without blanks at its ends; at most one inside where several could be, so that long texts are read once.
_NUMBER = re.compile(
    r"([A-Z]{3}\s|[$\u20ac\u00a3\u00a5]\s?)?[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([ ,.']\d{3})+([.,]\d+)?)"
    r"([eE][+-]?\d+)?(\s[A-Z]{3}|\s?[%$\u20ac\u00a3\u00a5])?"
)


def is_blank(cell: Any) -> bool:
    """Whether a cell is a text, or bytes, without a letter."""
    return isinstance(cell, (str, bytes)) and not cell


def as_keys(cells: list[Any]) -> list[Any]:
    """Cells that can be looked up: None for decimals that signal that they are none, bytes for arrays of bytes."""
    cells = [bytes(cell) if isinstance(cell, bytearray) else cell for cell in cells]
    return [None if isinstance(cell, Decimal) and cell.is_snan() else cell for cell in cells]


def plain_value(cell: float | str, name: str) -> float | str:
    """The bool, int, float or str that stands for a cell which is not missing."""
    if type(cell) is str:  # most of what is looked at one by one
        return cell
    if isinstance(cell, TIME_TYPES):
        return time_level(cell)
    if isinstance(cell, np.generic):
        # item() would turn dates with nanoseconds into bare integers.
        if cell.dtype.kind in "Mm":
            if np.datetime_data(cell.dtype)[0] == "generic" and not np.isnat(cell):
                raise not_a_level(
                    cell, name
                )  # a number of nothing; from NumPy 2 on it has no hash, either
            return plain_value(times_as_objects(cell).item(), name)
        cell = cell.item()
    if isinstance(cell, str):
        return str.__str__(cell)
    if isinstance(cell, bool):
        return cell
    if isinstance(cell, REAL):
        try:
            number = float(cell) + 0.0
        except OverflowError:
            raise too_large(name) from None
        if (
            math.isinf(number) and cell != number
        ):  # decimals and extended precision become infinite without an error
            raise too_large(name)
        return int(cell) if _is_exact(cell, number) else number
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace")
    kind = type(cell)
    opaque = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    if (
        opaque
        or hasattr(kind, "is_on_offset")
        or isinstance(cell, (complex, collections.abc.Collection))
    ):
        raise not_a_level(cell, name)
    return str(cell)


def _is_exact(cell: Any, number: float) -> bool:
    """Whether a number is whole and its type, unlike doubles, tells it from its neighbours."""
    is_large = isinstance(cell, (Decimal, numbers.Rational)) and EXACT <= abs(number) < math.inf
    return isinstance(cell, numbers.Integral) or (is_large and cell == int(cell))


def first_unhashable(cells: Any) -> Any:
    """The first cell that cannot be looked up, None if there is none."""
    for cell in cells:
        try:
            hash(cell)
        except (TypeError, ValueError):  # NumPy's for a duration without a unit
            return cell
    return None


def not_a_number(cell: str, name: str) -> Any:
    """The TypeError for a value in a column of numbers (text that could be parsed included)."""
    what = "text" if isinstance(cell, (str, bytes)) else f"a {type(cell).__name__}"
    then = "convert it to plain numbers first" if what == "text" else "convert it first"
    return TypeError(
        f"`table` column {name!r} holds {what} ({reprlib.repr(cell)}), expected numbers, "
        f"because this column is encoded as numbers: {then}"
    )


def reads_as_number(text: str) -> bool:
    """Whether a person would read a text as a number: with a currency, thousands, a decimal comma or per cent."""
    return bool(_NUMBER.fullmatch(text.strip()))


def not_a_level(cell: Any, name: Any) -> Any:
    """The TypeError for a container, a complex number or an object that no text tells from another."""
    return TypeError(
        f"`table` column {name!r} holds a {type(cell).__name__} ({reprlib.repr(cell)}), "
        f"expected text, numbers, booleans or dates: convert the column, or leave it out (drop it from the table; "
        "--drop on the command line)"
    )


def too_large(name: Any) -> Any:
    """The ValueError for numbers that no double can hold."""
    return ValueError(
        f"`table` column {name!r} holds a number beyond the range of double precision, "
        f"expected magnitudes below 1.8e308: keep such values as text, or write them as inf"
    )


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
    named = _named_parts(table)
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
    whole = _checked_dtype(array, "`table`")
    arrays = list(whole.T)
    return Columns(None, len(whole), arrays, [False] * len(arrays), whole)


def _named_parts(table: Any) -> tuple[Any, ...] | None:
    """Names, columns and flags of a table whose columns have names; None for others."""
    if isinstance(table, type):
        raise TypeError(
            f"`table` is the class {table.__name__}, expected rows: give an object of it"
        )
    if hasattr(table, "tocsr"):
        raise TypeError(
            f"`table` is a sparse {type(table).__name__}, expected a 2-D array or a data frame: give "
            "`.toarray()` of it"
        )
    if is_arrow(table):
        return arrow_parts(table)
    # a frame that has not been computed says itself what to do
    if is_frame(table) and (hasattr(table, "iloc") or not is_stream(table)):
        return frame_parts(table)
    if isinstance(table, collections.abc.Mapping):
        names, arrays = mapping_parts(table, exact_column)
    elif isinstance(table, np.ndarray) and table.dtype.names is not None and table.ndim == 1:
        names = table.dtype.names
        arrays = [table[name] for name in names]
    elif isinstance(table, (list, tuple)) and table and (records := named_rows(table)) is not None:
        names, arrays = records_parts(records)
    else:
        return arrow_parts(from_stream(table)) if is_stream(table) else None
    return names, arrays, [False] * len(names)


def _as_array(table: ArrayLike) -> np.ndarray:
    """An array, or a list of rows as an array of objects; None in place of masked entries."""
    if isinstance(table, np.ma.MaskedArray):
        return unmasked(table)
    if hasattr(table, "__array__"):
        return np.asarray(table)
    if isinstance(table, (list, tuple)):
        table = [_row_of_objects(row) for row in table]
        if (
            len(
                {
                    len(row)
                    for row in table
                    if isinstance(row, (list, tuple)) or getattr(row, "ndim", 0)
                }
            )
            > 1
        ):
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


def _row_of_objects(row: list[Any]) -> list[Any]:
    """A row as an array of objects takes it: None in place of masked cells, dates one by one."""
    if isinstance(row, np.ma.MaskedArray):
        row = unmasked(row)
    if isinstance(row, (list, tuple)) and any(cell is np.ma.masked for cell in row):
        return [None if cell is np.ma.masked else cell for cell in row]
    # a row of dates would turn into bare integers
    return list(row) if isinstance(row, np.ndarray) and row.dtype.kind in "Mm" else row


def unmasked(array: Any) -> np.ndarray:
    """Cells of a masked array (any shape), None where masked, or NaT."""
    mask = np.ma.getmaskarray(array) if array.dtype.names is None else np.False_
    # None among objects keeps large integers exact, which a detour through NaN would not.
    cells = _checked_dtype(array.data, "`table`")
    if cells.dtype.kind in "Mm":
        return np.where(mask, np.array("NaT", dtype=cells.dtype), cells)
    return np.where(mask, None, cells) if mask.any() else cells  # type: ignore[return-value]


def _readable(array: Any) -> np.ndarray:
    """A column (N,) without a mask; as objects, to be refused where looked at, if no level has its dtype."""
    with contextlib.suppress(TypeError, ValueError):
        if array.ndim == 1:
            return unmasked(array) if np.ma.isMaskedArray(array) else _checked_dtype(array, "it")
    return object_cells(list(np.ma.getdata(array)))


def _checked_dtype(array: Any, what: Any) -> Any:
    """The array itself; TypeError or ValueError for dtypes that no level has."""
    if array.dtype.kind == "c":
        raise ValueError(
            f"{what} has dtype {array.dtype}: Complex data not supported, give real and imaginary parts "
            "as columns"
        )
    is_count = array.dtype == "m8" and not np.isnat(array).all()  # durations without a unit
    if array.dtype.kind not in NUMERIC + _TEXT + "OMm" or is_count:
        raise TypeError(
            f"{what} has dtype {array.dtype}, expected numbers, booleans, text, objects, or times with a unit: "
            "convert it first"
        )
    return (
        array.astype(object) if array.dtype.kind == "T" else array
    )  # texts of any length, and what is missing there


def distinct_values(values: Any, name: str) -> tuple[Any, ...]:
    """Distinct plain values of a column (N,), in the order of `level_order`, and their counts (n,).

    An empty text among values that are no texts is missing, as it is in files of text.

    Shapes: values (N,) -> counts (n,).
    """
    if values.dtype.kind in NUMERIC:
        distinct, counts = distinct_numbers(values, name)
        return distinct.tolist(), counts
    cell_counts = _cell_counts(values, name)
    chosen, totals = {}, collections.Counter()  # type: ignore[var-annotated]
    for (_, cell), count in cell_counts.items():
        if not is_missing(cell):
            value = plain_value(cell, name)
            chosen[value] = min(chosen.get(value, value), value, key=lambda v: _PREFERENCE[type(v)])
            totals[value] += count
    if (
        "" in chosen
        and all(value == "" for value in chosen if isinstance(value, str))
        and len(chosen) > 1
    ):
        del chosen[""]
    levels = sorted(chosen.values(), key=level_order)
    return levels, np.array([totals[level] for level in levels], dtype=np.int64)


def distinct_numbers(values: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The same of a column of numbers (N,) as an array: a million Python numbers take four times its memory.

    Shapes: values (N,) -> distinct (n,), counts (n,).
    """
    if values.dtype.kind == "f":
        values = as_doubles(values, name)
        values = values[~np.isnan(values)]
        values += 0.0  # makes -0.0 the value 0.0
    return np.unique(values, return_counts=True)


def _cell_counts(values: ArrayLike, name: str) -> Any:
    """How often each pair of type and cell occurs: else the first row would decide between the levels 1 and True."""
    if isinstance(values, Factored):
        counted = zip(values.levels.tolist(), values.counts().tolist(), strict=True)
        cell_counts = collections.Counter()
        for cell, count in counted:
            if count:
                cell_counts[type(cell), cell] += count
        return cell_counts
    cells = objects_of(values).tolist()
    try:
        return collections.Counter(zip(map(type, cells), cells, strict=True))
    except (TypeError, ValueError):
        cells = as_keys(cells)
        if (odd := first_unhashable(cells)) is not None:
            raise not_a_level(odd, name) from None
        return collections.Counter(zip(map(type, cells), cells, strict=True))


def objects_of(values: Any) -> np.ndarray:
    """A column (N,) whose dates and durations, if it has such a dtype, are Python objects."""
    return times_as_objects(values) if values.dtype.kind in "Mm" else values


def level_order(level: float | str) -> tuple[Any, ...]:
    """Sort key of plain values: type name first, so that mixed columns have an order too."""
    return type(level).__name__, level


def as_numbers(values: np.ndarray, name: str, *, odd: list[Any] | None = None) -> np.ndarray:
    """A column (N,) as an array of numbers, missing as NaN; TypeError where it holds anything else.

    An empty text is missing, since files of text cannot tell it from a missing cell.  With a list `odd` there is no
    error: its entry for a position with anything else is appended, and the cell is NaN.

    Shapes: values (N,).
    """
    if values.dtype.kind in NUMERIC:
        return as_doubles(values, name) if values.dtype.kind == "f" else values
    cells = objects_of(values).tolist()
    # NumPy derives its durations from the integers, but they are no numbers here.
    others = {
        kind
        for kind in set(map(type, cells))
        if not issubclass(kind, REAL) or kind is np.timedelta64
    }
    if others:
        if odd is not None:
            odd.extend(
                i for i, cell in enumerate(cells) if type(cell) in others and not _is_empty(cell)
            )
        cells = [
            _nan_or_refuse(cell, name, odd is None) if type(cell) in others else cell
            for cell in cells
        ]
    try:
        with np.errstate(over="ignore"):
            numbers = np.array(cells, dtype=np.float64)
    except OverflowError:
        raise too_large(name) from None
    except ValueError:
        return as_numbers(object_cells(as_keys(cells)), name, odd=odd)
    if any(
        cells[i] != numbers[i] for i in np.flatnonzero(np.isinf(numbers)).tolist()
    ):  # decimals give no error
        raise too_large(name)
    return numbers


def as_doubles(values: Any, name: str) -> np.ndarray:
    """Floats (N,) as doubles, as levels and edges are; ValueError for what a double cannot hold."""
    if values.dtype.itemsize <= 8:
        return values.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        doubles = values.astype(np.float64)
    if (np.isinf(doubles) & ~np.isinf(values)).any():
        raise too_large(name)
    return doubles


def _nan_or_refuse(cell: Any, name: str, is_strict: bool) -> float:
    """NaN for a missing cell, and TypeError for a value that is not a number, or NaN, too."""
    if not is_strict or _is_empty(cell):
        return np.nan
    raise not_a_number(cell, name)


def _is_empty(cell: Any) -> bool:
    """Whether a cell in a column of numbers is missing, or an empty text."""
    return is_missing(cell) or is_blank(cell)
