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

(*) in four rows each on average, or `num_bins` at most (`hld.schemas.columns`).

*Unseen levels are evidence.* Every column of levels has a category for values that training did not have, the
last one. No training row falls into it; a circuit learned with a pseudocount gives it a small positive probability.
So a level never seen before makes a row unlikely, as it should, and is no error.

*Rare levels.* A categorical column with M = `max_categories` distinct levels or fewer keeps them all. With
more, it keeps the M - 1 most frequent (ties: the first in sorted order), and the others share a category of
their own, the last but one. In such columns fresh rows do bring new levels, so training rows whose level is in
no other row are written as unseen: `TableEncoder.encode_training`, and `hld.schemas.rare_levels` for the reason.

*Bins.* They hold about as many training values each, and none is empty on the training table; very frequent values
have bins of their own (`hld.schemas.bin_edges`). x is in bin k if e_k <= x < e_(k+1), with e_0 and the last edge
infinite. Values beyond the training range, infinities included, fall into the outermost bins and are counted.

*Missing values* (None, NaN, NaT, pandas.NA, masked) are -1: the circuit integrates them out exactly.

*Equality is by value*: 1, 1.0 and True are one level, "1" is another; 0.1 is the same level, and in the same bin, if it
comes as a number of four bytes (`hld.schemas.single_precision`). Text in a column of numbers is a
TypeError, never parsed. Times are levels by one text each, in every form of table (`hld.tables.times`), other
objects by ``str(value)``. The result depends on nothing random, and not on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.schemas.columns import BINNED, check_rows, fit_column, narrowed_column
from hld.schemas.encoding import CodeTables, code_tables, decoded, encoded
from hld.schemas.quality import data_quality
from hld.tables.calendar import with_parts
from hld.tables.cells import Columns, read_table
from hld.tables.column_names import arrange, column_names, column_roles, matched, table_called
from hld.tables.shown_names import listed
from pcircuit.arguments import check_whole_number

if TYPE_CHECKING:
    from hld.schemas.encoding import EncodingReport
    from hld.schemas.quality import DataQuality


def fit_encoder(
    table: Any,
    *,
    num_bins: int = 8,
    max_categories: int = 64,
    categorical: Any = None,
    continuous: Any = None,
    names: Any = None,
    rows: Any = None,
) -> TableEncoder:
    r"""Learn how the columns of a table become categories.

    A column of numbers with N sorted values x is cut at :math:`x_{(\lfloor kN/B \rfloor + 1)}`, k = 1..B - 1,
    into at most B bins; levels are counted. O(N log N) a column. See the module for the kinds.

    Parameters
    ----------
    table : (N, V) array of any dtype, list of rows, or data frame
        Training rows, N >= 1, V >= 1. A frame is anything with ``columns`` and ``iloc`` or ``get_column``;
        its names are kept as text, and later frames are matched by name. Not modified.
    num_bins : int
        Largest number of intervals B of a continuous column, at least 2.
    max_categories : int
        Largest number of levels that a column keeps, at least 2: a column of whole numbers with more is continuous, a
        categorical column with more has one category for the rare ones.
    categorical, continuous : sequence of str or int, optional
        Columns whose kind is given instead of chosen, by name (str) or position (int).
    names : sequence of V str, optional
        Names for the columns of an array (default x0, x1, ...). Frames are then matched to them by name.
    rows : (n,) int array, optional
        Positions of the rows that levels and edges are taken from; by default all. The kind of a column is determined
        from all rows.

    Returns
    -------
    TableEncoder

    Raises
    ------
    ValueError
        No rows, no columns, not two-dimensional, repeated names, unknown columns in `categorical` or `continuous`, a
        column in both, a continuous column without a finite number, `num_bins` or `max_categories` below 2.
    TypeError
        Text in a column of `continuous`, values that cannot be levels, options of the wrong type.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, on data
    sets (in the appendix): it leaves the rule open.

    Examples
    --------
    >>> encoder = fit_encoder([["red", 1.5], ["blue", 2.5], ["red", None]], names=["colour", "size"])
    >>> encoder.num_categories
    (3, 2)
    >>> codes, report = encoder.encode([["green", 9.0], ["red", None]])
    >>> codes.tolist(), report.num_unseen.tolist(), report.num_out_of_range.tolist()
    ([[2, 1], [1, -1]], [1, 0], [0, 1])
    """
    num_bins = check_whole_number(num_bins, "num_bins", 2, 2**31 - 2)
    max_categories = check_whole_number(max_categories, "max_categories", 2, 2**31 - 2)
    parts = read_table(table)
    if parts.num_rows == 0 or not parts.arrays:
        raise ValueError(
            f"`table` has {parts.num_rows} rows and {len(parts.arrays)} columns, expected at least one of "
            "each: there is nothing to fit"
        )
    by_name, rows = parts.names is not None or names is not None, check_rows(rows, parts.num_rows)
    names = column_names(names, parts.names, len(parts.arrays))
    roles = column_roles(names, categorical, continuous)
    columns = []
    for name, values, declared in zip(names, parts.arrays, parts.declared, strict=True):
        role = roles.get(name, "categorical" if declared else None)
        column = fit_column(name, values, role, num_bins=num_bins, max_categories=max_categories)
        columns.append(
            column
            if rows is None
            else narrowed_column(
                column, values[rows], num_bins=num_bins, max_categories=max_categories
            )
        )
    return TableEncoder(tuple(columns), by_name)


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
    >>> encoder = fit_encoder([[0, "a"], [1, "b"], [1, "a"]])
    >>> print(encoder.describe())
    'x0': integer, 2 levels: 0, 1; unseen levels are category 2; missing is -1
    'x1': categorical, 2 levels: 'a', 'b'; unseen levels are category 2; missing is -1
    >>> encoder.decode([[1, 0], [2, -1]]).tolist()
    [[1, 'a'], ['<unseen>', None]]
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
        self, table: Any, name: str = "table", *, ignore_extra: bool = False
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

        Returns
        -------
        codes : (N, V) integer array, C-contiguous
            Entries 0..C_v - 1, and -1 where missing, of the smallest dtype of uint8, uint16, int32 (signed ones if a
            column's dtype can hold missing values).
        report : hld.schemas.encoding.EncodingReport

        Raises
        ------
        ValueError
            Not two-dimensional, wrong number of columns, missing, repeated or refused names.
        TypeError
            Text or objects in a column that was fitted as numbers, values that cannot be levels.
        """
        with table_called(name):
            return encoded(self.columns, self._tables, *self._arranged(table, ignore_extra))

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
        >>> table = [[name] for name in ["ann", "ann", "bob", "bob", "eve"]]
        >>> encoder = fit_encoder(table, max_categories=2)      # keeps ann; bob and eve are rare
        >>> encoder.encode(table)[0].ravel().tolist(), encoder.encode_training(table)[0].ravel().tolist()
        ([0, 0, 1, 1, 1], [0, 0, 1, 1, 2])
        """
        return encoded(self.columns, self._tables, *self._arranged(table), leave_one_out=True)

    def _arranged(self, table: Any, ignore_extra: bool = False) -> tuple[Any, ...]:
        """Arrays (N,) of the columns in their order, the number of rows, and the whole table if it is one array."""
        parts = self.read(table)
        return (
            arrange(self.names, *self._known(parts), parts, ignore_extra),
            parts.num_rows,
            self._whole(parts),
        )

    def read(self, table: Any) -> Columns:
        """A table of any kind taken apart into columns of cells, with its derived columns; nothing is encoded yet."""
        parts = read_table(table) if self.by_name else read_table(table).in_order(self.table_names)
        if self.by_name and parts.names is not None:
            parts = parts.keep(
                [v for v, name in enumerate(parts.names) if name not in self.optional]
            )
        return with_parts(parts, self.derived, self.table_names, self.by_name)

    def _known(self, parts: Columns) -> tuple[tuple[str, ...], bool]:
        """Names of all columns that a table may have, and whether it is matched by them."""
        derived = tuple(
            one.name for one in self.derived
        )  # which a table without names has if it has as many columns
        by_name = self.by_name or (bool(derived) and {*derived} <= {*(parts.names or ())})
        return self.table_names + derived * (by_name and parts.names is not None), by_name

    def _whole(self, parts: Columns) -> np.ndarray | None:
        """The whole table if it is one array and no column is left out."""
        return (
            parts.whole if len(self.table_names) == len(self.columns) and not self.derived else None
        )

    def encode_counting(self, table: Any, marks: np.ndarray | None = None) -> tuple[Any, ...]:
        """Turn a batch into evidence, and count differences from training instead of refusing them.

        Parameters
        ----------
        table : (N, V) array of any dtype, list of rows, or data frame
        marks : (N, V) uint8 array, optional
            Zeros, written to: see `hld.schemas.encoding.encoded`.

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
        parts = self.read(table)
        arrays, absent, extra = matched(self.names, *self._known(parts), parts)
        if len(absent) == len(self.columns):
            raise ValueError(
                f"`table` has none of the fitted columns ({listed(self.names, 8, is_quoted=False)}), "
                f"expected at least one: it has {listed(extra, 8) or 'none'}"
            )
        return (
            *encoded(
                self.columns,
                self._tables,
                arrays,
                parts.num_rows,
                self._whole(parts),
                is_strict=False,
                marks=marks,
            ),
            absent,
            extra,
        )

    def check(
        self,
        table: Any,
        trained: tuple[Any, ...] | None = None,
        *,
        kept: Any = None,
        is_tested: bool = True,
    ) -> tuple[np.ndarray, DataQuality]:
        """Turn a batch into evidence and say how it differs from training.

        Parameters
        ----------
        table : (N, V) array of any dtype, list of rows, or data frame
        trained : (int, sequence of V int), optional
            Rows of training, and how many of their cells were missing: the batch's are tested against these.
        kept, is_tested : see `hld.schemas.quality.data_quality`

        Returns
        -------
        codes : (N, V) integer array
        DataQuality
        """
        codes, report, absent, extra = self.encode_counting(table)
        return codes, data_quality(
            self.columns,
            trained,
            report,
            absent,
            extra,
            kept=kept,
            is_tested=is_tested,
        )

    def decode(
        self, codes: Any, *, missing: Any = None, unseen: str = "<unseen>", rare: str = "<rare>"
    ) -> np.ndarray:
        """Turn evidence back into rows of a table.

        Parameters
        ----------
        codes : (N, V) integer array
            Entries 0..C_v - 1, or -1.
        missing, unseen, rare : object
            What to write for -1, for the category of unseen levels, and for that of rare ones.

        Returns
        -------
        (N, V) object array
            Levels as they were fitted; for continuous columns the middle of the interval, the outermost ones ending at
            the extremes of training. Encoding the result gives the same codes where no rare or unseen level occurs.

        Raises
        ------
        ValueError
            Wrong shape or an entry out of range.
        TypeError
            Entries that are not integers.
        """
        return decoded(self.columns, codes, missing=missing, unseen=unseen, rare=rare)

    def describe(self) -> str:
        """One line per column: kind, bins or levels, what happens to unseen and missing values (str)."""
        return "\n".join(column.describe() for column in self.columns)
