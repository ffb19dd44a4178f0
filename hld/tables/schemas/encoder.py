r"""Tables to evidence.

A circuit over discrete variables reads evidence: an integer array (N, V) with entries 0..C_v - 1, and -1
where nothing is known. A table has text, booleans, numbers and holes. The encoder is the map from one to the
other, fitted once and then fixed, column by column:

===========  ===========================================  ================================================
kind         chosen for                                   categories
===========  ===========================================  ================================================
categorical  text, objects, declared categories           levels, one for rare and one for unseen levels
boolean      booleans                                     levels, and one for unseen levels
integer      at most `max_categories` whole numbers (*)   levels in numeric order, and one for unseen ones
constant     a column with one number that is not whole   that number, and one for every other
continuous   all other numbers                            at most `num_bins` half-open intervals [a, b)
===========  ===========================================  ================================================

(*) in four rows each on average, or `num_bins` at most (`schemas.columns`).

*Unseen levels are evidence.* Every column of levels has a category for values that training did not have, the
last one. No training row falls into it; a circuit learned with a pseudocount gives it a small positive probability.
So a level never seen before makes a row unlikely, as it should, and is no error.

*Rare levels.* A categorical column with M = `max_categories` distinct levels or fewer keeps them all. With
more, it keeps the M - 1 most frequent (ties: the first in sorted order), and the others share a category of
their own, the last but one. In such columns fresh rows do bring new levels, so training rows whose level is in
no other row are written as unseen: see `TableEncoder.encode_training`.

*Bins.* They hold about as many training values each, and none is empty on the training table; very frequent values
have bins of their own (`schemas.columns`). x is in bin k if e_k <= x < e_(k+1), with e_0 and the last edge
infinite. Values beyond the training range, infinities included, fall into the outermost bins and are counted.

*Missing values* (None, NaN, NaT, pandas.NA, masked) are -1: the circuit integrates them out exactly.

*Equality is by value*: 1, 1.0 and True are one level, "1" is another; 0.1 is the same level, and in the same bin, if it
comes as a number of four bytes (`schemas.columns`). Text in a column of numbers is a
TypeError, never parsed. Times are levels by one text each, in every form of table (`hld.tables.times`), other
objects by ``str(value)``. The result depends on nothing random, and not on the order of the rows.

How often will the category "unseen" occur in fresh rows?  In the training table it does not, by construction, but that
says nothing about fresh rows: in a column of names every second row may bring a new one.  The training table tells, if
each of its rows is compared with the others.  A level that occurs in one row only is then unseen in that row, and the
share of such rows estimates the probability of an unseen level without bias (Good 1953).  Therefore
`TableEncoder.encode_training` writes them as unseen, and a circuit and a reference learned from its codes expect as
many new levels as there will be.

**How.**  Whole numbers for levels 0, 1, ... in all columns are their own categories; numbers are encoded by step
functions (`schemas.columns`); text, objects and columns with rare levels by look-up.  Python's dictionaries compare by
value, which is the equality wanted: 1, 1.0 and True find one entry, "1" another.  One look-up for each distinct cell
decides nearly all; only those not found are examined: they may be missing (NaN, or an empty text that is no level), a
level in another form (a date, bytes, a decimal, a number of four bytes), rare, or unseen. Levels that are times are
found by their time: "31.01.2026" is the level 2026-01-31, but 1:30 is not 01:30:00 unless all levels of the column are
times (`hld.tables.times`).

Reference: I. J. Good (1953), The population frequencies of species and the estimation of population parameters,
Biometrika 40.
"""

from __future__ import annotations

import contextlib
import reprlib
from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.tables.cells import (
    NUMERIC,
    Columns,
    as_numbers,
    factored,
    not_a_number,
    plain_value,
    read_table,
)
from hld.tables.column_names import table_called
from hld.tables.derived import with_parts
from hld.tables.schemas.columns import BINNED, FAR, NEW, ODD, digest, in_four_bytes
from hld.tables.shown_names import listed
from hld.tables.times import TIMES, as_seconds, is_missing, levels_of_text

if TYPE_CHECKING:
    from hld.tables.schemas.columns import LevelColumn

FARTHEST, SMALLEST = 1e6, 1e-9  # ranges beyond training; a range, relative to the numbers in it
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


@dataclass(frozen=True)
class TableEncoder:
    """A fitted map from tables to evidence, made by `fit_encoder`; immutable, safe to share between threads.

    Attributes
    ----------
    columns : tuple of V columns
        Name, kind and categories of each column.
    by_name : bool
        Whether data frames are matched by column name (else by position, unless they have exactly these names).
    table_names : tuple of str
        Names of all columns of the training table: those that are not in `columns` are left out.
    derived : tuple of hld.tables.derived.Derived
        Which of `columns` are parts of another one.
    optional : tuple of str
        Columns that a table with names may have as well, and that are ignored.

    Examples
    --------
    >>> import hld
    >>> encoder = hld.fit_encoder([[0, "a"], [1, "b"], [1, "a"]])
    >>> encoder.encode([[1, "c"], [7, None]])[0].tolist()
    [[1, 2], [2, -1]]
    """

    columns: tuple[Any, ...]
    by_name: bool
    table_names: tuple[Any, ...] = ()
    derived: tuple[Any, ...] = ()
    optional: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.names)) < len(self.columns):
            raise ValueError(
                f"`columns` are {len(self.columns)} with {len(set(self.names))} "
                f"distinct names, expected at least one column and no name twice"
            )
        object.__setattr__(self, "table_names", self.table_names or self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, a tuple of V str."""
        return tuple(column.name for column in self.columns)

    @property
    def num_categories(self) -> tuple[int, ...]:
        """Number of categories C_v of each column, the one for unseen levels included: a tuple of V int."""
        return tuple(column.num_categories for column in self.columns)

    @property
    def ordered(self) -> Any:
        """Positions of the columns whose categories ascend, bins and whole numbers: a tuple of int."""
        return tuple(
            v for v, column in enumerate(self.columns) if column.kind in (*BINNED, "integer")
        )

    def encode(
        self,
        table: Any,
        name: str = "table",
        *,
        ignore_extra: bool = False,
        marks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, EncodingReport]:
        """Turn a table into evidence.

        Parameters
        ----------
        table : (N, V) array of any dtype, list of rows, or data frame
            N >= 0 rows. Frames are matched by column name, in any order, if the encoder was fitted on a frame
            or with names, or if they have exactly its names; everything else by position.
        name : str
            What errors call it.
        ignore_extra : bool
            Whether names that training did not have are ignored, as in batches, or refused.
        marks : see `encode_counting`

        Returns
        -------
        codes : (N, V) integer array, C-contiguous
            Entries 0..C_v - 1, and -1 where missing, of the smallest dtype of int8, int16 and int32.
        report : hld.tables.schemas.encoder.EncodingReport

        Raises
        ------
        ValueError
            Not two-dimensional, wrong number of columns, missing, repeated or refused names.
        TypeError
            Text or objects in a column that was fitted as numbers, values that cannot be levels.
        """
        with table_called(name):
            parts, arrays, absent, extra = self._matched(table)
            if absent:
                raise ValueError(
                    f"`table` has no column {listed(absent)}, expected every fitted "
                    f"column: add it, filled with None where nothing is known"
                )
            if extra and not ignore_extra:
                raise ValueError(
                    f"`table` has the column(s) {listed(extra)} that were not fitted, "
                    f"expected only the fitted ones: drop them"
                )
            return self._encoded(parts, arrays, marks=marks)

    def encode_training(self, table: Any) -> tuple[np.ndarray, EncodingReport]:
        """Turn the training table into evidence to learn from: every row as it looks to the other rows.

        Differs from `encode` where a column has rare levels: a level that occurs in one row only is unseen in that row.

        Parameters
        ----------
        table : (N, V) array of any dtype, list of rows, or data frame
            The rows that `fit_encoder` was given.

        Returns
        -------
        codes, report
            As those of `encode`.

        Examples
        --------
        >>> import hld
        >>> table = [[name] for name in ["ann", "ann", "bob", "bob", "eve"]]
        >>> encoder = hld.fit_encoder(table, max_categories=2)      # keeps ann; bob and eve are rare
        >>> encoder.encode(table)[0].ravel().tolist(), encoder.encode_training(table)[0].ravel().tolist()
        ([0, 0, 1, 1, 1], [0, 0, 1, 1, 2])
        """
        parts, arrays, _, _ = self._matched(table)
        return self._encoded(parts, arrays, leave_one_out=True)

    def _encoded(self, parts: Columns, arrays: list[Any], **options: Any) -> tuple[Any, Any]:
        """Codes and report of the columns of a table, in their order."""
        is_whole = len(self.table_names) == len(self.columns) and not self.derived
        whole = parts.whole if is_whole else None
        return encoded(self.columns, arrays, parts.num_rows, whole, **options)

    def _matched(self, table: Any) -> tuple[Columns, list[Any], list[str], list[str]]:
        """A table, its arrays in the order of the columns, None for absent ones; names of these and of others."""
        parts = self.read(table)
        arrays = dict(zip(parts.names or (), parts.arrays, strict=True))
        found = [arrays.get(name) for name in self.names]
        absent = [name for name in self.names if name not in arrays]
        return parts, found, absent, sorted({*arrays} - {*self.all_names})

    def read(self, table: Any) -> Columns:
        """A table of any kind as columns of cells by their names, with derived ones; nothing is encoded yet."""
        parts = read_table(table)
        if not self.goes_by_names(parts):
            if len(parts.arrays) != len(self.table_names):
                raise ValueError(
                    f"`table` has {len(parts.arrays)} columns, expected {len(self.table_names)} in the fitted "
                    f"order ({listed(self.table_names, is_quoted=False)})"
                )
            parts = replace(parts, names=self.table_names)
        names = parts.names or ()
        parts = parts.keep([v for v, name in enumerate(names) if name not in self.optional])
        return with_parts(parts, self.derived)

    def goes_by_names(self, parts: Columns) -> bool:
        """Whether the columns of a table are matched by their names, not by their places."""
        known = ({*self.table_names}, {*self.all_names})
        return parts.names is not None and (self.by_name or {*parts.names} in known)

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of the columns of a table and of those derived from them: a tuple of str."""
        return tuple(dict.fromkeys((*self.table_names, *(one.name for one in self.derived))))

    def encode_counting(self, table: Any, marks: np.ndarray | None = None) -> tuple[Any, ...]:
        """Turn a batch into evidence, and count differences from training instead of refusing them.

        Parameters
        ----------
        table : (N, V) array of any dtype, list of rows, or data frame
        marks : (N, V) uint8 array, optional
            Zeros; written to are `NEW`, `ODD` and `FAR` of `schemas.columns`.

        Returns
        -------
        codes, report
            As those of `encode`; absent columns are missing throughout, cells of another type are counted.
        absent, extra : lists of str
            Absent columns, and those that training did not have, which are ignored.

        Raises
        ------
        ValueError
            As `encode`, but for names: only a table with none of the columns is refused.
        """
        parts, arrays, absent, extra = self._matched(table)
        if len(absent) == len(self.columns):
            raise ValueError(
                f"`table` has none of the fitted columns ({listed(self.names, 8, is_quoted=False)}), "
                f"expected at least one: it has {listed(extra, 8) or 'none'}"
            )
        return *self._encoded(parts, arrays, is_strict=False, marks=marks), absent, extra

    def numbers(self, table: Any) -> np.ndarray:
        """The numbers of a table in its `ordered` columns, times in seconds; nothing else of it is looked at.

        Parameters
        ----------
        table : (N, V) array of any dtype, list of rows, or data frame

        Returns
        -------
        (N, V) float array
            NaN where a cell is missing or no number, and in the other columns.
        """
        parts, arrays, _, _ = self._matched(table)
        found = np.full((parts.num_rows, len(self.columns)), np.nan)
        for v in self.ordered:
            if arrays[v] is not None:
                with contextlib.suppress(ValueError):  # levels that no double holds
                    found[:, v] = numbers_in(self.columns[v], arrays[v])
        return found

    def values(self, codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """What a circuit of densities reads: numbers in columns with bins, codes in the others, NaN where missing.

        Parameters
        ----------
        codes, numbers : (N, V) arrays
            What `encode_counting` and `numbers` make of a table.

        Returns
        -------
        (N, V) float array
            Numbers more than `FARTHEST` ranges of training beyond it stand at that distance, infinite ones too.
        """
        found = np.where(codes < 0, np.nan, codes)
        for v, column in enumerate(self.columns):
            if column.kind in BINNED:
                reach = FARTHEST * max(
                    column.high - column.low, SMALLEST * abs(column.high), 1e-100
                )
                inside = np.clip(numbers[:, v], column.low - reach, column.high + reach)
                found[:, v] = np.where(codes[:, v] < 0, np.nan, inside)
        return found


# -- columns of cells to codes -----------------------------------------------------------------------------------------


def encoded(
    columns: tuple[Any, ...],
    arrays: list[Any],
    num_rows: int,
    whole: np.ndarray | None,
    *,
    leave_one_out: bool = False,
    is_strict: bool = True,
    marks: np.ndarray | None = None,
) -> tuple[np.ndarray, EncodingReport]:
    """Codes (N, V) of columns (N,), of `whole` (N, V) if they are one array, and their `EncodingReport`.

    With `leave_one_out` a rare level that is in one row only counts as unseen there.
    Without `is_strict` a column that is not there (None) is missing throughout, and cells of another type than the
    column's are counted: among numbers they are missing, among levels unseen.  Marks (N, V) are written to.
    """
    most = max(column.num_categories for column in columns)
    dtype: Any = np.int8 if most <= 2**7 else np.int16 if most <= 2**15 else np.int32
    codes = np.empty((num_rows, len(columns)), dtype=dtype)
    marks = np.zeros(codes.shape, dtype=np.uint8) if marks is None else marks
    if whole is not None and whole.dtype.kind in "biu" and all(map(_is_counting, columns)):
        # whole numbers whose levels are 0 ... n - 1 are their own categories
        unseen = np.array([column.num_categories - 1 for column in columns], dtype=dtype)
        np.copyto(codes, whole, casting="unsafe")
        marks |= (whole < 0) | (whole >= unseen)
        np.copyto(codes, unseen, where=marks > 0)
    else:
        for v, (column, values) in enumerate(zip(columns, arrays, strict=True)):
            if values is None:
                codes[:, v] = -1
            else:
                codes[:, v], marks[:, v] = _coded(column, values, is_strict, leave_one_out)
    if marks.any():
        _treat_new(columns, arrays, codes, marks)
    return codes, report_of(columns, codes, marks)


def _treat_new(
    columns: tuple[Any, ...], arrays: list[Any], codes: np.ndarray, marks: np.ndarray
) -> None:
    """Mark how far numbers lie beyond training, and do what the columns say of values that it did not show."""
    for v, (column, values) in enumerate(zip(columns, arrays, strict=True)):
        rows = np.flatnonzero(marks[:, v] & NEW)
        if len(rows) and column.policy == "refuse":
            raise ValueError(
                f"`table` column {column.name!r} holds {len(rows)} values that training did not show, "
                f"the first in row {rows[0]}, which its schema refuses: correct them, or change "
                "the column's `policy`"
            )
        if len(rows):
            marks[rows, v] |= _far(column, values[rows])
        if column.policy == "missing":
            codes[rows, v] = -1


def _is_counting(column: Any) -> bool:
    """Whether a column has the levels 0, 1, ... and keeps what is none of them."""
    n = column.num_categories - 1
    return column.kind == "integer" and column.levels == (*range(n),) and column.policy == "keep"


def _coded(
    column: Any, values: Any, is_strict: bool, leave_one_out: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Codes and marks (N,) of a column of cells (N,)."""
    steps = column.steps
    if column.kind in BINNED or (steps is not None and values.dtype.kind in NUMERIC):
        numbers, odd = _numbers(column, values, is_strict)
        places = steps.places(numbers)
        codes, marks = steps.codes[places], steps.marks[places]
    else:
        codes, odd = look_up(column, values, is_strict=is_strict)
        if leave_one_out and column.rare and column.policy != "refuse":  # then none are new
            _leave_one_out(column, values, codes)
        marks = (codes == column.num_categories - 1).astype(np.uint8)  # which is `NEW`
    marks[odd] |= ODD
    return codes, marks


def numbers_in(column: Any, values: Any) -> np.ndarray:
    """(N,) the cells of a column with an order as numbers, times in seconds; NaN where they are none."""
    return np.asarray(_numbers(column, values, False)[0], dtype=np.float64)


def _numbers(column: Any, values: Any, is_strict: bool) -> tuple[np.ndarray, np.ndarray]:
    """A column (N,) of numbers or times as numbers, and flags of the cells that are neither."""
    is_time = column.kind in TIMES
    found, odd = as_seconds(values, column.kind) if is_time else as_numbers(values, column.name)
    if is_strict and odd.any():
        cell = values.tolist()[np.argmax(odd)]
        if not is_time:
            raise not_a_number(cell, column.name)
        raise TypeError(
            f"`table` column {column.name!r} holds {reprlib.repr(cell)}, expected a {column.kind}, as in "
            f"training: convert the column first"
        )
    return found, odd


def look_up(
    column: LevelColumn, values: Any, *, is_strict: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Categories (N,) of the cells (N,) of a `LevelColumn`, and flags (N,) of cells of another type.

    These are text in a column of numbers: a TypeError if `is_strict`, as is what cannot be a level at all; else the
    category of unseen levels.
    """
    cells = factored(values)
    codes, odd = np.full(len(cells.levels), -1), np.zeros(len(cells.levels), dtype=bool)
    used = zip(cells.levels.tolist(), cells.counts().tolist(), strict=True)
    for i, (cell, count) in enumerate(used):
        if count and not is_missing(cell):
            codes[i], odd[i] = _code_of(column, cell)
            if odd[i] and is_strict:
                raise not_a_number(cell, column.name)
    return cells.spread(codes, -1), cells.spread(odd, False)


def _code_of(column: Any, cell: Any) -> tuple[int, bool]:
    """Category of one cell that is not missing, and whether it is of another type."""
    value = plain_value(cell, column.name)
    forms = [value]  # and the others that a level equal to it may be
    if value not in column.categories:
        forms += levels_of_text(value) if isinstance(value, str) else []
        forms += [in_four_bytes(value)] if isinstance(value, float) else []
    for form in forms:
        if form in column.categories:
            return column.categories[form], False
        if column.is_rare(form):
            return len(column.levels), False
    # an empty text is missing: files of text cannot tell the two apart
    if value == "":
        return -1, False
    return column.num_categories - 1, isinstance(value, str) and column.kind != "categorical"


def _leave_one_out(column: LevelColumn, values: Any, codes: np.ndarray) -> None:
    """Write rare levels that only one row has as unseen."""
    rows = np.flatnonzero(codes == len(column.levels))
    cells = factored(values[rows]).tolist()
    keys = [digest(plain_value(cell, column.name)) for cell in cells]
    counts = Counter(keys)
    once = np.array([counts[key] == 1 for key in keys], dtype=bool)
    codes[rows[once]] = column.num_categories - 1


def _far(column: Any, values: Any) -> Any:
    """(n,) `FAR`: how far numbers that are new lie beyond the range of training; 0 for what has no order."""
    if column.ends is not None:
        low, high, below, above = column.ends
        with contextlib.suppress(ValueError), np.errstate(all="ignore"):  # what no double holds
            x = numbers_in(column, values)
            away = np.maximum((x - high) / above, (low - x) / below)
            k = np.clip(np.ceil(np.log2(away)) + 2, 1, MOST_FAR)
            return np.where(away > 0, k, 0).astype(np.uint8) << FAR
    return 0


def report_of(columns: tuple[Any, ...], codes: np.ndarray, marks: np.ndarray) -> EncodingReport:
    """What the encoder met in rows, or in some of them: from their codes (N, V) and marks (N, V)."""
    missing, unseen, beyond, rare, odd = np.zeros((5, len(columns)), dtype=np.int64)
    is_marked = marks.any()
    for v, column in enumerate(columns):
        is_missing = codes[:, v] < 0
        if is_marked:
            is_new = marks[:, v] & NEW > 0
            is_missing &= ~is_new  # by its policy
            (beyond if column.kind in BINNED else unseen)[v] = np.count_nonzero(is_new)
            odd[v] = np.count_nonzero(marks[:, v] & ODD)
        missing[v] = np.count_nonzero(is_missing)
        rare[v] = np.count_nonzero(codes[:, v] == column.num_categories - 2) if column.rare else 0
    return EncodingReport(len(codes), missing, unseen, beyond, rare, odd)
