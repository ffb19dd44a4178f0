"""What a detector keeps of its training table besides the circuit (counts, quantiles), and what it keeps of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.answers.column_shifts import NewValues
from hld.answers.evidence import Evidence
from hld.answers.profile import Held, Profile, profile_of, tree_edges
from hld.references.group_statistics import Cells
from hld.tables.schemas.counts import KeptValues
from hld.tables.schemas.encoding import numbers_in
from hld.tables.schemas.quality import data_quality
from hld.tables.values import is_binned, value_tables

if TYPE_CHECKING:
    from hld.tables.cells import Columns
    from hld.tables.schemas.encoder import TableEncoder
    from hld.tables.schemas.encoding import EncodingReport
    from hld.tables.schemas.quality import ColumnQuality, DataQuality


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
    cells = cells_by_name(encoder, columns)
    numbers = [
        numbers_in(column, cells[column.name])[rows] if is_binned(column) else None
        for column in encoder.columns
    ]
    return {
        "profile": profile_of(reference, encoder.num_categories, edges),
        "values": value_tables(encoder.columns, numbers),
    }


def cells_by_name(encoder: TableEncoder, columns: Columns) -> dict[str, Any]:
    """The arrays of a table by the names that the encoder has for them."""
    columns = encoder.read(columns)
    names = columns.names if encoder.by_name or encoder.derived else None
    return dict(zip(encoder.table_names if names is None else names, columns.arrays, strict=False))


def as_table(encoder: TableEncoder, cells: np.ndarray) -> Any:
    """Cells of the fitted columns as a table that the encoder reads: the columns that are left out are empty.

    Shapes: cells (N, V).
    """
    names = encoder.all_names
    whole = np.full((len(cells), len(names)), None, dtype=object)
    whole[:, [names.index(name) for name in encoder.names]] = cells
    return (
        {name: whole[:, v] for v, name in enumerate(names)}
        if encoder.by_name or encoder.derived
        else whole
    )


def cells_of(detector: Any, table: Any, marks: np.ndarray) -> Any:
    """What a detector that judges groups or a series looks at beside codes, as an option of `judge_`; or none.

    Shapes: marks (N, V).
    """
    if getattr(detector.judge_, "statistics", None) is None:
        return {}
    return {"cells": Cells(detector.encoder_.numbers(table), marks)}


def held_of(detector: Any, codes: np.ndarray | None) -> Held | None:
    """What the counts of a batch of codes are compared with; None among groups and in order of time.

    Shapes: codes (T, V).
    """
    encoder, watched, judge = detector.encoder_, detector.watched_, detector.judge_
    if judge is detector.test_:
        counts = replace(detector.profile_, odd=None if watched is None else watched.odd_counts)
        missing, new = detector.schema_.trained, detector.new_values_
    elif codes is not None and hasattr(judge, "held"):
        rows, by_column, num_new, odd = judge.held(codes)
        none = detector.profile_.edges[:0]
        counts = Profile(rows, by_column, none, (), detector.profile_.laws, odd=odd)
        number, holes = (np.array([f(one) for one in by_column]) for f in (np.sum, lambda n: n[-1]))
        missing, new = (
            (number, holes),
            KeptValues(number - holes, np.minimum(num_new, number - holes)),
        )
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
    return data_quality(
        tuple(columns[v] for v in shown),
        None if trained is None else (trained[0], np.asarray(trained[1])[shown].tolist()),
        report.of_columns(shown),
        absent,
        extra,
        missing=missing
        and (np.broadcast_arrays(*missing)[0][shown], np.asarray(missing[1])[shown]),
        kept=None if new is None else KeptValues(new.shown[shown], new.new[shown]),
    )


def test_rows(detector: Any, table: Any, codes: np.ndarray) -> np.ndarray:
    """Rows as the test of a detector reads them: their codes, or numbers where its leaves are densities.

    Shapes: codes (T, V) -> (T, V).
    """
    if detector.densities_ is None:
        return codes
    encoder = detector.encoder_
    return encoder.values(codes, encoder.numbers(table))


test_rows.__test__ = False  # type: ignore[attr-defined]  # its name must not make a test runner collect it


def new_marks(detector: Any, num_rows: int) -> np.ndarray:
    """(num_rows, V) zeros for marks of new values."""
    return np.zeros((num_rows, len(detector.encoder_.columns)), np.uint8)


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


def evidence_of(
    detector: Any,
    batch: Profile,
    quality: DataQuality | None = None,
    tests: np.ndarray | None = None,
    pair_tests: Any = None,
) -> Evidence | None:
    """Counts of a batch beside those of the reference; None of a judge that has no tests of columns.

    `quality` is a `hld.DataQuality` of the batch; columns that it leaves out have no odd cells.

    Shapes: tests (2, V).
    """
    if tests is None and detector.judge_ is not detector.test_:
        return None
    encoder, found = (
        detector.encoder_,
        {} if quality is None else {one.name: one for one in quality.columns},
    )
    unseen, out_of_range = (
        np.array([getattr(found.get(own), name, 0) for own in encoder.names], np.int64)
        for name in ("num_unseen", "num_out_of_range")
    )
    seed = detector.test_.settings.seed
    kept = detector.new_values_
    new = (
        None
        if quality is None or kept is None
        else tuple(
            _new_values(
                found.get(name),
                int(kept.new[v]),
                int(detector.profile_.counts[v].sum()),
                quality.num_rows,
            )
            for v, name in enumerate(encoder.names)
        )
    )
    missing = (
        None if quality is None else tuple(_missing(found.get(name)) for name in encoder.names)
    )
    return Evidence(
        encoder.columns,
        detector.profile_,
        batch,
        unseen,
        out_of_range,
        seed,
        tests,
        new,
        are_chosen=kept is None,
        missing=missing,
        pair_tests=pair_tests,
    )


def _missing(found: ColumnQuality | None) -> float | None:
    """The p-value of the share of missing cells of a column, where it is tested and any are missing."""
    return (
        found.pvalue if found is not None and (found.num_missing or found.train_missing) else None
    )


def _new_values(
    found: ColumnQuality | None, before: int, kept_rows: int, num_rows: int
) -> NewValues | None:
    """The test of the new values of a column, where they are tested and the batch or the reference has any.

    Their shares are of all rows, as those of levels and bins are, with which they are shown.
    """
    if found is None or found.new_pvalue is None:
        return None
    now = found.num_unseen + found.num_out_of_range
    if not before + now:
        return None
    return NewValues(found.new_pvalue, before / max(kept_rows, 1), now / max(num_rows, 1))
