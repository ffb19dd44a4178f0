"""Learning the parameters of a circuit: expectation maximisation.

With the expected flows n (`expected_flows`) of the training rows, the M-step sets every weight, and every input
probability, to its share of its unit's flow:

    weights[k, p] = (n_kp + pseudocount / P_k) / (n_k + pseudocount)         n_k = sum_p n_kp

where P_k is the number of edges (or categories) of the unit, so that one `pseudocount` is spread evenly over them.
Without a pseudocount, and with all rows in each step, the training likelihood never decreases (Dempster, Laird and
Rubin 1977), because the flows are exactly the expected sufficient statistics of the complete data.

With more rows than a few passes are worth, the flows n are estimated from one mini-batch after the other, by a moving
average that forgets the flows of older parameters (online EM, Cappe and Moulines 2009):

    n  <-  (1 - s_k) n + s_k N / |B| flows of batch B,        s_k = (k + 1)^-0.6,    k = 1, 2, ...

It begins with the flows that the start circuit expects of N rows, N times those of a row that is missing throughout,
so that nothing becomes impossible because the first batch does not show it.  It is flows that are averaged, not
parameters: a unit that a batch hardly reaches has few flows in it and so little weight, where its share of the batch
would be mere chance.  The steps shrink, so that parameters come to rest.

The M-step alone: parameters from flows, wherever these were computed.

Expected flows add up over rows, so EM does not need all rows in one place: each machine computes the flows of its own
rows (`expected_flows`), their sum comes here, and the new circuit goes back.  `fit_em` does the same in one place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import check_generator, check_number, check_whole_number
from pcircuit.array_types import Evidence, Floats, Ints
from pcircuit.circuit import Circuit, InnerRegion, InputRegion, check_distribution
from pcircuit.compiled.packed import Packed, table_rows, weight_rows
from pcircuit.compiled.packing import pack, with_parameters
from pcircuit.compiled.rescaling import with_plan, with_plan_for
from pcircuit.engine import Kernels
from pcircuit.evidence import MOST_WEIGHT, check_evidence, row_weights
from pcircuit.inference.flows import Flows, accumulate, expected_flows, flow_seconds
from pcircuit.inference.likelihood import ENCODINGS, log_likelihood, tiny_circuit
from pcircuit.inference.threads import count_jobs, workers
from pcircuit.learning.em_options import EMSteps, EMWatch, grouped

BLOCK_ROWS = 2**16  # rows evaluated at a time at the end


def fit_em(
    circuit: Circuit,
    data: ArrayLike,
    *,
    num_epochs: int = 100,
    pseudocount: float = 0.1,
    weights: ArrayLike | None = None,
    steps: EMSteps | None = None,
    watch: EMWatch | None = None,
    n_jobs: int | None = None,
    **keywords: Any,
) -> tuple[Circuit, Floats]:
    """Fit all parameters of a circuit by expectation maximisation.

    Parameters
    ----------
    circuit : Circuit
        Start values; entries that are exactly 0 stay 0 where `pseudocount` is 0, and always where CSR weights do not
        store them.
    data : (N, V) integer array_like
        Training rows, -1 missing, N at least 1.
    num_epochs : int
        Passes over the data.
    pseudocount : float
        Spread evenly over the edges or categories of each unit; 0 for maximum likelihood.
    weights : (N,) float array_like, optional
        Non-negative row weights; a weight of 2 counts as the row twice.
    steps : EMSteps, optional
        Mini-batches and their step size.  Default: all rows in each step.
    watch : EMWatch, optional
        When to stop early, and how progress is shown.  Default: neither.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it, to the last bit.
    **keywords
        Fields of `steps` (`batch_size`, `step_size`, `rng`) and of `watch` (`tolerance`, `callback`, `progress`) as
        short forms: ``fit_em(circuit, data, batch_size=256)``.

    Returns
    -------
    circuit : Circuit
        A new circuit with the same structure.
    history : (epochs done + 1,) float64 array
        Mean training log-likelihood, natural, before each epoch and after the last.  With mini-batches the entry
        of an epoch is the running mean over its batches, under the parameters of the time.  -inf where a row of
        positive weight is impossible; nothing is learned from such a row, except by a pseudocount.

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If `data` is not evidence for the circuit or has no rows, or an option is out of range.

    Notes
    -----
    An epoch costs two and a half evaluations of the data, for large circuits up to four, and one update of all
    parameters; memory does not grow with N beyond the data themselves.

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
    rows, row_weight = _checked_rows(circuit, data, weights)
    num_epochs = check_whole_number(num_epochs, "num_epochs", 0)
    pseudocount = check_number(pseudocount, "pseudocount", least=0, most=MOST_WEIGHT)
    steps, watch = grouped(steps, watch, keywords)
    rng, _ = check_generator(steps.rng), count_jobs(n_jobs)
    packed, total_weight = pack(circuit), row_weight.sum()
    free: list[Any] = []
    history: list[float] = []
    flows = () if steps.is_full else _expected_at_start(circuit, total_weight)
    number = 0
    seconds = flow_seconds(circuit, len(rows)) * num_epochs
    in_numpy = circuit.num_regions == 1 or EM.in_numpy(seconds)
    step = _step_in_numpy if in_numpy else _step_by_kernel
    with watch.bar(num_epochs) as advance, workers(n_jobs) as pool:
        for _ in range(num_epochs):
            total = 0.0
            for batch in steps.batches(len(rows), rng):
                counted = row_weight[batch]
                share = counted.sum() / total_weight
                if (
                    not share > 0
                ):  # also where the rows weigh so little beside others that it underflows
                    continue
                edges, inputs, log = accumulate(
                    circuit,
                    packed,
                    rows[batch],
                    counted,
                    n_jobs,
                    free,
                    in_numpy=in_numpy,
                    same_rows=steps.batch_size is None,
                    pool=pool,
                )
                flows = _averaged(flows, (edges, inputs), steps.share(number), share)
                packed = step(packed, flows[0], flows[1], pseudocount)
                total, number = total + log, number + 1
            history.append(total / total_weight)
            advance(history[-1])
            if watch.stops(history):
                break
    circuit = with_parameters(circuit, packed)
    history.append(_weighted_log_likelihood(circuit, rows, row_weight, n_jobs) / total_weight)
    return circuit, np.array(history)


def _expected_at_start(circuit: Circuit, total_weight: float) -> tuple[Floats, ...]:
    """The flows that a circuit expects of rows drawn from itself."""
    of_one = expected_flows(circuit, np.full((1, circuit.num_variables), -1), n_jobs=1)
    return of_one.edges * total_weight, of_one.inputs * total_weight


def _averaged(
    flows: tuple[Floats, ...], following: tuple[Floats, ...], weight: float, share: float
) -> tuple[Floats, ...]:
    """The moving average with the flows of the next step, from rows with this share of the weight."""
    if share < 1.0:
        following = tuple(part / share for part in following)
    if weight == 1.0:  # full batches need no average
        return following
    return tuple(
        (1 - weight) * old + weight * new for old, new in zip(flows, following, strict=True)
    )


EM = Kernels(
    "EM",
    lambda: [
        fit_em(tiny_circuit(), np.zeros((1, 2), dtype=dtype), num_epochs=1) for dtype in ENCODINGS
    ],
)


def _step_in_numpy(packed: Packed, edges: Floats, inputs: Floats, pseudocount: float) -> Packed:
    """The M-step: `packed` with the shares of the flows as parameters; rescale points renewed if needed."""
    table_row, is_missing = table_rows(packed)
    tables = np.ones_like(packed.tables)
    tables[~is_missing] = _shares(
        inputs, table_row[~is_missing], packed.tables[~is_missing], pseudocount
    )
    weights = _shares(edges, weight_rows(packed), packed.weights, pseudocount)
    return with_plan_for(packed._replace(weights=weights, tables=tables))


def _step_by_kernel(packed: Packed, edges: Floats, inputs: Floats, pseudocount: float) -> Packed:
    """The same, compiled."""
    from pcircuit.compiled.em_steps import maximize

    new = packed._replace(
        weights=np.empty_like(packed.weights), tables=np.empty_like(packed.tables)
    )
    still = maximize(packed, edges, inputs, float(pseudocount), new.weights, new.tables)
    return new if still else with_plan(new)


def _shares(flow: Floats, row: Ints, old: Floats, pseudocount: float) -> Floats:
    """Shares of the row's flow; a unit that nothing reaches keeps its parameters."""
    total = np.bincount(row, weights=flow) + pseudocount
    reached, per_row = total > 0, np.bincount(row)
    share = (flow + (pseudocount / np.maximum(per_row, 1))[row]) / np.where(reached, total, 1.0)[
        row
    ]
    return np.where(reached[row], share, old)


def _weighted_log_likelihood(
    circuit: Circuit, data: Evidence, weights: Floats, n_jobs: int | None
) -> float:
    """Weighted sum of the rows' log-likelihoods, in blocks: memory does not grow with the rows."""
    total = 0.0
    for start in range(0, len(data), BLOCK_ROWS):
        counted = weights[start : start + BLOCK_ROWS]
        logs = log_likelihood(circuit, data[start : start + BLOCK_ROWS], n_jobs=n_jobs)
        total += float(np.dot(counted[counted > 0], logs[counted > 0]))
    return total


def _checked_rows(
    circuit: Circuit, data: ArrayLike, weights: ArrayLike | None
) -> tuple[Evidence, Floats]:
    """Checked data and row weights."""
    check_distribution(circuit)
    rows = check_evidence(circuit, data)
    row_weight = row_weights(weights, len(rows))
    if not len(rows):
        raise ValueError("`data` has no rows: EM needs at least one")
    if not row_weight.sum() > 0:
        raise ValueError("`weights` must not all be zero: give at least one row a positive weight")
    return rows, row_weight


def maximize(circuit: Circuit, flows: Flows, *, pseudocount: float = 0.1) -> Circuit:
    """The circuit whose parameters are the normalised flows.

    ``weights[k, p] = (n_kp + pseudocount / P_k) / (n_k + pseudocount)``, n_k = sum_p n_kp, and the same for the
    categories of input units; a unit that no flow reaches keeps its parameters where `pseudocount` is 0.

    Parameters
    ----------
    circuit : Circuit
        The circuit under which the flows were computed; normalised.
    flows : Flows
        The sum of `expected_flows` over all rows.
    pseudocount : float
        Spread evenly over the edges or categories of each unit, stored ones where weights are CSR.

    Returns
    -------
    Circuit
        On the same structure.

    Raises
    ------
    TypeError, ValueError
        If `flows` are not those of this circuit, or `pseudocount` is out of range.

    Notes
    -----
    O(number of parameters).  With all rows in each step, `fit_em` takes this step in each epoch.

    References
    ----------
    Dempster, Laird and Rubin (1977), J. Royal Statistical Society B 39.

    Examples
    --------
    >>> from pcircuit import InputRegion, VTree, expected_flows
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5]])])
    >>> counted = expected_flows(coin, [[0], [1]]) + expected_flows(coin, [[1], [1]])      # of two machines
    >>> maximize(coin, counted, pseudocount=0).regions[0].probs
    array([[0.25, 0.75]])
    """
    check_distribution(circuit)
    pseudocount = check_number(pseudocount, "pseudocount", least=0, most=MOST_WEIGHT)
    if not isinstance(flows, Flows):
        raise TypeError(f"`flows` must be pcircuit.Flows, found {type(flows).__name__}")
    expected = (
        sum(region.num_weights for region in circuit.regions if isinstance(region, InnerRegion)),
        sum(region.probs.size for region in circuit.regions if isinstance(region, InputRegion)),
    )
    if (len(flows.edges), len(flows.inputs)) != expected:
        raise ValueError(
            f"`flows` must be those of this circuit, with {expected[0]} edges and {expected[1]} inputs, "
            f"found {len(flows.edges)} and {len(flows.inputs)}"
        )
    packed = _step_in_numpy(pack(circuit), flows.edges, flows.inputs, pseudocount)
    return with_parameters(circuit, packed)
