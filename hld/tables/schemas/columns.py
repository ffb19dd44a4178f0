r"""Columns of a fitted table: their categories, and how those are chosen.

A column is one of two things.

* `LevelColumn`: n levels (plain values: text, booleans, whole numbers, or the one number of a constant
  column) with categories 0..n-1 in the order of `level_order`, and category n for every value that is none of
  them. Where a categorical column has more than M distinct levels, the M - 1 most frequent are kept (ties:
  first in order), the rest share category n, and values that training did not have are category n + 1.
* `BinColumn`: E edges that cut the real line into E + 1 half-open intervals

  .. math:: (-\infty, e_1), \; [e_1, e_2), \; \dots, \; [e_E, \infty),

  at quantiles of the training values as far as possible (`schemas.columns`). No bin is empty on the training
  table, and there are at most B bins.

Dates, durations and times of day are cut like numbers: they are numbers of seconds (`hld.tables.times`).

What happens to a value that training did not show is the column's `policy`: "keep", as described above;
"missing", it counts as missing; "refuse", an error.

Whole numbers are levels if they are few, at most M: no more than B, or on average in four rows each.  With fewer rows a
level is learned from next to nothing, and most values of a later batch are new: of 150 rows with 49 ages, bins find a
drift by eight years in .35 of the batches of twenty rows and levels in .18 (.39 and .49 where one age becomes frequent
in sixty rows); of 300 rows with 57 ages it is .35 and .33 (.47 and .86).

Only the distinct values and their counts are used, so the order of the rows cannot matter. `fit_column` chooses
the kind and makes the column.

Where a column of numbers is cut into bins.

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

Infinite values (a ratio whose denominator is 0) lie in the outermost bins, beyond the range of training.

Every bin holds training values.  The edges depend on the values and their counts only, not on the order of the rows.

Rare levels are recognised by a digest, so that they are not taken for unseen levels.

A categorical column keeps its most frequent levels; the rare ones share one category, and levels that training did
not have another.  To distinguish the two later the rare levels must be known, but they may be many and long, or
names that nobody wants to find in a model file.  So only eight bytes of a hash of each are kept: that R of them
contain the hash of an unseen level has probability R / 2^64, less than 4e-15.  If there are more than 2^16 rare levels,
the less frequent are not kept, and count as unseen.

Numbers that have lost digits on their way: the same number in eight bytes and in four.

A table that was learned from a file of text holds 0.1, and a batch from a feature store the same number in four bytes,
0.10000000149...; by the last digit it would be a level that was never seen, or, where 0.1 is the largest value, one
beyond the training range.  So a level, an edge and the ends of a range are taken with all numbers that rounding to
four bytes, there or here, can have made of them,

    |x - v| <= 2^-23 |v|,

which is twice the largest rounding error; where that of two numbers would overlap, each has its side of the middle.
Whole numbers are exact in four bytes up to 2^24, and are taken as they are.

**Step functions.**  Whatever a column of numbers does (look its levels up, or cut the line into bins), the category of
x is a function of x that is constant between finitely many breaks :math:`b_0 \le b_1 \le \dots`:

.. math:: c(x) = s_{p(x)}, \qquad p(x) = \#\{i : b_i \le x\}.

* Bins with edges :math:`e_1 < \dots < e_E` seen on [low, high]: breaks low, :math:`e_1, \dots, e_E`, high+
  and slots 0, 0, 1, ..., E, E. The first and the last slot are the values beyond the training range.
* Levels :math:`v_0 < v_1 < \dots`: breaks :math:`v_0, v_0^+, v_1, v_1^+, \dots` and slots n, 0, n, 1, ..., n:
  between two levels lies nothing but the unseen level n.

Here v+ is the next double after v. NaN sorts after every number, so one more break at NaN gives missing values a slot
of their own (-1) and no test for them is needed. A column then costs one search and two gathers.

Integers are compared as doubles. Beyond 2^53 distinct integers share a double, so levels as large as that have no
step function and are looked up as Python numbers instead.
"""

import contextlib
import functools
import hashlib
import math
import reprlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hld.tables.cells import (
    NUMERIC,
    distinct_numbers,
    distinct_values,
    level_order,
    not_a_number,
    reads_as_number,
)
from hld.tables.shown_names import listed
from hld.tables.times import (
    TIMES,
    as_seconds,
    seconds_of_text,
    time_kind,
    time_texts,
)
from pcircuit.arguments import check_integers

BINNED = ("continuous", *TIMES)
UNSEEN = ("keep", "missing", "refuse")  # what is done with values that training did not show
FEWEST = 8  # rows on average of the bins beside atoms
OFF_ATOM = 1e-3  # of the gap beside an atom
# numbers beyond the one are not rounded, none has more decimals than the other
MOST_ROUNDED, MOST_DIGITS = 1e300, 330
SINGLE = 2.0**-22  # relative: at least this far from an atom, four units of a number of four bytes
ROUNDING = 2.0**-23  # relative
EXACT = 2.0**24  # up to which four bytes hold every whole number
SMALLEST, LARGEST = 2.0**-126, 2.0**127  # magnitudes between which they round by no more than that
WHOLE = 2**53  # below this magnitude every integer is a double
FEW, MANY = 32, 2_000  # breaks of a step function, and numbers, for which comparing is faster
SIZE = 8  # bytes of a digest
MOST_RARE = 2**16  # levels whose digests are kept
ROWS_PER_LEVEL = 4  # of whole numbers that are levels: with fewer, bins find a drift twice as often
UNITS = 6.0  # of normal scores in the range of training
# marks of cells: a value that training did not show, a cell of another type than its column; and from the bit `FAR` on
# k, where a number lies up to 2^(k - 2) units beyond the range of training (`BinColumn.ends`), 0 where it does not
NEW, ODD, FAR = 1, 2, 2
_SHOWN = 8  # levels or edges that a line of description lists
_LEVEL_TYPES = {
    "boolean": (bool,),
    "integer": (int,),
    "constant": (bool, int, float),
    "categorical": (bool, int, float, str),
}


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
    """Texts of some numbers of so many digits, or of all that they have where these do not tell them apart."""
    marks = [float(mark) for mark in marks]
    texts = [f"{mark:.{digits}g}" for mark in marks]
    if len(set(texts)) < len(set(marks)):
        return list(map(repr, marks))
    # 11490 for 11492.8
    plain = zip(texts, marks, strict=True)
    return [f"{float(text):.0f}" if "e+" in text and abs(x) < 1e7 else text for text, x in plain]


def spans(numbers: Sequence[Any]) -> list[tuple[float, float]]:
    """For each of n numbers the smallest and the largest one that is taken for it."""
    values = np.array(numbers, dtype=np.float64)
    order = np.argsort(values)
    x = values[order]
    is_exact = np.array([isinstance(numbers[i], int) for i in order], dtype=bool)
    is_exact |= (np.abs(x) <= EXACT) & (x == np.floor(x))
    far = np.where(is_exact, 0.0, ROUNDING * np.abs(x))
    with np.errstate(over="ignore"):
        ends = np.clip([x - far, x + far], -sys.float_info.max, sys.float_info.max)
    middle = x[:-1] / 2 + x[1:] / 2
    middle = np.where(middle > x[:-1], middle, x[1:])  # no double lies between neighbouring ones
    ends[0, 1:] = np.maximum(ends[0, 1:], middle)
    ends[1, :-1] = np.minimum(ends[1, :-1], np.nextafter(middle, -np.inf))
    return [(first, last) for first, last in ends[:, np.argsort(order)].T.tolist()]


def in_four_bytes(number: float) -> float:
    """What four bytes make of a number that is not whole; the number itself where they hold none like it."""
    if number.is_integer() or not SMALLEST <= abs(number) <= LARGEST:
        return number
    return float(np.float32(number))


def digest(level: Any) -> bytes:
    """Digest of a plain value; values that are equal, or equal in four bytes, have the same."""
    if isinstance(level, str):
        text = f"text {level}"
    elif isinstance(level, float) and not level.is_integer():
        text = f"number {in_four_bytes(level).hex()}"
    else:
        text = f"number {int(level)}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def digests_of(levels: Iterable[Any]) -> bytes:
    """The digests of levels, in ascending order, one after the other."""
    return b"".join(sorted({digest(level) for level in levels}))


class Steps(NamedTuple):
    """A step function: breaks (n,), and the code and the mark (n + 1,) of what lies between two."""

    breaks: np.ndarray
    codes: np.ndarray
    marks: np.ndarray

    @classmethod
    def of(cls, breaks: list[float], codes: list[int], marks: list[int]) -> "Steps":
        """Steps from lists, with one more for missing values."""
        codes, marks = [*codes, -1], [*marks, 0]
        return cls(
            np.array([*breaks, math.nan]), np.array(codes, np.int32), np.array(marks, np.uint8)
        )

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """(N,) how many breaks are no larger than each number: p(x)."""
        if len(self.breaks) > FEW or len(numbers) < MANY:
            return self.breaks.searchsorted(numbers, side="right")
        found, numbers = np.zeros(len(numbers), np.uint8), np.ascontiguousarray(numbers, np.float64)
        for mark in self.breaks[:-1].tolist():
            found += ~(numbers < mark)
        return found + np.isnan(numbers)


@dataclass(frozen=True)
class LevelColumn:
    """A column of levels; `rare`: digests of the training levels that share a category ."""

    name: str
    kind: str
    levels: tuple[Any, ...]
    rare: bytes = b""
    policy: str = "keep"

    def __post_init__(self) -> None:
        levels, kind = self.levels, self.kind
        most, least = 1 if kind == "constant" else math.inf, kind != "categorical"
        are_of_kind = all(type(one) in _LEVEL_TYPES[kind] and one == one for one in levels)
        if not are_of_kind or not least <= len(levels) <= most or len({*levels}) < len(levels):
            raise ValueError(
                f"column {self.name!r} has the levels {listed(levels, _SHOWN)}, expected different ones of kind "
                f"{kind}, {'one' if kind == 'constant' else 'at least one'}"
            )
        digests = b"".join(sorted(self.digests))
        is_whole = len(self.rare) % SIZE == 0
        if not is_whole or digests != self.rare or (digests and kind != "categorical"):
            raise ValueError(
                f"column {self.name!r} has impossible digests of rare levels, expected distinct ones of {SIZE} bytes "
                f"in ascending order, in a categorical column"
            )

    @functools.cached_property
    def digests(self) -> frozenset[bytes]:
        """The single digests of rare levels."""
        return frozenset(self.rare[i : i + SIZE] for i in range(0, len(self.rare), SIZE))

    def is_rare(self, value: Any) -> bool:
        """Whether a plain value is one of the rare levels."""
        return bool(self.rare) and digest(value) in self.digests

    @functools.cached_property
    def categories(self) -> dict[Any, int]:
        """Category of each level, and of what four bytes make of it."""
        levels = {level: code for code, level in enumerate(self.levels)}
        return {
            in_four_bytes(one): code for one, code in levels.items() if isinstance(one, float)
        } | levels

    @functools.cached_property
    def steps(self) -> Steps | None:
        """The step function; None where doubles cannot tell the levels."""
        if self.rare or any(isinstance(one, str) or abs(one) >= WHOLE for one in self.levels):
            return None
        unseen, taken = len(self.levels), spans(self.levels)
        breaks, codes, marks = [], [unseen], [NEW]
        # levels of mixed types are kept by type name first; the breaks have to ascend by value
        for code in sorted(range(unseen), key=self.levels.__getitem__):
            first, end = taken[code]
            breaks += [first, math.nextafter(end, math.inf)]
            codes += [code, unseen]
            marks += [0, NEW]
        return Steps.of(breaks, codes, marks)

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


@dataclass(frozen=True)
class BinColumn:
    """A column of numbers or times cut at `edges` (E ascending floats); training values were in [low, high]."""

    name: str
    edges: tuple[Any, ...]
    low: float
    high: float
    kind: str = "continuous"
    policy: str = "keep"
    rare = b""

    def __post_init__(self) -> None:
        marks = (self.low, *self.edges, self.high)
        if not all(a < b for a, b in pairwise(marks[:-1])) or marks[-2] > marks[-1]:
            raise ValueError(
                f"column {self.name!r} has impossible bins, expected low < first edge < ... < last edge <= high"
            )

    @functools.cached_property
    def steps(self) -> Steps:
        """The step function."""
        last, (*starts, high) = len(self.edges), self.marks
        marks = [NEW, *[0] * (last + 1), NEW]
        breaks = [*starts, math.nextafter(high, math.inf)]
        return Steps.of(breaks, [0, *range(last + 1), last], marks)

    @property
    def num_categories(self) -> int:
        """Number of bins."""
        return len(self.edges) + 1

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
        """What numbers are compared with: low, the edges, and high; the ends with what four bytes make of them."""
        if self.kind in TIMES:
            return (self.low, *self.edges, self.high)
        return (spans([self.low])[0][0], *self.edges, spans([self.high])[0][1])

    def texts(self, marks: Sequence[float], digits: int = 6) -> list[str]:
        """Numbers of this column as a person reads them, of so many digits or as many as tell them apart."""
        return (
            mark_texts(marks, digits) if self.kind == "continuous" else time_texts(marks, self.kind)
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


def fit_column(
    name: str, values: Any, role: str | None, *, num_bins: int, max_categories: int
) -> BinColumn | LevelColumn:
    """The column for values (N,); `role` is "categorical", "continuous", or None to choose by the values."""
    times = None if role == "categorical" else time_kind(values)
    if times is not None:
        column = column_of_kind(name, values, times, num_bins, max_categories)
        # a single time is a level, so that any other one is seen to be new
        if column.low < column.high:
            return column
    distinct: Any
    if role != "categorical" and values.dtype.kind in NUMERIC:
        distinct, counts = distinct_numbers(values)
        # too many to be levels, or to be Python numbers
        if len(distinct) > max(max_categories, num_bins):
            return _quantile_bins(name, distinct, counts, num_bins)
        distinct = distinct.tolist()
    else:
        distinct, counts = distinct_values(values, name)
    types = set(map(type, distinct))
    if role == "categorical" or (role is None and (str in types or not distinct)):
        return _most_frequent(name, distinct, counts, max_categories)
    if role is None and types == {bool}:
        return LevelColumn(name, "boolean", tuple(distinct))
    is_few = len(distinct) <= num_bins or int(counts.sum()) >= ROWS_PER_LEVEL * len(distinct)
    are_levels = is_few and len(distinct) <= max_categories and role is None
    if are_levels and all(not isinstance(one, float) or one.is_integer() for one in distinct):
        return LevelColumn(name, "integer", tuple(sorted(map(int, distinct))))
    if len(distinct) == 1 and str not in types and math.isfinite(distinct[0]):
        # A single bin would hold every number; as a level, any other number is seen to be new.
        return LevelColumn(name, "constant", tuple(distinct))
    return _quantile_bins(name, distinct, counts, num_bins)


def column_of_kind(name: str, values: Any, kind: str, num_bins: int, max_categories: int) -> Any:
    """The column of a given kind with the levels or edges of values (N,); ValueError where they have none."""
    if kind in TIMES:
        distinct, counts = distinct_numbers(as_seconds(values, kind)[0])
        return _quantile_bins(name, distinct, counts, num_bins, kind)
    is_array = kind == "continuous" and values.dtype.kind in NUMERIC
    levels: Any
    levels, counts = distinct_numbers(values) if is_array else distinct_values(values, name)
    if kind == "continuous":
        if len(levels) == 1:
            raise ValueError(
                f"`table` column {name!r} holds one number, expected several to cut into bins: "
                "correct its kind, or convert the column"
            )
        return _quantile_bins(name, levels, counts, num_bins)
    if kind == "categorical":
        return _most_frequent(name, levels, counts, max_categories)
    if kind == "integer":  # what is none stays as it is, and is named
        levels = [int(one) if one == one // 1 else one for one in levels if one != ""]
    return LevelColumn(name, kind, tuple(sorted(levels, key=level_order)))


def narrowed_column(
    column: BinColumn | LevelColumn, values: ArrayLike, *, num_bins: int, max_categories: int
) -> Any:
    """A column of the same kind with the levels or edges of some of its values; itself if these are too few.

    Shapes: values (n,).
    """
    try:
        found = column_of_kind(column.name, values, column.kind, num_bins, max_categories)
    except ValueError:  # nothing to cut at, no level
        return column
    is_enough = found.low < found.high if column.kind in BINNED else found.levels
    return found if is_enough else column


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


def _most_frequent(
    name: str, levels: list[str], counts: np.ndarray, max_categories: int
) -> LevelColumn:
    """Categorical column of all levels, or of the max_categories - 1 most frequent."""
    if len(levels) <= max_categories:
        return LevelColumn(name, "categorical", tuple(levels))
    # A stable sort keeps the order of the levels among equal counts.
    ranked = np.argsort(-counts, kind="stable").tolist()
    kept, rare = sorted(ranked[: max_categories - 1]), ranked[max_categories - 1 :][:MOST_RARE]
    digests = digests_of(levels[i] for i in rare)
    return LevelColumn(name, "categorical", tuple(levels[i] for i in kept), rare=digests)


def _quantile_bins(
    name: str, distinct: Any, counts: np.ndarray, num_bins: int, kind: str = "continuous"
) -> BinColumn:
    """Binned column of the finite values."""
    texts = [one for one in distinct if isinstance(one, str)] if isinstance(distinct, list) else []
    if texts:
        odd = next((text for text in texts if not reads_as_number(text)), texts[0])
        raise not_a_number(odd, name)
    number = np.asarray(distinct, dtype=np.float64)
    if number is not distinct:  # whole numbers beyond 2^53 may share a double
        number, place = np.unique(number, return_inverse=True)
        counts = np.bincount(place, weights=counts).astype(np.int64)
    is_finite = np.isfinite(number)
    number, counts = number[is_finite], counts[is_finite]
    if not len(number):
        raise ValueError(
            f"`table` column {name!r} holds no finite number, expected some to cut into bins: "
            f"leave the column out"
        )
    edges = bin_edges(number, counts, num_bins, in_gaps=kind == "continuous")
    return BinColumn(name, edges, float(number[0]), float(number[-1]), kind)
