r"""Scores: the gradient of a row's log-likelihood in the logits of the parameters.

Let a sum unit k have weights w_kp = exp(a_kp) / sum_q exp(a_kq), and an input unit likewise the probabilities p_kc.
With the expected flows F of a row (`pcircuit.inference.flows`), F_k = sum_p F_kp being that of the unit,

.. math:: s_{kp}(x) = \frac{\partial \log p(x)}{\partial a_{kp}} = F_{kp}(x) - F_k(x)\, w_{kp}, \qquad
          s_{kc}(x) = F_k(x)\, (1[x_v = c] - p_{kc}),

how much more often the row uses a parameter than a sample that reaches its unit would.  Three facts make it a natural
vector for comparing rows with a circuit:

* its mean under the circuit is exactly zero, and its covariance is the Fisher information;
* its mean over rows is zero at parameters that fit these rows best, whatever the circuit cannot represent;
* a dependence that changes moves the parameters of the few units that carry it.

The sum over the rows of a batch needs only their summed flows: one upward and one downward pass.  Scores row by row
are rows times parameters in number, so `scores` can give their products with some directions instead, region
by region and block by block.  Coordinates are in the order of `Flows`: all edges, then all inputs.

Flows row by row, in NumPy: the downward pass of `pcircuit.inference.flows` before its sums over rows.

Rows times parameters are many numbers, so they come region by region, from the root down, and the caller keeps what it
needs from each.  The rows of a parameter are contiguous, so that all steps run along them.  Rows that are suspect in
the linear domain, and all rows if the circuit may overflow, are done again one by one with a logarithm per unit.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Evidence, Floats, Ints, check_numbers
from pcircuit.circuit import Circuit, InputRegion, check_circuit, derived
from pcircuit.evidence import as_integer_table, check_values, refuse_out_of_range
from pcircuit.inference.densities import AtRows, by_blocks
from pcircuit.inference.flows import (
    Flows,
    expected_flows,
    handed_down,
    region_slices,
)
from pcircuit.inference.likelihood import evaluated_in_numpy, upward
from pcircuit.inference.log_domain import log_flows, may_overflow
from pcircuit.kernels.packed import SUMS, table_rows, weight_rows
from pcircuit.kernels.packing import pack

BLOCK_VALUES = 4_000_000  # flows of single rows that are held at a time, in the widest region
BLOCK_ROWS = 512
TOGETHER = 4_000  # parameters whose products with directions are added at once: each addition touches all of them


def mean_score(circuit: Circuit, data: ArrayLike, *, n_jobs: int | None = None) -> Floats:
    """Mean over the rows of the gradient of the log-likelihood in the logits of all parameters.

    (1/N) sum_n (F_kp(x_n) - F_k(x_n) w_kp) for each weight of a sum, and the same for the probabilities of inputs.

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    data : (N, V) integer array_like
        Evidence; -1, NaN or masked where missing.  At least one row.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it.

    Returns
    -------
    (P,) float64 array
        Edges, then inputs, in the order of `Flows`.  The entries of one unit add up to zero.

    Raises
    ------
    TypeError, ValueError
        If `data` is not evidence for the circuit, or has no rows.

    Notes
    -----
    The cost of `expected_flows`.  Rows of likelihood 0 have no gradient and count as zero.

    References
    ----------
    Fisher (1925), Theory of statistical estimation; Darwiche (2003), A differential approach to inference in Bayesian
    networks, J. ACM 50.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> mean_score(coin, [[0], [1]])                       # half of the throws, where it should be a quarter
    array([ 0.25, -0.25])
    """
    check_circuit(circuit)
    if not circuit.is_categorical:
        rows = check_values(circuit, data)
        if not len(rows):
            raise ValueError("`data` has no rows: a mean needs at least one")
        blocks = _of_densities(circuit, rows, n_jobs)
        return np.asarray(sum(block.sum(axis=0) for block in blocks) / len(rows))
    flows = expected_flows(circuit, data, n_jobs=n_jobs)
    if not flows.total_weight:
        raise ValueError("`data` has no rows: a mean needs at least one")
    return score_of_flows(circuit, flows) / flows.total_weight


def score_of_flows(circuit: Circuit, flows: Flows) -> Floats:
    """(P,) the sum of the scores of the rows that some flows were computed from."""
    unit, parameters = _units(circuit)
    used = np.concatenate([flows.edges, flows.inputs])
    of_units = np.bincount(unit, weights=used)
    return used - of_units[unit] * parameters


def _units(circuit: Circuit) -> tuple[Ints, Floats]:
    """(P,) the unit of each parameter, numbered from 0 in their order, and (P,) the parameters; kept for later."""

    def found() -> tuple[Ints, Floats]:
        packed = pack(circuit)
        row, is_missing = table_rows(packed)
        row = row[~is_missing] + int(packed.region[:, SUMS].sum())
        parameters = np.concatenate([packed.weights, packed.tables[~is_missing]])
        return np.concatenate([weight_rows(packed), row]), parameters

    return derived(circuit, "score_units", found)


def scores(circuit: Circuit, data: ArrayLike, *, directions: ArrayLike | None = None) -> Floats:
    """Gradient of each row's log-likelihood in the logits of all parameters, or its products with some directions.

    s_kp(x) = F_kp(x) - F_k(x) w_kp for the weights of sums, F_k(x) (1[x_v = c] - p_kc) for the inputs.

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    data : (N, V) integer array_like
        Evidence; -1, NaN or masked where missing: the score of a marginal likelihood.
    directions : (P, r) float array_like or scipy.sparse array, optional
        What the scores are multiplied by; by default they are returned whole.

    Returns
    -------
    (N, P) or (N, r) float64 array
        Rows of likelihood 0 give zeros.

    Raises
    ------
    TypeError, ValueError
        If `data` is not evidence for the circuit, or `directions` are not (P, r) finite numbers.

    Notes
    -----
    One upward and one downward pass, and with directions two operations for each of their entries and each row.  With
    directions only the flows of one region for a block of rows are held.

    References
    ----------
    Jaakkola and Haussler (1999), Exploiting generative models in discriminative classifiers, NIPS 11 (the Fisher
    score); Darwiche (2003), J. ACM 50.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    >>> scores(coin, [[0], [1]])
    array([[ 0.75, -0.75],
           [-0.25,  0.25]])
    >>> scores(coin, [[0], [1]], directions=[[1.0], [0.0]])
    array([[ 0.75],
           [-0.25]])
    """
    check_circuit(circuit)
    places, P = _score_slices(circuit)
    matrix: Any = None
    width = P
    if directions is not None:
        width, matrix = _checked_directions(directions, P)
    if not circuit.is_categorical:
        blocks = _of_densities(circuit, check_values(circuit, data), 1)
        if directions is not None:
            blocks = (block @ matrix for block in blocks)
        return np.concatenate(list(blocks))
    rows = as_integer_table(circuit, data)
    refuse_out_of_range(circuit, rows)
    result = np.zeros((len(rows), width))
    groups = [] if directions is None else _groups(places, matrix)
    widest = max(part.stop - part.start for part in places)
    step = 1 if may_overflow(circuit) else max(1, min(BLOCK_ROWS, BLOCK_VALUES // widest))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        _add_block(circuit, block, places, groups, result[start : start + step])
    return result


def _checked_directions(directions: Any, P: int) -> tuple[int, Any]:
    """r, and (P, r) directions, as CSR where they are sparse."""
    expected = f"numbers of shape ({P}, r), one row for each parameter"
    if type(directions).__module__.startswith("scipy.sparse"):
        directions = directions.tocsr()
        check_numbers(directions.data, "directions", expected)
    else:
        directions = check_numbers(directions, "directions", expected)
    if directions.ndim != 2 or directions.shape[0] != P:
        raise ValueError(f"`directions` must be {expected}, found shape {directions.shape}")
    return directions.shape[1], directions


def _groups(parts: list[slice], directions: Any) -> list[tuple[int, Any]]:
    """(last region, transposed directions) of successive regions, the root first, with some `TOGETHER` parameters."""
    groups, places, size = [], [], 0
    for r in range(len(parts) - 1, -1, -1):
        places.append(np.arange(parts[r].start, parts[r].stop))
        size += len(places[-1])
        if size >= TOGETHER or not r:
            groups.append((r, directions[np.concatenate(places)].T))
            places, size = [], 0
    return groups


def _add_block(
    circuit: Circuit,
    rows: Evidence,
    parts: list[slice],
    groups: list[tuple[int, Any]],
    result: Floats,
) -> None:
    """Scores of a block of rows, or their products with the directions of groups of regions, into zeros."""
    waiting, left = [], iter(groups)
    last, directions = next(left, (-1, None))
    for r, flows in flows_of_rows(circuit, rows):
        centred = _centred(circuit.regions[r], flows)
        if directions is None:
            result[:, parts[r]] = centred.T
            continue
        waiting.append(centred)
        if r == last:
            result += (directions @ np.concatenate(waiting)).T
            waiting, (last, directions) = [], next(left, (-1, None))


def _centred(region: Any, flows: Floats) -> Floats:
    """Flows (P, N) less those of their units times the parameters."""
    if not region.is_sparse:
        parameters = region.probs if region.is_input else region.weights
        table = flows.reshape(region.num_units, -1, flows.shape[1])
        centred: Floats = table - table.sum(axis=1, keepdims=True) * parameters[:, :, None]
        return centred.reshape(flows.shape)
    unit, totals = _rows_of(region), np.zeros((region.num_units, flows.shape[1]))
    np.add.at(totals, unit, flows)
    return np.asarray(flows - totals[unit] * region.weights.data[:, None])


def flows_of_rows(circuit: Circuit, rows: Evidence) -> Iterator[tuple[int, Floats]]:
    """Expected uses of the parameters of each region by each row; shapes rows (N, V)."""
    for r, flows in _used(circuit, rows):
        region = circuit.regions[r]
        if region.is_input:
            flows = _input_flows(region, rows[:, region.variable].astype(np.int64), flows)
        yield r, flows


def _used(circuit: Circuit, rows: Evidence) -> Iterator[tuple[int, Floats]]:
    """Yield each region, the root first, with the flows (edges, N) of its weights, or (K, N) of its inputs."""
    N, found = len(rows), None
    suspect = np.ones(N, dtype=bool)
    if not may_overflow(circuit):
        shown, products, _, suspect = upward(circuit, rows)
        found = handed_down(circuit, np.where(suspect, 0.0, 1.0), shown, products)
    again = [
        (n, log_flows(circuit, rows[n : n + 1], np.ones(1))[0])
        for n in np.flatnonzero(suspect).tolist()
    ]
    for r in range(circuit.num_regions - 1, -1, -1):
        region = circuit.regions[r]
        if found is None:
            flows = np.zeros((region.num_units if region.is_input else region.num_weights, N))
        else:
            flows = next(found)[1]
            flows = flows.copy() if region.is_input else _edge_flows(region, flows, products[r])
        for n, counts in again:
            own = counts[r]
            flows[:, n] = own.sum(axis=1) if region.is_input else region.stored(own)
        yield r, flows


def _of_densities(circuit: Circuit, values: Floats, n_jobs: int | None) -> Iterator[Floats]:
    """Yield scores (n, P) of blocks of rows where some leaves are densities: those have the scores of their family."""
    places, P = _score_slices(circuit)

    def of_block(block: AtRows) -> Floats:
        result = np.zeros((len(block.codes), P))
        for r, flows in _used(block.circuit, block.codes):
            region = circuit.regions[r]
            if region.is_input:
                gradients = region.leaves.scores(block.values[:, region.variable])
                result[:, places[r]] = (flows.T[:, :, None] * gradients).reshape(len(result), -1)
            else:
                result[:, places[r]] = _centred(region, flows).T
        return result

    in_numpy = evaluated_in_numpy(circuit, len(values))
    return by_blocks(circuit, values, n_jobs, in_numpy, of_block)


def _score_slices(circuit: Circuit) -> tuple[list[slice], int]:
    """Where the scores of each region are, all edges before all leaves, variable by variable; and their number."""
    one = np.zeros(1)
    sizes = [
        region.num_units * region.num_categories or region.leaves.scores(one)[0].size
        for region in circuit.inputs
    ]
    places = region_slices(circuit, sizes)
    return places, max(part.stop for part in places)


def _rows_of(region: Any) -> Ints:
    """(edges,) the sum of each stored weight."""
    return np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr))


def _edge_flows(region: Any, ratio: Floats, products: Floats) -> Floats:
    """(edges, N) ratio_k w_kp product_p, without those that a sparse region has not."""
    if region.is_sparse:
        return np.asarray(
            ratio[_rows_of(region)]
            * products[region.weights.indices]
            * region.weights.data[:, None]
        )
    dense: Floats = ratio[:, None] * region.weights[:, :, None]
    dense *= products
    return dense.reshape(-1, ratio.shape[1])


def _input_flows(region: InputRegion, values: Any, flow: Floats) -> Floats:
    """(K C, N) flow of each unit at the category of the row, or spread where it is missing."""
    N, (K, C) = len(values), region.probs.shape
    result = np.zeros((K, C, N))
    seen = np.flatnonzero(values >= 0)
    result[:, values[seen], seen] = flow[:, seen]
    holes = np.flatnonzero(values < 0)
    if len(holes):
        total = region.probs.sum(axis=1, keepdims=True)
        share = np.divide(region.probs, total, out=np.zeros_like(region.probs), where=total > 0)
        result[:, :, holes] = flow[:, None, holes] * share[:, :, None]
    return result.reshape(K * C, N)
