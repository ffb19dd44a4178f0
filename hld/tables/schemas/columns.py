r"""Columns of a fitted table: their categories, and how those are chosen.

A column is one of two things.

* `LevelColumn`: n levels (plain values: text, booleans, whole numbers, or the one number of a constant
  column) with categories 0..n-1 in the order of `level_order`, and category n for every value that is none of
  them. Where a categorical column has more than M distinct levels, the M - 1 most frequent are kept (ties:
  first in order), the rest share category n, and values that training did not have are category n + 1.
* `BinColumn`: E edges that cut the real line into E + 1 half-open intervals

  .. math:: (-\infty, e_1), \; [e_1, e_2), \; \dots, \; [e_E, \infty),

  at quantiles of the training values as far as possible (`schemas.bin_edges`). No bin is empty on the training
  table, and there are at most B bins.

Dates, durations and times of day are cut like numbers: they are numbers of seconds (`hld.tables.times`).

What happens to a value that training did not show is the column's policy `unseen`: "keep", as described above;
"missing", it counts as missing; "refuse", an error.

Whole numbers are levels if they are few, at most M: no more than B, or on average in four rows each.  With fewer rows a
level is learned from next to nothing, and most values of a later batch are new: of 150 rows with 49 ages, bins find a
drift by eight years in .35 of the batches of twenty rows and levels in .18 (.39 and .49 where one age becomes frequent
in sixty rows); of 300 rows with 57 ages it is .35 and .33 (.47 and .86).

Only the distinct values and their counts are used, so the order of the rows cannot matter. `fit_column` chooses
the kind and makes the column.
"""

from __future__ import annotations

import contextlib
import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hld.tables.cells import NUMERIC, distinct_numbers, distinct_values, level_order
from hld.tables.factored import whole_cells
from hld.tables.schemas.bin_edges import bin_edges, mark_texts, with_infinities
from hld.tables.schemas.rare_levels import MOST_RARE, SIZE, digests_of
from hld.tables.schemas.single_precision import spans
from hld.tables.single_cells import not_a_number, reads_as_number
from hld.tables.times import (
    TIMES,
    as_seconds,
    from_seconds,
    seconds_of_text,
    time_kind,
    time_texts,
)
from pcircuit.arguments import check_integers

BINNED = ("continuous", *TIMES)
UNSEEN = ("keep", "missing", "refuse")  # what is done with values that training did not show

_LEVEL_TYPES = {
    "boolean": (bool,),
    "integer": (int,),
    "constant": (bool, int, float),
    "categorical": (bool, int, float, str),
}
ROWS_PER_LEVEL = 4  # of whole numbers that are levels: with fewer, bins find a drift twice as often
UNITS = 6.0  # of normal scores in the range of training
_SHOWN = 8  # levels or edges that a line of description lists


@dataclass(frozen=True)
class LevelColumn:
    """A column of levels; `rare`: digests of the training levels that share a category (`schemas.rare_levels`)."""

    name: str
    kind: str
    levels: tuple[Any, ...]
    rare: bytes = b""
    unseen: str = "keep"

    def __post_init__(self) -> None:
        _check_policy(self)
        where, kind, levels = f"column {self.name!r} of the encoder", self.kind, self.levels
        if kind not in _LEVEL_TYPES:
            raise ValueError(
                f"{where} has kind {reprlib.repr(kind)}, expected one of "
                f"{', '.join((*_LEVEL_TYPES, *BINNED))}"
            )
        for level in levels:
            if type(level) not in _LEVEL_TYPES[kind] or level != level:
                raise ValueError(
                    f"{where} has level {reprlib.repr(level)}, which kind {kind} does not allow"
                )
        if len(set(levels)) < len(levels) or list(levels) != sorted(levels, key=level_order):
            raise ValueError(
                f"{where} has repeated or unsorted levels, expected distinct ones in ascending "
                f"order"
            )
        digests = [self.rare[i : i + SIZE] for i in range(0, len(self.rare), SIZE)]
        in_order = all(len(one) == SIZE for one in digests) and digests == sorted(set(digests))
        if digests and (not in_order or kind != "categorical"):
            raise ValueError(
                f"{where} has impossible digests of rare levels, expected distinct ones of {SIZE} bytes "
                f"in ascending order, in a categorical column"
            )
        if kind != "categorical" and (not levels or (kind == "constant" and len(levels) > 1)):
            raise ValueError(
                f"{where} has {len(levels)} levels, expected "
                f"{'one level' if kind == 'constant' else 'some levels'} for kind {kind}"
            )

    @property
    def num_categories(self) -> int:
        """Number of levels, one for rare levels if there are any, and one for whatever is none of them."""
        return len(self.levels) + bool(self.rare) + 1

    @property
    def ends(self) -> tuple[float, float, float, float] | None:
        """As those of `BinColumn`, for whole numbers; None for other levels."""
        if self.kind != "integer":
            return None
        low, high = float(self.levels[0]), float(self.levels[-1])
        unit = (high - low) / UNITS or 1.0
        return low, high, unit, unit

    def values(self, unseen: str, rare: str) -> list[Any]:
        """Value of each category, `unseen` standing for the last, `rare` for that of rare levels."""
        return [*self.levels, *[rare] * bool(self.rare), unseen]

    def describe(self) -> str:
        """One line: kind, levels, what happens to other values."""
        count, num_rare = len(self.levels), len(self.rare) // SIZE
        shown = ", ".join(map(reprlib.repr, self.levels[:_SHOWN])) + ", ..." * (count > _SHOWN)
        unseen = {
            "keep": f"category {self.num_categories - 1}",
            "missing": "missing",
            "refuse": "refused",
        }[self.unseen]
        return (
            f"{self.name!r}: {self.kind}, {count} level{'s' * (count != 1)}"
            f"{', the most frequent' * (num_rare > 0)}: {shown or 'no value was present'}; "
            f"{f'{num_rare} rare levels are category {count}; ' if num_rare else ''}"
            f"unseen levels are {unseen}; missing is -1"
        )


@dataclass(frozen=True)
class BinColumn:
    """A column of numbers or times cut at `edges` (E ascending floats); training values were in [low, high]."""

    name: str
    edges: tuple[Any, ...]
    low: float
    high: float
    kind: str = "continuous"
    unseen: str = "keep"

    def __post_init__(self) -> None:
        _check_policy(self)
        if self.kind not in BINNED:
            raise ValueError(
                f"column {self.name!r} of the encoder has kind {reprlib.repr(self.kind)}, expected one of "
                f"{', '.join(BINNED)}"
            )
        marks = (self.low, *self.edges, self.high)
        finite = all(type(mark) is float and math.isfinite(mark) for mark in marks)
        if not finite or not all(a < b for a, b in pairwise(marks[:-1])) or marks[-2] > marks[-1]:
            raise ValueError(
                f"column {self.name!r} of the encoder has impossible bins, expected finite "
                f"numbers low < first edge < ... < last edge <= high"
            )

    @property
    def num_categories(self) -> int:
        """Number of bins."""
        return len(self.edges) + 1

    def values(self, unseen: str, rare: str) -> Any:
        """Middle of each bin, the outermost ending at `low` and `high`; none is for rare or unseen values."""
        marks = (self.low, *self.edges, self.high)
        # Rounding can push the middle of two neighbouring doubles onto the upper end, which the bin excludes.
        middles = [m if a <= (m := 0.5 * a + 0.5 * b) < b else a for a, b in pairwise(marks)]
        if self.kind == "continuous":
            return middles
        return [from_seconds(middle, self.kind) for middle in middles]

    @property
    def ends(self) -> tuple[float, float, float, float] | None:
        """Ends of the range, and below and above it the width of a unit of a normal score; None for dates.

        Half an outermost bin, as of a thousand numbers an eighth lie between the normal scores 1.2 and 3.3.
        """
        if self.kind == "date":  # each day is beyond all earlier ones
            return None
        spread = (self.high - self.low) / UNITS or 1.0
        first, last = (self.edges[0], self.edges[-1]) if self.edges else (self.low, self.high)
        below, above = (first - self.low) / 2 or spread, (self.high - last) / 2 or spread
        return self.low, self.high, below, above

    @property
    def marks(self) -> tuple[float, ...]:
        """What numbers are compared with: low, the edges, and high, and what four bytes make of these."""
        if self.kind in TIMES:
            return (self.low, *self.edges, self.high)
        first = spans([*dict.fromkeys((self.low, *self.edges, self.high))])
        return (*(one for one, _ in first[: len(self.edges) + 1]), first[-1][1])

    def texts(self, marks: Sequence[float], digits: int = 6) -> list[str]:
        """Numbers of this column as a person reads them, of so many digits or as many as tell them apart."""
        return (
            mark_texts(marks, digits) if self.kind == "continuous" else time_texts(marks, self.kind)
        )

    def describe(self) -> str:
        """One line: number of bins, edges, what happens to other values."""
        count, (low, high, *edges) = (
            self.num_categories,
            self.texts([self.low, self.high, *self.edges]),
        )
        shown = ", ".join(edges[:_SHOWN]) + ", ..." * (count > _SHOWN + 1)
        bins = f"{count} bins cut at {shown}" if count > 1 else "1 bin"
        beyond = {
            "keep": "fall into the outermost bins",
            "missing": "are missing",
            "refuse": "are refused",
        }
        return (
            f"{self.name!r}: {self.kind}, {bins}; values beyond the training range [{low}, {high}] "
            f"{beyond[self.unseen]}; missing is -1"
        )


def as_mark(value: Any, what: str, name: str, kind: str | None) -> float:
    """An edge, or an end of the range, of a column as a double; of a column of times it may be text: 2020-01-31."""
    number = (
        seconds_of_text(value, str(kind)) if isinstance(value, str) and kind in TIMES else value
    )
    if isinstance(number, (Real, Decimal)) and not isinstance(number, bool):
        # too large ones, and a decimal that signals
        with contextlib.suppress(OverflowError, ValueError):
            if math.isfinite(number):
                return float(number)
    expected = "numbers, or texts of times" if what == "edges" else "a number, or a text of a time"
    raise ValueError(
        f"`{what}` of column {name!r} must be {expected} where `kind` is one of "
        f"{', '.join(map(repr, TIMES))}, found {reprlib.repr(value)}"
    )


def _check_policy(column: BinColumn | LevelColumn) -> None:
    """Raise unless the policy of a column is known."""
    if column.unseen not in UNSEEN:
        raise ValueError(
            f"column {column.name!r} of the encoder has unseen {reprlib.repr(column.unseen)}, expected "
            f"one of {', '.join(UNSEEN)}"
        )


def fit_column(
    name: str, values: Any, role: str | None, *, num_bins: int, max_categories: int
) -> BinColumn | LevelColumn:
    """The column for values (N,); `role` is "categorical", "continuous", or None to choose by the values."""
    times = None if role == "categorical" else time_kind(values)
    if times is not None:
        seconds = as_seconds(whole_cells(values), times)[0]
        distinct, counts = np.unique(seconds[~np.isnan(seconds)], return_counts=True)
        if len(distinct) > 1:  # a single time is a level, so that any other one is seen to be new
            return _quantile_bins(name, distinct, counts, num_bins, times)
    if role != "categorical" and values.dtype.kind in NUMERIC:
        distinct, counts = distinct_numbers(values, name)
        if len(distinct) > max(
            max_categories, num_bins
        ):  # too many to be levels, or to be Python numbers
            return _quantile_bins(name, distinct, counts, num_bins)
        distinct = distinct.tolist()
    else:
        distinct, counts = distinct_values(values, name)
    types = set(map(type, distinct))
    if role == "continuous" and str in types:
        texts = [value for value in distinct if isinstance(value, str)]
        raise not_a_number(
            next((text for text in texts if not reads_as_number(text)), texts[0]), name
        )
    if role == "categorical" or str in types or (role is None and not distinct):
        return _most_frequent(name, distinct, counts, max_categories)
    if role is None and types == {bool}:
        return LevelColumn(name, "boolean", tuple(distinct))
    is_few = len(distinct) <= num_bins or int(counts.sum()) >= ROWS_PER_LEVEL * len(distinct)
    if (
        role is None
        and is_few
        and len(distinct) <= max_categories
        and all(map(_is_whole, distinct))
    ):
        return LevelColumn(name, "integer", tuple(sorted(map(int, distinct))))
    if len(distinct) == 1 and math.isfinite(distinct[0]):
        # A single bin would hold every number; as a level, any other number is seen to be new.
        return LevelColumn(name, "constant", tuple(distinct))
    return _quantile_bins(name, distinct, counts, num_bins)


def check_rows(rows: ArrayLike | None, num_rows: int) -> np.ndarray | None:
    """Positions of the rows that levels and edges are taken from, checked; None for all; shapes rows (n,) -> (n,)."""
    if rows is None:
        return None
    checked = check_integers(
        rows, "rows", f"a list of positions up to {num_rows - 1}", 0, num_rows - 1
    )
    if checked.ndim != 1:
        raise ValueError(f"`rows` must be a list of positions, found shape {checked.shape}")
    return checked


def narrowed_column(
    column: BinColumn | LevelColumn, values: ArrayLike, *, num_bins: int, max_categories: int
) -> Any:
    """A column of the same kind with the levels or edges of some of its values; itself if these are all missing.

    Shapes: values (n,).
    """
    role = (
        "continuous"
        if column.kind in BINNED
        else "categorical"
        if column.kind == "categorical"
        else None
    )
    if column.kind == "integer":
        levels = distinct_values(values, column.name)[0]
        return (
            LevelColumn(column.name, "integer", tuple(sorted(map(int, levels))))
            if levels
            else column
        )
    try:
        found = fit_column(
            column.name, values, role, num_bins=num_bins, max_categories=max_categories
        )
    except (TypeError, ValueError):  # no finite number to cut at, a single date
        return column
    empty = isinstance(found, LevelColumn) and found.kind == "categorical" and not found.levels
    return column if empty or (column.kind in BINNED and found.kind != column.kind) else found


def _is_whole(number: float) -> bool:
    """Whether a bool, int or float is a finite whole number."""
    return not isinstance(number, float) or number.is_integer()


def _most_frequent(
    name: str, levels: list[str], counts: np.ndarray, max_categories: int
) -> LevelColumn:
    """Categorical column of all levels, or of the max_categories - 1 most frequent."""
    if len(levels) <= max_categories:
        return LevelColumn(name, "categorical", tuple(levels))
    # A stable sort keeps the order of the levels among equal counts.
    ranked = np.argsort(-counts, kind="stable")
    kept, rare = (
        np.sort(ranked[: max_categories - 1]),
        ranked[max_categories - 1 : max_categories - 1 + MOST_RARE],
    )
    return LevelColumn(
        name,
        "categorical",
        tuple(levels[i] for i in kept),
        rare=digests_of(levels[i] for i in rare),
    )


def _quantile_bins(
    name: str, distinct: Any, counts: np.ndarray, num_bins: int, kind: str = "continuous"
) -> BinColumn:
    """Binned column of the finite values, and of infinite ones that many rows have."""
    number = np.asarray(distinct, dtype=np.float64)
    if number is not distinct:  # whole numbers beyond 2^53 may share a double
        number, place = np.unique(number, return_inverse=True)
        counts = np.bincount(place, weights=counts).astype(np.int64)
    finite = np.isfinite(number)
    if not finite.any():
        raise ValueError(
            f"`table` column {name!r} holds no finite number, expected some to cut into bins: "
            f"leave the column out"
        )
    if finite.sum() == 1 and len(distinct) > len(counts):
        raise ValueError(
            f"`table` column {name!r} holds {len(distinct)} whole numbers that double precision cannot "
            "tell apart, expected numbers to cut into bins: subtract the smallest one first, or name the "
            "column in `categorical`"
        )
    number, counts = with_infinities(number, counts, num_bins)
    edges = bin_edges(number, counts, num_bins, in_gaps=kind == "continuous")
    return BinColumn(name, edges, float(number[0]), float(number[-1]), kind)
