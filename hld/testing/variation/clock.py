"""What a column of dates says of rows that are taken to be in order of time: in it or not, with gaps or without.

The test among stretches of time takes rows in the order of the table and the step from each to the next for the same
length of time.  Where a column shows the time of the rows, that can be looked at:

* A column of dates that never decreases is the **clock**, the first one if there are several.  Rows of the same time
  are fine: they are neighbours, in the order of the table.  A column of which so few dates are known that they may be
  in order by chance is neither a clock nor a sign of order.
* No column of dates is a clock, though there are some: perhaps none is the time of the rows, such as dates of birth;
  perhaps the rows are not in order.  Only the user knows, so a warning says it.
* The clock has a **usual step**, the median of its steps forward, if nine of ten of these are within a tenth of it; so
  months have one, and events that come when they come have none.  A step of 1.5 times that and more is a **gap**.  The
  rows around a gap resemble one another less than neighbours do, so stretches across it vary less than those without.
  A few gaps in hundreds of stretches do little, and many of them make p-values too small: a warning names them.
"""

import warnings
from typing import Any

import numpy as np

from hld.tables.schemas.learn_schema import BY_CHANCE, never_decreases, order_by_chance
from hld.tables.times import as_seconds, time_kind, time_texts

REGULAR, NEAR, GAP = 0.9, 0.1, 1.5
MICRO = 6  # digits of a second


def warn_of_clock(columns: Any) -> None:
    """Warn of rows that no column of dates shows to be in order of time, and of gaps in the column that does."""
    names = columns.names if columns.names is not None else range(len(columns.arrays))
    dates = [
        (name, _seconds(values))
        for name, values in zip(names, columns.arrays, strict=True)
        if time_kind(values) == "date"
    ]
    dates = [
        (name, seconds)
        for name, seconds in dates
        if not never_decreases(seconds) or order_by_chance(seconds) <= BY_CHANCE
    ]
    clock = next(((name, seconds) for name, seconds in dates if never_decreases(seconds)), None)
    if clock is not None:
        said = _gaps(*clock)
    else:  # a column of a single date says nothing
        said = next(filter(None, (_unordered(*one) for one in dates)), "")
    if said:
        warnings.warn(said, UserWarning, stacklevel=5)


def _seconds(values: Any) -> np.ndarray:
    """(N,) seconds of dates since the first: those since 1970 are doubles a quarter of a microsecond apart."""
    seconds = as_seconds(values, "date")[0]
    known = np.flatnonzero(~np.isnan(seconds))
    if values.dtype.kind != "M" or not len(known):
        return seconds
    exact = values.astype("M8[us]")
    return np.asarray(as_seconds(exact - exact[known[0]], "duration")[0])


def _unordered(name: Any, seconds: np.ndarray) -> str:
    """About a column of dates where none is a clock; nothing if it does not go back."""
    known = np.flatnonzero(~np.isnan(seconds))
    back = np.flatnonzero(np.diff(seconds[known]) < 0)
    if not len(back):
        return ""
    return (
        f"`order`='time' takes the rows as they stand, but column {name!r} goes back {len(back)} times, first at "
        f"row {known[back[0] + 1]}: sort the table by it if it is the time of the rows"
    )


def _gaps(name: Any, seconds: np.ndarray) -> str:
    """About the gaps of the clock; nothing if it has none."""
    known = np.flatnonzero(~np.isnan(seconds))
    steps = np.diff(seconds[known])
    forward = steps[steps > 0]
    usual = float(np.median(forward))
    gaps = np.flatnonzero(steps >= GAP * usual)
    if (np.abs(forward - usual) <= NEAR * usual).mean() < REGULAR or not len(gaps):
        return ""
    longest = gaps[steps[gaps].round(MICRO).argmax()]
    gap, step = time_texts([round(float(steps[longest]), MICRO), round(usual, MICRO)], "duration")
    return (
        f"`order`='time' takes the rows as without gaps, but column {name!r} has {len(gaps)}, the longest of "
        f"{gap} before row {known[longest + 1]} where the usual step is {step}: fit to the rows since the last, or "
        "to a stretch without"
    )
