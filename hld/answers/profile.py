"""Counts of a table, column by column and pair by pair: what a detector keeps of its rows, and of a batch.

A p-value says that a batch departs; its counts say how.  For N rows of codes a profile holds

    counts[v][c]        rows with category c in column v, and after the categories the rows where v is missing
    pairs[e][i, j]      rows with categories i and j in the two columns of edge e

    odd[s][b]           rows with the number s in bin b (`hld.features.odd_rows`), in batches where it is known

for the edges of a tree over the columns, the Chow-Liu tree of the training rows: these pairs are the most strongly
dependent.  Profiles of parts of a table add up.

A table that a detector has read is a `ReadBatch`; `Held` is what its counts are compared with, and `Evidence` what a
result keeps to say how columns and pairs moved: counts, no rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from hld.answers.column_shifts import column_shifts
from hld.answers.dependences import changes_of_associations, likeliest_first, pair_shifts
from hld.references.group_statistics import Cells, joined_cells
from hld.tables.cells import objects_of, read_table
from hld.tables.factored import whole_cells
from hld.tables.schemas.counts import KeptValues
from hld.tables.schemas.encoder import numbers_in
from hld.tables.schemas.quality import data_quality
from hld.tables.schemas.schema import GROUPING
from hld.tables.times import is_missing
from hld.tables.values import ValueTables, is_binned, value_tables
from pcircuit.io.archive import finite_array

if TYPE_CHECKING:
    from hld.tables.cells import Columns
    from hld.tables.schemas.encoder import EncodingReport, TableEncoder
    from hld.tables.schemas.quality import DataQuality

Result = TypeVar("Result")  # that of a test
MOST_ROWS = 2**53
LAWS = (2, 4)  # moments of the distances of counts: by columns, by pairs
MOST_ASSOCIATED = 2000.0  # logarithms of ratios of doubles are smaller
MOST_CELLS = 2_000_000  # of all pair tables together; pairs beyond are left out


@dataclass(frozen=True, eq=False)
class Profile:
    """Counts of a table; shapes edges (E, 2), laws (2, 4), odd (S, BINS)."""

    num_rows: int
    counts: tuple[Any, ...]
    edges: np.ndarray
    pairs: tuple[Any, ...]
    laws: np.ndarray | None = None
    associations: tuple[Any, ...] | None = None
    odd: np.ndarray | None = None

    def __add__(self, other: Profile) -> Profile:
        """The profile of both tables together."""
        return Profile(
            self.num_rows + other.num_rows,
            tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            self.edges,
            tuple(a + b for a, b in zip(self.pairs, other.pairs, strict=True)),
            odd=None if self.odd is None or other.odd is None else self.odd + other.odd,
        )

    def to_arrays(self) -> dict[str, Any]:
        """Flat arrays for a file."""
        arrays = {
            "counts": np.concatenate(self.counts),
            "edges": self.edges,
            "pairs": _flat(self.pairs, np.int64),
        }
        if self.associations is not None:
            arrays["associations"] = _flat(self.associations, np.float64)
        return arrays if self.laws is None else arrays | {"laws": self.laws}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], num_categories: tuple[int, ...]) -> Profile:
        """A profile that `to_arrays` wrote, for columns with so many categories; ValueError where it does not fit."""
        sizes, V = [C + 1 for C in num_categories], len(num_categories)
        edges = _array(arrays, "edges", (None, 2))
        if len(edges) >= max(V, 1) or (edges >= V).any() or (edges[:, 0] == edges[:, 1]).any():
            raise ValueError(
                f"the edges of a profile must be less than {V} pairs of different columns"
            )
        shapes = [(num_categories[u], num_categories[v]) for u, v in edges.tolist()]
        num_cells = sum(a * b for a, b in shapes)
        if num_cells > MOST_CELLS:
            raise ValueError(f"the pair tables of a profile must have at most {MOST_CELLS} cells")
        counts = np.split(_array(arrays, "counts", (sum(sizes),)), np.cumsum(sizes)[:-1])
        pairs = tables_of(_array(arrays, "pairs", (num_cells,)), shapes)
        totals = {sum(one.tolist()) for one in counts}  # which may be beyond 64 bits
        num_rows = totals.pop()
        most = max((sum(one.ravel().tolist()) for one in pairs), default=0)
        if totals or not max(most, 1) <= num_rows <= MOST_ROWS:
            raise ValueError("the counts of a profile must be of the same rows in every column")
        laws, associations = None, None
        if "laws" in arrays:
            laws = _array(arrays, "laws", LAWS, np.float64)
        if "associations" in arrays:
            most = MOST_ASSOCIATED
            found = _array(arrays, "associations", (num_cells,), np.float64, -most, most)
            associations = tables_of(found, shapes)
        return cls(num_rows, tuple(counts), edges, pairs, laws, associations)


@dataclass(frozen=True, eq=False)
class Held:
    """What the counts of a batch are compared with: those of other rows, and how the columns are counted.

    `missing` has a number of rows and (V,) missing cells, `new` the `KeptValues`, both None where they are not tested;
    `odd` names the numbers of rows that are counted.
    """

    columns: tuple[Any, ...]
    ordered: tuple[int, ...]
    counts: Profile
    odd: tuple[str, ...]
    missing: tuple[Any, Any] | None
    new: Any


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts of a batch and of what it is compared with, without those of the columns that are `hidden`.

    `tests` (2, V) and `pair_tests` are of a judge that tests columns itself; `quality` has the tests of missing and
    of new values by the names of the columns, `new` (V,) how many values of the reference are new.
    """

    fitted: tuple[Any, ...]
    reference: Profile
    batch: Profile
    tests: np.ndarray | None = None
    pair_tests: Mapping[tuple[int, int], Any] | None = None
    quality: Mapping[str, Any] | None = None
    new: np.ndarray | None = None
    hidden: Sequence[int] = ()

    def name_of(self, v: int) -> str:
        """The name of column v of the encoder."""
        name: str = self.fitted[v].name
        return name

    def beside(self, v: int) -> tuple[list[float], tuple[float, float] | None]:
        """p-values of new and of missing values in column v where any rows have some, and shares beyond its range.

        These are of all rows, as those of bins are, with which they are shown.
        """
        found = (self.quality or {}).get(self.name_of(v))
        pvalues: list[float] = []
        beyond = None
        if found is None:
            return pvalues, beyond
        if self.new is not None and found.new_pvalue is not None:
            before, now = int(self.new[v]), found.num_unseen + found.num_out_of_range
            if before + now:
                pvalues.append(found.new_pvalue)
                if is_binned(self.fitted[v]):
                    rows = int(self.reference.counts[v].sum())
                    beyond = before / max(rows, 1), now / max(self.batch.num_rows, 1)
        if found.pvalue is not None and (found.num_missing or found.train_missing):
            pvalues.append(found.pvalue)
        return pvalues, beyond

    @cached_property
    def columns(self) -> tuple[Any, ...]:
        """A `ColumnShift` for each column, the smallest p-value first."""
        shown = [v for v in range(len(self.fitted)) if v not in self.hidden]
        return column_shifts(
            [self.fitted[v] for v in shown],
            [(self.reference.counts[v], self.batch.counts[v]) for v in shown],
            None if self.tests is None else self.tests[:, shown],
            [self.beside(v) for v in shown],
        )

    def moved_first(self, alpha: float) -> tuple[Any, ...]:
        """The columns of a batch that is rejected at level alpha: the likeliest first if none moved by itself."""
        columns = self.columns
        if not columns or columns[0].adjusted <= alpha:
            return columns
        associations = []  # of a judge that tests columns itself, pairs say enough
        if self.tests is None:
            edges = self.reference.edges.tolist()
            for e, pvalue, lost in changes_of_associations(self.reference, self.batch):
                associations.append((tuple(map(self.name_of, edges[e])), pvalue, lost))
        if not (self.pairs or associations):
            return columns
        sizes = self.reference.num_rows, self.batch.num_rows
        return likeliest_first(columns, self.pairs, sizes, associations)

    @cached_property
    def pairs(self) -> tuple[Any, ...]:
        """A `PairShift` for each edge of the tree with enough rows, the smallest p-value first; of tests, if given."""
        tests = None if self.tests is None else self.pair_tests or {}
        # rows that were not held out have chosen the edges
        num_columns = len(self.fitted) - len(self.hidden) if self.new is None else 0
        return pair_shifts(self.fitted, self.reference, self.batch, num_columns, tests)


def profile_of(codes: np.ndarray, num_categories: tuple[int, ...], edges: ArrayLike) -> Profile:
    """The profile of a table; shapes codes (N, V), edges (E, 2).

    O(N (V + E)); beside the codes and the counts memory for as many codes, and for the rows of a pair of columns.
    """
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    columns = np.ascontiguousarray(codes.T)
    counts = []
    for column, C in zip(columns, num_categories, strict=True):
        found = column.astype(np.int64)
        found[found < 0] = C  # missing cells are last
        counts.append(np.bincount(found, minlength=C + 1))
    pairs = []
    for u, v in edges.tolist():
        shape = num_categories[u], num_categories[v]
        first, second = columns[u].astype(np.int64), columns[v].astype(np.int64)
        flat = first * shape[1] + second
        is_whole = (first | second) >= 0
        if not is_whole.all():
            flat = flat[is_whole]
        pairs.append(np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape))
    return Profile(len(codes), tuple(counts), edges, tuple(pairs))


def tree_edges(tree: np.ndarray, num_categories: Sequence[int]) -> np.ndarray:
    """(E, 2) edges of a tree of columns, those of small tables first where not all can be held.

    Shapes: tree (V,) -> (E, 2).
    """
    edges = sorted((min(v, p), max(v, p)) for v, p in enumerate(tree.tolist()) if p >= 0)
    cells = np.array([num_categories[u] * num_categories[v] for u, v in edges], dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    kept = np.sort(order[np.cumsum(cells[order]) <= MOST_CELLS])
    return np.array([edges[i] for i in kept.tolist()], dtype=np.int64).reshape(-1, 2)


def _flat(tables: tuple[np.ndarray, ...], dtype: Any) -> np.ndarray:
    """The cells of all tables."""
    return np.concatenate([np.zeros(0, dtype), *(table.ravel() for table in tables)])


def tables_of(cells: np.ndarray, shapes: list[tuple[int, int]]) -> tuple[np.ndarray, ...]:
    """Tables of given shapes, from all their cells."""
    ends = np.cumsum([a * b for a, b in shapes])
    return tuple(
        cells[end - a * b : end].reshape(a, b)
        for (a, b), end in zip(shapes, ends.tolist(), strict=True)
    )


def _array(
    arrays: dict[str, np.ndarray],
    name: str,
    shape: tuple[Any, ...],
    dtype: Any = np.int64,
    least: float = 0.0,
    most: float = np.inf,
) -> np.ndarray:
    """An array of a file, of numbers in a range."""
    found = finite_array(arrays, name, shape, dtype)
    if found.min(initial=0) < least or found.max(initial=0) > most:
        raise ValueError(f"array {name!r} must hold numbers from {least:g} to {most:g}")
    return found


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
        arrays = {
            name: np.concatenate([getattr(one, name) for one in parts])
            for name in ("codes", "marks", "rows")
        }
        cells = [one.cells for one in parts if one.cells is not None]
        return cls(
            **arrays,
            report=sum((one.report for one in parts[1:]), parts[0].report),
            absent=frozenset.intersection(*(one.absent for one in parts)),
            extra=frozenset.union(*(one.extra for one in parts)),
            cells=joined_cells(cells) if cells else None,
            groups=frozenset.union(*(one.groups for one in parts)),
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

    Shapes: tests (2, V).
    """
    if tests is None and detector.judge_ is not detector.test_:
        return None
    return Evidence(
        detector.encoder_.columns,
        detector.profile_,
        batch,
        tests,
        pair_tests,
        None if quality is None else {one.name: one for one in quality.columns},
        None if detector.new_values_ is None else detector.new_values_.new,
        hidden,
    )
