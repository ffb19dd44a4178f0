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
no other row are written as unseen: `TableEncoder.encode_training`, and `schemas.rare_levels` for the reason.

*Bins.* They hold about as many training values each, and none is empty on the training table; very frequent values
have bins of their own (`schemas.columns`). x is in bin k if e_k <= x < e_(k+1), with e_0 and the last edge
infinite. Values beyond the training range, infinities included, fall into the outermost bins and are counted.

*Missing values* (None, NaN, NaT, pandas.NA, masked) are -1: the circuit integrates them out exactly.

*Equality is by value*: 1, 1.0 and True are one level, "1" is another; 0.1 is the same level, and in the same bin, if it
comes as a number of four bytes (`schemas.rare_levels`). Text in a column of numbers is a
TypeError, never parsed. Times are levels by one text each, in every form of table (`hld.tables.times`), other
objects by ``str(value)``. The result depends on nothing random, and not on the order of the rows.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.tables.calendar import with_parts
from hld.tables.cells import Columns, read_table
from hld.tables.column_names import table_called
from hld.tables.schemas.columns import BINNED
from hld.tables.schemas.encoding import CodeTables, code_tables, encoded, numbers_in
from hld.tables.schemas.quality import data_quality
from hld.tables.shown_names import listed

if TYPE_CHECKING:
    from hld.tables.schemas.encoding import EncodingReport
    from hld.tables.schemas.quality import DataQuality

FARTHEST, SMALLEST = 1e6, 1e-9  # ranges beyond training; a range, relative to the numbers in it


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
    derived : tuple of hld.tables.calendar.Derived
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
    _tables: CodeTables = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.names)) < len(self.columns):
            raise ValueError(
                f"`columns` are {len(self.columns)} with {len(set(self.names))} "
                f"distinct names, expected at least one column and no name twice"
            )
        object.__setattr__(self, "table_names", self.table_names or self.names)
        object.__setattr__(self, "_tables", code_tables(self.columns))

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
        report : hld.tables.schemas.encoding.EncodingReport

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
        return encoded(self.columns, self._tables, arrays, parts.num_rows, whole, **options)

    def _matched(self, table: Any) -> tuple[Columns, list[Any], list[str], list[str]]:
        """A table, its arrays in the order of the columns, None for absent ones; names of these and of others."""
        parts = self.read(table)
        names = {one.name for one in self.derived}  # a table without names has got them on reading
        by_name = self.by_name or (bool(names) and names <= {*(parts.names or ())})
        if by_name and parts.names is not None:
            arrays = dict(zip(parts.names, parts.arrays, strict=True))
        elif len(parts.arrays) == len(self.table_names):
            arrays = dict(zip(self.table_names, parts.arrays, strict=True))
        else:
            raise ValueError(
                f"`table` has {len(parts.arrays)} columns, expected {len(self.table_names)} in the fitted "
                f"order ({listed(self.table_names, is_quoted=False)})"
            )
        found = [arrays.get(name) for name in self.names]
        absent = [name for name in self.names if name not in arrays]
        return parts, found, absent, sorted({*arrays} - {*self.all_names})

    def read(self, table: Any) -> Columns:
        """A table of any kind taken apart into columns of cells, with its derived columns; nothing is encoded yet."""
        parts = read_table(table) if self.by_name else read_table(table).in_order(self.table_names)
        if self.by_name and parts.names is not None:
            parts = parts.keep(
                [v for v, name in enumerate(parts.names) if name not in self.optional]
            )
        return with_parts(parts, self.derived, self.table_names, self.by_name)

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
            Zeros, written to: see `schemas.encoding.encoded`.

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

    def check(
        self,
        table: Any,
        trained: tuple[Any, ...] | None = None,
    ) -> tuple[np.ndarray, DataQuality]:
        """Turn a batch into evidence and say how it differs from training.

        Parameters
        ----------
        table : (N, V) array of any dtype, list of rows, or data frame
        trained : (int, sequence of V int), optional
            Rows of training, and how many of their cells were missing: the batch's are tested against these.

        Returns
        -------
        codes : (N, V) integer array
        DataQuality
        """
        codes, *found = self.encode_counting(table)
        return codes, data_quality(self.columns, trained, *found, missing=trained)
