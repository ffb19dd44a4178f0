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
from typing import Any, cast

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
from hld.testing.summaries.summary import BatchSummary, check_summary, detector_fingerprint
from hld.testing.summaries.summing import summarize_rows

MOST_CELLS = 100_000  # of pairs: more would make a long text of a summary, which then has none
CELLS = ("num_missing", "num_unseen", "num_out_of_range", "num_rare", "num_odd")


def summarize_chunks(detector: Any, chunks: Iterable[Any]) -> BatchSummary:
    """The summary of a table that comes in chunks, each read once and then forgotten."""
    model = detector_fingerprint(detector.test_.fingerprint, detector.schema_)
    found: BatchSummary | None = None
    for chunk in chunks:
        read = read_batch(detector, chunk)
        own = summarize_rows(
            detector.test_, read.rows, first=0 if found is None else found.num_rows
        )
        counts = batch_profile(detector, read.codes, read.marks)
        pairs = np.concatenate([np.zeros(0, np.int64), *(one.ravel() for one in counts.pairs)])
        arrays = dict(own.arrays) | {
            "cells": np.array([getattr(read.report, name) for name in CELLS], dtype=np.int64),
            "categories": np.concatenate(counts.counts),
            "pairs": pairs if len(pairs) <= MOST_CELLS else pairs[:0],
            "odd_rows": np.zeros(0, np.int64) if counts.odd is None else counts.odd.ravel(),
        }
        absent, extra = tuple(sorted(read.absent)), tuple(sorted(read.extra))
        own = replace(own, model=model, arrays=arrays, absent=absent, extra=extra)
        found = own if found is None else found + own
    if found is None:
        raise ValueError("`chunks` has no table: at least one is needed")
    return found


def facts_of(detector: Any, summary: BatchSummary) -> tuple[BatchSummary, DataQuality, Evidence]:
    """A summary as the detector's test takes it, and what its counts say: data quality and how columns moved."""
    test, arrays, T, none = detector.test_, summary.arrays, summary.num_rows, np.zeros(())
    check_summary(summary, detector_fingerprint(test.fingerprint, detector.schema_), "batch")
    own = replace(summary, model=test.fingerprint)
    sizes = [C + 1 for C in detector.encoder_.num_categories]
    reference = detector.profile_
    if not arrays.get("pairs", none).size:  # there were too many
        reference = replace(reference, edges=reference.edges[:0], pairs=())
    shapes = [one.shape for one in reference.pairs]
    odd = np.zeros((0, 1)) if detector.watched_ is None else detector.watched_.odd_counts
    num_pairs = sum(a * b for a, b in shapes)
    wanted = {"cells": (len(CELLS), len(sizes)), "categories": (sum(sizes),)}
    wanted |= {"pairs": (num_pairs,), "odd_rows": (odd.size,)}
    for name, shape in wanted.items():
        found = arrays.get(name, none).shape
        if found != shape:
            raise ValueError(
                f"`batch` is a summary whose {name!r} has the shape {found}, expected {shape}: make it again"
            )
    cells = {name: row.copy() for name, row in zip(CELLS, arrays["cells"], strict=True)}
    held, absent = held_of(detector, None), set(summary.absent)
    quality = quality_of(detector, EncodingReport(T, **cells), absent, summary.extra, held)
    counts = tuple(np.split(arrays["categories"], np.cumsum(sizes)[:-1]))
    if any(int(one.sum()) != T for one in counts):
        raise ValueError(f"`batch` is a summary that counts categories of other rows than its {T}")
    batch = Profile(
        T,
        counts,
        reference.edges,
        tables_of(arrays["pairs"], shapes),
        odd=arrays["odd_rows"].reshape(odd.shape) if odd.size else None,
    )
    evidence = cast(Evidence, evidence_of(detector, batch, quality))
    return own, quality, replace(evidence, reference=reference)


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
