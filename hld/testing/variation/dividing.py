"""Which rows a detector learns from, and which it keeps for the reference: by chance, by groups, or in order of time.

A batch and rows that nothing was learned from are exchangeable as long as there is no shift; a batch and the rows that
the circuit was fitted to are not, since it fits these better.  So half of the rows are held out, unless the user asks
for something else or there are too few.

**The clock.**  The test among stretches of time takes rows in the order of the table and the step from each to the
next for the same length of time. Where a column shows the time of the rows, that can be looked at:

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

import reprlib
import warnings
from typing import Any

import numpy as np

from hld.answers.segments import group_numbers, split_off
from hld.references.groups import split_groups
from hld.references.stretches import FEWEST_ROWS as FEWEST_IN_TIME
from hld.tables.schemas.learn_schema import BY_CHANCE, never_decreases, order_by_chance
from hld.tables.times import as_seconds, time_kind, time_texts

FEWEST_ROWS = 4  # so that two are held out
REGULAR, NEAR, GAP = 0.9, 0.1, 1.5
MICRO = 6  # digits of a second


def divide(
    columns: Any, groups: Any, order: str | None, reference: str, rng: np.random.Generator
) -> tuple[Any, ...]:
    """A table without its column of groups, positions of the rows to learn from and of the reference, and labels.

    Without groups the labels are None, and the positions those of `split_rows`; in order of time the first half is
    learned from.
    """
    if order is not None:
        halves = _halves(columns.num_rows, groups, order, reference)
        warn_of_clock(columns)
        return columns, halves, None
    if groups is None:
        return columns, split_rows(columns.num_rows, reference, rng), None
    _check_held_out("groups", reference)
    columns, cells, name = split_off(columns, groups, argument="groups")
    labels = group_numbers(cells, name)
    if not columns.arrays:
        raise ValueError("`groups` names the only column of `table`: there must be others to learn")
    return columns, split_groups(labels, rng), labels


def _halves(
    num_rows: int, groups: Any, order: str | None, reference: str
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the earlier and of the later half of the rows."""
    if not isinstance(order, str) or order != "time":
        raise ValueError(
            "`order` must be 'time' (the rows are in order of time, without gaps) or None, found "
            f"{reprlib.repr(order)}"
        )
    if groups is not None:
        raise ValueError(
            "`order` and `groups` are two ways to say how rows depend on one another: give one of them"
        )
    _check_held_out("order", reference)
    if num_rows < 2 * FEWEST_IN_TIME:
        raise ValueError(
            f"`table` has {num_rows} rows, expected at least {2 * FEWEST_IN_TIME} with order='time'"
        )
    return np.arange(num_rows // 2), np.arange(num_rows // 2, num_rows)


def _check_held_out(name: str, reference: str) -> None:
    """Raise unless batches are compared with rows that nothing was learned from."""
    if reference not in ("auto", "held-out"):
        raise ValueError(
            f"`{name}` compares with rows that nothing was learned from: use reference='held-out', found "
            f"reference={reference!r}"
        )


def split_rows(num_rows: int, reference: str, rng: np.random.Generator) -> tuple[Any, ...]:
    """Positions of the rows to learn from and of those of the reference."""
    if reference == "auto":
        reference = "held-out" if num_rows >= FEWEST_ROWS else "training"
    if reference != "held-out":
        return np.arange(num_rows), np.arange(num_rows) if reference == "training" else None
    if num_rows < FEWEST_ROWS:
        raise ValueError(
            f"`table` has {num_rows} rows: with reference='held-out' half of them are held out, "
            f"which needs at least {FEWEST_ROWS}"
        )
    rows = rng.permutation(num_rows)
    return np.sort(rows[num_rows // 2 :]), np.sort(rows[: num_rows // 2])


def warn_of_clock(columns: Any) -> None:
    """Warn of rows that no column of dates shows to be in order of time, and of gaps in the column that does."""
    names = columns.names if columns.names is not None else range(len(columns.arrays))
    unordered = []
    for name, values in zip(names, columns.arrays, strict=True):
        if time_kind(values) != "date":
            continue
        seconds = _seconds(values)
        if not never_decreases(seconds):
            unordered.append(_unordered(name, seconds))
        elif order_by_chance(seconds) <= BY_CHANCE:  # the clock
            unordered = [_gaps(name, seconds)]
            break
    said = next(filter(None, unordered), "")  # a column of a single date says nothing
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
