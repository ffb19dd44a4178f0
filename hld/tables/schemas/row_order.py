r"""Columns that order the rows: when something happened, and numbers that run with it.

Later batches lie beyond such a column whatever else they show, so that it is no evidence of a shift.  A column is a
**clock** if it holds

* dates by which the rows are sorted, or nearly: they never go back (or never forward), by more than chance, or their
  rank correlation with the numbers of the rows is NEARLY or more;
* dates with a time of the day nearly all of which are different, whatever the order of the rows: no batch can repeat
  them, while dates of birth come again.

**What runs with a clock**: dates, whole numbers and levels of a rank correlation of ALIKE or more with it; and what
is written of its day, such as the month or the day of the week (`hld.tables.calendar`), of which a batch of one day
has one value.  Hours come back each day, and stay.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hld.tables.calendar import is_written_of
from hld.tables.cells import distinct_values
from hld.tables.times import as_seconds, is_missing, time_kind

NEARLY, ALIKE = 0.9, 0.99  # rank correlations: records as they come in have .99 with the rows
FEWEST_RANKED, MOST_RANKED = 20, 10_000  # rows that it is computed from: few may be so by chance
NEARLY_ALL = 0.9  # share of dates with a time of the day that are in one row only
BY_CHANCE = 0.001  # `order_by_chance` above which it says nothing that a column is in order
DAY = 86_400.0


def order_notes(columns: Mapping[str, tuple[Any, Any]]) -> dict[str, str]:
    """Why each of some columns (fitted column and cells (N,), by name) orders the rows; nothing for the others."""
    dates = {
        name: as_seconds(cells, "date")[0]
        for name, (_, cells) in columns.items()
        if time_kind(cells) == "date"
    }
    found = {name: note for name, seconds in dates.items() if (note := _clock_note(seconds))}
    for clock in list(found):
        seconds = dates[clock]
        days = np.floor(seconds / DAY)
        for name, (column, cells) in columns.items():
            if name in found:
                continue
            if abs(rank_correlation(_ranked(column, cells, dates.get(name)), seconds)) >= ALIKE:
                found[name] = f"runs with {clock!r}"
            elif name not in dates and _is_of_day(cells, days):
                found[name] = f"is written of {clock!r}"
    return found


def _clock_note(seconds: np.ndarray) -> str:
    """Why a column of dates (N,) is a clock; empty if it is none."""
    known = seconds[~np.isnan(seconds)]
    in_order = never_decreases(seconds) or never_decreases(-seconds)
    if in_order and order_by_chance(seconds) <= BY_CHANCE:
        return "dates in the order of the rows"
    if abs(rank_correlation(known, np.arange(len(known)))) >= NEARLY:
        return "dates nearly in the order of the rows"
    counts = np.unique(known, return_counts=True)[1]
    once = int((counts == 1).sum())
    if len(known) >= FEWEST_RANKED and once >= NEARLY_ALL * len(known) and (known % DAY).any():
        return f"times of which {once} of {len(known)} are in one row only"
    return ""


def never_decreases(seconds: np.ndarray) -> bool:
    """Whether a column (N,) takes two values and more, and what is known of it never decreases."""
    known = seconds[~np.isnan(seconds)]
    return len(known) > 1 and bool((np.diff(known) >= 0).all() and known[-1] > known[0])


def order_by_chance(seconds: np.ndarray) -> float:
    """Probability that the dates of a column would be in order, oldest or newest first, were its rows in a random one.

    Of n dates that are known, of which c_1, c_2, ... are equal: 2 c_1! c_2! ... / n!, or 1.

    Shapes: seconds (N,).
    """
    counts = np.unique(seconds[~np.isnan(seconds)], return_counts=True)[1]
    orders = math.lgamma(counts.sum() + 1) - sum(map(math.lgamma, (counts + 1).tolist()))
    return min(2 * math.exp(-orders), 1.0)


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's correlation of two columns (N,) where both are known; 0 where these are few, or one is constant."""
    known = np.flatnonzero(~(np.isnan(one) | np.isnan(other)))
    some = known[np.linspace(0, len(known) - 1, min(len(known), MOST_RANKED)).astype(np.int64)]
    if len(some) < FEWEST_RANKED:
        return 0.0
    first, second = _ranks(one[some]), _ranks(other[some])
    return float(np.corrcoef(first, second)[0, 1]) if np.ptp(first) and np.ptp(second) else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    """(n,) ranks, equal values sharing their mean."""
    _, levels, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((counts.cumsum() - (counts - 1) / 2)[levels])


def _ranked(column: Any, cells: Any, seconds: np.ndarray | None) -> np.ndarray:
    """(N,) what a column is ranked by: dates, whole numbers, places of sorted levels; NaN throughout for others."""
    if seconds is not None:
        return seconds
    if cells.dtype.kind in "iu":
        return np.asarray(cells, dtype=np.float64)
    if column.kind not in ("categorical", "integer"):
        return np.full(len(cells), np.nan)
    place = {level: i for i, level in enumerate(distinct_values(cells, column.name)[0])}
    return np.array([place.get(cell, np.nan) for cell in cells.tolist()])


def _is_of_day(cells: Any, days: np.ndarray) -> bool:
    """Whether cells (N,) are written of the days (N,), numbers since 1970."""
    pairs = set(zip(days.tolist(), cells.tolist(), strict=True))
    return is_written_of(
        [(day, cell) for day, cell in pairs if day == day and not is_missing(cell)]
    )
