"""Learning the parameters of a circuit: expectation maximisation.

With the expected flows n (`expected_flows`) of the training rows, the M-step sets every weight, and every input
probability, to its share of its unit's flow:

    weights[k, p] = (n_kp + pseudocount / P_k) / (n_k + pseudocount)         n_k = sum_p n_kp

where P_k is the number of edges (or categories) of the unit, so that one `pseudocount` is spread evenly over them.
Without pseudocount, and with all rows in each step, the training likelihood never decreases (Dempster, Laird and
Rubin 1977), because the flows are exactly the sufficient statistics of the complete data.

Mini-batches take a step of size s towards the estimate of the batch, parameters = (1 - s) old + s estimate,
which is stochastic approximation (Cappe and Moulines 2009) with a constant step.
"""
from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from pcircuit.arguments import check_flag, check_generator, check_number, check_whole_number
from pcircuit.compiled import packed as _packed
from pcircuit.compiled import rescaling as _rescaling
from pcircuit.distribution import check_distribution
from pcircuit.evidence import MOST_WEIGHT, check_evidence, row_weights
from pcircuit.inference.flows import accumulate, uses_numpy
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.threads import count_jobs

BLOCK_ROWS = 2 ** 16  # rows evaluated at a time at the end


def fit_em(circuit, data, *, num_epochs=100, pseudocount=0.1, batch_size=None, step_size=None, weights=None,
           tolerance=0.0, callback=None, progress=False, n_jobs=None, rng=None):
    """Fit all parameters of a circuit by expectation maximisation.

    Parameters
    ----------
    circuit : Circuit
        Start values; entries that are exactly 0 stay 0 where `pseudocount` is 0 (and in CSR weights always).
    data : (N, V) integer array_like
        Training rows, -1 missing, N at least 1.
    num_epochs : int
        Passes over the data.
    pseudocount : float
        Spread evenly over the edges or categories of each unit; 0 for maximum likelihood.
    batch_size : int, optional
        Rows of a mini-batch; None uses all rows in each step.
    step_size : float, optional
        In (0, 1]: how far a step goes towards the new estimate.  Default 1 for full batches, 0.1 for mini-batches.
    weights : (N,) float array_like, optional
        Non-negative row weights; a weight of 2 counts as the row twice.
    tolerance : float
        Stop when the mean log-likelihood gains less than this in an epoch (nats per row); 0 never stops early.
    callback : callable, optional
        Called after each epoch as ``callback(epoch, mean_log_likelihood)``; a true result stops.
    progress : bool
        Draw a progress bar on standard error (needs `rich`; silent without it, and where no person looks).
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it, to the last bit.
    rng : int or numpy.random.Generator, optional
        Order of the rows in mini-batches.

    Returns
    -------
    circuit : Circuit
        A new circuit with the same structure.
    history : (epochs done + 1,) float64 array
        Mean training log-likelihood, natural, before each epoch and after the last.  With mini-batches the entry
        of an epoch is the running mean over its batches, under the parameters of the time.

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If `data` is not evidence for the circuit or has no rows, or an option is out of range.

    Notes
    -----
    An epoch costs two and a half to four evaluations of the data, the more the larger the circuit, and one update of
    all parameters; memory does not grow with N beyond the data themselves.

    References
    ----------
    Dempster, Laird and Rubin (1977), J. Royal Statistical Society B 39; Peharz et al. (2017), On the latent variable
    interpretation in sum-product networks, IEEE TPAMI 39; Cappe and Moulines (2009), J. Royal Statistical Society B 71.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5]])])
    >>> fitted, history = fit_em(coin, [[0], [1], [1], [1]], num_epochs=1, pseudocount=0)
    >>> fitted.regions[0].probs, history.round(4)
    (array([[0.25, 0.75]]), array([-0.6931, -0.5623]))
    """
    data, weights = _checked_rows(circuit, data, weights)
    num_epochs = check_whole_number(num_epochs, "num_epochs", 0)
    pseudocount = check_number(pseudocount, "pseudocount", least=0, most=MOST_WEIGHT)
    batch_size = check_whole_number(batch_size, "batch_size", 1, none="all rows")
    step_size = (1.0 if batch_size is None else 0.1) if step_size is None else step_size
    step_size = check_number(step_size, "step_size", above=0, most=1)
    tolerance, progress = check_number(tolerance, "tolerance", least=0), check_flag(progress, "progress")
    if callback is not None and not callable(callback):
        raise TypeError(f"`callback` must be callable, or None, found {type(callback).__name__}")
    rng, _ = check_generator(rng), count_jobs(n_jobs)
    packed, free, total_weight = _packed.pack(circuit), [], weights.sum()
    step = _step_in_numpy if uses_numpy(circuit) else _step_by_kernel
    history: list[float] = []
    with _progress_bar(num_epochs, progress) as advance:
        for epoch in range(num_epochs):
            total = 0.0
            for rows, share in _batches(len(data), batch_size, rng):
                edges, inputs, log = accumulate(circuit, packed, data[rows], weights[rows], n_jobs, free,
                                                same_rows=batch_size is None)
                packed = step(packed, edges, inputs, pseudocount * share, step_size)
                total += log
            history.append(total / total_weight)
            advance(history[-1])
            small_gain = epoch > 0 and history[-1] - history[-2] < tolerance
            if (tolerance > 0 and small_gain) or (callback is not None and callback(epoch, history[-1])):
                break
    circuit = _packed.with_parameters(circuit, packed)
    history.append(_weighted_log_likelihood(circuit, data, weights, n_jobs) / total_weight)
    return circuit, np.array(history)


def _step_in_numpy(packed, edges, inputs, pseudocount, step_size):
    """The M-step: `packed` with its parameters moved to the shares of the flows; rescale points renewed if needed."""
    table_row, is_missing = _packed.table_rows(packed)
    tables = np.ones_like(packed.tables)
    tables[~is_missing] = _shares(inputs, table_row[~is_missing], packed.tables[~is_missing], pseudocount, step_size)
    weights = _shares(edges, _packed.weight_rows(packed), packed.weights, pseudocount, step_size)
    return _rescaling.with_plan_for(packed._replace(weights=weights, tables=tables))


def _step_by_kernel(packed, edges, inputs, pseudocount, step_size):
    """The same, compiled."""
    from pcircuit.compiled.em_steps import maximize, plan
    new = packed._replace(weights=np.empty_like(packed.weights), tables=np.empty_like(packed.tables))
    if not maximize(packed, edges, inputs, float(pseudocount), float(step_size), new.weights, new.tables):
        new = new._replace(rescale=np.empty_like(packed.rescale), check_sums=np.empty_like(packed.check_sums),
                           floors=np.empty_like(packed.floors))
        plan(new, new.rescale, new.check_sums, new.floors, np.empty(len(packed.region)))
    return new


def _shares(flow, row, old, pseudocount, step_size):
    """(1 - step) old + step * share of the row's flow; a unit that nothing reaches keeps its parameters."""
    total = np.bincount(row, weights=flow) + pseudocount
    reached, per_row = total > 0, np.bincount(row)
    share = (flow + (pseudocount / np.maximum(per_row, 1))[row]) / np.where(reached, total, 1.0)[row]
    new = np.where(reached[row], share, old)
    return new if step_size == 1 else (1 - step_size) * old + step_size * new


def _weighted_log_likelihood(circuit, data, weights, n_jobs) -> float:
    """Weighted sum of the rows' log-likelihoods, in blocks: memory does not grow with the rows."""
    total = 0.0
    for start in range(0, len(data), BLOCK_ROWS):
        counted = weights[start:start + BLOCK_ROWS]
        logs = log_likelihood(circuit, data[start:start + BLOCK_ROWS], n_jobs=n_jobs)
        total += float(np.dot(counted[counted > 0], logs[counted > 0]))
    return total


def _batches(N, batch_size, rng):
    """Yield the rows of each step, and their share of all rows."""
    if batch_size is None:
        yield slice(None), 1.0
        return
    order = rng.permutation(N)
    for start in range(0, N, batch_size):
        rows = order[start:start + batch_size]
        yield rows, len(rows) / N


@contextmanager
def _progress_bar(num_epochs, wanted):
    """A function to call with each epoch's log-likelihood; draws where a person looks, else does nothing."""
    import sys
    if not wanted or not sys.stderr.isatty():
        yield lambda value: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield lambda value: None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("EM", total=num_epochs)
        yield lambda value: bar.update(task, advance=1, description=f"EM, log-likelihood {value:.4f}")


def _checked_rows(circuit, data, weights):
    """Checked data and row weights."""
    check_distribution(circuit)
    data = check_evidence(circuit, data)
    weights = row_weights(weights, len(data))
    if not len(data):
        raise ValueError("`data` has no rows: EM needs at least one")
    if not weights.sum() > 0:
        raise ValueError("`weights` must not all be zero: give at least one row a positive weight")
    return data, weights
