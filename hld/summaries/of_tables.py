"""Summaries of tables: cells that the schema does not know, and categories by column, are counted, too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from hld.answers.evidence import Evidence
from hld.answers.profile import Profile, profile_of
from hld.answers.table_facts import evidence_of
from hld.schemas.encoding import EncodingReport
from hld.schemas.quality import DataQuality, data_quality
from hld.summaries.fingerprint import detector_fingerprint
from hld.summaries.summary import BatchSummary, TableCounts
from hld.summaries.summing import summarize_rows

CELLS = ("num_missing", "num_unseen", "num_out_of_range", "num_rare", "num_odd")


def summarize_chunks(detector: Any, chunks: Iterable[Any]) -> BatchSummary:
    """The summary of a table that comes in chunks, each read once and then forgotten."""
    encoder, test = detector.encoder_, detector.test_
    found: BatchSummary | None = None
    table: TableCounts | None = None
    for chunk in chunks:
        codes, report, absent, extra = encoder.encode_counting(chunk)
        first = 0 if found is None else found.num_rows
        own = summarize_rows(test, codes, first=first)
        cells = np.array([getattr(report, name) for name in CELLS], dtype=np.int64)
        counted = TableCounts(
            cells,
            np.concatenate(profile_of(codes, encoder.num_categories, ()).counts),
            tuple(sorted(absent)),
            tuple(sorted(extra)),
        )
        found, table = (
            (own, counted) if found is None or table is None else (found + own, table + counted)
        )
    if found is None:
        raise ValueError("`chunks` has no table: at least one is needed")
    return replace(
        found, model=detector_fingerprint(test.fingerprint, detector.schema_), table=table
    )


def facts_of(
    detector: Any, summary: BatchSummary
) -> tuple[BatchSummary, DataQuality | None, Evidence | None]:
    """A summary as the detector's test takes it, and what its counts say: data quality and how columns moved."""
    test, expected = (
        detector.test_,
        detector_fingerprint(detector.test_.fingerprint, detector.schema_),
    )
    if summary.model != expected:
        raise ValueError(
            f"`summary` is for the model {summary.model[:8]}, expected {expected[:8]}: a summary is "
            "tested by the model that it was made with"
        )
    own, table, encoder = (
        replace(summary, model=test.fingerprint, table=None),
        summary.table,
        detector.encoder_,
    )
    if table is None:
        return own, None, None
    sizes = [C + 1 for C in encoder.num_categories]
    if table.cells.shape[1] != len(sizes):
        raise ValueError(f"`summary` counts {table.cells.shape[1]} columns, expected {len(sizes)}")
    if len(table.categories) != sum(sizes):
        raise ValueError(
            f"`summary` counts {len(table.categories)} categories, expected {sum(sizes)}: those of all "
            "columns, and for each column the missing cells"
        )
    cells = {name: row.copy() for name, row in zip(CELLS, table.cells, strict=True)}
    report = EncodingReport(summary.num_rows, **cells)
    quality = data_quality(
        encoder.columns,
        detector.schema_.trained,
        report,
        set(table.absent),
        table.extra,
        kept=detector.new_values_,
        tolerance=detector.tolerance,
        is_tested=detector.missingness,
    )
    if not summary.num_rows:
        return own, quality, None
    counts = tuple(np.split(table.categories, np.cumsum(sizes)[:-1]))
    if any(int(one.sum()) != summary.num_rows for one in counts):
        raise ValueError(f"`summary` counts categories of other rows than its {summary.num_rows}")
    none = np.zeros((0, 2), dtype=np.int64)
    reference = replace(detector.profile_, edges=none, pairs=())
    batch = Profile(summary.num_rows, counts, none, ())
    evidence = evidence_of(detector, batch, quality)
    return own, quality, None if evidence is None else replace(evidence, reference=reference)
