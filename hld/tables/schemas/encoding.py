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
from bisect import bisect_right
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hld.tables.cells import (
    NUMERIC,
    as_keys,
    as_numbers,
    first_unhashable,
    not_a_level,
    not_a_number,
    objects_of,
    plain_value,
)
from hld.tables.factored import Factored, object_cells, whole_cells
from hld.tables.schemas.columns import BINNED
from hld.tables.schemas.rare_levels import digest_set, is_rare, seen_once, spans
from hld.tables.times import TIMES, as_seconds, is_missing, levels_of_text
from pcircuit.arguments import check_integers

if TYPE_CHECKING:
    from hld.tables.schemas.columns import BinColumn, LevelColumn


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

    steps: StepTables
    lookups: tuple[Any, ...]  # a `LevelLookup` for each column of levels
    unseen: np.ndarray  # (V,) the category of unseen levels, -2 where there is none
    is_counting: bool  # all columns have the levels 0, 1, ... and keep what is none of them


def code_tables(columns: tuple[Any, ...]) -> CodeTables:
    """Prepare V columns: `LevelColumn` and `BinColumn`."""
    levels = [None if column.kind in BINNED else column for column in columns]
    unseen = np.array([-2 if one is None else one.num_categories - 1 for one in levels])
    return CodeTables(
        step_tables(columns),
        tuple(None if one is None else level_lookup(one) for one in levels),
        unseen,
        all(
            one
            and not one.rare
            and one.unseen == "keep"
            and one.levels == tuple(range(len(one.levels)))
            for one in levels
        ),
    )


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
    """Codes (N, V) of arrays (N,) and their `EncodingReport`.

    With `leave_one_out` a rare level that is in one row only counts as unseen there: see `schemas.rare_levels`.
    Without `is_strict` a column that is not there (None) is missing throughout, and cells of another type than the
    column's are counted: among numbers they are missing, among levels unseen.

    Shapes: whole (N, V), marks (N, V) -> codes (N, V).
    """
    codes = np.empty((num_rows, len(arrays)), dtype=_code_dtype(columns))
    beyond = np.zeros(len(arrays), dtype=np.int64)
    if tables.is_counting and whole is not None and whole.dtype.kind in "biu":
        _copy_counting(whole, tables.unseen, codes)
        _mark(marks, codes, tables.unseen, {})
        _mark_far(marks, columns, arrays)
        return codes, _report(columns, codes, tables.unseen, beyond, {})
    numbers, odd = {}, {}
    for v, (column, values) in enumerate(zip(columns, arrays, strict=True)):
        if values is None:
            codes[:, v] = -1
        elif column.kind in BINNED or (
            values.dtype.kind in NUMERIC and tables.steps.breaks[v] is not None
        ):
            numbers[v], odd[v] = _numbers(column, values, is_strict)
        else:
            odd[v] = _look_up_into(codes[:, v], column, tables.lookups[v], values, is_strict)
            if leave_one_out and column.rare and column.unseen != "refuse":  # then none are new
                _leave_one_out(column, values, codes[:, v])
    if numbers:
        which = list(numbers)
        beyond[which] = step_codes(tables.steps, which, list(numbers.values()), codes, marks)
    _mark(marks, codes, tables.unseen, odd)
    _mark_far(marks, columns, arrays)
    report = _report(columns, codes, tables.unseen, beyond, odd)
    for v, column in enumerate(columns):
        if column.unseen != "keep" and report.num_unseen[v] + report.num_out_of_range[v]:
            _apply_policy(column, numbers.get(v), codes[:, v])
    return codes, report


def numbers_in(column: Any, values: np.ndarray) -> np.ndarray:
    """(N,) the cells of a column with an order as numbers, times in seconds; NaN where they are none."""
    return np.asarray(_numbers(column, values, False)[0], dtype=np.float64)


def _numbers(column: Any, values: np.ndarray, is_strict: Any) -> tuple[np.ndarray, Any]:
    """A column of numbers or times as numbers, and the positions of the cells that are neither."""
    if column.kind not in TIMES:
        positions = None if is_strict else []  # type: ignore[var-annotated]
        return as_numbers(whole_cells(values), column.name, odd=positions), positions or []
    cells = whole_cells(values)
    seconds, odd = as_seconds(cells, column.kind)
    if is_strict and odd.any():
        cell = cells[np.flatnonzero(odd)[0]]
        raise TypeError(
            f"`table` column {column.name!r} holds {reprlib.repr(cell)}, expected a {column.kind}, as in "
            f"training: convert the column first"
        )
    return seconds, np.flatnonzero(odd)


def _look_up_into(
    codes: np.ndarray, column: LevelColumn, lookup: LevelLookup, values: ArrayLike, is_strict: bool
) -> Any:
    """Write the categories of a column of levels to codes (N,); the positions of its cells of another type."""
    if not isinstance(values, Factored):
        codes[:], odd = look_up(column, lookup, objects_of(values), is_strict=is_strict)
        return odd
    found, odd = look_up(column, lookup, values.levels, is_strict=is_strict, used=values.counts())
    values.write(np.append(found, -1).astype(codes.dtype), codes)
    return np.flatnonzero(np.isin(values.codes, odd)) if odd else odd


def _mark(
    marks: np.ndarray | None, codes: np.ndarray, unseen: np.ndarray, odd: dict[int, Any]
) -> None:
    """Mark unseen levels, and cells of another type at given positions by column; numbers out of range are marked."""
    if marks is not None:
        np.bitwise_or(marks, NEW, out=marks, where=codes == unseen)
        for v, rows in odd.items():
            marks[rows, v] |= ODD


def _mark_far(marks: np.ndarray | None, columns: Any, arrays: list[Any]) -> None:
    """Mark how far numbers that are marked as new lie beyond the range of training."""
    if marks is None:
        return
    for v, column in enumerate(columns):
        rows = np.flatnonzero(marks[:, v] & NEW)
        if column.ends is None or not len(rows):
            continue
        low, high, below, above = column.ends
        with contextlib.suppress(ValueError), np.errstate(all="ignore"):  # what no double holds
            x = numbers_in(column, whole_cells(arrays[v])[rows])
            away = np.maximum((x - high) / above, (low - x) / below)
            k = np.clip(np.ceil(np.log2(away)) + 2, 1, MOST_FAR)
            marks[rows, v] |= np.where(away > 0, k, 0).astype(np.uint8) << FAR


def _leave_one_out(column: LevelColumn, values: np.ndarray, codes: np.ndarray) -> None:
    """Write rare levels that only one row has as unseen."""
    rows = np.flatnonzero(codes == len(column.levels))
    cells = objects_of(values[rows]).tolist()
    once = seen_once([plain_value(cell, column.name) for cell in cells])
    codes[rows[once]] = column.num_categories - 1


def _apply_policy(column: Any, numbers: Any, codes: Any) -> None:
    """Make values that training did not show missing, or refuse them."""
    if column.kind in BINNED:
        low, *_, high = column.marks
        new = (numbers < low) | (numbers > high)
    else:
        new = codes == column.num_categories - 1
    if column.unseen == "refuse":
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


def _copy_counting(numbers: np.ndarray, num_levels: np.ndarray, codes: np.ndarray) -> None:
    """Write numbers (N, V) whose levels are 0..n_v - 1 into codes (N, V): they are their own categories."""
    np.copyto(codes, numbers, casting="unsafe")
    unseen = numbers >= num_levels
    if numbers.dtype.kind == "i":
        unseen |= numbers < 0
    if unseen.any():
        np.copyto(codes, num_levels, where=unseen, casting="unsafe")


def _report(
    columns: tuple[Any, ...],
    codes: np.ndarray,
    unseen: np.ndarray,
    beyond: np.ndarray,
    odd: dict[int, Any],
) -> EncodingReport:
    """`EncodingReport` of codes (N, V), the codes (V,) of unseen categories, counts (V,) out of range, odd cells."""
    missing = _counts(codes, np.full(len(columns), -1))
    rare = np.zeros_like(beyond)
    for v in [
        v for v, column in enumerate(columns) if column.kind == "categorical" and column.rare
    ]:
        rare[v] = np.count_nonzero(codes[:, v] == unseen[v] - 1)
    strange = np.array([len(odd.get(v, ())) for v in range(len(columns))], dtype=np.int64)
    return EncodingReport(len(codes), missing, _counts(codes, unseen), beyond, rare, strange)


def _counts(codes: np.ndarray, wanted: Any) -> np.ndarray:
    """How often each column of codes (N, V) has its wanted one (V,)."""
    # NumPy adds flags along an axis one by one, and counts those of a single column many at a time
    pairs = zip(codes.T, np.asarray(wanted).tolist(), strict=True)
    return np.array([np.count_nonzero(column == code) for column, code in pairs], dtype=np.int64)


def reports_of_parts(
    columns: tuple[Any, ...], codes: np.ndarray, marks: np.ndarray, starts: np.ndarray
) -> list[EncodingReport]:
    """What the encoder met in each part of a table, as if it had been encoded alone.

    Shapes: codes (N, V), marks (N, V), starts (P,).
    O(N V) for all parts together.
    """
    is_new = (marks & NEW) > 0
    rare = np.array(
        [
            one.num_categories - 2 if one.kind == "categorical" and one.rare else -2
            for one in columns
        ]
    )
    binned = np.array([one.kind in BINNED for one in columns])
    new, missing, rare, odd = (
        np.add.reduceat(flags, starts, axis=0, dtype=np.int64)
        for flags in (is_new, (codes < 0) & ~is_new, codes == rare, (marks & ODD) > 0)
    )
    sizes = np.diff(starts, append=len(codes)).tolist()
    return [
        EncodingReport(T, *one)
        for T, *one in zip(sizes, missing, new * ~binned, new * binned, rare, odd, strict=True)
    ]


def decoded(columns: tuple[Any, ...], codes: Any) -> np.ndarray:
    """The values that codes stand for, see `TableEncoder.decode`; shapes codes (N, V) -> (N, V)."""
    expected = f"integers of shape (rows, {len(columns)})"
    codes = check_integers(codes, "codes", expected)
    if codes.ndim != 2 or codes.shape[1] != len(columns):
        raise ValueError(f"`codes` must be {expected}, found shape {codes.shape}")
    table = np.empty(codes.shape, dtype=object)
    for v, column in enumerate(columns):
        low, high = codes[:, v].min(initial=0), codes[:, v].max(initial=0)
        if low < -1 or high >= column.num_categories:
            raise ValueError(
                f"`codes` column {v} ({column.name!r}) has entries from {low} to {high}, "
                f"expected -1..{column.num_categories - 1}"
            )
        values = object_cells([*column.values(UNSEEN, RARE), None])  # code -1 reads the last entry
        table[:, v] = values[codes[:, v].astype(np.intp)]
    return table


UNSEEN, RARE = "<unseen>", "<rare>"  # what is decoded of categories that hold no level
LARGEST = 2**53  # below this magnitude every integer is a double
_BLOCK_CELLS = 2**15  # cells encoded at a time: the positions of a block stay in the cache


@dataclass(frozen=True, eq=False)
class StepTables:
    """Breaks of each column (None: no step function); codes and flags of the slots of all columns."""

    breaks: tuple[Any, ...]
    first_slot: np.ndarray
    slot_code: np.ndarray
    slot_beyond: np.ndarray


def step_tables(columns: tuple[Any, ...]) -> StepTables:
    """Step functions of V columns: `LevelColumn` with `levels`, `BinColumn` with `edges`, `low`, `high`."""
    steps = [(_bin_steps if column.kind in BINNED else _level_steps)(column) for column in columns]
    lengths = [len(slots) for _, slots, _ in steps]
    first_slot = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
    slot_code = np.array([code for _, slots, _ in steps for code in slots], dtype=np.int32)
    slot_beyond = np.array([flag for _, _, beyond in steps for flag in beyond], dtype=bool)
    return StepTables(tuple(breaks for breaks, _, _ in steps), first_slot, slot_code, slot_beyond)


def _bin_steps(column: BinColumn) -> tuple[Any, ...]:
    """Breaks (E + 3,), slot codes and beyond-the-range flags (E + 4) of a binned column."""
    last = len(column.edges)
    *starts, high = column.marks
    breaks = np.array([*starts, math.nextafter(high, np.inf), np.nan])
    return breaks, [0, *range(last + 1), last, -1], [True, *[False] * (last + 1), True, False]


def _level_steps(column: LevelColumn) -> tuple[Any, ...]:
    """Breaks (2n + 1,), slot codes and flags (2n + 2) of n levels; None, [], [] where doubles cannot tell."""
    if column.rare or any(
        isinstance(level, str) or abs(level) >= LARGEST for level in column.levels
    ):
        return None, [], []
    unseen, taken = len(column.levels), spans(column.levels)
    breaks, slots = [], [unseen]
    # Levels of mixed types are kept by type name first; the breaks have to ascend by value.
    for code in sorted(range(unseen), key=column.levels.__getitem__):
        first, last = taken[code]
        breaks += [first, math.nextafter(last, np.inf)]
        slots += [code, unseen]
    return np.array([*breaks, np.nan]), [*slots, -1], [False] * (len(slots) + 1)


def step_codes(
    tables: StepTables,
    which: list[int],
    values: list[np.ndarray],
    codes: np.ndarray,
    is_beyond: np.ndarray | None = None,
) -> np.ndarray:
    """Write the categories of the columns `which`, given as number arrays (N,), into codes (N, V).

    Returns, for each of these columns, how many values lie beyond the training range (len(which),).

    Shapes: codes (N, V), is_beyond (N, V).
    """
    beyond = np.zeros(len(which), dtype=np.int64)
    target = (
        slice(None) if which == list(range(codes.shape[1])) else which
    )  # a slice is faster than a list
    first_slot = tables.first_slot[which, None]
    num_rows = min(len(codes), max(1, _BLOCK_CELLS // len(which)))
    positions = np.empty(
        (len(which), num_rows), dtype=np.intp
    )  # one for all blocks: new memory costs as much
    for start in range(0, len(codes), max(1, num_rows)):
        rows = slice(start, start + num_rows)
        position = positions[:, : len(codes[rows])]
        for i, (v, column) in enumerate(zip(which, values, strict=True)):
            position[i] = tables.breaks[v].searchsorted(column[rows], side="right")
        position += first_slot
        codes[rows, target] = tables.slot_code[position].T
        flags = tables.slot_beyond[position]
        beyond += np.count_nonzero(flags, axis=1)
        if is_beyond is not None:
            is_beyond[rows, target] = flags.T
    return beyond


_UNKNOWN, _ODD = -2, -3


class LevelLookup(NamedTuple):
    """Categories of levels, the usual missing values at -1; digests of rare ones; numbers taken for a level."""

    categories: dict[str, Any]
    rare: frozenset[str]
    near: list[tuple[float, float, int]]


def level_lookup(column: LevelColumn) -> LevelLookup:
    """`LevelLookup` of a `LevelColumn`."""
    # np.nan is a key because data frames fill holes with this one object; other NaNs are found one by one.
    categories = {None: -1, np.nan: -1, **{level: code for code, level in enumerate(column.levels)}}
    short = {
        level: code
        for code, level in enumerate(column.levels)
        if not isinstance(level, str) and abs(level) < LARGEST
    }
    near = sorted(
        (first, last, code)
        for (first, last), code in zip(spans(list(short)), short.values(), strict=True)
        if first < last
    )
    return LevelLookup(categories, digest_set(column.rare), near)


def look_up(
    column: LevelColumn,
    lookup: LevelLookup,
    values: np.ndarray,
    *,
    is_strict: bool = True,
    used: np.ndarray | None = None,
) -> tuple[np.ndarray, list[int]]:
    """Categories (N,) of the cells (N,) of a `LevelColumn`, and the positions of cells of another type.

    These are text in a column of numbers: a TypeError if `is_strict`, as is what cannot be a level at all; else the
    category of unseen levels.  Of cells that stand for several, `used` says for how many; those of 0 are not looked at.

    Shapes: values (N,), used (N,) -> codes (N,).
    """
    cells, find = values.tolist(), lookup.categories.get
    try:
        codes = np.array([find(cell, _UNKNOWN) for cell in cells], dtype=np.int32)
    except (TypeError, ValueError):
        cells = as_keys(cells)
        if (unknown := first_unhashable(cells)) is not None:
            raise not_a_level(unknown, column.name) from None
        codes = np.array([find(cell, _UNKNOWN) for cell in cells], dtype=np.int32)
    known, odd = {}, []  # cells that repeat are examined once; their type is part of them
    for i in np.flatnonzero(
        codes == _UNKNOWN if used is None else (codes == _UNKNOWN) & (used > 0)
    ).tolist():
        key = type(cells[i]), cells[i]
        if key not in known:
            known[key] = _code_of(column, lookup, cells[i], is_strict)
        codes[i] = known[key]
        if codes[i] == _ODD:
            codes[i] = column.num_categories - 1
            odd.append(i)
    return np.where(codes == _UNKNOWN, -1, codes), odd


def _code_of(column: Any, lookup: Any, cell: str, is_strict: bool) -> int:
    """Category of one cell that is not a key as it stands; `_ODD` for text among numbers."""
    if is_missing(cell):
        return -1
    value = plain_value(cell, column.name)
    forms = [value, *(levels_of_text(value) if isinstance(value, str) else ())]
    known = any(is_rare(form, lookup.rare) for form in forms)
    if value == "" and not known:  # files of text cannot tell it from a missing cell
        return lookup.categories.get(value, -1)
    if isinstance(value, str) and column.kind != "categorical":
        if is_strict:
            raise not_a_number(cell, column.name)
        return _ODD
    for form in forms:
        if form in lookup.categories:
            return lookup.categories[form]
    if (
        isinstance(value, float)
        and (i := bisect_right(lookup.near, (value, math.inf)))
        and value <= lookup.near[i - 1][1]
    ):
        return lookup.near[i - 1][2]
    # categories after the levels: rare ones, if there are any, and last the unseen ones
    return len(column.levels) if known else column.num_categories - 1
