"""Batches on a cluster: each worker sums its own rows, the sums travel, and one test judges them.

    T, sum_t L(x_t)

is all that the test needs (`hld.summaries`), so a batch of any size costs one pass where its rows are, and a few
kilobytes of traffic for each partition.  Sums of doubles depend on their order in the last digits; the order here
is always that of the partitions, whichever worker is first.
"""
from __future__ import annotations

from typing import Any

from hld.dask.partitions import need_dask, partitions_of
from hld.detector import HLDDetector
from hld.results.result import HLDResult
from hld.summaries.summary import BatchSummary


def summarize(detector: HLDDetector, table: Any) -> BatchSummary:
    """Sums over all rows of a table on a cluster.

    ``sum over partitions of detector.summarize(partition)``

    Parameters
    ----------
    detector : HLDDetector
        Fitted; it is sent to the workers once.
    table : dask.dataframe.DataFrame, dask.array.Array (T, V), or list of dask.delayed.Delayed
        The batch.

    Returns
    -------
    BatchSummary

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError, ValueError
        If the detector is not fitted or the table does not fit it.

    Notes
    -----
    One pass over the rows; memory for one partition a thread.  Sums of neighbours are added in a tree, so no machine
    holds the sums of more than a few partitions.

    Examples
    --------
    >>> import numpy as np, dask.array, hld.dask
    >>> rows = np.random.default_rng(0).integers(3, size=(400, 4))
    >>> detector = HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(rows)
    >>> hld.dask.summarize(detector, dask.array.from_array(rows, chunks=(100, 4))).num_rows
    400
    """
    dask, pieces = need_dask(), partitions_of(table)
    shared = dask.delayed(detector, pure=True)
    summaries = [dask.delayed(_summary)(shared, piece) for piece in pieces]
    while len(summaries) > 1:
        summaries = [dask.delayed(sum)(summaries[i:i + 8]) for i in range(0, len(summaries), 8)]
    return dask.compute(summaries[0])[0]


def judge(detector: HLDDetector, table: Any, alpha: float = 0.05) -> HLDResult:
    """Test a batch on a cluster.

    Parameters
    ----------
    detector : HLDDetector
        Fitted.
    table : dask.dataframe.DataFrame, dask.array.Array (T, V), or list of dask.delayed.Delayed
        The batch.
    alpha : float
        Level, in (0, 1).

    Returns
    -------
    HLDResult
        As of ``detector.test(summary, alpha)``: see `hld.BatchSummary` for what a summary cannot answer.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError, ValueError
        As `summarize`, or if `alpha` is no level.

    Examples
    --------
    >>> import numpy as np, dask.array, hld.dask
    >>> rows = np.random.default_rng(0).integers(3, size=(400, 4))
    >>> detector = HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(rows)
    >>> hld.dask.judge(detector, dask.array.from_array(rows * 0, chunks=(100, 4))).reject
    True
    """
    return detector.test(summarize(detector, table), alpha)


def _summary(detector: HLDDetector, piece: Any) -> BatchSummary:
    """The sums of one partition, on the worker that holds it."""
    return detector.summarize(piece)
