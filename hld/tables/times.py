"""Dates and durations as Python objects, to the last nanosecond.

NumPy counts time in units from years to attoseconds, Python in microseconds, in the years 1 to 9999.  What Python can
hold becomes its ``datetime`` or ``timedelta``; what it cannot becomes the text that it would have if Python could:
"2020-01-01 00:00:00.000000001", as data frames write it, too.
"""
import datetime

import numpy as np

_FIRST, _LAST = np.datetime64("0001-01-01", "us"), np.datetime64("9999-12-31T23:59:59.999999", "us")
_UNITS = {"ns": 10 ** 9, "ps": 10 ** 12, "fs": 10 ** 15, "as": 10 ** 18}     # units in a second, finer than Python's


def times_as_objects(values) -> np.ndarray:
    """Dates or durations (any shape) as Python objects or text, NaT as None."""
    kind = values.dtype.kind
    rounded = values.astype(f"{kind}8[us]")     # wraps around where it does not fit
    with np.errstate(over="ignore"):
        is_held = (rounded.astype(values.dtype) == values)
    if kind == "M":
        is_held &= (rounded >= _FIRST) & (rounded <= _LAST)
    is_missing = np.isnat(values)
    objects = np.where(is_held | is_missing, rounded, np.array("NaT", dtype=rounded.dtype)).astype(object)
    for place in np.argwhere(~is_held & ~is_missing):
        objects[tuple(place)] = _text_of(values[tuple(place)])
    return objects


def _text_of(value) -> str:
    """Text of one date or duration that Python cannot hold."""
    if value.dtype.kind == "M":
        return str(value).replace("T", " ")
    unit = np.datetime_data(value.dtype)[0]
    count = int(value.astype(np.int64)) * np.datetime_data(value.dtype)[1]
    if unit not in _UNITS:
        return f"{count} {unit}"
    seconds, rest = divmod(count, _UNITS[unit])
    return f"{datetime.timedelta(seconds=seconds)}.{rest * (10 ** 18 // _UNITS[unit]):018d}".rstrip("0")
