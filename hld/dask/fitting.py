"""A detector fitted to more rows than one machine holds.

Two kinds of things are learned, and they need different numbers of rows.

* Columns (levels, bins, kinds), the tree, the rows that batches are compared with: a uniform sample of `sample_rows`
  rows is brought to this machine, and a detector is fitted to it as to any table.
* The parameters, perhaps hundreds of thousands, by EM.  The expected flows of an epoch add up over rows: each worker
  computes those of its own partitions; here they are added in the order of the partitions, the M-step is taken
  (`pcircuit.maximize`), and the new circuit goes out again.  Rows that batches are compared with take no part.

Of very many rows a few passes are enough: with `partitions_per_step` the M-step is taken after so many partitions, by
the moving average of their flows that `pcircuit.fit_em` keeps for mini-batches.

The codes of a partition, mostly one byte per cell, are made once and stay with the workers; where a worker is lost,
Dask recomputes its pieces from the table.  If the table has no more than `sample_rows` rows, nothing is sampled, and
the detector is the one that `HLDDetector.fit` gives, up to the order of summation.
"""

from typing import Any

import numpy as np

import pcircuit
from hld.dask.partitions import (
    computed_sum,
    joined,
    need_dask,
    num_rows_of,
    partitions_of,
    picked,
)
from hld.detector.detector import HLDDetector
from pcircuit.arguments import check_generator, check_whole_number
from pcircuit.learning.em import newest_share

PIECE_ROWS = 50_000  # of the sample, for EM


def fit(
    table: Any,
    detector: HLDDetector | None = None,
    *,
    sample_rows: int = 200_000,
    partitions_per_step: int | None = None,
) -> HLDDetector:
    """Fit a detector to a table on a cluster.

    Parameters
    ----------
    table : dask.dataframe.DataFrame, dask.array.Array (n, V), or list of dask.delayed.Delayed
        Training rows, at least two.  Delayed pieces are data frames or arrays.
    detector : HLDDetector, optional
        Its options are used, and it is fitted itself.  Default: ``HLDDetector()``.
    sample_rows : int
        Rows that are brought to this machine: columns, tree and reference come from them.  Default 200,000.
    partitions_per_step : int, optional
        Partitions whose flows make a step of EM, drawn anew in each epoch; as many as there are threads keep all of
        them busy.  Default: all, one step an epoch.

    Returns
    -------
    HLDDetector
        `detector`, fitted.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError, ValueError
        If the table or an option is not usable.

    Notes
    -----
    One pass to count rows, one to encode them, one over the codes for each epoch.  Memory here is that of the sample.
    Levels that the sample did not show are coded as unseen ones.  With the same partitions the result is the same,
    whichever scheduler runs them.

    Examples
    --------
    >>> import dask.array, hld.dask
    >>> rows = np.random.default_rng(0).integers(3, size=(400, 4))
    >>> detector = HLDDetector(num_latents=2, num_epochs=5, num_resamples=99)
    >>> fit(dask.array.from_array(rows, chunks=(100, 4)), detector).num_train_
    400
    """
    pieces = partitions_of(table)
    detector = HLDDetector() if detector is None else detector
    if not isinstance(detector, HLDDetector):
        raise TypeError(f"`detector` must be an HLDDetector, found {type(detector).__name__}")
    sample_rows = check_whole_number(sample_rows, "sample_rows", 2)
    check_whole_number(partitions_per_step, "partitions_per_step", 1, none="all partitions")
    sizes, rng = num_rows_of(pieces), check_generator(detector.rng)
    total = int(sizes.sum())
    chosen = np.arange(total)  # positions of the sample in the whole table, in order
    if total > sample_rows:
        chosen = np.sort(rng.choice(total, size=sample_rows, replace=False, shuffle=False))
    sample, rest = _divided(pieces, sizes, chosen)

    def learner(
        start: pcircuit.Circuit, codes: np.ndarray, encoder: Any
    ) -> tuple[pcircuit.Circuit, np.ndarray, int]:
        """EM over the codes of the sample and those of all other rows."""
        dask = need_dask()
        shared = dask.delayed(encoder, pure=True)
        parts = [
            dask.delayed(codes[first : first + PIECE_ROWS])
            for first in range(0, len(codes), PIECE_ROWS)
        ]
        parts += [shared.encode(piece)[0] for piece in rest]  # on the worker that holds it
        circuit, history = fit_flows(
            start,
            dask.persist(*parts),
            num_epochs=detector.num_epochs,
            pseudocount=detector.pseudocount,
            per_step=partitions_per_step,
            rng=rng,
        )
        return circuit, history, len(codes) + total - len(sample)

    return detector.fit(sample, learner=learner)


def fit_flows(
    circuit: pcircuit.Circuit,
    parts: Any,
    *,
    num_epochs: int,
    pseudocount: float,
    per_step: int | None = None,
    rng: Any = None,
) -> tuple[pcircuit.Circuit, np.ndarray]:
    """EM with the flows counted where the rows are.

    Returns history (num_epochs + 1,).
    """
    number, history, average = 0, [], None
    if per_step is not None:  # flows that the circuit expects of as many rows drawn from itself
        hidden = np.full((1, circuit.num_variables), -1)
        of_one = pcircuit.expected_flows(circuit, hidden, n_jobs=1)
        average = float(num_rows_of(parts).sum()) * of_one
    for _ in range(num_epochs):
        log = weight = 0.0
        order = list(parts) if per_step is None else [parts[i] for i in rng.permutation(len(parts))]
        size = per_step or len(order)
        for first in range(0, len(order), size):
            flows = _flows(circuit, order[first : first + size])
            log, weight = log + flows.log_likelihood, weight + flows.total_weight
            if not flows.total_weight:
                continue  # partitions without rows
            if average is not None:  # of all rows, as these tell them: see `pcircuit.fit_em`
                share, number = newest_share(number), number + 1
                flows = average = (
                    1 - share
                ) * average + share * average.total_weight / flows.total_weight * flows
            circuit = pcircuit.maximize(circuit, flows, pseudocount=pseudocount)
        history.append(log / weight if weight else float("nan"))
    history.append(_flows(circuit, parts).mean_log_likelihood)
    return circuit, np.array(history)


def _flows(circuit: pcircuit.Circuit, parts: Any) -> pcircuit.Flows:
    """The flows of all parts, added in their order; one thread each, as Dask runs one task a thread."""
    dask = need_dask()
    shared, flows = dask.delayed(circuit, pure=False), dask.delayed(pcircuit.expected_flows)
    return computed_sum([flows(shared, part, n_jobs=1) for part in parts])


def _divided(pieces: list[Any], sizes: np.ndarray, chosen: np.ndarray) -> tuple[Any, list[Any]]:
    """The sample in memory, and what is left of each partition, where it is."""
    dask, starts = need_dask(), np.cumsum(sizes) - sizes
    taken, rest = [], []
    for piece, start, size in zip(pieces, starts, sizes, strict=True):
        rows = chosen[(chosen >= start) & (chosen < start + size)] - start
        if len(rows):
            taken.append(dask.delayed(picked)(piece, rows))
        if len(rows) < size:
            rest.append(dask.delayed(picked)(piece, np.setdiff1d(np.arange(size), rows)))
    if not taken:
        raise ValueError("`table` has no rows")
    return joined(list(dask.compute(*taken))), rest
