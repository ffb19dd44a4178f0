"""Dates, durations and times of the day: as numbers of seconds, and as Python objects to the last nanosecond.

A column of times is continuous: what was learned from one year says something of the next only if a time stamp is a
number, and not a name.  The numbers are

=========  ==================================================================================
date       seconds since 1970-01-01 00:00 UTC; a time without a zone counts as UTC
duration   seconds
time       seconds since midnight
=========  ==================================================================================

as doubles: a date of this century is right to a quarter of a microsecond.

NumPy counts time in units from years to attoseconds, Python in microseconds, in the years 1 to 9999.  Where a cell is
needed as it is written (a time stamp used as a category), what Python can represent becomes its ``datetime`` or
``timedelta``, and what it cannot becomes the text that it would have if Python could:
"2020-01-01 00:00:00.000000001", as data frames write it, too.
"""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hld.tables.time_levels import same_time
from hld.tables.time_texts import EPOCH, seconds_of_text, text_kind

TIMES = ("date", "duration", "time")
CLOSE, LONG = (
    1e-5,
    1e6,
)  # seconds: durations that are shown to the nanosecond, and such as no double tells so well
_FIRST, _LAST = np.datetime64("0001-01-01", "us"), np.datetime64("9999-12-31T23:59:59.999999", "us")
_UNITS = {
    "ns": 10**9,
    "ps": 10**12,
    "fs": 10**15,
    "as": 10**18,
}  # units in a second, finer than Python's
_FINE = {"s": 1, "ms": 10**3, "us": 10**6, **_UNITS}
_AVERAGE = {
    "Y": 31_556_952.0,
    "M": 2_629_746.0,
    "W": 604_800.0,
    "D": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
}  # seconds
_OF: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("date", (datetime.date, np.datetime64)),
    ("duration", (datetime.timedelta, np.timedelta64)),
    ("time", (datetime.time,)),
)


def time_kind(values: Any) -> str | None:
    """One of "date", "duration", "time" for a column (N,) all of whose values are such, else None.

    Texts are if all of them stand for such, and there are two different ones (`hld.tables.time_texts`).
    """
    kind = values.dtype.kind
    if kind in "Mm":
        return "date" if kind == "M" else "duration"
    cells = getattr(values, "levels", values).tolist() if kind in "OU" else []
    cells = [
        cell for cell in cells if not isinstance(cell, str) or cell
    ]  # an empty text is missing
    types = set(map(type, cells))
    # what is missing has types of its own, which are no times, but for pandas.NaT; floats are missing if they are NaN
    types = {
        one for one in types if one is not type(None) and one.__name__ not in ("NaTType", "NAType")
    }
    floats = {one for one in types if issubclass(one, (float, np.floating))}
    if floats and any(type(cell) in floats and cell == cell for cell in cells):
        return None
    types -= floats
    if types and all(issubclass(one, str) for one in types):
        return _kind_of_texts([cell for cell in cells if isinstance(cell, str)])
    return next(
        (name for name, known in _OF if types and all(issubclass(one, known) for one in types)),
        None,
    )


def _kind_of_texts(cells: list[str]) -> str | None:
    """That of texts all of which stand for times, else None; the first one is most often enough to tell."""
    if same_time(cells[0]) is None:
        return None
    distinct = list(dict.fromkeys(cells))
    kind = text_kind(distinct)
    return (
        kind if kind and all(seconds_of_text(cell, kind) is not None for cell in distinct) else None
    )


def as_seconds(values: np.ndarray, kind: str) -> Any:
    """(N,) seconds of a column of times, NaN where missing; (N,) flags of cells that are no such times.

    Shapes: values (N,) -> seconds (N,), odd (N,).
    """
    code = values.dtype.kind
    if code in "Mm" and (code == "M") == (kind == "date"):
        return _counted_seconds(values), np.zeros(len(values), dtype=bool)
    seconds, odd = np.full(len(values), np.nan), np.zeros(len(values), dtype=bool)
    known: dict[str, Any] = {}  # texts that occurred
    for i, cell in enumerate(values.tolist() if code in "OU" else values):
        if isinstance(cell, str):
            found = (
                known[cell]
                if cell in known
                else known.setdefault(cell, seconds_of_text(cell, kind))
            )
        else:
            found = _seconds_of(cell, kind)
        if found is None:
            odd[i] = not _is_hole(cell)
        else:
            seconds[i] = found
    return seconds, odd


def from_seconds(seconds: float, kind: str) -> Any:
    """The Python object for a number of seconds, not before it; text where Python has no such date."""
    try:
        whole = math.floor(seconds)
        micros = round(
            (seconds - whole) * 1e6
        )  # 4.463 is no double: the nearest one is a little more
        step = datetime.timedelta(seconds=whole, microseconds=micros)
        if step.total_seconds() < seconds:
            step = datetime.timedelta(seconds=whole, microseconds=micros + 1)
        if kind == "duration":
            return step
        moment = EPOCH + step
        return moment if kind == "date" else moment.time()
    except OverflowError:
        is_counted = kind == "date" and abs(seconds) < 2.0**63  # by NumPy, in 64 bits
        return str(np.datetime64(whole, "s")).replace("T", " ") if is_counted else f"{seconds} s"


def time_text(seconds: float, kind: str) -> str:
    """A short text for a number of seconds."""
    text = str(from_seconds(seconds, kind))
    return text.removesuffix(" 00:00:00") if kind == "date" else text


def time_in_bin(start: float, middle: float, end: float, kind: str) -> Any:
    """The Python object for the middle of a bin, or for its start where rounding would leave the bin; else text."""
    for seconds in (middle, start):
        found = from_seconds(seconds, kind)
        if (
            not isinstance(found, datetime.timedelta)
            or found.total_seconds() < end
            or seconds >= end
        ):
            return found
    return duration_text(middle)


def duration_text(seconds: float) -> str:
    """The text of a duration to the nanosecond, not before it, with as many digits as Python writes at the least."""
    nanoseconds = round(seconds * _UNITS["ns"])
    nanoseconds += nanoseconds / _UNITS["ns"] < seconds
    whole, rest = divmod(nanoseconds, _UNITS["ns"])
    text = f"{datetime.timedelta(seconds=whole)}.{rest:09d}"
    return same_time(text) or text


def time_texts(marks: Sequence[float], kind: str) -> list[str]:
    """Short texts for numbers of seconds: to the nanosecond for durations that microseconds hardly tell apart."""
    steps = np.diff(sorted({0.0, *marks}))
    if kind == "duration" and len(steps) and steps.min() < CLOSE and max(map(abs, marks)) < LONG:
        return [duration_text(mark) for mark in marks]
    return [time_text(mark, kind) for mark in marks]


def times_as_objects(values: Any) -> np.ndarray:
    """Dates or durations (any shape) as Python objects or text, NaT as None."""
    kind = values.dtype.kind
    rounded = _converted(values, f"{kind}8[us]")
    is_held = _converted(rounded, values.dtype) == values
    if kind == "M":
        is_held &= (rounded >= _FIRST) & (rounded <= _LAST)
    is_missing = np.isnat(values)
    objects = np.where(is_held | is_missing, rounded, np.array("NaT", dtype=rounded.dtype)).astype(
        object
    )
    for place in np.argwhere(~is_held & ~is_missing):
        objects[tuple(place)] = _text_of(values[tuple(place)])
    return objects


def _converted(values: np.ndarray, unit: Any) -> np.ndarray:
    """Dates or durations in another unit; what does not fit wraps around, or is NaT from NumPy 2.5 on."""
    try:
        with np.errstate(over="ignore"):
            return values.astype(unit)
    except OverflowError:  # by one of them at least
        found = np.full(values.shape, "NaT", dtype=unit)
        for place in np.ndindex(values.shape):
            with contextlib.suppress(OverflowError):
                found[place] = values[place].astype(unit)
        return found


def _counted_seconds(values: np.ndarray) -> np.ndarray:
    """Seconds of an array of NumPy's dates or durations."""
    unit, count = np.datetime_data(values.dtype)
    if unit == "generic":
        if not np.isnat(values).all():
            raise TypeError(
                "`table` holds durations without a unit (timedelta64), expected timedelta64[s] or another "
                "unit: convert them, for example with astype('m8[s]')"
            )
        return np.full(len(values), np.nan)
    if unit in _FINE:
        numbers = values.astype(np.int64).astype(np.float64)
        numbers *= count
        numbers /= _FINE[unit]
    else:  # years and months have no fixed length
        exact = _converted(values, f"{values.dtype.kind}8[s]")
        numbers = exact.astype(np.int64).astype(np.float64)
        beyond = _converted(exact, values.dtype) != values
        numbers[beyond] = values[beyond].astype(np.int64) * (count * _AVERAGE[unit])
    numbers[np.isnat(values)] = np.nan
    return numbers


def _seconds_of(cell: Any, kind: Any) -> Any:
    """Seconds of one cell, None if it is no such time or missing."""
    known = dict(_OF)[kind]
    if not isinstance(cell, known) or _is_hole(cell):
        return None
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return float(_counted_seconds(np.array([cell]))[0])
    if kind == "duration":
        return cell.total_seconds()
    if kind == "time":
        return cell.hour * 3600.0 + cell.minute * 60 + cell.second + cell.microsecond / 1e6
    if not isinstance(cell, datetime.datetime):
        return (cell - EPOCH.date()).total_seconds()
    return cell.timestamp() if cell.tzinfo is not None else (cell - EPOCH).total_seconds()


def _is_hole(cell: Any) -> bool:
    """Whether a cell is missing: None, NaN, NaT, NA, and an empty text, as in files of text."""
    if (
        cell is None
        or (isinstance(cell, str) and not cell)
        or type(cell).__name__ in ("NaTType", "NAType")
    ):
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # of an array
        return False
    except ArithmeticError:  # a decimal that signals that it is none
        return True


def _text_of(value: Any) -> str:
    """Text of one date or duration that Python cannot hold."""
    if value.dtype.kind == "M":
        text = str(value).replace("T", " ")
        return same_time(text) or text
    unit = np.datetime_data(value.dtype)[0]
    count = int(value.astype(np.int64)) * np.datetime_data(value.dtype)[1]
    if unit not in _UNITS:
        return f"{count} {unit}"
    seconds, rest = divmod(count, _UNITS[unit])
    return f"{datetime.timedelta(seconds=seconds)}.{rest * (10**18 // _UNITS[unit]):018d}".rstrip(
        "0"
    )
