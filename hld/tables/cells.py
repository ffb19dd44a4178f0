"""Cells of a table: what is missing, what is a number, what is a level.

A table comes as an array or as a data frame; inside the encoder it is a list of V one-dimensional arrays of N
cells. Three facts about one cell are settled here and nowhere else.

* *Missing*: ``None``, whatever differs from itself (NaN, NaT), ``pandas.NA`` and masked entries. An empty
  text is a text.
* *Plain value*: the ``bool``, ``int``, ``float`` or ``str`` that a level is kept as. NumPy scalars become
  Python ones, decimals and fractions the nearest double, bytes their UTF-8 text; dates and other objects are
  represented by ``str(cell)``. Containers, complex numbers and objects without a text of their own are
  refused.
* *Equality* is by value, as in Python: 1, 1.0 and True are one level, "1" is another.

Data frames are recognised by what they can do (``columns`` with ``iloc`` or ``get_column``), so that none of
their libraries is imported.

===================  ==================================================================
`read_table`         a table as `Columns`
`distinct_values`    the plain values of a column in order, with their counts
`as_numbers`         a column as numbers; text is refused, not parsed
`plain_value`        one cell
`is_missing`         one cell
===================  ==================================================================
"""
import collections
import numbers
import reprlib
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

NUMERIC = "biuf"                                   # dtype kinds that compare as numbers
_TEXT = "UST"
_REAL = (numbers.Real, Decimal, np.bool_)
_PREFERENCE = {int: 0, float: 1, bool: 2, str: 3}  # which of 1, 1.0, True names a level that came as all


@dataclass(frozen=True, eq=False)
class Columns:
    """A table taken apart: names or None, V arrays (N,), V flags "declared categories", the whole or None."""

    names: tuple | None
    num_rows: int
    arrays: list
    declared: list
    whole: np.ndarray | None = None


def read_table(table):
    """Take a table apart into `Columns`; ValueError or TypeError says what is wrong with its form."""
    if isinstance(table, Columns):  # read before
        return table
    if hasattr(table, "columns") and not isinstance(table, np.ndarray):
        return _read_frame(table)
    if isinstance(table, np.ma.MaskedArray):
        # None among objects keeps large integers exact, which a detour through NaN would not.
        table = np.where(np.ma.getmaskarray(table), None, _checked_dtype(table.data, "`table`"))
    # Lists stay objects: otherwise one text among them would turn every number into text.
    array = np.asarray(table, dtype=None if hasattr(table, "__array__") else object)
    if array.ndim != 2:
        raise ValueError(f"`table` has {array.ndim} dimension(s) ({type(table).__name__}), expected 2 (rows, "
                         f"columns): pass one row as table[None, :], one column as table[:, None]")
    whole = _checked_dtype(array, "`table`")
    arrays = list(whole.T)
    return Columns(None, len(whole), arrays, [False] * len(arrays), whole)


def _read_frame(frame):
    """`Columns` of a data frame; each column becomes an array by itself, so that types stay apart."""
    names = tuple(str(name) for name in frame.columns)
    repeated = sorted(name for name, count in collections.Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"`table` has more than one column named {', '.join(map(repr, repeated))}, expected "
                         f"distinct names (a name that is not text counts as its text): rename them")
    if hasattr(frame, "iloc"):
        series = [frame.iloc[:, j] for j in range(len(names))]
    elif hasattr(frame, "get_column"):
        series = [frame.get_column(name) for name in frame.columns]
    else:
        raise TypeError(f"`table` is a {type(frame).__name__} with neither `iloc` nor `get_column`, expected "
                        f"a 2-D array or a pandas or polars frame: convert it first")
    arrays = [_checked_dtype(one.to_numpy(), f"`table` column {name!r}")
              for one, name in zip(series, names, strict=True)]
    declared = [str(one.dtype).startswith(("category", "Categorical", "Enum")) for one in series]
    return Columns(names, len(arrays[0]) if arrays else 0, arrays, declared)


def _checked_dtype(array, what):
    """The array itself, dates and durations as Python objects (NaT as None); TypeError for other dtypes."""
    kind = array.dtype.kind
    if kind in "Mm":
        return array.astype(f"{kind}8[us]").astype(object)
    if kind not in NUMERIC + _TEXT + "O":
        raise TypeError(f"{what} has dtype {array.dtype}, expected numbers, booleans, text or objects: "
                        f"convert it first")
    return array


def distinct_values(values, name):
    """Distinct plain values of a column (N,), in the order of `level_order`, and their counts (n,)."""
    if values.dtype.kind in NUMERIC:
        if values.dtype.kind == "f":
            values = values[~np.isnan(values)].astype(np.float64) + 0.0     # + 0.0 makes -0.0 the value 0.0
        distinct, counts = np.unique(values, return_counts=True)
        return distinct.tolist(), counts
    cells = values.tolist()
    try:
        # The type is part of the key, or the first row would decide whether a level is called 1 or True.
        cell_counts = collections.Counter(zip(map(type, cells), cells, strict=True))
    except TypeError:
        raise not_a_level(first_unhashable(cells), name) from None
    chosen, totals = {}, collections.Counter()
    for (_, cell), count in cell_counts.items():
        if not is_missing(cell):
            value = plain_value(cell, name)
            chosen[value] = min(chosen.get(value, value), value, key=lambda v: _PREFERENCE[type(v)])
            totals[value] += count
    levels = sorted(chosen.values(), key=level_order)
    return levels, np.array([totals[level] for level in levels], dtype=np.int64)


def level_order(level):
    """Sort key of plain values: type name first, so that mixed columns have an order too."""
    return type(level).__name__, level


def is_missing(cell):
    """Whether a cell holds no value: None, NaN, NaT or pandas.NA (masked entries have become None)."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):         # pandas.NA answers every comparison with NA, which is not a truth
        return type(cell).__name__ == "NAType"


def plain_value(cell, name):
    """The bool, int, float or str that stands for a cell which is not missing."""
    if isinstance(cell, np.generic):
        # item() would turn dates with nanoseconds into bare integers.
        cell = (cell.astype(f"{cell.dtype.kind}8[us]") if cell.dtype.kind in "Mm" else cell).item()
    if isinstance(cell, str):
        return str.__str__(cell)
    if isinstance(cell, bool):
        return cell
    if isinstance(cell, _REAL):
        try:
            number = float(cell) + 0.0
        except OverflowError:
            raise _too_large(name) from None
        return int(cell) if isinstance(cell, numbers.Integral) else number
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace")
    kind = type(cell)
    opaque = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    if opaque or isinstance(cell, (complex, collections.abc.Collection)):
        raise not_a_level(cell, name)
    return str(cell)


def as_numbers(values, name):
    """A column (N,) as an array of numbers, missing as NaN; TypeError where it holds anything else."""
    if values.dtype.kind in NUMERIC:
        return values
    cells = values.tolist()
    # NumPy derives its durations from the integers, but they are no numbers here.
    odd = {kind for kind in set(map(type, cells)) if not issubclass(kind, _REAL) or kind is np.timedelta64}
    if odd:
        cells = [_nan_or_refuse(cell, name) if type(cell) in odd else cell for cell in cells]
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        raise _too_large(name) from None


def _nan_or_refuse(cell, name):
    """NaN for a missing cell, TypeError for a value that is not a number."""
    if is_missing(cell):
        return np.nan
    raise not_a_number(cell, name)


def not_a_number(cell, name):
    """The TypeError for a value in a column of numbers (text that could be parsed included)."""
    what = "text" if isinstance(cell, (str, bytes)) else f"a {type(cell).__name__}"
    return TypeError(f"`table` column {name!r} holds {what} ({reprlib.repr(cell)}), expected numbers, "
                     f"because this column is encoded as numbers: convert it first, for example with "
                     f"astype(float)")


def not_a_level(cell, name):
    """The TypeError for a container, a complex number or an object that no text tells from another."""
    return TypeError(f"`table` column {name!r} holds a {type(cell).__name__} ({reprlib.repr(cell)}), "
                     f"expected text, numbers, booleans or dates: convert the column first")


def first_unhashable(cells):
    """The first cell that cannot be looked up, None if there is none."""
    for cell in cells:
        try:
            hash(cell)
        except TypeError:
            return cell
    return None


def _too_large(name):
    """The ValueError for numbers that no double can hold."""
    return ValueError(f"`table` column {name!r} holds a number beyond the range of double precision, "
                      f"expected magnitudes below 1.8e308: keep such values as text, or write them as inf")
