"""What a batch has that its schema does not know, counted column by column: the data quality of a batch.

Every difference is counted, none is hidden, and none stops a check that can go on:

* an absent column is missing throughout; one that training did not have is ignored
* cells of another type than the column's are missing among numbers and times, and unseen among levels
* levels that training did not show, rare ones and values out of range have categories, which the distance sees
* shares of missing values are tested (`schemas.counts`)
* so are numbers of values that learning did not show (`schemas.counts`)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hld.tables.schemas.counts import CountTest, KeptValues, compare_missing, compare_new
from hld.tables.shown_names import listed

COUNTS = {
    "num_odd": "of another type",
    "num_unseen": "that training did not have",
    "num_out_of_range": "out of the training range",
}
ABSENT = "not there: all cells count as missing"
MOST_NAMED = 5  # columns that a line names
NUMBERS = ("num_missing", "num_odd", "num_unseen", "num_rare", "num_out_of_range")
NEW = ("num_unseen", "num_out_of_range")  # what `schemas.counts` tests


@dataclass(frozen=True)
class ColumnQuality:
    """What was met in one column."""

    name: str
    kind: str
    num_missing: int
    num_odd: int
    num_unseen: int
    num_rare: int
    num_out_of_range: int
    train_missing: float | None
    pvalue: float | None
    is_absent: bool = False
    new_pvalue: float | None = None

    def lines(self, num_rows: int) -> list[str]:
        """Sentences about what differs; none where nothing does."""
        if self.is_absent:
            return [f"column {self.name!r} is {ABSENT}"]
        found = []
        for attribute, what in COUNTS.items():
            if count := getattr(self, attribute):
                tested = _p(self.new_pvalue) if attribute in NEW else ""
                found.append(f"column {self.name!r}: {count} of {num_rows} values {what}{tested}")
        if num_rows and (self.num_missing or self.train_missing):
            share, trained = _percent(self.num_missing / num_rows), ""
            if self.train_missing is not None:
                trained = f", {_percent(self.train_missing)} in training{_p(self.pvalue)}"
            found.append(f"column {self.name!r}: {share} of the values are missing{trained}")
        return found

    def is_notable(self, level: float) -> bool:
        """Whether tests of the shares of missing and of new values have p-values up to a level."""
        return any(p is not None and p <= level for p in (self.pvalue, self.new_pvalue))


@dataclass(frozen=True)
class DataQuality:
    """How a batch differs from the schema of its training table.

    Attributes
    ----------
    num_rows : int
        T, rows of the batch.
    columns : tuple of ColumnQuality
        One for each column of the schema that takes part: what it counted.
    extra : tuple of str
        Columns that training did not have.
    missingness : CountTest or None
        The test of the shares of missing values; None where those of training are unknown or it was switched off.
    new_values : CountTest or None
        The test of the numbers of new values; None where no rows were held out, or it was switched off.

    Examples
    --------
    >>> import hld
    >>> schema = hld.learn_schema([["red", 1.5], ["blue", 2.5], ["red", 3.5]], names=["colour", "size"])
    >>> print(schema.check([["tan", None], ["red", 9.0]]))
    2 rows
    column 'colour': 1 of 2 values that training did not have
    column 'size': 1 of 2 values out of the training range
    column 'size': 50% of the values are missing, 0% in training (p = 0.8)
    """

    num_rows: int
    columns: tuple[Any, ...]
    extra: tuple[Any, ...] = ()
    missingness: CountTest | None = None
    new_values: CountTest | None = None

    @property
    def absent(self) -> tuple[Any, ...]:
        """Names of the columns of the schema that the batch does not have, in its order: a tuple of str."""
        return tuple(column.name for column in self.columns if column.is_absent)

    def extra_lines(self) -> list[str]:
        """A line about the columns that were not in training, none if there are none.

        Examples
        --------
        >>> DataQuality(1, (), tuple("abcdef")).extra_lines()
        ["6 columns were not in training: ignored ('a', 'b', 'c', 'd', 'e' and 1 more)"]
        """
        return _lines(self.extra, "was", "were", "not in training: ignored", 1)

    def absent_lines(self) -> list[str]:
        """A line about each column that the batch does not have, or one about many.

        Examples
        --------
        >>> DataQuality(1, tuple(ColumnQuality(f"x{v}", "text", 1, 0, 0, 0, 0, None, None, True)
        ...                      for v in range(900))).absent_lines()
        ["900 columns are not in the batch ('x0', 'x1', 'x2', 'x3', 'x4' and 895 more)"]
        """
        return _lines(self.absent, "is", "are", "not in the batch")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON.

        Returns
        -------
        dict
            "num_rows"; "absent" and "extra", lists of names; "missingness" and "new_values", each None or a dict of
            "pvalue" and "share_of_level"; "columns", a list with one dict for each `ColumnQuality`.
        """
        tested = {
            name: None if found is None else {"pvalue": found.pvalue, "share_of_level": found.share}
            for name, found in (("missingness", self.missingness), ("new_values", self.new_values))
        }
        return {
            "num_rows": self.num_rows,
            "absent": list(self.absent),
            "extra": list(self.extra),
            **tested,
            "columns": [vars(column).copy() for column in self.columns],
        }

    def __str__(self) -> str:
        lines = [
            f"{self.num_rows} rows",
            *self.extra_lines(),
            *[line for column in self.columns for line in column.lines(self.num_rows)],
        ]
        return (
            "\n".join(lines)
            if len(lines) > 1
            else f"{lines[0]}, nothing that the schema does not know"
        )


def _percent(share: float) -> str:
    """A share in per cent; that of nearly all is not shown as that of all."""
    text = f"{100 * share:.3g}%"
    return (
        text if share >= 1 or text != "100%" else f"{100 - float(f'{100 * (1 - share):.1g}'):.10g}%"
    )


def _p(pvalue: float | None) -> str:
    """A p-value in brackets, never 0, though that of many rows may be rounded to it."""
    if pvalue is None:
        return ""
    return f" (p = {pvalue:.2g})" if pvalue else " (p < 1e-300)"


def column_lines(absent: Sequence[str], extra: Sequence[str]) -> list[str]:
    """Sentences about columns that a table does not have, and about others that it has."""
    lines = _lines(absent, "is", "are", ABSENT)
    return lines + DataQuality(0, (), tuple(extra)).extra_lines()


def _lines(
    names: Sequence[str], one: str, many: str, said: str, most: int = MOST_NAMED
) -> list[str]:
    """A line about each of some columns, or one about many."""
    if len(names) <= most:
        return [f"column {name!r} {one} {said}" for name in names]
    return [f"{len(names):,} columns {many} {said} ({listed(names, MOST_NAMED)})"]


def data_quality(
    columns: tuple[Any, ...],
    trained: Any,
    report: Any,
    absent: Any = (),
    extra: Any = (),
    *,
    missing: tuple[Any, Any] | None = None,
    kept: KeptValues | None = None,
) -> DataQuality:
    """The data quality of a batch, compared with rows and missing cells (V,) and new values, where these are given.

    Shapes: trained (int, sequence of V int).
    """
    tested = new = None
    if missing is not None and report.num_rows:
        tested = compare_missing(*missing, report.num_rows, report.num_missing)
    if kept is not None and report.num_rows:
        num_new = report.num_unseen + report.num_out_of_range
        new = compare_new(kept, report.num_rows - report.num_missing, num_new)
    found = tuple(
        ColumnQuality(
            column.name,
            column.kind,
            **{name: int(getattr(report, name)[v]) for name in NUMBERS},
            train_missing=None if trained is None else trained[1][v] / trained[0],
            pvalue=None if tested is None else tested.pvalues[v],
            is_absent=column.name in absent,
            new_pvalue=None if new is None else new.pvalues[v],
        )
        for v, column in enumerate(columns)
    )
    return DataQuality(report.num_rows, found, tuple(extra), tested, new)
