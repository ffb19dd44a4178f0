"""A table of any kind taken apart into columns; its cells: what is missing, what is a number, what is a level.

**Tables.**  An array, a list of rows, a data frame, an Arrow table, a structured array, a mapping, rows that name their
cells.  Nothing is imported to recognise a table: mappings are mappings, frames of pandas have ``iloc``, and whatever
else offers the Arrow stream interface (``__arrow_c_stream__``: frames of polars, query results of DuckDB, and others)
is read through pyarrow, which is then needed.

**Columns** have two forms inside: an array of numbers, truth values, dates or durations where that holds all cells as
they are, or else Python objects by number (`Factored`).  Nothing is rounded on the way: whole numbers stay whole
numbers, whatever their size, even beside missing cells.  What no level can be, such as a list, is refused where the
column is looked at, as a batch may have columns that the model does not know.

**Cells.**  Three facts about one cell are settled here and nowhere else.

* *Missing*: ``None``, whatever differs from itself (NaN, NaT), ``pandas.NA`` and masked entries. An empty
  string is text.
* *Plain value*: the ``bool``, ``int``, ``float`` or ``str`` that a level is kept as. NumPy scalars become
  Python ones, decimals and fractions the nearest double (from 2^53 on, whole ones stay whole numbers), bytes their
  UTF-8 text; dates, durations and times of the day have one text each, whatever form they come in, exact to the last
  digit (`hld.tables.times`); other objects are represented by ``str(cell)``. Containers, complex numbers and objects
  without a text of their own are refused.
* *Equality* is by value, as in Python: 1, 1.0 and True are one level, "1" is another.

===================  ==================================================================
`read_table`         a table as `Columns`
`column_cells`       one column of any library
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
import os
import re
import reprlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from hld.tables.factored import Factored, object_cells
from hld.tables.shown_names import listed
from hld.tables.times import is_empty, is_missing, time_level, times_as_objects
from pcircuit.arguments import is_masked

TIME_TYPES = (datetime.date, datetime.timedelta, datetime.time)
REAL = (numbers.Real, Decimal, np.bool_)
NUMERIC = "biuf"  # dtype kinds that compare as numbers
EXACT = 2.0**53  # below it doubles hold every whole number
NAT = np.iinfo(np.int64).min  # the count that NumPy takes for a missing time
_PREFERENCE = [int, float, bool, str]  # which of 1, 1.0, True names a level that came as all
_ROW_INDEX = re.compile(r"__index_level_\d+__")
# Without blanks at its ends; at most one inside where several could be, so that long texts are read once.
_NUMBER = re.compile(
    r"[$\u20ac\u00a3\u00a5]?\s?[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([ ,.']\d{3})+([.,]\d+)?)"
    r"([eE][+-]?\d+)?\s?[%$\u20ac\u00a3\u00a5]?"
)


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


# -- tables ------------------------------------------------------------------------------------------------------------


def read_table(table: Any) -> Columns:
    """Take a table apart into `Columns`; ValueError or TypeError says what is wrong with its form."""
    if isinstance(table, Columns):
        return table
    named = _named_columns(table)
    if named is None:
        array = _as_array(table)
        if array.ndim != 2:
            raise ValueError(
                f"`table` has {array.ndim} dimension(s) ({type(table).__name__}), expected 2 (rows, "
                f"columns): {_how_to_read(table)}"
            )
        _check_dtype(array)
        arrays = [column_cells(column) for column in array.T]
        return Columns(None, len(array), arrays, [False] * len(arrays), array)
    names, columns = named
    refuse_repeated(names)
    arrays = [column_cells(column) for column in columns]
    lengths = {len(array): name for name, array in zip(names, arrays, strict=True)}
    if len(lengths) > 1:
        some = ", ".join(f"{count:,} in {listed([name])}" for count, name in lengths.items())
        raise ValueError(
            f"`table` has columns of different lengths ({some}), expected as many cells in each"
        )
    declared = [*map(_is_declared, columns, arrays)]
    return Columns(tuple(names), len(arrays[0]) if arrays else 0, arrays, declared)


def _named_columns(table: Any) -> tuple[list[str], list[Any]] | None:
    """Names as text and columns of a table whose columns have names; None for others."""
    if hint := _not_yet(table):
        raise TypeError(f"`table` is a {type(table).__name__}, expected its rows: {hint}")
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return [*map(str, table.columns)], [table.iloc[:, v] for v in range(table.shape[1])]
    if isinstance(table, np.ndarray) and table.dtype.names is not None and table.ndim == 1:
        table = {name: table[name] for name in table.dtype.names}
    elif isinstance(table, (list, tuple)) and table and (rows := named_rows(table)) is not None:
        names = dict.fromkeys(name for row in rows for name in row)
        table = {name: [row.get(name) for row in rows] for name in names}
    elif not isinstance(table, Mapping) and _is_arrow(table):
        table = _arrow_table(table)
        kept = [name for name in table.column_names if not is_row_index(name)]
        refuse_repeated(kept)
        table = {name: table[name] for name in kept}
    return ([*map(str, table)], [*table.values()]) if isinstance(table, Mapping) else None


def _not_yet(table: Any) -> str:
    """What to do first with something that has no rows to read, empty for others."""
    if isinstance(table, type):
        return "give an object of this class"
    if hasattr(table, "tocsr"):
        return "a sparse one is read as `.toarray()` of it"
    # asked of the type: to answer for itself, a frame that is not computed yet would have to look at its files
    if hasattr(table, "__dask_graph__"):
        return "use hld.dask.fit and hld.dask.judge, or `.compute()` it first"
    if hasattr(type(table), "collect") and not hasattr(type(table), "get_column"):
        return "collect it first, `table.collect()`"
    return ""


def named_rows(rows: Any) -> list[Any] | None:
    """Rows that name their cells (mappings, rows of databases, named tuples) as mappings; None if one has no names.

    Cells are found by name since two queries may give the same columns in another order.
    """
    if all(hasattr(row, "keys") and not hasattr(row, "columns") for row in rows):
        refuse_repeated(rows[0].keys())
        return [dict(row) for row in rows]
    has_names = all(isinstance(row, tuple) and hasattr(row, "_asdict") for row in rows)
    return [row._asdict() for row in rows] if has_names else None


def _is_arrow(table: Any) -> bool:
    """Whether a table is one of Arrow, or offers the Arrow stream interface."""
    # columns of Arrow and polars offer it, too, and are arrays; so are tables of ibis, which have columns
    is_array = hasattr(table, "__array__") and not hasattr(table, "columns")
    return hasattr(table, "__arrow_c_stream__") and not is_array


def _arrow_table(table: Any) -> Any:
    """A table as one of Arrow."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"reading a {type(table).__name__} needs pyarrow, which is not installed: pip install "
            "'hld[cli]'"
        ) from None
    return pyarrow.table(table)


def is_row_index(name: str) -> bool:
    """Whether a column without a name of its own is the row labels that pandas wrote beside the table."""
    return bool(_ROW_INDEX.fullmatch(name))


def refuse_repeated(names: Iterable[Any]) -> None:
    """Raise if a name occurs twice."""
    repeated = [name for name, count in collections.Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"`table` has more than one column named {listed(sorted(repeated, key=str))}, expected "
            f"distinct names (a name that is not text counts as its text): rename them"
        )


def _as_array(table: Any) -> np.ndarray:
    """An array, or a list of rows as an array of objects; None in place of masked entries."""
    if is_masked(table) and table.dtype.names is None:
        return _unmasked(table)
    if hasattr(table, "__array__"):
        return np.asarray(table)
    if isinstance(table, (list, tuple)):
        table = [_cells_of_row(row) for row in table]
        if len({len(row) for row in table if isinstance(row, (list, tuple))}) > 1:
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


def _cells_of_row(row: Any) -> Any:
    """A row that is an array as a list of cells, masked ones None; dates as they are, which are exact."""
    if not isinstance(row, np.ndarray) or row.ndim != 1:
        return row
    return list(row) if row.dtype.kind in "Mm" else row.tolist()


def _unmasked(array: Any) -> np.ndarray:
    """Cells of a masked array (any shape), NaT in place of masked times, None in place of all others."""
    _check_dtype(array)
    # None among objects keeps large integers exact, which a detour through NaN would not
    hole = np.array("NaT", dtype=array.dtype) if array.dtype.kind in "Mm" else None
    return np.asarray(np.where(array.mask, hole, array.data))


def _check_dtype(array: np.ndarray) -> None:
    """TypeError or ValueError for dtypes that no level has."""
    if array.dtype.kind == "c":
        raise ValueError(
            f"`table` has dtype {array.dtype}: Complex data not supported, give real and imaginary parts "
            "as columns"
        )
    if (
        array.dtype.kind not in NUMERIC + "USTOMm" or array.dtype == "m8"
    ):  # durations without a unit
        raise TypeError(
            f"`table` has dtype {array.dtype}, expected numbers, booleans, text, objects, or times with a unit: "
            "convert it first"
        )


def _how_to_read(table: Any) -> str:
    """What to do with something that is no table of rows and columns, as the end of an error message."""
    if hasattr(table, "to_frame"):
        return "give `.to_frame()` of it, or `.to_frame().T` if it is a row"
    if isinstance(table, (str, bytes, os.PathLike)):
        return "read the file first, or name it to `hld fit` and `hld test` on the command line"
    if isinstance(table, Iterator):
        return "give all rows at once, such as list(table), or tables one after the other to hld.judge_chunks"
    if isinstance(table, (list, tuple)) or getattr(table, "ndim", None):
        return "Reshape your data, one row as table[None, :], one column as table[:, None]"
    return "give an array, a list of rows or a data frame"


# -- columns -----------------------------------------------------------------------------------------------------------


def column_cells(values: Any) -> Any:
    """A column of any library, or a sequence, as an array (N,) of numbers or times, or as `Factored`.

    As plain arrays, whole numbers beside a missing one would be rounded, and one text would make all cells text.
    """
    values = values.to_arrow() if hasattr(values, "to_arrow") else values
    if hasattr(values, "null_count") and hasattr(values, "to_pylist"):
        return arrow_column(values)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(
        values, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)
    ):
        values = _series_cells(pandas.Series(values))
    if isinstance(values, Factored):
        return values
    if is_masked(values):
        with contextlib.suppress(TypeError, ValueError):  # of its dtype: see below
            values = _unmasked(values)
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(
                f"`table` has a column of {array.ndim} dimensions, expected one value in each cell"
            )
        if array.dtype.kind in NUMERIC or (array.dtype.kind in "Mm" and array.dtype != "m8"):
            return array
        return _of_objects(list(array) if array.dtype.kind in "mV" else array.tolist())
    if isinstance(values, (str, bytes, Mapping, Set)) or not hasattr(values, "__iter__"):
        raise ValueError(
            f"`table` is a mapping whose columns must be sequences, found {reprlib.repr(values)}"
        )
    return _of_objects([*values])


def _of_objects(cells: list[Any]) -> Any:
    """Objects (N,) as an array of numbers or truth values where these are all of one type, else by number."""
    kinds = {*map(type, cells)}
    for dtype, held in ((bool, {bool}), (np.int64, {int}), (np.float64, {float, type(None)})):
        if kinds <= held:
            with contextlib.suppress(OverflowError):
                return np.array(cells, dtype=dtype)
    if any(kind.__name__ == "MaskedConstant" for kind in kinds):
        cells = [None if type(cell).__name__ == "MaskedConstant" else cell for cell in cells]
    try:
        return Factored.of(cells)
    except (
        TypeError,
        ValueError,
    ):  # of a list, a duration without a unit: refused by `plain_value`
        return Factored(np.arange(len(cells)), object_cells(cells))


def _series_cells(series: Any) -> Any:
    """The cells of a pandas column (N,), as an array of its type where that holds them exactly, else as objects."""
    from pandas.api.types import infer_dtype

    kind = str(series.dtype)
    if hasattr(series.dtype, "pyarrow_dtype"):  # pandas cannot take all of Arrow's types apart
        return arrow_column(series.array.__arrow_array__())
    if kind.startswith("period"):  # days, months, quarters: as the moment they begin
        return series.dt.to_timestamp().to_numpy()
    if infer_dtype(series.cat.categories if kind == "category" else series) == "string":
        codes, levels = series.factorize()
        return Factored(codes, object_cells(np.asarray(levels, dtype=object)))
    array = series.to_numpy()
    is_whole = array.dtype.kind == "f" and kind.lower().lstrip("u").startswith("int")
    is_rounded = is_whole and (np.abs(array) >= EXACT).any()
    return series.astype(object).to_numpy() if is_rounded or kind == "category" else array


def arrow_column(column: Any) -> Any:
    """An Arrow column (N,) as an array where that holds it exactly, else as objects; text by number.

    Categories that are no text are taken as what they are, since Parquet keeps no more of them.
    """
    import pyarrow
    from pyarrow import types

    kind = column.type
    if isinstance(kind, pyarrow.BaseExtensionType):
        return arrow_column(column.cast(kind.storage_type))
    if _is_text_type(kind) or (types.is_dictionary(kind) and _is_text_type(kind.value_type)):
        return _texts_by_number(column)
    if types.is_dictionary(kind):
        column = column.combine_chunks() if hasattr(column, "chunks") else column
        return arrow_column(column.dictionary_decode())
    if types.is_timestamp(kind) or types.is_duration(kind):
        letter = "M" if types.is_timestamp(kind) else "m"
        return numbers_of(column.cast("int64"), NAT).view(f"{letter}8[{kind.unit}]")
    if types.is_date(kind):
        return arrow_column(column.cast(pyarrow.timestamp("ms"), safe=False))
    if types.is_time(kind):
        column = column.cast(pyarrow.time64("us"), safe=False)
    elif types.is_floating(kind) or (types.is_integer(kind) and not column.null_count):
        return numbers_of(column)
    elif types.is_integer(kind):
        numbers = numbers_of(column.cast("float64", safe=False))
        if not (np.abs(numbers) >= EXACT).any():
            return numbers
    elif types.is_boolean(kind) and not column.null_count:
        return numbers_of(column.cast("int8")).astype(bool)
    return _of_objects(column.to_pylist())


def _is_text_type(kind: Any) -> bool:
    """Whether an Arrow type is text."""
    return str(kind) in ("string", "large_string", "string_view")


def numbers_of(column: Any, missing: float = np.nan) -> np.ndarray:
    """Numbers of an Arrow column (N,) from its memory: its to_numpy imports pandas, which takes longer than a test."""
    column = column.combine_chunks() if hasattr(column, "chunks") else column
    kind = column.type.to_pandas_dtype()
    if not len(column):
        return np.zeros(0, kind)
    flags, values = column.buffers()
    place = slice(column.offset, column.offset + len(column))
    numbers = np.frombuffer(values, kind)[place]
    if not column.null_count:
        return numbers
    shown = np.unpackbits(np.frombuffer(flags, np.uint8), bitorder="little")[place]
    return np.where(shown, numbers, numbers.dtype.type(missing))


def _texts_by_number(column: Any) -> Factored:
    """Text of Arrow by number."""
    column = column.dictionary_encode() if _is_text_type(column.type) else column
    column = column.unify_dictionaries().combine_chunks() if hasattr(column, "chunks") else column
    levels = object_cells(column.dictionary.to_pylist())
    found = Factored(numbers_of(column.indices.cast("int64"), -1), levels)
    # a hole may also be an entry of the dictionary
    return found.without(np.array([level is None for level in levels], dtype=bool))


def _is_declared(values: Any, cells: Any) -> bool:
    """Whether a column is text that pandas or Arrow holds as categories."""
    if not isinstance(cells, Factored):
        return False
    kind = str(getattr(values, "dtype", getattr(values, "type", "")))
    is_category = kind.startswith(("category", "dictionary"))
    return is_category and all(isinstance(level, str) for level in cells.levels)


def distinct_values(values: Any, name: str) -> tuple[list[Any], np.ndarray]:
    """Distinct plain values of a column (N,), in the order of `level_order`, and their counts (n,).

    An empty text among values that are no texts is missing, as it is in files of text.
    """
    if values.dtype.kind in NUMERIC:
        distinct, counts = distinct_numbers(values)
        return distinct.tolist(), counts
    found = factored(values)
    chosen: dict[Any, Any] = {}
    totals = collections.Counter[Any]()
    for cell, count in zip(found.levels.tolist(), found.counts().tolist(), strict=True):
        if count and not is_missing(cell):
            value = plain_value(cell, name)
            known = chosen.get(value, value)
            chosen[value] = min(known, value, key=lambda one: _PREFERENCE.index(type(one)))
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


def factored(values: Any) -> Factored:
    """A column (N,) by number, dates and durations as Python objects."""
    return values if isinstance(values, Factored) else Factored.of(objects_of(values).tolist())


def objects_of(values: Any) -> Any:
    """A column (N,) whose dates and durations, if it has such a dtype, are Python objects."""
    return times_as_objects(values) if values.dtype.kind in "Mm" else values


def level_order(level: float | str) -> tuple[Any, ...]:
    """Sort key of plain values: type name first, so that mixed columns have an order too."""
    return type(level).__name__, level


def as_numbers(values: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A column (N,) as numbers, NaN where missing; and flags (N,) of the cells that are anything else, NaN too.

    An empty text is missing, since files of text cannot tell it from a missing cell.
    """
    if values.dtype.kind in NUMERIC:
        doubles = values.astype(np.float64, copy=False) if values.dtype.kind == "f" else values
        return doubles, np.zeros(len(values), dtype=bool)
    values = factored(values)
    cells = values.levels.tolist()
    numbers: list[Any] = [math.nan] * len(cells)
    odd = np.zeros(len(cells), dtype=bool)
    for i, cell in enumerate(cells):
        # NumPy derives its durations from the integers, but they are no numbers here
        if isinstance(cell, REAL) and not isinstance(cell, np.timedelta64):
            numbers[i] = cell
        else:
            odd[i] = not is_empty(cell)
    return values.spread(_as_doubles(numbers, name), math.nan), values.spread(odd, False)


# -- cells -------------------------------------------------------------------------------------------------------------


def plain_value(cell: Any, name: str) -> Any:
    """The bool, int, float or str that stands for a cell which is not missing."""
    if isinstance(cell, np.generic) and cell.dtype.kind != "V" and cell.dtype != "m8":
        # item() would turn dates with nanoseconds into bare integers
        cell = times_as_objects(cell).item() if cell.dtype.kind in "Mm" else cell.item()
    if isinstance(cell, (bool, str)):
        return cell if type(cell) in (bool, str) else str.__str__(cell)
    if isinstance(cell, TIME_TYPES):
        return time_level(cell)
    kind: Any = type(cell)
    if issubclass(kind, REAL) and kind is not np.timedelta64:
        number = float(_as_doubles([cell], name)[0]) + 0.0
        is_large = isinstance(cell, (Decimal, numbers.Rational)) and EXACT <= abs(number) < math.inf
        is_exact = isinstance(cell, numbers.Integral) or (is_large and cell == int(cell))
        return int(cell) if is_exact else number
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace")
    opaque = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    if opaque or isinstance(cell, (complex, collections.abc.Collection, np.timedelta64, np.void)):
        raise not_a_level(cell, name)
    return str(cell)


def not_a_level(cell: Any, name: str) -> TypeError:
    """The error for a container, a complex number or an object that no text tells from another."""
    return TypeError(
        f"`table` column {name!r} holds {_described(cell)}, "
        f"expected text, numbers, booleans or dates: convert the column, or leave it out (drop it from the table; "
        "--drop on the command line)"
    )


def not_a_number(cell: Any, name: str) -> TypeError:
    """The error for a value in a column of numbers (text that could be parsed included)."""
    return TypeError(
        f"`table` column {name!r} holds {_described(cell)}, expected numbers, because this column is encoded as "
        "numbers: convert it to plain numbers first"
    )


def _described(cell: Any) -> str:
    """A cell in words."""
    what = "text" if isinstance(cell, (str, bytes)) else f"a {type(cell).__name__}"
    return f"{what} ({reprlib.repr(cell)})"


def reads_as_number(text: str) -> bool:
    """Whether a person would read a text as a number: with a currency, thousands, a decimal comma or per cent."""
    return bool(_NUMBER.fullmatch(text.strip()))


def _as_doubles(cells: list[Any], name: str) -> np.ndarray:
    """Numbers as doubles (n,); ValueError for what a double cannot hold."""
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        raise ValueError(
            f"`table` column {name!r} holds a number beyond the range of double precision, "
            f"expected magnitudes below 1.8e308: keep such values as text, or write them as inf"
        ) from None
