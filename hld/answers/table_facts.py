"""What a detector keeps of its training table besides the circuit (counts, quantiles), and what it keeps of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hld.answers.evidence import Evidence
from hld.answers.profile import Held, Profile, profile_of, tree_edges
from hld.references.group_statistics import Cells, joined_cells
from hld.tables.cells import objects_of, read_table
from hld.tables.factored import whole_cells
from hld.tables.schemas.counts import KeptValues
from hld.tables.schemas.encoder import numbers_in
from hld.tables.schemas.quality import data_quality
from hld.tables.schemas.schema import GROUPING
from hld.tables.times import is_missing
from hld.tables.values import ValueTables, is_binned, value_tables

if TYPE_CHECKING:
    from hld.tables.cells import Columns
    from hld.tables.schemas.encoder import EncodingReport, TableEncoder
    from hld.tables.schemas.quality import DataQuality

Result = TypeVar("Result")  # that of a test


def table_facts(
    encoder: TableEncoder,
    columns: Columns,
    rows: np.ndarray,
    reference: np.ndarray,
    tree: np.ndarray,
) -> dict[str, Any]:
    """Counts of the reference rows ("profile") and quantiles of the rows learned from ("values").

    Shapes: rows (n,), reference (k, V), tree (V,).
    """
    edges = tree_edges(tree, encoder.num_categories)
    return {
        "profile": profile_of(reference, encoder.num_categories, edges),
        "values": values_of(encoder, columns, rows),
    }


def values_of(encoder: TableEncoder, columns: Columns, rows: Any = ...) -> ValueTables:
    """Quantiles of some rows of a table, in columns with bins."""
    cells = cells_by_name(encoder, columns)
    numbers = [
        numbers_in(column, cells[column.name])[rows] if is_binned(column) else None
        for column in encoder.columns
    ]
    return value_tables(encoder.columns, numbers)


def cells_by_name(encoder: TableEncoder, columns: Columns) -> dict[str, Any]:
    """The arrays of a table by the names that the encoder has for them."""
    columns = encoder.read(columns)
    return dict(zip(columns.names or (), columns.arrays, strict=True))


def as_table(encoder: TableEncoder, cells: np.ndarray) -> Any:
    """Cells (N, V) of the fitted columns as a table that the encoder reads: those left out are empty."""
    names = encoder.all_names
    whole = np.full((len(cells), len(names)), None, dtype=object)
    whole[:, [names.index(name) for name in encoder.names]] = cells
    if encoder.by_name or encoder.derived:
        return {name: whole[:, v] for v, name in enumerate(names)}
    return whole


@dataclass(frozen=True, eq=False)
class ReadBatch:
    """Rows as a detector reads them, and what its encoder says of them; shapes codes, marks, rows (T, V).

    `marks` are of new values, `rows` what the test reads, and `cells` what a judge of groups or series looks at
    beside codes.
    """

    codes: np.ndarray
    marks: np.ndarray
    rows: np.ndarray
    report: EncodingReport
    absent: frozenset[str]
    extra: frozenset[str]
    cells: Cells | None = None
    groups: frozenset[str] = frozenset()

    @classmethod
    def joined(cls, parts: Sequence[ReadBatch]) -> ReadBatch:
        """The rows of several tables, of which a column is absent if it is in all of them."""
        cells = [one.cells for one in parts if one.cells is not None]
        return cls(
            np.concatenate([one.codes for one in parts]),
            np.concatenate([one.marks for one in parts]),
            np.concatenate([one.rows for one in parts]),
            sum((one.report for one in parts[1:]), parts[0].report),
            frozenset.intersection(*(one.absent for one in parts)),
            frozenset.union(*(one.extra for one in parts)),
            joined_cells(cells) if cells else None,
            frozenset.union(*(one.groups for one in parts)),
        )

    def part(
        self, some: np.ndarray, report: EncodingReport, hidden: Sequence[int] = ()
    ) -> ReadBatch:
        """Some of the rows, as if there were no others."""
        cells = None if self.cells is None else self.cells.rows(some, hidden)
        return replace(
            self,
            codes=self.codes[some],
            marks=self.marks[some],
            rows=self.rows[some],
            report=report,
            cells=cells,
        )


def read_batch(detector: Any, table: Any) -> ReadBatch:
    """A table as a detector reads it."""
    columns, encoder = read_table(table), detector.encoder_
    marks = np.zeros((columns.num_rows, len(encoder.columns)), np.uint8)
    codes, report, absent, extra = encoder.encode_counting(columns, marks)
    cells = None
    if getattr(detector.judge_, "statistics", None) is not None:
        cells = Cells(encoder.numbers(columns), marks)
    return ReadBatch(
        codes,
        marks,
        test_rows(detector, columns, codes),
        report,
        frozenset(absent),
        frozenset(extra),
        cells,
        _groups_in(detector, columns),
    )


def test_rows(detector: Any, table: Any, codes: np.ndarray) -> np.ndarray:
    """Rows (T, V) as the test of a detector reads them: their codes, or numbers where its leaves are densities."""
    if detector.densities_ is None:
        return codes
    encoder = detector.encoder_
    return encoder.values(codes, encoder.numbers(table))


test_rows.__test__ = False  # type: ignore[attr-defined]  # its name must not make a test runner collect it


def _groups_in(detector: Any, columns: Columns) -> frozenset[str]:
    """The groups that rows say they are of: none where the table does not have their column."""
    known = [one.name for one in detector.schema_.left_out if one.note == GROUPING]
    names = columns.names or ()
    if not known or known[0] not in names:
        return frozenset()
    cells = objects_of(whole_cells(columns.arrays[names.index(known[0])])).tolist()
    return frozenset(str(cell) for cell in cells if not is_missing(cell))


def held_of(detector: Any, codes: np.ndarray | None) -> Held | None:
    """What the counts of a batch of codes (T, V) are compared with; None among groups and in order of time."""
    encoder, watched, judge = detector.encoder_, detector.watched_, detector.judge_
    if judge is detector.test_:
        counts = replace(detector.profile_, odd=None if watched is None else watched.odd_counts)
        missing, new = detector.schema_.trained, detector.new_values_
    elif codes is not None and hasattr(judge, "held"):
        rows, by_column, num_new, odd = judge.held(codes)
        none = detector.profile_.edges[:0]
        counts = Profile(rows, by_column, none, (), detector.profile_.laws, odd=odd)
        number = np.array([one.sum() for one in by_column])
        holes = np.array([one[-1] for one in by_column])
        shown = number - holes
        missing, new = (number, holes), KeptValues(shown, np.minimum(num_new, shown))
    else:
        return None
    if not detector.missingness:
        missing = new = None
    odd = () if watched is None else watched.scores.odd
    return Held(encoder.columns, encoder.ordered, counts, odd, missing, new)


def quality_of(
    detector: Any,
    report: EncodingReport,
    absent: Any,
    extra: Any,
    held: Held | None,
    hidden: Sequence[int] = (),
) -> DataQuality:
    """The data quality of a batch, but of hidden columns, whose missing and new values are compared with others."""
    columns, trained = detector.encoder_.columns, detector.schema_.trained
    shown = [v for v in range(len(columns)) if v not in hidden]
    missing, new = (None, None) if held is None else (held.missing, held.new)
    if missing is not None:
        rows, holes = np.broadcast_arrays(*missing)
        missing = rows[shown], holes[shown]
    return data_quality(
        tuple(columns[v] for v in shown),
        None if trained is None else (trained[0], np.asarray(trained[1])[shown].tolist()),
        report.of_columns(shown),
        absent,
        sorted(extra),
        missing=missing,
        kept=None if new is None else KeptValues(new.shown[shown], new.new[shown]),
    )


def batch_profile(detector: Any, codes: np.ndarray, marks: np.ndarray | None = None) -> Profile:
    """Counts of an encoded batch; those of parts of a batch add up.  Odd rows are counted where marks are given.

    Shapes: codes, marks (T, V).
    """
    found = profile_of(codes, detector.encoder_.num_categories, detector.profile_.edges)
    watched = detector.watched_
    if watched is None or marks is None:
        return found
    marks = marks * ~getattr(detector.judge_, "given", np.zeros(marks.shape[1], bool))
    return replace(found, odd=watched.scores.odd_counts(codes, marks))


def with_evidence(
    detector: Any, result: Result, counts: Profile, hidden: Sequence[int] = ()
) -> Result:
    """The result of a batch with what its counts say of columns and pairs."""
    known: Any = result
    tests = known.data_quality, known.column_pvalues, known.pair_pvalues
    changed: Result = replace(known, evidence=evidence_of(detector, counts, *tests, hidden))
    return changed


def evidence_of(
    detector: Any,
    batch: Profile,
    quality: DataQuality | None = None,
    tests: np.ndarray | None = None,
    pair_tests: Any = None,
    hidden: Sequence[int] = (),
) -> Evidence | None:
    """Counts of a batch beside those of the reference; None of a judge that has no tests of columns.

    The tests of missing and of new values are those of the data quality, where batch or reference have any.  Shares of
    new values are of all rows, as those of levels and bins are, with which they are shown.

    Shapes: tests (2, V).
    """
    if tests is None and detector.judge_ is not detector.test_:
        return None
    columns, kept = detector.encoder_.columns, detector.new_values_
    more: list[tuple[float, ...]] = [()] * len(columns)
    beyond: list[tuple[float, float] | None] = [None] * len(columns)
    known = {} if quality is None else {one.name: one for one in quality.columns}
    for v, column in enumerate(columns):
        found = known.get(column.name)
        if found is None:
            continue
        if kept is not None and found.new_pvalue is not None:
            before, now = int(kept.new[v]), found.num_unseen + found.num_out_of_range
            if before + now:
                more[v] = (found.new_pvalue,)
                if is_binned(column):
                    rows = detector.profile_.counts[v].sum()
                    beyond[v] = (before / max(int(rows), 1), now / max(batch.num_rows, 1))
        if found.pvalue is not None and (found.num_missing or found.train_missing):
            more[v] += (found.pvalue,)
    return Evidence(
        columns,
        detector.profile_,
        batch,
        detector.test_.settings.seed,
        tests,
        pair_tests,
        tuple(more),
        tuple(beyond),
        are_chosen=kept is None,
        hidden=tuple(hidden),
    )
