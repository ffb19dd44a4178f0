"""Expected flows: how often each parameter is used, given the evidence; the E-step of EM.

A sample from a circuit runs down from the root: at sum unit k it picks one product p with probability
weights[k, p], from a product it enters every child, at an input unit it draws a category.  Call the pair (k, p) of a
sum and one of its products an edge.  The flow of a row x is the expected number of these picks, given that the sample
is x.  Let s_k and v_p be the values of sum k and product p at x (`upward`).  By Bayes' rule a sample that reached sum k
took product p with probability weights[k, p] v_p / s_k, hence

    unit of the root:           F = 1 (times the row's weight, if rows have weights)
    edge (k, p):                F_k weights[k, p] v_p / s_k
    product p:                  G_p = its edges, added up over k
    unit u of child c:          F_u = G_p, added up over the products p with products[p, c] = u
    input unit k, category c:   F_k where x_v = c;   F_k probs[k, c] where x_v is missing

In a lecture, summed over N rows without missing values; `upward` gives the values of units and products, each row of a
region divided by one power of two, which cancels in v_p / s_k:

>>> def plain_flows(circuit, rows):
...     values, products = upward(circuit, rows)[:2]                  # of each region (K, N) and (P, N)
...     flow = [np.zeros_like(value) for value in values]             # F (K, N), filled from the parents
...     flow[-1][:], counts = 1.0, [None] * len(values)
...     for r in reversed(range(len(values))):                        # parents before children
...         region = circuit.regions[r]
...         if region.is_input:
...             x = rows[:, region.variable]
...             counts[r] = flow[r] @ (x[:, None] == np.arange(region.num_categories))       # (K, N) @ (N, C)
...             continue
...         ratio = flow[r] / np.maximum(values[r], 1e-300)           # of value 0: so are its products
...         edges = region.dense_weights()[:, :, None] * products[r] * ratio[:, None]        # (K, P, N)
...         counts[r] = edges.sum(axis=2)                                                    # (K, P)
...         for c, child in enumerate(circuit.vtree.children(r)):
...             np.add.at(flow[child], region.products[:, c], edges.sum(axis=0))
...     return counts
>>> from pcircuit import rat_spn
>>> circuit, rows = rat_spn([2] * 6, num_units=3, depth=2, rng=0), np.random.default_rng(1).integers(0, 2, (50, 6))
>>> found = expected_flows(circuit, rows).by_region(circuit)
>>> all(np.allclose(one, other, rtol=1e-12) for one, other in zip(plain_flows(circuit, rows), found))
True

Flows of disjoint sets of rows add up, so `Flows` objects can be added: learning from data that is spread over
machines, or arrives in blocks, is exactly that sum.

`downward` is the pass in NumPy, on a block of rows; `pcircuit.kernels.programs.flows` is its compiled twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Evidence, Floats, Ints, check_choice
from pcircuit.circuit import Circuit, check_circuit, child_units
from pcircuit.evidence import as_integer_table, check_values, refuse_out_of_range, row_weights
from pcircuit.inference.densities import AtRows, by_blocks, statistics_of
from pcircuit.inference.likelihood import DTYPES, log_root, upward, upward_seconds
from pcircuit.inference.log_domain import log_flows, may_overflow
from pcircuit.inference.threads import count_jobs, map_in_threads, rows_per_unit
from pcircuit.kernels import engine
from pcircuit.kernels.em_steps import complete, slices_of
from pcircuit.kernels.operations import TILE_ROWS
from pcircuit.kernels.packed import Packed, num_inputs, table_rows
from pcircuit.kernels.packing import pack, packed_as, with_parameters
from pcircuit.kernels.programs import flows
from pcircuit.kernels.tile import MOST_CATEGORIES, free_work, groups

LAST_CACHE = 16_000_000  # bytes that stay in it between the two passes over a tile
LEAST_WORK = 3_000_000  # units and weights times rows, below which other threads cost more than they take over
NUMPY_ROWS = 512
PASSES = 3  # upward passes that the NumPy version of both takes


@dataclass(frozen=True, eq=False)
class Flows:
    """Expected flows of a set of rows: additive statistics for EM.

    Attributes
    ----------
    edges : (number of weights,) float64 array
        Expected uses of each sum weight, region by region, as stored (dense rows or CSR entries).
    inputs : (number of input probabilities,) float64 array
        Expected uses of each input probability, variable by variable, unit by unit; of leaves that are no tables the
        `statistics` of their family.
    log_likelihood : float
        Weighted sum of the rows' log-likelihoods, natural; rows of likelihood 0 make it -inf.
    total_weight : float
        Sum of the row weights (the number of rows where none were given).

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> flows = expected_flows(coin, [[0], [1]]) + expected_flows(coin, [[1]])
    >>> flows.inputs, flows.total_weight
    (array([1., 2.]), 3.0)
    >>> (0.5 * flows).inputs                          # for a moving average: half of the old, half of the new
    array([0.5, 1. ])
    """

    edges: Floats
    inputs: Floats
    log_likelihood: float
    total_weight: float

    def __add__(self, other: Flows) -> Flows:
        if not isinstance(other, Flows):
            return NotImplemented
        sizes = [(len(one.edges), len(one.inputs)) for one in (self, other)]
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"`other` has flows of {sizes[1]} edges and inputs, expected {sizes[0]}, of one circuit"
            )
        return Flows(
            self.edges + other.edges,
            self.inputs + other.inputs,
            self.log_likelihood + other.log_likelihood,
            self.total_weight + other.total_weight,
        )

    def __mul__(self, factor: float) -> Flows:
        """The flows if each row counted so many times."""
        return Flows(
            self.edges * factor,
            self.inputs * factor,
            self.log_likelihood * factor if factor else 0.0,
            self.total_weight * factor,
        )

    __rmul__ = __mul__

    def by_region(self, circuit: Circuit) -> list[Floats]:
        """The flows as one array per region: (K, C) at a leaf, (K, P) dense or the CSR entries elsewhere."""
        return [
            part if region.is_sparse else part.reshape(region.num_units, -1)
            for region, part in zip(
                circuit.regions, _split(circuit, self.edges, self.inputs), strict=True
            )
        ]

    @cached_property
    def mean_log_likelihood(self) -> float:
        """`log_likelihood` / `total_weight`, in nats per row (float); NaN without rows or where all weights are 0."""
        return self.log_likelihood / self.total_weight if self.total_weight > 0 else float("nan")


def expected_flows(
    circuit: Circuit,
    data: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    n_jobs: int | None = None,
    dtype: str = "float64",
) -> Flows:
    """Expected uses of every parameter given each row, summed over the rows.

    Parameters
    ----------
    circuit : Circuit
    data : (N, V) integer array_like
        Evidence; -1, NaN or masked where missing.
    weights : (N,) float array_like, optional
        Weight of each row, from 0 to 1e100; one by default.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it, to the last bit.
    dtype : "float64" or "float32"
        Numbers to compute with, see `log_likelihood`; sums over rows are float64.

    Returns
    -------
    Flows
        Rows of likelihood 0 contribute no flow.

    Raises
    ------
    TypeError, ValueError
        If `data` is not evidence for the circuit, or `weights` is not (N,), finite and non-negative.

    Notes
    -----
    Three to four times the cost of `log_likelihood`; memory for one tile and three sets of flows per thread, of which
    the tile, where it is not large, and one set are kept with the circuit for the next call.

    References
    ----------
    Darwiche (2003), A differential approach to inference in Bayesian networks, J. ACM 50;
    Choi, Vergari and Van den Broeck (2020), Probabilistic Circuits, section on parameter learning.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> expected_flows(coin, [[-1]]).inputs           # a missing value is spread
    array([0.25, 0.75])
    """
    check_circuit(circuit)
    check_choice(dtype, "dtype", DTYPES)
    if not circuit.is_categorical:
        values, _ = check_values(circuit, data), count_jobs(n_jobs)
        return density_flows(circuit, values, row_weights(weights, len(values)), n_jobs)
    rows, _ = as_integer_table(circuit, data), count_jobs(n_jobs)
    checked = row_weights(weights, len(rows))
    in_numpy = flows_in_numpy(circuit, flow_seconds(circuit, len(rows)))
    packed, free = packed_as(circuit, dtype), []
    if not in_numpy and packed.weights.itemsize * flows(packed).units * TILE_ROWS <= LAST_CACHE:
        free = free_work(circuit, "flow_work")
    return Flows(
        *accumulate(circuit, pack(circuit), packed, rows, checked, n_jobs, free, in_numpy=in_numpy),
        float(checked.sum()),
    )


def density_flows(
    circuit: Circuit, values: Floats, weights: Floats, n_jobs: int | None, passes: int = 1
) -> Flows:
    """Flows of checked rows of a circuit of which some leaves are densities; a job of EM has several `passes`.

    Shapes: values (N, V), weights (N,).
    """
    seconds = passes * flow_seconds(circuit, len(values))
    in_numpy = flows_in_numpy(circuit, seconds)

    def of_block(block: AtRows) -> tuple[Floats, Floats, float]:
        counted = weights[block.rows]
        packed, free = pack(block.circuit), free_work(block.circuit, "flow_work")
        edges, inputs, log = accumulate(
            block.circuit, packed, packed, block.codes, counted, 1, free, in_numpy=in_numpy
        )
        seen = counted > 0
        log += float(np.dot(counted[seen], block.log_scale[seen].sum(axis=1)))
        return edges, np.concatenate(statistics_of(circuit, block, inputs)), log

    parts = by_blocks(circuit, values, n_jobs, in_numpy, of_block)
    edges, inputs, log = next(parts)
    for more in parts:
        edges, inputs, log = edges + more[0], inputs + more[1], log + more[2]
    return Flows(edges, inputs, log, float(weights.sum()))


def accumulate(
    circuit: Circuit,
    packed: Packed,
    working: Packed,
    data: Evidence,
    weights: Floats,
    n_jobs: int | None,
    free: list[Any],
    *,
    in_numpy: bool,
    same_rows: bool = False,
    pool: ThreadPoolExecutor | None = None,
) -> tuple[Floats, Floats, float]:
    """Edge flows, input flows and log-likelihood as in `Flows`: the E-step of EM; shapes data (N, V), weights (N,).

    The passes read `working`: `packed`, or its parameters as float32.  In NumPy they are those of `circuit`.
    """
    if in_numpy or may_overflow(circuit):
        refuse_out_of_range(circuit, data)
    if may_overflow(circuit):
        return _by_logarithms(circuit, data, weights)
    work = _rows_in_numpy if in_numpy else _rows_by_kernel
    is_single, scaled, scale = working is not packed, weights, 1.0
    if is_single:  # weights of at most 1, since float32 ends at 1e38
        scale = float(weights.max(initial=0.0)) or 1.0
        scaled = weights / scale
    N = len(data)
    arithmetic = (circuit.num_units + len(packed.weights)) * N
    if arithmetic < LEAST_WORK:
        n_jobs, per_chunk = 1, max(N, 1)
    else:
        per_chunk = rows_per_unit(N, arithmetic, int(packed.categories.max()))
        n_jobs = count_jobs(n_jobs)
    jobs = [(start, min(start + per_chunk, N)) for start in range(0, N, per_chunk)]
    whole, suspects = None, [np.zeros(0, dtype=np.int64)]
    with map_in_threads(
        lambda job: work(circuit, working, data, scaled, job, free, same_rows), jobs, n_jobs, pool
    ) as parts:
        for part, found in parts:
            suspects += found
            if whole is None:
                whole = part
                continue
            for mine, more in zip(whole, part, strict=True):
                mine += more
    whole = new_sums(packed) if whole is None else whole
    edges, inputs, log = whole.edges, _complete(packed, whole, in_numpy), float(whole.log[0])
    if is_single:
        edges, inputs, log = edges * scale, inputs * scale, log * scale
    again = np.concatenate(suspects)
    if not np.isfinite(edges.sum() + inputs.sum()):  # a weight, or a product, dwarfs a sum
        edges, inputs, log, again = np.zeros_like(edges), np.zeros_like(inputs), 0.0, np.arange(N)
    if len(again):
        rows, counted = data[again], weights[again]
        if is_single:
            rest = accumulate(circuit, packed, packed, rows, counted, 1, [], in_numpy=in_numpy)
        else:
            rest = _by_logarithms(with_parameters(circuit, packed), rows, counted)
        edges, inputs, log = edges + rest[0], inputs + rest[1], log + rest[2]
    return edges, inputs, log


def flow_seconds(circuit: Circuit, num_rows: int) -> float:
    """About what NumPy takes for the flows of so many rows."""
    return PASSES * upward_seconds(circuit, num_rows)


def flows_in_numpy(circuit: Circuit, seconds: float) -> bool:
    """Whether NumPy does a job of so many seconds; see `evaluated_in_numpy`."""
    too_many = max(circuit.num_categories) > MOST_CATEGORIES
    return circuit.num_regions == 1 or too_many or engine.in_numpy(seconds)


class Sums(NamedTuple):
    """Flows summed over rows."""

    edges: Floats  # like `Packed.weights`; not yet times them while rows are being added
    counts: Floats  # like `Packed.tables`
    log: Floats  # (1,) weighted sum of log-likelihoods


def new_sums(packed: Packed) -> Sums:
    """Sums over no rows."""
    return Sums(np.zeros(len(packed.weights)), np.zeros(len(packed.tables)), np.zeros(1))


def _rows_by_kernel(
    circuit: Circuit,
    packed: Packed,
    data: Evidence,
    weights: Floats,
    job: tuple[int, int],
    free: list[Any],
    same_rows: bool,
) -> tuple[Sums, list[Ints]]:
    """`Sums` over rows start..stop by the kernels, and a list of arrays of suspect rows, which are left out."""
    program, sums, suspects = flows(packed), new_sums(packed), []
    for work, lo, hi in groups(circuit, packed, program, data, job, free, same_rows=same_rows):
        counted = weights[lo:hi]
        work.set_weights(counted)
        root, exponents, suspect = work.run(packed, hi - lo, sums.edges, sums.counts)
        if len(suspect):
            suspects.append(lo + suspect)
            counted = counted.copy()
            counted[suspect] = 0.0
        sums.log[0] += _weighted_log(root, exponents, counted)
    return sums, suspects


def _rows_in_numpy(
    circuit: Circuit,
    packed: Packed,
    data: Evidence,
    weights: Floats,
    job: tuple[int, int],
    *unused: Any,
) -> tuple[Sums, list[Ints]]:
    """The same in NumPy."""
    (start, stop), whole = job, new_sums(packed)
    suspects: list[Ints] = []
    for lo in range(start, stop, NUMPY_ROWS):
        block = data[lo : min(lo + NUMPY_ROWS, stop)]
        shown, products, exponents, suspect = upward(circuit, block, packed)
        counted = np.where(suspect, 0.0, weights[lo : lo + len(block)])
        whole.log[0] += _weighted_log(shown[-1][0], exponents[-1], counted)
        with np.errstate(over="ignore", invalid="ignore"):  # is found by `accumulate`
            _add_regions(
                circuit,
                downward(circuit, block, counted, shown, products),
                whole.edges,
                whole.counts,
                1,
            )
        if suspect.any():
            suspects.append(lo + np.flatnonzero(suspect))
    return whole, suspects


def _complete(packed: Packed, whole: Sums, in_numpy: bool) -> Floats:
    """Give edge flows, in place, their factor; returns input flows, missing values spread over the categories."""
    if not in_numpy:
        inputs = np.empty(int(num_inputs(packed) @ packed.categories))
        slices = slices_of(packed)[0][0]
        arrays = whole.counts, packed.tables, slices, inputs
        engine.kernel(complete, arrays, len(slices) // 3)()
        with np.errstate(over="ignore", invalid="ignore"):  # is found by `accumulate`
            np.multiply(whole.edges, packed.weights, out=whole.edges)
        return inputs
    with np.errstate(over="ignore", invalid="ignore"):  # the same
        return spread_missing(packed, whole.counts)


def _weighted_log(root: Floats, exponent: Ints, weights: Floats) -> float:
    """Weighted sum of log(root * 2**exponent); rows of weight 0 do not count."""
    logs = np.empty(len(root))
    log_root(root, exponent, logs)
    return float(np.dot(weights[weights > 0], logs[weights > 0]))


def _by_logarithms(
    circuit: Circuit, data: Evidence, weights: Floats
) -> tuple[Floats, Floats, float]:
    """What `accumulate` returns, with one logarithm per unit in all rows."""
    packed = pack(circuit)
    edges, inputs = np.zeros(len(packed.weights)), np.zeros(num_inputs(packed) @ packed.categories)
    total = 0.0
    for lo in range(0, len(data), NUMPY_ROWS):
        counted = weights[lo : lo + NUMPY_ROWS]
        counts, logs = log_flows(circuit, data[lo : lo + NUMPY_ROWS], counted)
        _add_regions(circuit, counts, edges, inputs, 0)
        total += float(np.dot(counted[counted > 0], logs[counted > 0]))
    return edges, inputs, total


def _add_regions(
    circuit: Circuit, counts: list[Floats], edges: Floats, inputs: Floats, missing_columns: int
) -> None:
    """Add dense flows per region, with a column for missing values or without, to flat arrays of the same kind."""
    for region, count, part in zip(
        circuit.regions, counts, _split(circuit, edges, inputs, missing_columns), strict=True
    ):
        part += region.stored(count)


def _split(
    circuit: Circuit, edges: Floats, inputs: Floats, missing_columns: int = 0
) -> list[Floats]:
    """Views of flat edge and input flows, one per region; inputs are stored variable by variable."""
    E = len(edges)
    sizes = [
        region.num_units * (region.leaves.num_statistics + missing_columns)
        for region in circuit.inputs
    ]
    return [
        inputs[part.start - E : part.stop - E] if region.is_input else edges[part]
        for region, part in zip(circuit.regions, region_slices(circuit, sizes), strict=True)
    ]


def region_slices(circuit: Circuit, leaf_sizes: list[int] | None = None) -> list[slice]:
    """Where the parameters of each region are among all edges and inputs, of which a leaf has so many numbers."""
    if leaf_sizes is None:
        leaf_sizes = [one.num_units * one.leaves.num_statistics for one in circuit.inputs]
    sizes = [region.num_weights for region in circuit.regions if not region.is_input]
    ends = np.cumsum([*sizes, *leaf_sizes]).tolist()
    leaves = circuit.vtree.leaf_of()
    inner = np.setdiff1d(np.arange(circuit.num_regions), leaves)
    slices = map(slice, [0, *ends[:-1]], ends)
    places = dict(zip([*inner.tolist(), *leaves.tolist()], slices, strict=True))
    return [places[r] for r in range(circuit.num_regions)]


def downward(
    circuit: Circuit, data: Evidence, weights: Floats, shown: list[Floats], products: list[Any]
) -> list[Floats]:
    """The summed flows of a block of rows, after `pcircuit.inference.likelihood.upward`.

    Shapes: data (N, V), weights (N,).
    """
    counts: list[Any] = [None] * circuit.num_regions
    for r, flow in handed_down(circuit, weights, shown, products):
        region = circuit.regions[r]
        if region.is_input:
            C = region.num_categories
            code = data[:, region.variable].astype(np.int64) % (C + 1)  # -1 becomes C
            counts[r] = np.stack([np.bincount(code, weights=row, minlength=C + 1) for row in flow])
        else:
            counts[r] = (flow @ products[r].T) * region.dense_weights()
    return counts


def handed_down(
    circuit: Circuit, weights: Floats, shown: list[Floats], products: list[Any]
) -> Iterator[tuple[int, Floats]]:
    """Yield each region, parents first, with flows (K, N) of its inputs, or flow / value of its sums.

    Shapes: weights (N,).
    """
    flow: list[Any] = [None] * circuit.num_regions
    flow[-1] = np.where(shown[-1] > 0, weights, 0.0).astype(shown[-1].dtype)
    for r in range(circuit.num_regions - 1, -1, -1):
        region = circuit.regions[r]
        if region.is_input:
            yield r, flow[r]
            continue
        ratio = np.divide(flow[r], shown[r], out=np.zeros_like(flow[r]), where=shown[r] > 0)
        yield r, ratio
        through = (region.weights.T.astype(ratio.dtype, copy=False) @ ratio) * products[r]
        for c, units in child_units(circuit, r):
            flow[c] = by_unit(through, units, len(shown[c]))


def spread_missing(packed: Packed, inputs: Floats) -> Floats:
    """Input flows without the missing column, whose flow goes to the categories by their probabilities.

    Returns (number of input probabilities,).
    """
    row, is_missing = table_rows(packed)
    total = packed.tables[is_missing]
    share = np.divide(inputs[is_missing], total, out=np.zeros_like(total), where=total > 0)
    spread: Floats = inputs + share[row] * packed.tables
    return spread[~is_missing]


def by_unit(values: Any, units: Ints, num_units: int) -> Any:
    """(units, N) values of products (P, N), summed by the unit that each takes.

    Mostly each product takes a unit of its own, in order; then this is the same array, in a hundredth of the time.

    Shapes: values (P, N), units (P,) -> (num_units, N).
    """
    if len(units) == num_units and (units == np.arange(num_units)).all():
        return values
    result = np.zeros((num_units, values.shape[1]), values.dtype)
    np.add.at(result, units, values)
    return result
