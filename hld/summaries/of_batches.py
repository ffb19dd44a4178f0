"""Record batches to the bytes of a summary: the function that Spark and Ray send to where the rows are.

Both engines hand Arrow record batches to a function, and take such batches back.  The function made here yields one
batch of one row for each partition: the bytes of its `BatchSummary`, some 15 kilobytes, in the column "summary".

=====  ====================================================================================================
Spark  ``frame.mapInArrow(hld.arrow_summarizer(detector), "summary binary").collect()``
Ray    ``data.map_batches(hld.arrow_summarizer(detector), batch_format="pyarrow", batch_size=None)``
=====  ====================================================================================================

Where these rows are collected, ``sum(hld.BatchSummary.from_bytes(row["summary"]) for row in rows)`` is the summary of
the whole table, which `HLDDetector.test` takes.  The function carries the fitted detector, and the library must be
installed on the workers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from hld.summaries.of_tables import summarize_chunks

COLUMN = "summary"


def arrow_summarizer(detector: Any) -> ArrowSummarizer:
    """A function from record batches to the bytes of their summary, for ``mapInArrow`` and ``map_batches``.

    Parameters
    ----------
    detector : HLDDetector
        Fitted.

    Returns
    -------
    callable
        Takes an iterator of pyarrow.RecordBatch and returns an iterator over one batch of one row, or over none if no
        batch has rows; likewise takes and returns a pyarrow.Table.  The column "summary" holds
        ``BatchSummary.to_bytes()``.

    Raises
    ------
    TypeError
        If `detector` cannot summarise.
    ImportError
        Without pyarrow, when it is called.

    Notes
    -----
    One pass, memory for one record batch.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> import hld
    >>> rows = np.random.default_rng(0).integers(3, size=(400, 2))
    >>> table = pyarrow.table({"a": rows[:, 0], "b": rows[:, 1]})
    >>> detector = hld.HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(table)
    >>> found = arrow_summarizer(detector)(iter(table[:90].to_batches(max_chunksize=40)))
    >>> hld.BatchSummary.from_bytes(next(found)["summary"][0].as_py()).num_rows
    90
    """
    if not hasattr(detector, "encoder_") or not hasattr(detector, "summarize"):
        raise TypeError(
            f"`detector` must be a fitted HLDDetector, found {type(detector).__name__}: fit or load one"
        )
    return ArrowSummarizer(detector)


class ArrowSummarizer:
    """What `arrow_summarizer` returns."""

    def __init__(self, detector: Any) -> None:
        self._detector = detector

    def __call__(self, batches: Any) -> Any:
        """Batches or a table to the bytes of their summary: see `arrow_summarizer`."""
        if hasattr(batches, "to_batches"):
            import pyarrow

            return pyarrow.Table.from_batches(
                self._summarized(iter(batches.to_batches())), _schema()
            )
        return self._summarized(iter(batches))

    def _summarized(self, batches: Iterator[Any]) -> Iterator[Any]:
        """One record batch, or none without rows."""
        import pyarrow

        rows = (batch for batch in batches if batch.num_rows)
        for first in itertools.islice(rows, 1):
            found = summarize_chunks(self._detector, itertools.chain([first], rows))
            yield pyarrow.record_batch(
                [pyarrow.array([found.to_bytes()], pyarrow.binary())], schema=_schema()
            )


def _schema() -> Any:
    """One column of bytes."""
    import pyarrow

    return pyarrow.schema([(COLUMN, pyarrow.binary())])
