"""Summaries of tables: cells that the schema does not know, categories, pairs and odd rows are counted, too.

**Arrow.**  Record batches become the JSON of a summary by the function that Spark and Ray send to where the rows are.

Both engines hand Arrow record batches to a function, and take such batches back.  The function made here yields one
batch of one row for each partition: the JSON of its `BatchSummary`, some 50 kilobytes, in the column "summary".

=====  ====================================================================================================
Spark  ``frame.mapInArrow(hld.arrow_summarizer(detector), "summary string").collect()``
Ray    ``data.map_batches(hld.arrow_summarizer(detector), batch_format="pyarrow", batch_size=None)``
=====  ====================================================================================================

Where these rows are collected, ``sum(hld.BatchSummary.from_json(row["summary"]) for row in rows)`` is the summary of
the whole table, which `HLDDetector.test` takes.  The function carries the fitted detector, and the library must be
installed on the workers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from hld.answers.evidence import Evidence
from hld.answers.profile import Profile, tables_of
from hld.answers.table_facts import (
    batch_profile,
    evidence_of,
    held_of,
    quality_of,
    read_batch,
)
from hld.tables.schemas.encoder import EncodingReport
from hld.tables.schemas.quality import DataQuality
from hld.testing.summaries.summary import BatchSummary, TableCounts
from hld.testing.summaries.summing import detector_fingerprint, summarize_rows

MOST_CELLS = 100_000  # of pairs: more would make a long text of a summary, which then has none
CELLS = ("num_missing", "num_unseen", "num_out_of_range", "num_rare", "num_odd")


def summarize_chunks(detector: Any, chunks: Iterable[Any]) -> BatchSummary:
    """The summary of a table that comes in chunks, each read once and then forgotten."""
    test = detector.test_
    found: BatchSummary | None = None
    table: TableCounts | None = None
    for chunk in chunks:
        read = read_batch(detector, chunk)
        first = 0 if found is None else found.num_rows
        own = summarize_rows(test, read.rows, first=first)
        cells = np.array([getattr(read.report, name) for name in CELLS], dtype=np.int64)
        counts = batch_profile(detector, read.codes, read.marks)
        pairs = np.concatenate([np.zeros(0, np.int64), *(one.ravel() for one in counts.pairs)])
        counted = TableCounts(
            cells,
            np.concatenate(counts.counts),
            pairs if len(pairs) <= MOST_CELLS else pairs[:0],
            np.zeros(0, np.int64) if counts.odd is None else counts.odd.ravel(),
            tuple(sorted(read.absent)),
            tuple(sorted(read.extra)),
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
    if (table.cells.shape[1], len(table.categories)) != (len(sizes), sum(sizes)):
        raise ValueError(
            f"`summary` counts {table.cells.shape[1]} columns and {len(table.categories)} categories, expected "
            f"{len(sizes)} and {sum(sizes)}: those of all columns, and for each column the missing cells"
        )
    cells = {name: row.copy() for name, row in zip(CELLS, table.cells, strict=True)}
    report = EncodingReport(summary.num_rows, **cells)
    quality = quality_of(detector, report, set(table.absent), table.extra, held_of(detector, None))
    if not summary.num_rows:
        return own, quality, None
    counts = tuple(np.split(table.categories, np.cumsum(sizes)[:-1]))
    if any(int(one.sum()) != summary.num_rows for one in counts):
        raise ValueError(f"`summary` counts categories of other rows than its {summary.num_rows}")
    reference = _of_pairs(detector.profile_, len(table.pairs))
    shapes = [one.shape for one in reference.pairs]
    odd = np.zeros((0, 1)) if detector.watched_ is None else detector.watched_.odd_counts
    found = {"pairs": sum(a * b for a, b in shapes), "odd_rows": odd.size}
    for name, size in found.items():
        if len(getattr(table, name)) != size:
            raise ValueError(
                f"`summary` has {len(getattr(table, name))} counts of {name}, expected {size}"
            )
    batch = Profile(
        summary.num_rows,
        counts,
        reference.edges,
        tables_of(table.pairs, shapes),
        odd=table.odd_rows.reshape(odd.shape) if odd.size else None,
    )
    evidence = evidence_of(detector, batch, quality)
    return own, quality, None if evidence is None else replace(evidence, reference=reference)


def _of_pairs(profile: Profile, num_cells: int) -> Profile:
    """A profile, without its pairs for a batch that has no cells of pairs."""
    if num_cells:
        return profile
    return replace(profile, edges=profile.edges[:0], pairs=())


def arrow_summarizer(detector: Any) -> Callable[[Any], Any]:
    """A function from record batches to the JSON of their summary, for ``mapInArrow`` and ``map_batches``.

    Parameters
    ----------
    detector : HLDDetector
        Fitted.

    Returns
    -------
    callable
        Takes an iterator of pyarrow.RecordBatch and returns an iterator over one batch of one row, or over none if no
        batch has rows; likewise takes and returns a pyarrow.Table.  The column "summary" holds
        ``BatchSummary.to_json()``.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> import hld
    >>> rows = np.random.default_rng(0).integers(3, size=(400, 2))
    >>> table = pyarrow.table({"a": rows[:, 0], "b": rows[:, 1]})
    >>> detector = hld.HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(table)
    >>> found = arrow_summarizer(detector)(iter(table[:90].to_batches(max_chunksize=40)))
    >>> hld.BatchSummary.from_json(next(found)["summary"][0].as_py()).num_rows
    90
    """
    if not hasattr(detector, "encoder_") or not hasattr(detector, "summarize"):
        raise TypeError(
            f"`detector` must be a fitted HLDDetector, found {type(detector).__name__}: fit or load one"
        )

    def of_batches(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow

        rows = (batch for batch in batches if batch.num_rows)
        for first in itertools.islice(rows, 1):
            found = summarize_chunks(detector, itertools.chain([first], rows)).to_json()
            yield pyarrow.record_batch({"summary": pyarrow.array([found], pyarrow.string())})

    def summarizer(batches: Any) -> Any:
        import pyarrow

        if not hasattr(batches, "to_batches"):
            return of_batches(batches)
        schema = pyarrow.schema([("summary", pyarrow.string())])
        return pyarrow.Table.from_batches(of_batches(batches.to_batches()), schema)

    return summarizer
