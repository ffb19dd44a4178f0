"""One cell of a table: whether it is missing, the plain value that it is kept as, and the errors for what it cannot be.

`hld.tables.cells` defines the terms.
"""

from __future__ import annotations

import collections.abc
import datetime
import math
import numbers
import re
import reprlib
from decimal import Decimal
from typing import Any

import numpy as np

from hld.tables.times import time_level, times_as_objects

TIME_TYPES = (datetime.date, datetime.timedelta, datetime.time)
REAL = (numbers.Real, Decimal, np.bool_)
EXACT = 2.0**53  # below it doubles hold every whole number
# Without blanks at its ends; at most one inside where several could be, so that long texts are read once.
_NUMBER = re.compile(
    r"[$\u20ac\u00a3\u00a5]?\s?[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([ ,.']\d{3})+([.,]\d+)?)"
    r"([eE][+-]?\d+)?\s?[%$\u20ac\u00a3\u00a5]?"
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
