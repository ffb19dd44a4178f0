"""Learning the parameters of a circuit: expectation maximisation.

The E-step counts how often each parameter is used, given the training rows and the parameters so far: the expected
flows n (`expected_flows`).  The M-step sets every weight, and every input probability, to its share of its unit's flow,

    weights[k, p] = (n_kp + pseudocount / P_k) / (n_k + pseudocount)         n_k = sum_p n_kp

where P_k is the number of edges (or categories) of the unit, so that one `pseudocount` is spread evenly over them.
In a lecture:

>>> def plain_em(circuit, rows, num_epochs, pseudocount=0.1):
...     for _ in range(num_epochs):
...         regions, flows = [], expected_flows(circuit, rows).by_region(circuit)
...         for region, n in zip(circuit.regions, flows):             # n: (K, C) of input units, (K, P) of sums
...             n = n + pseudocount / n.shape[1]
...             shares = n / n.sum(axis=1, keepdims=True)
...             regions.append(InputRegion(region.variable, shares) if region.is_input
...                            else InnerRegion(region.products, shares))
...         circuit = Circuit(circuit.vtree, regions)
...     return circuit
>>> from pcircuit import InnerRegion, InputRegion, rat_spn
>>> start, rows = rat_spn([2] * 6, num_units=3, depth=2, rng=0), np.random.default_rng(1).integers(0, 2, (50, 6))
>>> fitted, history = fit_em(start, rows, num_epochs=5)
>>> bool(np.isclose(plain_em(start, rows, 5).log_likelihood(rows).mean(), history[-1], rtol=1e-9))
True

Without a pseudocount the training likelihood never decreases (Dempster, Laird and Rubin 1977).  If the picks of every
row were known, the best parameters would be the shares of their counts.  Flows are the expected counts, and their
shares maximise a lower bound of the log-likelihood that touches it at the old parameters.

**Mini-batches.**  With more rows than a few passes are worth, the flows n are estimated from one batch after the other,
by a moving average that forgets the flows of older parameters (online EM, Cappe and Moulines 2009):

    n  <-  (1 - s_t) n + s_t (N / |B|) (flows of batch B),        s_t = (t + 1)^-0.6 in step t = 1, 2, ...

It begins with the flows that the start circuit expects of N rows, N times those of a row that is missing throughout,
so that nothing becomes impossible because the first batch does not show it.  Flows are averaged, not parameters: a
unit that a batch hardly reaches has few flows in it and so little weight, where its share of the batch would be
mere chance.  The steps shrink, so that parameters come to rest.

The flows n are those of N rows, so one `pseudocount` means the same for every size of batch.  Programs that add it to
the flows of each mini-batch, which are N / |B| times smaller, smooth N / |B| times as much: ``pseudocount_per="step"``.

**Machines.**  Expected flows add up over rows: each machine computes those of its own rows, `maximize` makes the new
circuit of their sum.

**Mixtures of circuits** on different v-trees (`fit_mixture`).  With r_mi = w_m p_m(x_i) / sum_l w_l p_l(x_i), the
probability that row i came from circuit m, and c_i the weight of row i, the M-step is

    w_m = sum_i c_i r_mi / sum_i c_i            and            circuit m fitted to rows weighted with c_i r_mi.

One EM step for each circuit is enough for the likelihood never to decrease, so an epoch here is an epoch of `fit_em`
for each circuit on its share of every row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import (
    Evidence,
    Floats,
    Ints,
    Seed,
    check_choice,
    check_flag,
    check_generator,
    check_integers,
    check_number,
    check_whole_number,
    shown,
)
from pcircuit.circuit import (
    Circuit,
    Mixture,
    check_distribution,
    check_mixture,
)
from pcircuit.evidence import MOST_WEIGHT, check_evidence, check_values, row_weights
from pcircuit.inference.densities import with_leaves
from pcircuit.inference.flows import (
    Flows,
    accumulate,
    density_flows,
    expected_flows,
    flow_seconds,
    flows_in_numpy,
    region_slices,
)
from pcircuit.inference.likelihood import DTYPES, log_likelihood, log_parts
from pcircuit.inference.sampling import sample
from pcircuit.inference.threads import count_jobs, workers
from pcircuit.kernels.em_steps import share, slices_of
from pcircuit.kernels.engine import kernel
from pcircuit.kernels.packed import Packed, table_rows, weight_rows
from pcircuit.kernels.packing import in_float32, pack, packed_as, with_parameters
from pcircuit.kernels.rescaling import with_plan, with_plan_for
from pcircuit.learning.densities import with_densities

DECAY = 0.6  # steps have to shrink, by an exponent in (0.5, 1], to converge; Cappe and Moulines advise this one
EXPECTED_ROWS = 1000  # drawn where mini-batches begin, for what a circuit of densities expects


def fit_em(
    circuit: Circuit,
    data: ArrayLike,
    *,
    num_epochs: int = 100,
    pseudocount: float = 0.1,
    weights: ArrayLike | None = None,
    batch_size: int | None = None,
    step_size: float | None = None,
    pseudocount_per: str = "epoch",
    rng: Seed = None,
    tolerance: float = 0.0,
    callback: Callable[[int, float], object] | None = None,
    progress: bool = False,
    n_jobs: int | None = None,
    tied: bool | Sequence[Sequence[int]] = False,
    leaves: Any = None,
    dtype: str = "float64",
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
    batch_size : int, optional
        Rows of a mini-batch.  Default: all rows in each step.
    step_size : float, optional
        In (0, 1]: weight of the newest flows in the moving average that parameters are made of.  Default: 1 for all
        rows; for mini-batches (t + 1)^-0.6 in step t = 1, 2, ....
    pseudocount_per : "epoch" or "step"
        What the pseudocount is added to: the flows of all N rows (the default), or those of the rows of each step,
        as PyJuice does.  With mini-batches of B rows the latter smooths N / B times as much.
    rng : int or numpy.random.Generator, optional
        Order of the rows in mini-batches.
    tolerance : float
        Stop when the mean log-likelihood gains less than this in an epoch (nats per row); 0 never stops early.
    callback : callable, optional
        Called after each epoch as ``callback(epoch, mean_log_likelihood)``; a true result stops.
    progress : bool
        Draw a progress bar on standard error (needs `rich`; silent without it, and if that is not a terminal).
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it, to the last bit.
    tied : bool or sequence of sequences of int
        Groups of regions that share their parameters, and keep doing so: their flows are added.  True: all whose
        parameters are equal at the start, as those of the steps of a chain (`hmm`).  Default: none.
    leaves : str, family, or sequence of these, optional
        For columns of numbers, as for `hclt`: densities that take the place of the circuit's tables, whose C categories
        are read as C quantiles of a column.  Default: the leaves that the circuit has.
    dtype : "float64" or "float32"
        Numbers that the E-step computes with, see `expected_flows`; parameters are float64.

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
    check_distribution(circuit)
    check_choice(dtype, "dtype", DTYPES)
    if leaves is not None:
        circuit = with_densities(circuit, data, leaves)
    rows = (check_evidence if circuit.is_categorical else check_values)(circuit, data)
    row_weight = row_weights(weights, len(rows))
    if not len(rows):
        raise ValueError("`data` has no rows: EM needs at least one")
    if not row_weight.sum() > 0:
        raise ValueError("`weights` must not all be zero: give at least one row a positive weight")
    num_epochs = check_whole_number(num_epochs, "num_epochs", 0)
    pseudocount = check_number(pseudocount, "pseudocount", least=0, most=MOST_WEIGHT)
    batch_size = check_whole_number(batch_size, "batch_size", 1, none="all rows")
    is_full = batch_size is None and step_size is None
    if step_size is not None:
        step_size = check_number(step_size, "step_size", above=0, most=1)
    check_choice(pseudocount_per, "pseudocount_per", ("epoch", "step"))
    tolerance = check_number(tolerance, "tolerance", least=0)
    if callback is not None and not callable(callback):
        raise TypeError(f"`callback` must be callable, or None, found {type(callback).__name__}")
    generator, _ = check_generator(rng), count_jobs(n_jobs)
    total_weight = row_weight.sum()
    history: list[float] = []
    flows: tuple[Floats, ...] = ()
    kind = _TableSteps if circuit.is_categorical else _DensitySteps
    groups = _tied_groups(circuit, tied)
    if not circuit.is_categorical:
        circuit = with_priors(circuit, rows, groups)
    em = kind(circuit, rows, num_epochs, dtype, same_rows=batch_size is None)
    if not is_full:  # what the circuit expects of rows drawn from itself
        flows = tuple(total_weight * part for part in _added(circuit, groups, *em.expected()))
    number = 0
    with progress_bar(progress, num_epochs) as advance, workers(n_jobs) as pool:
        for _ in range(num_epochs):
            total = 0.0
            for batch in _batches(len(rows), batch_size, generator):
                counted = row_weight[batch]
                share = counted.sum() / total_weight
                if (
                    not share > 0
                ):  # also where the rows weigh so little beside others that it underflows
                    continue
                edges, inputs, log = em.flows(rows[batch], counted, n_jobs, pool)
                new = _added(circuit, groups, edges, inputs)
                usual = 1.0 if is_full else newest_share(number)
                weight = usual if step_size is None else step_size
                flows = _averaged(flows, new, weight, share)
                smoothing = pseudocount / share if pseudocount_per == "step" else pseudocount
                em.step(flows[0], flows[1], smoothing)
                total, number = total + log, number + 1
            history.append(total / total_weight)
            advance(history[-1])
            if _stops(history, tolerance, callback):
                break
    circuit = em.circuit
    logs = log_likelihood(circuit, rows, n_jobs=n_jobs, dtype=dtype)
    seen = row_weight > 0
    history.append(float(row_weight[seen] @ logs[seen]) / total_weight)
    return circuit, np.array(history)


class _TableSteps:
    """Both steps of EM where all leaves are tables: parameters stay packed from one step to the next."""

    def __init__(
        self, circuit: Circuit, rows: Any, num_epochs: int, dtype: str, *, same_rows: bool
    ) -> None:
        self._circuit, self._dtype, self._same_rows, self._free = circuit, dtype, same_rows, []  # type: ignore[var-annotated]
        self._packed, self._working = pack(circuit), packed_as(circuit, dtype)
        seconds = flow_seconds(circuit, len(rows)) * num_epochs
        self._in_numpy = flows_in_numpy(circuit, seconds)

    @property
    def circuit(self) -> Circuit:
        """The circuit with the parameters of the time."""
        return with_parameters(self._circuit, self._packed)

    def expected(self) -> tuple[Floats, Floats]:
        """What the start circuit expects of a row drawn from itself."""
        flows = expected_flows(
            self._circuit, np.full((1, self._circuit.num_variables), -1), n_jobs=1
        )
        return flows.edges, flows.inputs

    def flows(
        self, rows: Any, weights: Floats, n_jobs: int | None, pool: Any
    ) -> tuple[Floats, Floats, float]:
        """The E-step: edge flows, input flows and log-likelihood."""
        return accumulate(
            self._circuit,
            self._packed,
            self._working,
            rows,
            weights,
            n_jobs,
            self._free,
            in_numpy=self._in_numpy,
            same_rows=self._same_rows,
            pool=pool,
        )

    def step(self, edges: Floats, inputs: Floats, pseudocount: float) -> None:
        """The M-step."""
        if self._in_numpy:
            new = _step_in_numpy(self._packed, edges, inputs, pseudocount)
            self._circuit = with_parameters(self._circuit, new)
            self._packed = pack(self._circuit)
            self._working = packed_as(self._circuit, self._dtype)
            return
        self._packed = _step_by_kernel(self._packed, edges, inputs, pseudocount)
        is_single = self._dtype == "float32"
        self._working = in_float32(self._packed, self._working) if is_single else self._packed


class _DensitySteps:
    """The same where some leaves are not: their families say what is additive, and what it makes of parameters."""

    def __init__(
        self, circuit: Circuit, rows: Any, num_epochs: int, dtype: str, *, same_rows: bool
    ) -> None:
        self._passes = num_epochs
        self.circuit = circuit

    def expected(self) -> tuple[Floats, Floats]:
        """What the start circuit expects of a row drawn from itself, about: of rows that are drawn."""
        rows: Any = sample(self.circuit, EXPECTED_ROWS, rng=0)
        flows = density_flows(self.circuit, rows, np.full(EXPECTED_ROWS, 1 / EXPECTED_ROWS), 1)
        return flows.edges, flows.inputs

    def flows(
        self, rows: Any, weights: Floats, n_jobs: int | None, pool: Any
    ) -> tuple[Floats, Floats, float]:
        """The E-step: edge flows, statistics of the leaves, and log-likelihood."""
        found = density_flows(self.circuit, rows, weights, n_jobs, self._passes)
        return found.edges, found.inputs, found.log_likelihood

    def step(self, edges: Floats, inputs: Floats, pseudocount: float) -> None:
        """The M-step."""
        self.circuit = _maximized(self.circuit, edges, inputs, pseudocount)


def _maximized(circuit: Circuit, edges: Floats, inputs: Floats, pseudocount: float) -> Circuit:
    """The M-step: shares of the flow, and whatever each family makes of its statistics."""
    parts, leaves = [], {}
    end = 0
    for v, region in enumerate(circuit.inputs):
        start, end = end, end + region.num_units * region.leaves.num_statistics
        if region.num_categories:
            parts.append(inputs[start:end])
            continue
        statistics = inputs[start:end].reshape(region.num_units, -1)
        leaves[v] = region.leaves.maximize(statistics, pseudocount)
    of_tables = np.concatenate(parts) if parts else np.zeros(0)
    packed = _step_in_numpy(pack(circuit), edges, of_tables, pseudocount)
    return with_leaves(with_parameters(circuit, packed), leaves)


def with_priors(circuit: Circuit, rows: Floats, groups: list[list[int]]) -> Circuit:
    """The circuit whose leaves know mean, spread and rounding of their columns, or of those of tied leaves.

    Shapes: rows (N, V).
    """
    leaf_of = circuit.vtree.leaf_of().tolist()
    together = {r: group for group in groups for r in group}
    leaves: dict[int, Any] = {}
    for v, region in enumerate(circuit.inputs):
        group = together.get(leaf_of[v], [leaf_of[v]])
        if not region.num_categories and v not in leaves:
            columns = [circuit.regions[r].variable for r in group]  # type: ignore[union-attr]
            found = region.leaves.with_prior(rows[:, columns].ravel())
            leaves |= dict.fromkeys(columns, found) if len(columns) > 1 else {v: found}
    return with_leaves(circuit, leaves)


def _tied_groups(circuit: Circuit, tied: bool | Sequence[Sequence[int]]) -> list[list[int]]:
    """Groups of two regions or more that share their parameters."""
    if isinstance(tied, bool):
        groups: list[list[int]] = []
        for r, region in enumerate(circuit.regions if tied else ()):
            for group in groups:
                if _have_equal_parameters(circuit.regions[group[0]], region):
                    group.append(r)
                    break
            else:
                groups.append([r])
        return [group for group in groups if len(group) > 1]
    expected = f"groups of regions out of 0..{circuit.num_regions - 1}, none of them twice"
    if not isinstance(tied, (list, tuple)):
        raise TypeError(f"`tied` must be true, false or {expected}, found {shown(tied)}")
    found = [
        check_integers(group, "tied", expected, 0, circuit.num_regions - 1).tolist()
        for group in tied
    ]
    if sum(map(len, found)) > len({r for group in found for r in group}):
        raise ValueError(f"`tied` must be {expected}")
    for first, r in ((group[0], r) for group in found for r in group):
        if not _have_equal_parameters(circuit.regions[first], circuit.regions[r]):
            raise ValueError(
                f"`tied` has regions {first} and {r} in one group, which must begin with equal parameters"
            )
    return found


def _have_equal_parameters(one: Any, other: Any) -> bool:
    """Whether the leaves, or the weights, of two regions are equal."""
    if one.is_input or other.is_input:
        return bool(one.is_input and other.is_input and one.leaves == other.leaves)
    same = one.is_sparse == other.is_sparse and one.weights.shape == other.weights.shape
    return bool(same and np.array_equal(one.dense_weights(), other.dense_weights()))


def _added(
    circuit: Circuit, groups: list[list[int]], edges: Floats, inputs: Floats
) -> tuple[Floats, Floats]:
    """Flows in which the regions of each group have those of all of them."""
    if not groups:
        return edges, inputs
    flows, parts = np.concatenate([edges, inputs]), region_slices(circuit)
    for group in groups:
        total = sum(flows[parts[r]] for r in group)
        for r in group:
            flows[parts[r]] = total
    return flows[: len(edges)], flows[len(edges) :]


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
    weights, tables = np.empty_like(packed.weights), np.ones_like(packed.tables)
    broken = np.zeros(1, dtype=np.uint64)
    for (slices, between), flow, old, new in zip(
        slices_of(packed),
        (inputs, edges),
        (packed.tables, packed.weights),
        (tables, weights),
        strict=True,
    ):
        arrays = flow, old, slices, between, new, broken
        kernel(share, arrays, len(slices) // 3)(float(pseudocount))
    packed = packed._replace(weights=weights, tables=tables)
    return with_plan(packed) if broken[0] else packed


def _shares(flow: Floats, row: Ints, old: Floats, pseudocount: float) -> Floats:
    """Shares of the row's flow; a unit that nothing reaches keeps its parameters."""
    total = np.bincount(row, weights=flow) + pseudocount
    reached, per_row = total > 0, np.bincount(row)
    share = (flow + (pseudocount / np.maximum(per_row, 1))[row]) / np.where(reached, total, 1.0)[
        row
    ]
    return np.where(reached[row], share, old)


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
        sum(region.num_parameters for region in circuit.regions if not region.is_input),
        sum(region.num_units * region.leaves.num_statistics for region in circuit.inputs),
    )
    if (len(flows.edges), len(flows.inputs)) != expected:
        raise ValueError(
            f"`flows` must be those of this circuit, with {expected[0]} edges and {expected[1]} inputs, "
            f"found {len(flows.edges)} and {len(flows.inputs)}"
        )
    return _maximized(circuit, flows.edges, flows.inputs, pseudocount)


def newest_share(number: int) -> float:
    """Weight of the newest flows in the moving average of mini-batches: (t + 1)^-0.6 in step t = `number` + 1."""
    return float((number + 2.0) ** -DECAY)


def _batches(
    num_rows: int, batch_size: int | None, rng: np.random.Generator
) -> Iterator[slice | Ints]:
    """Yield the rows of each step of an epoch: all, or mini-batches in random order, the last maybe smaller."""
    if batch_size is None:
        yield slice(None)
        return
    order = rng.permutation(num_rows)
    for start in range(0, num_rows, batch_size):
        yield order[start : start + batch_size]


def _stops(history: list[float], tolerance: float, callback: Any) -> bool:
    """Whether EM ends here: the last gain is too small, or else `callback` says so."""
    gain = float(history[-1]) - float(history[-2]) if len(history) > 1 else np.inf
    has_converged = tolerance > 0 and gain < tolerance  # not where both are -inf
    if has_converged or callback is None:
        return has_converged
    result = callback(len(history) - 1, history[-1])
    try:
        return bool(result)
    except (TypeError, ValueError):  # of an array, a table or pandas' NA
        raise TypeError(
            "`callback` must return what is true, to stop, or false, found "
            f"{type(result).__name__}: return one truth value, or None"
        ) from None


@contextmanager
def progress_bar(progress: bool, total: int) -> Iterator[Callable[[float], None]]:
    """A progress bar as a context, if asked for; it yields what takes the log-likelihood of each step that is done."""
    is_seen = sys.stderr is not None and sys.stderr.isatty()  # None in programs without a console
    if not (check_flag(progress, "progress") and is_seen) or find_spec("rich") is None:
        yield lambda value: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    # the spinner and the time move while nothing else does
    columns = SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("EM", total=total)
        yield lambda value: bar.update(
            task, advance=1, description=f"EM, log-likelihood {value:.4f}"
        )


def fit_mixture(
    mixture: Mixture,
    data: ArrayLike,
    *,
    num_epochs: int = 10,
    pseudocount: float = 0.1,
    weights: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> tuple[Mixture, Floats]:
    """Fit weights and circuits of a mixture together, by expectation maximisation.

    Parameters
    ----------
    mixture : Mixture
        Start values.
    data : (N, V) integer array_like
        Training rows, -1 missing, N at least 1.
    num_epochs : int
        Passes over the data.
    pseudocount : float
        Smoothing of each circuit, as in `fit_em`.
    weights : (N,) float array_like, optional
        Non-negative row weights; a weight of 2 counts as the row twice.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it.

    Returns
    -------
    mixture : Mixture
        The same structures with new parameters.  A circuit that no row comes from keeps its parameters and has weight
        0; where no circuit explains any row, all weights stay as they are.
    history : (num_epochs + 1,) float64 array
        Mean training log-likelihood, natural, before each epoch and after the last.

    Raises
    ------
    TypeError, ValueError
        If `mixture` is not a mixture, `data` is not evidence for it or has no rows, or an option is out of range.

    Notes
    -----
    An epoch costs an evaluation and an epoch of `fit_em` for each circuit.  Without a pseudocount the likelihood never
    decreases.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coins = [Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.2, 0.6)]
    >>> fitted, history = fit_mixture(Mixture(coins), [[0], [1], [1], [1]], num_epochs=20, pseudocount=0)
    >>> np.exp(fitted.log_likelihood([[0], [1]])).round(6), bool((np.diff(history) > -1e-12).all())
    (array([0.25, 0.75]), True)
    """
    check_mixture(mixture)
    rows: Evidence = check_evidence(mixture.circuits[0], data)
    row_weight = row_weights(weights, len(rows))
    num_epochs = check_whole_number(num_epochs, "num_epochs", 0)
    pseudocount = check_number(pseudocount, "pseudocount", least=0, most=MOST_WEIGHT)
    if not row_weight.sum() > 0:
        raise ValueError("`data` needs at least one row of positive weight")
    history: list[float] = []
    for _ in range(num_epochs):
        shares, mean = row_shares(mixture, rows, row_weight, n_jobs)
        history.append(mean)
        circuits = [
            fit_em(
                circuit, rows, num_epochs=1, pseudocount=pseudocount, weights=share, n_jobs=n_jobs
            )[0]
            if share.any()
            else circuit
            for circuit, share in zip(mixture.circuits, shares, strict=True)
        ]
        sums = shares.sum(axis=1)
        mixture = Mixture(circuits, sums / sums.sum() if sums.any() else mixture.weights)
    history.append(row_shares(mixture, rows, row_weight, n_jobs)[1])
    return mixture, np.array(history)


def row_shares(
    mixture: Mixture, rows: Evidence, row_weight: Floats, n_jobs: int | None = None
) -> tuple[Floats, float]:
    """The E-step: how much of each row's weight each circuit takes, and the mean log-likelihood.

    Shapes: rows (N, V), row_weight (N,) -> shares (M, N).
    """
    logs = np.stack(list(log_parts(mixture, rows, n_jobs)))
    total = np.logaddexp.reduce(logs, axis=0)
    shares = row_weight * np.exp(logs - np.where(total > -np.inf, total, 0.0))
    counted = row_weight > 0
    return shares, float(np.dot(row_weight[counted], total[counted]) / row_weight.sum())
