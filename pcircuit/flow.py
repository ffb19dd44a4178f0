"""Expected flows: how often each parameter is used, given the evidence; the E-step of EM.

A sample from a circuit runs down from the root: at a sum unit k it picks one product p with probability
weights[k, p], from a product it enters every child, at an input unit it draws a category.  The flow of a row is
the posterior expectation of these picks given the row x:

    F_root = 1 (times the row's weight)
    edge (k, p):   F_k weights[k, p] product_p(x) / sum_k(x)
    product p:     G_p = sum of its edges over k
    unit u of child c:   the sum of G_p over the products p with products[p, c] = u
    input unit k, category c:   F_k where x_v = c;   F_k probs[k, c] where x_v is missing

Flows of disjoint sets of rows add up, so `Flows` objects can be added: learning from data that is spread over
machines, or arrives in blocks, is exactly that sum.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import _packed
from ._log_domain import log_flows
from ._tile import borrow, load_group, new_work
from .circuit import InputRegion
from .engine import engine_is_numpy, map_in_threads
from .evidence import as_integer_table, refuse_out_of_range
from .likelihood import NO_READERS, NO_TABLE, NO_TOTALS, log_root, upward

NUM_CHUNKS = 16  # units of work; fixed, so that sums are rounded the same way for any number of threads
FULL_BYTES = 12_000_000  # of a tile: its sums should stay in the last cache between the two passes
LEAST_ROWS = 512  # of a unit of work, so that its arrays pay
NUMPY_ROWS = 512


@dataclass(frozen=True, eq=False)
class Flows:
    """Expected flows of a set of rows: additive statistics for EM.

    Attributes
    ----------
    edges : (number of weights,) float64 array
        Expected uses of each sum weight, region by region, as stored (dense rows or CSR entries).
    inputs : (number of input probabilities,) float64 array
        Expected uses of each input probability, variable by variable, unit by unit.
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
    """

    edges: np.ndarray
    inputs: np.ndarray
    log_likelihood: float
    total_weight: float

    def __add__(self, other: Flows) -> Flows:
        return Flows(self.edges + other.edges, self.inputs + other.inputs,
                     self.log_likelihood + other.log_likelihood, self.total_weight + other.total_weight)

    def by_region(self, circuit) -> list:
        """The flows as one array per region: (K, C) at a leaf, (K, P) dense or the CSR entries elsewhere."""
        return [part.reshape(region.probs.shape) if isinstance(region, InputRegion)
                else part if region.is_sparse else part.reshape(region.weights.shape)
                for region, part in zip(circuit.regions, _split(circuit, self.edges, self.inputs), strict=True)]

    @cached_property
    def mean_log_likelihood(self) -> float:
        """`log_likelihood` per unit of weight; NaN without rows."""
        return self.log_likelihood / self.total_weight if self.total_weight > 0 else float("nan")


def expected_flows(circuit, data, *, weights=None, n_jobs=None) -> Flows:
    """Expected uses of every parameter given each row, summed over the rows.

    Parameters
    ----------
    circuit : Circuit
    data : (N, V) integer array_like
        Evidence, -1 missing.
    weights : (N,) float array_like, optional
        Non-negative weight of each row; one by default.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it, to the last bit.

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
    Three to five times the cost of `log_likelihood`; memory for one tile and one set of flows per thread.

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
    data = as_integer_table(circuit, data)
    return accumulate(circuit, _packed.pack(circuit), data, row_weights(weights, len(data)), n_jobs, [])


def accumulate(circuit, packed, data, weights, n_jobs, free) -> Flows:
    """`expected_flows` with the structure of `circuit` and the parameters of `packed`: the E-step of EM.

    `free` is a list of tiles to work in, empty at first, so that calls in a row need not allocate.
    """
    in_numpy = len(circuit.regions) == 1 or engine_is_numpy()
    if in_numpy:
        refuse_out_of_range(circuit, data)
        circuit = _packed.with_parameters(circuit, packed)
    work = _chunk_in_numpy if in_numpy else _chunk_by_kernel
    per_chunk = max(LEAST_ROWS, 8 * int(packed.categories.max()), -(-len(data) // NUM_CHUNKS))
    chunks = [(start, min(start + per_chunk, len(data))) for start in range(0, len(data), per_chunk)]
    edges, inputs, total = np.zeros_like(packed.weights), np.zeros_like(packed.tables), 0.0
    for part in map_in_threads(lambda chunk: work(circuit, packed, data, weights, *chunk, free), chunks, n_jobs):
        edges += part[0]
        inputs += part[1]
        total += part[2]
    return Flows(edges, _spread_missing(packed, inputs), total, float(weights.sum()))


def downward(circuit, data, weights, shown, products):
    """The downward pass over a block of rows, in NumPy, after `pcircuit.likelihood.upward`.

    Parameters
    ----------
    circuit : Circuit
    data : (N, V) integer array
        Checked evidence.
    weights : (N,) array
        0 for rows that must not count.
    shown, products : lists of arrays
        What `upward` returned.

    Returns
    -------
    list of arrays
        Per region the summed flows: (K, C + 1) at a leaf, last column for missing values; (K, P) elsewhere.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> from pcircuit.likelihood import upward
    >>> coin, row = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])]), np.array([[1]])
    >>> downward(coin, row, np.ones(1), *upward(coin, row)[:2])
    [array([[0., 1., 0.]])]
    """
    flow = [None] * len(circuit.regions)
    flow[-1] = np.where(shown[-1] > 0, weights, 0.0)
    counts = [None] * len(circuit.regions)
    for r in range(len(circuit.regions) - 1, -1, -1):
        region = circuit.regions[r]
        if isinstance(region, InputRegion):
            C = region.num_categories
            code = data[:, region.variable].astype(np.int64) % (C + 1)  # -1 becomes C
            counts[r] = np.stack([np.bincount(code, weights=row, minlength=C + 1) for row in flow[r]])
            continue
        ratio = np.divide(flow[r], shown[r], out=np.zeros_like(flow[r]), where=shown[r] > 0)
        counts[r] = (ratio @ products[r].T) * region.dense_weights()
        through = (region.weights.T @ ratio) * products[r]
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            flow[c] = np.zeros(shown[c].shape)
            np.add.at(flow[c], region.products[:, a], through)
    return counts


def _chunk_by_kernel(circuit, packed, data, weights, start, stop, free):
    """Edge flows, input flows (with missing columns) and log-likelihood of rows start..stop, by the kernels."""
    from ._tiles_kernel import flow_tiles
    layout = _packed.full_layout(circuit)
    tile, group = work = borrow(free, lambda: new_work(circuit, layout, 1, FULL_BYTES))
    edges, inputs, total = np.zeros_like(packed.weights), np.zeros_like(packed.tables), 0.0
    suspects = []
    for lo in range(start, stop, len(group.roots)):
        rows = min(len(group.roots), stop - lo)
        load_group(circuit, packed.categories, data, lo, lo + rows, group)
        group.weights[:rows] = weights[lo:lo + rows]
        flow_tiles(packed, layout, tile, group, rows, NO_READERS, NO_TABLE, NO_TOTALS, edges, inputs)
        total += _weighted_log(group.roots[:rows], group.exponents[:rows], group.weights[:rows])
        if group.suspects[:rows].any():
            suspects.append(lo + np.flatnonzero(group.suspects[:rows]))
    free.append(work)
    edges *= packed.weights
    if suspects:
        rows = np.concatenate(suspects)
        total += _add_by_logarithms(_packed.with_parameters(circuit, packed), data[rows], weights[rows], edges, inputs)
    return edges, inputs, total


def _chunk_in_numpy(circuit, packed, data, weights, start, stop, _):
    """The same by the NumPy text."""
    edges, inputs, total = np.zeros_like(packed.weights), np.zeros_like(packed.tables), 0.0
    for lo in range(start, stop, NUMPY_ROWS):
        block = data[lo:min(lo + NUMPY_ROWS, stop)]
        shown, products, exponents, suspect = upward(circuit, block)
        counted = np.where(suspect, 0.0, weights[lo:lo + len(block)])
        total += _weighted_log(shown[-1][0], exponents[-1], counted)
        _add_regions(circuit, downward(circuit, block, counted, shown, products), edges, inputs)
        if suspect.any():
            total += _add_by_logarithms(circuit, block[suspect], weights[lo:lo + len(block)][suspect], edges, inputs)
    return edges, inputs, total


def _weighted_log(root, exponent, weights) -> float:
    """Weighted sum of log(root * 2**exponent); rows of weight 0 do not count."""
    logs = np.empty(len(root))
    log_root(root, exponent, logs)
    return float(np.dot(weights[weights > 0], logs[weights > 0]))


def _add_by_logarithms(circuit, data, weights, edges, inputs) -> float:
    """Add the flows of suspect rows to flat edge and input flows; returns their log-likelihood."""
    counts, logs = log_flows(circuit, data, weights)
    counts = [np.pad(count, ((0, 0), (0, 1))) if isinstance(region, InputRegion) else count
              for region, count in zip(circuit.regions, counts, strict=True)]
    _add_regions(circuit, counts, edges, inputs)
    return float(np.dot(weights[weights > 0], logs[weights > 0]))


def _add_regions(circuit, counts, edges, inputs) -> None:
    """Add per-region flows, dense and with missing columns, to the flat arrays."""
    for region, count, part in zip(circuit.regions, counts, _split(circuit, edges, inputs, 1), strict=True):
        if isinstance(region, InputRegion):
            part += count.ravel()
        elif region.is_sparse:
            rows = np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))
            part += count[rows, region.weights.indices]
        else:
            part += count.ravel()


def _split(circuit, edges, inputs, missing_columns=0) -> list:
    """Views of flat edge and input flows, one per region; inputs are stored variable by variable."""
    sizes = [circuit.regions[r].num_units * (circuit.regions[r].num_categories + missing_columns)
             for r in circuit.vtree.leaf_of().tolist()]
    start_of_variable = np.concatenate([[0], np.cumsum(sizes)])
    parts, end = [], 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            start = start_of_variable[region.variable]
            parts.append(inputs[start:start_of_variable[region.variable + 1]])
            continue
        start, end = end, end + (region.weights.nnz if region.is_sparse else region.weights.size)
        parts.append(edges[start:end])
    return parts


def _spread_missing(packed, inputs) -> np.ndarray:
    """Input flows without the missing column, whose flow goes to the categories by their probabilities."""
    row, is_missing = _packed.table_rows(packed)
    total = packed.tables[is_missing]
    share = np.divide(inputs[is_missing], total, out=np.zeros_like(total), where=total > 0)
    spread = inputs + share[row] * packed.tables
    return spread[~is_missing]


def row_weights(weights, N) -> np.ndarray:
    """`weights` as a checked (N,) float array; ones by default."""
    if weights is None:
        return np.broadcast_to(1.0, (N,))  # takes no memory
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (N,) or not np.isfinite(weights).all() or (weights < 0).any():
        values = f" with values {weights.min()}..{weights.max()}" if weights.size else ""
        raise ValueError(f"`weights` must be {N} finite non-negative numbers, one per row, found shape "
                         f"{weights.shape}{values}")
    return weights
