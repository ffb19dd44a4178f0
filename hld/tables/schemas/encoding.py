r"""Cells to categories, column by column, each in the way that suits it; and a count of odd values.

Three ways lead to the same codes. Whole numbers for levels 0, 1, ... in all columns are their own categories; numbers
are encoded by step functions; text, objects and columns with rare levels by look-up.

**Numbers.**  Whatever a column of numbers does (look its levels up, or cut the line into bins), the category of x is
a function of x that is constant between finitely many breaks :math:`b_0 \le b_1 \le \dots`:

.. math:: c(x) = s_{p(x)}, \qquad p(x) = \#\{i : b_i \le x\}.

* Bins with edges :math:`e_1 < \dots < e_E` seen on [low, high]: breaks low, :math:`e_1, \dots, e_E`, high+
  and slots 0, 0, 1, ..., E, E. The first and the last slot are the values beyond the training range.
* Levels :math:`v_0 < v_1 < \dots`: breaks :math:`v_0, v_0^+, v_1, v_1^+, \dots` and slots n, 0, n, 1, ..., n:
  between two levels lies nothing but the unseen level n.

Levels that are no whole numbers, edges, low and high are taken with what four bytes make of them
(`schemas.rare_levels`).

Here v+ is the next double after v. NaN sorts after every number, so one more break at NaN gives missing values a slot
of their own (-1) and no test for them is needed. The slots of all columns are laid one after the other; a block of
rows then costs one binary search per column and two gathers for the whole block.

Integers are compared as doubles. Beyond 2^53 distinct integers share a double, so levels as large as that have no
step function and are looked up as Python numbers instead.

**Text and objects.**  Python's dictionaries compare by value, which is the equality wanted: 1, 1.0 and True find one
entry, "1" another. One look-up per cell decides nearly all cells; only those not found are examined: they may be
missing (NaN, or an empty text that is no level), a level in another form (a date, bytes, a decimal, a number of four
bytes), rare, or unseen. Levels that are times are found by their time: "31.01.2026" is the level 2026-01-31, but 1:30
is not 01:30:00 unless all levels of the column are times (`hld.tables.times`).
"""

from __future__ import annotations

import contextlib
import math
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hld.tables.cells import NUMERIC, as_numbers, factored, not_a_number, plain_value
from hld.tables.factored import whole_cells
from hld.tables.schemas.columns import BINNED
from hld.tables.schemas.rare_levels import digest_set, in_four_bytes, is_rare, seen_once, spans
from hld.tables.times import TIMES, as_seconds, is_missing, levels_of_text

if TYPE_CHECKING:
    from hld.tables.schemas.columns import LevelColumn


# marks of cells: a value that training did not show, a cell of another type than its column; and from the bit `FAR` on
# k, where a number lies up to 2^(k - 2) units beyond the range of training (`BinColumn.ends`), 0 where it does not
NEW, ODD, FAR = 1, 2, 2
MOST_FAR = 31


@dataclass(frozen=True, eq=False)
class EncodingReport:
    """What an encoder met in a table of N rows; the counts are int arrays (V,), one entry a column."""

    num_rows: int
    num_missing: np.ndarray
    num_unseen: np.ndarray
    num_out_of_range: np.ndarray
    num_rare: np.ndarray
    num_odd: np.ndarray

    def of_columns(self, shown: list[int]) -> EncodingReport:
        """The counts of some of the columns."""
        return EncodingReport(
            self.num_rows, *(getattr(self, one.name)[shown] for one in fields(self)[1:])
        )

    def __add__(self, other: object) -> EncodingReport:
        """The counts of two parts of a table together."""
        return EncodingReport(
            *(getattr(self, one.name) + getattr(other, one.name) for one in fields(self))
        )


class CodeTables(NamedTuple):
    """What the codes of V columns are read from, prepared once."""

    steps: tuple[Any, ...]  # `Steps` of each column, None where doubles cannot tell its levels
    lookups: tuple[Any, ...]  # a `LevelLookup` for each column of levels
    unseen: np.ndarray  # (V,) the category of unseen levels, -2 where there is none
    is_counting: bool  # all columns have the levels 0, 1, ... and keep what is none of them


def code_tables(columns: tuple[Any, ...]) -> CodeTables:
    """Prepare V columns: `LevelColumn` and `BinColumn`."""
    levels = [None if column.kind in BINNED else column for column in columns]
    unseen = np.array([-2 if one is None else one.num_categories - 1 for one in levels])
    is_counting = all(
        one and one.unseen == "keep" and one.levels == (*range(one.num_categories - 1),)
        for one in levels
    )
    lookups = tuple(None if one is None else level_lookup(one) for one in levels)
    return CodeTables(tuple(map(steps_of, columns)), lookups, unseen, is_counting)


def encoded(
    columns: tuple[Any, ...],
    tables: CodeTables,
    arrays: list[Any],
    num_rows: int,
    whole: np.ndarray | None,
    *,
    leave_one_out: bool = False,
    is_strict: bool = True,
    marks: np.ndarray | None = None,
) -> tuple[np.ndarray, EncodingReport]:
    """Codes (N, V) of columns (N,), of `whole` (N, V) if they are one array, and their `EncodingReport`.

    With `leave_one_out` a rare level that is in one row only counts as unseen there: see `schemas.rare_levels`.
    Without `is_strict` a column that is not there (None) is missing throughout, and cells of another type than the
    column's are counted: among numbers they are missing, among levels unseen.  Marks (N, V) are written to.
    """
    codes = np.empty((num_rows, len(arrays)), dtype=_code_dtype(columns))
    marks = np.zeros(codes.shape, dtype=np.uint8) if marks is None else marks
    if tables.is_counting and whole is not None and whole.dtype.kind in "biu":
        # whole numbers whose levels are 0 ... n - 1 are their own categories
        np.copyto(codes, whole, casting="unsafe")
        is_new = whole >= tables.unseen.astype(codes.dtype)
        if whole.dtype.kind == "i":
            is_new |= whole < 0
        np.copyto(codes, tables.unseen, where=is_new, casting="unsafe")
    else:
        for v, (column, values) in enumerate(zip(columns, arrays, strict=True)):
            if values is None:
                codes[:, v] = -1
                continue
            steps = tables.steps[v]
            if column.kind in BINNED or (steps is not None and values.dtype.kind in NUMERIC):
                numbers, odd = _numbers(column, values, is_strict)
                places = steps.breaks.searchsorted(numbers, side="right")
                codes[:, v] = steps.codes.astype(codes.dtype)[places]
                marks[:, v] = steps.marks[places]
            else:
                codes[:, v], odd = look_up(column, tables.lookups[v], values, is_strict=is_strict)
                if leave_one_out and column.rare and column.unseen != "refuse":  # then none are new
                    _leave_one_out(column, values, codes[:, v])
            marks[odd, v] |= ODD
    marks |= codes == tables.unseen.astype(codes.dtype)  # which is `NEW`
    _mark_far(marks, columns, arrays)
    report = report_of(columns, codes, marks)
    for v, column in enumerate(columns):
        if column.unseen != "keep":
            _apply_policy(column, marks[:, v] & NEW > 0, codes[:, v])
    return codes, report


def numbers_in(column: Any, values: Any) -> np.ndarray:
    """(N,) the cells of a column with an order as numbers, times in seconds; NaN where they are none."""
    return np.asarray(_numbers(column, values, False)[0], dtype=np.float64)


def _numbers(column: Any, values: Any, is_strict: bool) -> tuple[np.ndarray, np.ndarray]:
    """A column (N,) of numbers or times as numbers, and flags of the cells that are neither."""
    is_time = column.kind in TIMES
    found, odd = as_seconds(values, column.kind) if is_time else as_numbers(values, column.name)
    if is_strict and odd.any():
        cell = whole_cells(values).tolist()[np.argmax(odd)]
        if not is_time:
            raise not_a_number(cell, column.name)
        raise TypeError(
            f"`table` column {column.name!r} holds {reprlib.repr(cell)}, expected a {column.kind}, as in "
            f"training: convert the column first"
        )
    return found, odd


def _mark_far(marks: np.ndarray, columns: Any, arrays: list[Any]) -> None:
    """Mark how far numbers that are marked as new lie beyond the range of training."""
    for v, column in enumerate(columns):
        rows = np.flatnonzero(marks[:, v] & NEW)
        if column.ends is None or not len(rows):
            continue
        low, high, below, above = column.ends
        with contextlib.suppress(ValueError), np.errstate(all="ignore"):  # what no double holds
            x = numbers_in(column, arrays[v][rows])
            away = np.maximum((x - high) / above, (low - x) / below)
            k = np.clip(np.ceil(np.log2(away)) + 2, 1, MOST_FAR)
            marks[rows, v] |= np.where(away > 0, k, 0).astype(np.uint8) << FAR


def _leave_one_out(column: LevelColumn, values: Any, codes: np.ndarray) -> None:
    """Write rare levels that only one row has as unseen."""
    rows = np.flatnonzero(codes == len(column.levels))
    cells = factored(values[rows], column.name).tolist()
    once = seen_once([plain_value(cell, column.name) for cell in cells])
    codes[rows[once]] = column.num_categories - 1


def _apply_policy(column: Any, new: np.ndarray, codes: np.ndarray) -> None:
    """Make values that training did not show, in rows flagged as `new` (N,), missing, or refuse them."""
    if column.unseen == "refuse" and new.any():
        raise ValueError(
            f"`table` column {column.name!r} holds {int(new.sum())} values that training did not show, "
            f"the first in row {int(np.argmax(new))}, which its schema refuses: correct them, or change "
            "the column's `policy`"
        )
    codes[new] = -1


def _code_dtype(columns: tuple[Any, ...]) -> type[Any]:
    """Smallest signed dtype for the codes of columns."""
    most = max(column.num_categories for column in columns)
    return np.int8 if most <= 2**7 else np.int16 if most <= 2**15 else np.int32


def report_of(columns: tuple[Any, ...], codes: np.ndarray, marks: np.ndarray) -> EncodingReport:
    """What the encoder met in rows, or in some of them: from their codes (N, V) and marks (N, V)."""
    missing = codes < 0
    rare, new, odd = np.zeros((3, len(columns)), dtype=np.int64)
    if marks.any():
        is_new = (marks & NEW) > 0
        missing &= ~is_new  # by its policy
        new, odd = np.count_nonzero(is_new, axis=0), np.count_nonzero(marks & ODD, axis=0)
    for v, column in enumerate(columns):
        if getattr(column, "rare", b""):
            rare[v] = np.count_nonzero(codes[:, v] == column.num_categories - 2)
    is_binned = np.array([column.kind in BINNED for column in columns])
    unseen, beyond = new * ~is_binned, new * is_binned
    return EncodingReport(len(codes), np.count_nonzero(missing, axis=0), unseen, beyond, rare, odd)


UNSEEN, RARE = "<unseen>", "<rare>"  # what categories that hold no level are called
LARGEST = 2**53  # below this magnitude every integer is a double


class Steps(NamedTuple):
    """A step function: breaks (n,), and the code and the mark (n + 1,) of what lies between two."""

    breaks: np.ndarray
    codes: np.ndarray
    marks: np.ndarray


def steps_of(column: Any) -> Steps | None:
    """The step function of a column; None where doubles cannot tell its levels."""
    if column.kind in BINNED:
        last = len(column.edges)
        *starts, high = column.marks
        breaks = [*starts, math.nextafter(high, math.inf), math.nan]
        codes = [0, *range(last + 1), last, -1]
        marks = [NEW, *[0] * (last + 1), NEW, 0]
    elif column.rare or any(isinstance(one, str) or abs(one) >= LARGEST for one in column.levels):
        return None
    else:
        unseen, taken = len(column.levels), spans(column.levels)
        breaks, codes = [], [unseen]
        # levels of mixed types are kept by type name first; the breaks have to ascend by value
        for code in sorted(range(unseen), key=column.levels.__getitem__):
            first, end = taken[code]
            breaks += [first, math.nextafter(end, math.inf)]
            codes += [code, unseen]
        breaks, codes = [*breaks, math.nan], [*codes, -1]
        marks = [0] * len(codes)
    return Steps(np.array(breaks), np.array(codes, np.int32), np.array(marks, np.uint8))


class LevelLookup(NamedTuple):
    """Categories of levels, and of what four bytes make of them; digests of rare ones."""

    categories: dict[Any, int]
    rare: frozenset[bytes]


def level_lookup(column: LevelColumn) -> LevelLookup:
    """`LevelLookup` of a `LevelColumn`."""
    levels = {level: code for code, level in enumerate(column.levels)}
    short = {in_four_bytes(one): code for one, code in levels.items() if isinstance(one, float)}
    return LevelLookup(short | levels, digest_set(column.rare))


def look_up(
    column: LevelColumn, lookup: LevelLookup, values: Any, *, is_strict: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Categories (N,) of the cells (N,) of a `LevelColumn`, and flags (N,) of cells of another type.

    These are text in a column of numbers: a TypeError if `is_strict`, as is what cannot be a level at all; else the
    category of unseen levels.
    """
    cells = factored(values, column.name)
    codes, odd = np.full(len(cells.levels), -1), np.zeros(len(cells.levels), dtype=bool)
    used = zip(cells.levels.tolist(), cells.counts().tolist(), strict=True)
    for i, (cell, count) in enumerate(used):
        if not count:
            continue
        codes[i] = code = lookup.categories.get(cell, _UNKNOWN)
        if code == _UNKNOWN:
            codes[i], odd[i] = _code_of(column, lookup, cell)
            if odd[i] and is_strict:
                raise not_a_number(cell, column.name)
    return cells.spread(codes, -1), cells.spread(odd, False)


_UNKNOWN = -2


def _code_of(column: Any, lookup: LevelLookup, cell: Any) -> tuple[int, bool]:
    """Category of one cell that is not a key as it stands, and whether it is of another type."""
    if is_missing(cell):
        return -1, False
    value = plain_value(cell, column.name)
    for form in _forms(value):
        if form in lookup.categories:
            return lookup.categories[form], False
        if is_rare(form, lookup.rare):
            return len(column.levels), False
    # an empty text is missing: files of text cannot tell the two apart
    if value == "":
        return -1, False
    is_odd = isinstance(value, str) and column.kind != "categorical"
    return column.num_categories - 1, is_odd


def _forms(value: Any) -> Iterator[Any]:
    """A plain value, and the others that a level equal to it may be."""
    yield value
    if isinstance(value, str):
        yield from levels_of_text(value)
    elif isinstance(value, float):
        yield in_four_bytes(value)
