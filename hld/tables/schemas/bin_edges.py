r"""Where a column of numbers is cut into bins.

With the N finite training values sorted, B bins begin at the order statistics

.. math:: x_{(\lfloor kN/B \rfloor + 1)}, \qquad k = 0, \dots, B - 1,

so that each holds about N / B rows.  A value that fills a quantile by itself, an *atom*, would make some of them
coincide: nine in ten rows of a shop's table may have bought nothing, and all amounts would share one bin.  So an atom
gets a bin of its own, and the rest of the rows, N' of them, is cut into the B' bins that are left, at its own
quantiles.  A value is an atom if it has N / B rows or, once some are found, N' / B'.  A bin does not reach across an
atom, which takes a bin more wherever one would; B' is the largest number for which all are at most B.  Atoms of the
rest, and its bins on average, hold FEWEST rows, or N / B where that is less.

A cut lies in the gap between two neighbouring training values, not on one of them.  A batch may hold the same numbers
with fewer digits, in four bytes in place of eight or rounded by a file on the way, and a value that is an edge
itself would then fall now into one bin and now into the other, with all the rows that have it.  Where in the gap:

* in its middle half, at the number with the fewest digits: 36.5 between 36 and 37, 118000 between 117963 and 118021;
* next to a value with N / B rows a thousandth of the gap away from it, so that rows that move off this value are seen
  even if they stay in the gap.  Among whole numbers that is half a unit;
* between two such values in the middle half again.

Infinite values (a ratio whose denominator is 0) that are an atom get a bin of their own, too, just beyond the finite
ones: they are cut as if they were a whole number there (`with_infinities`), of which any decimals are multiples, so
that rows drawn from a model stay in this bin.  Fewer of them fall into the outermost bins.

Every bin holds training values.  The edges depend on the values and their counts only, not on the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

FEWEST = 8  # rows on average of the bins beside atoms
OFF_ATOM = 1e-3  # of the gap beside an atom
MOST_ROUNDED, MOST_DIGITS = (
    1e300,
    330,
)  # numbers beyond the one are not rounded, none has more decimals than the other
BEYOND = (
    16  # times `SINGLE`: how far beyond the finite values, at least, an infinity is taken to be
)
ALL_DIGITS, LARGEST_PLAIN = (
    17,
    1e7,
)  # digits that tell any two doubles apart; numbers below the other have no exponent
SINGLE = 2.0**-22  # relative: at least this far from an atom, four units of a number of four bytes


def bin_edges(
    values: np.ndarray, counts: np.ndarray, num_bins: int, *, in_gaps: bool = True
) -> tuple[float, ...]:
    """The edges that cut the values of a column into bins.

    Shapes: values (n,), counts (n,).
    O(B n).
    """
    counts = np.asarray(counts, dtype=np.int64)
    num_bins = min(num_bins, int(counts.sum()))  # more bins than rows give the same edges
    least = min(FEWEST, int(counts.sum()) // num_bins)
    starts = _starts(counts, _atoms(counts, num_bins, least), num_bins, least)
    if not in_gaps:
        return tuple(values[starts].tolist())
    frequent, whole = counts * num_bins >= counts.sum(), bool((values == np.floor(values)).all())
    return tuple(
        _cut(
            float(values[i - 1]), float(values[i]), bool(frequent[i - 1]), bool(frequent[i]), whole
        )
        for i in starts
    )


def with_infinities(
    values: np.ndarray, counts: np.ndarray, num_bins: int
) -> tuple[np.ndarray, np.ndarray]:
    """The finite values and their counts, with a number just beyond them in place of an infinity that many rows have.

    Shapes: values (n,), counts (n,) -> values (m,), counts (m,).
    """
    finite = np.isfinite(values)
    if finite.all():
        return values, counts
    num_bins, total = min(num_bins, int(counts.sum())), int(counts.sum())
    is_atom, numbers = _atoms(counts, num_bins, min(FEWEST, total // num_bins)), values[finite]
    steps = {
        end: _beyond(float(numbers[-1 if end > 0 else 0]), end) for end in values[~finite].tolist()
    }
    kept = finite | np.array([math.isfinite(steps.get(value, value)) for value in values.tolist()])
    kept &= finite | is_atom | (len(numbers) == 1)
    return np.array([steps.get(value, value) for value in values[kept].tolist()]), counts[kept]


def _beyond(number: float, end: float) -> float:
    """The whole number that stands for an infinity beside the outermost finite one: one or two units from it."""
    step = max(1.0, BEYOND * SINGLE * abs(number))
    return float(
        np.ceil(number + step) if end > 0 else np.floor(number - step)
    )  # or infinite itself


def _atoms(counts: np.ndarray, num_bins: int, least: int) -> np.ndarray:
    """(n,) flags of the values that fill a quantile of what is left without those found before."""
    is_atom = np.zeros(len(counts), dtype=bool)
    while True:
        left, rest = num_bins - int(is_atom.sum()), int(counts[~is_atom].sum())
        more = ~is_atom & (counts * left >= rest) & (counts >= least)
        if left <= 0 or not more.any():
            return is_atom
        is_atom |= more


def _starts(counts: np.ndarray, is_atom: np.ndarray, num_bins: int, least: int) -> np.ndarray:
    """Places of the values at which bins begin, without the first one's."""
    own = np.where(is_atom, 0, counts)
    up_to, rest = np.cumsum(own), int(own.sum())
    changes = np.flatnonzero(is_atom[1:] | is_atom[:-1]) + 1  # the bins of atoms
    for parts in range(min(num_bins - int(is_atom.sum()), rest // least), 0, -1):
        rank = rest * np.arange(1, parts) // parts
        at = np.searchsorted(
            up_to, rank, side="right"
        )  # values[at] is the order statistic x_(rank + 1) of the rest
        starts = np.union1d(changes, np.maximum(at, 1))  # nothing lies below the first value
        if len(starts) < num_bins:
            return starts
    return (
        changes
        if len(changes) < num_bins
        else _starts(counts, np.zeros_like(is_atom), num_bins, least)
    )


def _cut(lower: float, upper: float, after_atom: bool, before_atom: bool, whole: bool) -> float:
    """An edge in (lower, upper], two neighbouring values."""
    gap = upper - lower
    if after_atom != before_atom:
        atom, sign = (lower, 1) if after_atom else (upper, -1)
        far = min(0.5 if whole else max(OFF_ATOM * gap, SINGLE * abs(atom)), gap / 2)
        first, last = sorted((atom + sign * far, atom + sign * min(2 * far, gap / 2)))
        edge = atom + sign * 0.5 if whole else _roundest(first, last)
    else:
        edge = _roundest(lower + gap / 4, upper - gap / 4)
    return edge if lower < edge <= upper else upper  # no double lies between neighbouring ones


def _roundest(first: float, last: float) -> Any:
    """The number with the fewest digits in [first, last], near the middle."""
    middle, largest = first + (last - first) / 2, max(abs(first), abs(last))
    if not first < last or not largest < MOST_ROUNDED:
        return middle
    for digits in range(-math.floor(math.log10(largest)) - 1, MOST_DIGITS):
        if first <= (rounded := round(middle, digits)) <= last:
            return rounded + 0.0  # never -0
    return middle


def mark_texts(marks: Iterable[float], digits: int) -> list[str]:
    """Texts of some numbers, with as many digits as tell different ones apart, and no exponent below ten millions."""
    marks = list(map(float, marks))
    for enough in range(digits, ALL_DIGITS):
        texts = [_with_digits(mark, enough) for mark in marks]
        if len(set(texts)) == len(set(marks)):
            return texts
    return list(map(repr, marks))


def _with_digits(mark: float, digits: int) -> str:
    """A number of so many digits: 11490 for 11492.8."""
    text = f"{mark:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(mark) < LARGEST_PLAIN else text
