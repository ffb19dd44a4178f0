"""Cells to categories, column by column, each in the way that suits it; and a count of odd values.

Three ways lead to the same codes.  Whole numbers for levels 0, 1, ... in all columns are their own categories; numbers
are encoded by step functions (`hld.schemas.number_codes`); text, objects and columns with rare levels by look-up
(`hld.schemas.level_codes`).
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hld.schemas.columns import BINNED
from hld.schemas.level_codes import level_lookup, look_up
from hld.schemas.number_codes import StepTables, step_codes, step_tables
from hld.schemas.rare_levels import seen_once
from hld.tables.cells import NUMERIC, as_numbers, objects_of
from hld.tables.factored import Factored, object_cells, whole_cells
from hld.tables.single_cells import is_blank, is_missing, plain_value
from hld.tables.times import TIMES, as_seconds
from pcircuit.arrays import check_integers

if TYPE_CHECKING:
    from hld.schemas.columns import LevelColumn
    from hld.schemas.level_codes import LevelLookup

LONG = 4096  # rows from which columns are counted one by one
MOST_FLAGS = 2**15  # rows whose flags are held at a time
NEW, ODD = (
    1,
    2,
)  # marks of cells: a value that training did not show, a cell of another type than its column


@dataclass(frozen=True, eq=False)
class EncodingReport:
    """What an encoder met in a table of N rows; the counts are read-only int arrays (V,), one entry a column.

    Shapes: num_missing (V,), num_unseen (V,), num_out_of_range (V,), num_rare (V,), num_odd (V,).
    """

    num_rows: int
    num_missing: np.ndarray
    num_unseen: np.ndarray
    num_out_of_range: np.ndarray
    num_rare: np.ndarray
    num_odd: np.ndarray

    def __add__(self, other: object) -> EncodingReport:
        """The counts of two parts of a table together."""
        names = ("num_rows", "num_missing", "num_unseen", "num_out_of_range", "num_rare", "num_odd")
        return EncodingReport(*(getattr(self, name) + getattr(other, name) for name in names))

    def __post_init__(self) -> None:
        for counts in (
            self.num_missing,
            self.num_unseen,
            self.num_out_of_range,
            self.num_rare,
            self.num_odd,
        ):
            counts.flags.writeable = False


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
    unseen.flags.writeable = False
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

    With `leave_one_out` a rare level that is in one row only counts as unseen there: see `hld.schemas.rare_levels`.
    Without `is_strict` a column that is not there (None) is missing throughout, and cells of another type than the
    column's are counted: among numbers they are missing, among levels unseen.

    Shapes: whole (N, V), marks (N, V) -> codes (N, V).
    """
    codes = np.empty((num_rows, len(arrays)), dtype=_code_dtype(columns, arrays))
    beyond = np.zeros(len(arrays), dtype=np.int64)
    if tables.is_counting and whole is not None and whole.dtype.kind in "biu":
        _copy_counting(whole, tables.unseen, codes)
        _mark(marks, codes, tables.unseen, {})
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
    report = _report(columns, codes, tables.unseen, beyond, odd)
    for v, column in enumerate(columns):
        if column.unseen != "keep" and report.num_unseen[v] + report.num_out_of_range[v]:
            _apply_policy(column, numbers.get(v), codes[:, v])
    return codes, report


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


def _code_dtype(columns: tuple[Any, ...], arrays: list[Any]) -> type[Any]:
    """Smallest dtype for the codes of columns, signed where some of their arrays (N,) can become missing values."""
    num_categories = max(column.num_categories for column in columns)
    if any(_may_be_missing(column, values) for column, values in zip(columns, arrays, strict=True)):
        return (
            np.int8 if num_categories <= 2**7 else np.int16 if num_categories <= 2**15 else np.int32
        )
    return (
        np.uint8 if num_categories <= 2**8 else np.uint16 if num_categories <= 2**16 else np.int32
    )


def _may_be_missing(column: Any, values: Any) -> bool:
    """Whether cells of a column can get the code -1."""
    if values is None or column.unseen == "missing":
        return True
    if isinstance(values, Factored) and column.kind not in BINNED:
        return bool((values.codes < 0).any() or any(map(_may_be_empty, values.levels.tolist())))
    if values.dtype.kind in "US":  # texts among numbers, and empty ones
        return column.kind in BINNED or bool((values == values.dtype.type()).any())
    return values.dtype.kind in "fOMm"


def _may_be_empty(cell: Any) -> bool:
    """Whether a cell is missing, or a text without letters, which is where it is no level."""
    return is_missing(cell) or is_blank(cell)


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
    missing = (
        np.zeros_like(beyond)
        if codes.dtype.kind == "u"
        else _counts(codes, np.full(len(columns), -1))
    )
    rare = np.zeros_like(beyond)
    for v in [
        v for v, column in enumerate(columns) if column.kind == "categorical" and column.rare
    ]:
        rare[v] = np.count_nonzero(codes[:, v] == unseen[v] - 1)
    strange = np.array([len(odd.get(v, ())) for v in range(len(columns))], dtype=np.int64)
    return EncodingReport(len(codes), missing, _counts(codes, unseen), beyond, rare, strange)


def _counts(codes: np.ndarray, wanted: Any) -> np.ndarray:
    """How often each column of codes (N, V) has its wanted one (V,)."""
    if len(codes) < LONG:
        return np.count_nonzero(codes == wanted, axis=0)
    # NumPy adds flags along an axis one by one, and counts those of a single column many at a time
    found = np.zeros(codes.shape[1], dtype=np.int64)
    for start in range(0, len(codes), MOST_FLAGS):
        block = codes[start : start + MOST_FLAGS]
        found += [
            np.count_nonzero(block[:, v] == code)
            for v, code in enumerate(np.asarray(wanted).tolist())
        ]
    return found


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


def decoded(
    columns: tuple[Any, ...], codes: Any, *, missing: Any, unseen: str, rare: str
) -> np.ndarray:
    """The values that codes stand for, see `TableEncoder.decode`.

    Shapes: codes (N, V) -> (N, V).
    """
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
        values = object_cells(
            [*column.values(unseen, rare), missing]
        )  # code -1 reads the last entry
        table[:, v] = values[codes[:, v].astype(np.intp)]
    return table
