r"""Where a column of numbers is cut into bins.

With the N finite training values sorted, the candidates for B bins begin at the order statistics

.. math:: x_{(\lfloor kN/B \rfloor + 1)}, \qquad k = 0, \dots, B - 1,

so that each bin holds about N / B rows.  Where a value is so frequent that several of them coincide, bins are left
over: of the rows of a shop's table nine in ten may have bought nothing, and quantiles alone would put all amounts into
one bin.  So the bin whose cut leaves most rows on its smaller side is cut at its median, until there are B bins or no
cut leaves FEWEST rows on both sides.

A cut lies in the gap between two neighbouring training values, not on one of them.  A batch may hold the same numbers
with fewer digits, in four bytes in place of eight or rounded by a file on the way, and a value that is an edge
itself would then fall now into one bin and now into the other, with all the rows that have it.  Where in the gap:

* in its middle half, at the number with the fewest digits: 36.5 between 36 and 37, 118000 between 117963 and 118021;
* next to an *atom*, a value that fills a quantile by itself, a thousandth of the gap away from it, so that rows that
  move off the atom are seen even if they stay in the gap.  Among whole numbers that is half a unit;
* between two atoms in the middle half again.

Every bin holds training values.  The edges depend on the values and their counts only, not on the order of the rows.
"""
from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np

FEWEST = 8  # rows on both sides of a cut beside those at quantiles
OFF_ATOM = 1e-3  # of the gap beside an atom
MOST_ROUNDED, MOST_DIGITS = 1e300, 330  # numbers beyond the one are not rounded, none has more decimals than the other
SINGLE = 2.0 ** -22  # relative: at least this far from an atom, four units of a number of four bytes


def bin_edges(values: np.ndarray, counts: np.ndarray, num_bins: int, *, in_gaps: bool = True) -> tuple[float, ...]:
    """The edges that cut the values of a column into bins.

    Parameters
    ----------
    values : (n,) float array
        Distinct, finite, ascending.
    counts : (n,) int array
        Rows with each value.
    num_bins : int
        B, the most bins.
    in_gaps : bool
        Whether edges lie between values; otherwise each is the smallest value of its bin, as for times, whose edges
        are then dates that the table shows.

    Returns
    -------
    tuple of float
        Ascending, at most B - 1; none where there is a single value.

    Notes
    -----
    O(n + B log n).

    Examples
    --------
    >>> bin_edges(np.arange(1.0, 9.0), np.ones(8, int), 4)
    (2.5, 4.5, 6.5)
    >>> bin_edges(np.array([0.0, 12.5, 30.1]), np.array([80, 10, 10]), 4)         # nothing bought, twice
    (0.02, 20.0)
    """
    up_to = np.cumsum(counts)
    starts = _with_spare_bins(_quantile_starts(up_to, num_bins), up_to, num_bins)
    if not in_gaps:
        return tuple(values[starts].tolist())
    is_atom, whole = counts * num_bins >= up_to[-1], bool((values == np.floor(values)).all())
    return tuple(_cut(float(values[i - 1]), float(values[i]), bool(is_atom[i - 1]), bool(is_atom[i]), whole)
                 for i in starts)


def _quantile_starts(up_to: np.ndarray, num_bins: int) -> list[int]:
    """Places of the values at which bins begin, without the first one's, by cumulative counts."""
    num_bins = min(num_bins, int(up_to[-1]))                # more bins than rows give the same edges
    rank = up_to[-1] * np.arange(1, num_bins) // num_bins
    at = np.searchsorted(up_to, rank, side="right")         # values[at] is the order statistic x_(rank + 1)
    # A bin that began with the smallest value would leave nothing below: hence 1, and hence what is filtered.
    return sorted({i for i in np.maximum(at, 1).tolist() if i < len(up_to)})


def _with_spare_bins(starts: list[int], up_to: np.ndarray, num_bins: int) -> list[int]:
    """The same and further ones: the best cut of all bins, again and again."""
    starts, bins = list(starts), [_best_cut(a, b, up_to) for a, b in pairwise([0, *starts, len(up_to)])]
    heapify(bins)
    while len(starts) + 1 < num_bins and -bins[0][0] >= FEWEST:
        _, i, a, b = heappop(bins)
        for part in ((a, i), (i, b)):
            heappush(bins, _best_cut(*part, up_to))
        starts.append(i)
    return sorted(starts)


def _best_cut(a: int, b: int, up_to: np.ndarray) -> tuple[int, int, int, int]:
    """Minus the rows on the smaller side if the bin of the values a to b - 1 is cut near its median, where; the bin."""
    before = int(up_to[a - 1]) if a else 0
    total = int(up_to[b - 1]) - before
    middle = a + int(np.searchsorted(up_to[a:b], before + total // 2, side="right"))
    sides = [(max(-below, below - total), i) for i in (middle, middle + 1) if a < i < b
             for below in (int(up_to[i - 1]) - before,)]
    return (*min(sides, default=(0, a)), a, b)


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
    return edge if lower < edge <= upper else upper         # no double lies between neighbouring ones


def _roundest(first: float, last: float) -> Any:
    """The number with the fewest digits in [first, last], near the middle."""
    middle, largest = first + (last - first) / 2, max(abs(first), abs(last))
    if not first < last or not largest < MOST_ROUNDED:
        return middle
    for digits in range(-math.floor(math.log10(largest)) - 1, MOST_DIGITS):
        if first <= (rounded := round(middle, digits)) <= last:
            return rounded
    return middle
