"""Batches on a cluster: each worker sums its own rows, the sums travel, and one test judges them.

    T, sum_t L(x_t)

and at most 20,000 rows are all that the test needs (`hld.testing.summaries.summing`), so a batch of any size costs one
pass where its rows are.  With a summary no row travels, and p-values are somewhat larger.  Sums of doubles depend on
their order in the last digits; the order here is always that of the partitions, whichever worker is first.
"""

from typing import Any

from hld.dask.partitions import computed_sum, need_dask, partitions_of
from hld.detector.chunks import check_detector, facts_of_chunks, judge_facts
from hld.detector.detector import HLDDetector
from hld.testing.summaries.summary import BatchSummary
from hld.witnesses.result import HLDResult
from pcircuit.arguments import check_fraction


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
    check_detector(detector)
    dask, pieces = need_dask(), partitions_of(table)
    shared = dask.delayed(detector, pure=True)
    return computed_sum([dask.delayed(HLDDetector.summarize)(shared, piece) for piece in pieces])


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
        As of `hld.judge_chunks` for the partitions, but for the draws that choose 20,000 rows of more, and that fill
        holes where these are completed.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError, ValueError
        As `summarize`, or if `alpha` is no level; if the detector was fitted to groups or in the order of time, whose
        test needs all rows together.

    Notes
    -----
    One pass over the rows; at most 20,000 coded rows travel from each partition, mostly a byte a cell, and are thinned
    out in a tree.

    Examples
    --------
    >>> import numpy as np, dask.array, hld.dask
    >>> rows = np.random.default_rng(0).integers(3, size=(400, 4))
    >>> detector = HLDDetector(num_latents=2, num_epochs=5, num_resamples=99).fit(rows)
    >>> hld.dask.judge(detector, dask.array.from_array(rows * 0, chunks=(100, 4))).reject
    True
    """
    check_detector(detector)
    if detector.judge_ is not detector.test_:
        raise ValueError(
            "`detector` was fitted with `groups`, `order` or `covariates`, whose test needs all rows "
            "together: give a table in memory to `detector.test`"
        )
    alpha, dask, pieces = check_fraction(alpha, "alpha"), need_dask(), partitions_of(table)
    shared = dask.delayed(detector, pure=True)
    facts = dask.delayed(facts_of_chunks)
    whole = computed_sum([facts(shared, [piece], i) for i, piece in enumerate(pieces)])
    if not whole.report.num_rows:
        raise ValueError("`table` has no rows: at least one is needed")
    return judge_facts(detector, whole, alpha)
