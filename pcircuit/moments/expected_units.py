r"""The likelihoods of all units that are expected given a part of a row: E[l_j(x, Y) | X = x].

The circuit's distribution of the other variables Y given X = x runs through the same regions as the circuit.  An upward
pass with Y summed out gives the likelihood v_i(x) of every unit i, and for a sum s the posterior probabilities of its
products,

.. math:: \omega_{sp}(x) = w_{sp} v_p(x) / v_s(x).

Let C_ij(x) be the mean of unit j's likelihood l_j(x, Y) if unit i of the same region draws Y given x.  Bottom-up:

    input of a known variable     C_ij = l_j(x)
    input of a drawn variable     C_ij = sum_c p_i(c) p_j(c), an integral where leaves are densities
    a hole, either way            C_ij = the sum of unit j's table, as in l_j: 1
    products p, q                 C_pq = the product over the children of C at the children of p and of q
    sums s, t                     C_st = sum_pq omega_sp w_tq C_pq

and with the probability f_i(x) that the posterior uses unit i of its region (top-down by omega, 1 at the root)

.. math:: E[l_j(x, Y) \mid X = x] = \sum_i f_i(x) \, C_{ij}(x).

All of these are sums of products of numbers in [0, 1]: what underflows does not matter.  Only v may matter however
small it is, so omega of rows that are suspect in the linear domain comes from logarithms.

Arrays C (K, K, n) have the n rows of a block last, so that a region is two matrix products, with w and with v w / v.
Of what all rows of a block have in common there is less:

    KNOWN     all of the scope is given, or missing: C_ij = l_j(x) whatever i is, (1, K, n)
    DRAWN     nothing of it is: C_ij is a constant of the circuit, (K, K, 1)
    MIXED     else
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Bools, Floats, Ints, as_array, memory_for
from pcircuit.circuit import Circuit, InputRegion, check_distribution
from pcircuit.evidence import checked
from pcircuit.inference.densities import AtRows, at_rows, block_rows
from pcircuit.inference.likelihood import upward
from pcircuit.inference.log_domain import log_of, log_units
from pcircuit.inference.threads import count_jobs, map_in_threads
from pcircuit.inference.unit_likelihoods import checked_nodes

BLOCK_VALUES = (
    1 << 17
)  # entries of C of the largest region, for a block of rows: it should fit a cache
KNOWN, DRAWN, MIXED = range(3)


def expected_node_likelihoods(
    circuit: Circuit,
    data: ArrayLike,
    given: ArrayLike,
    *,
    nodes: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Likelihoods of units expected given some variables of each row: E[l_j(x, Y) | X = x].

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    data : (N, V) array_like
        Evidence; numbers where leaves are densities.  What is missing (-1, NaN or masked) is integrated out, in the
        likelihoods as in the condition.  Of variables that are not given nothing else counts but that they are not
        missing.
    given : (V,) bool array_like
        Which variables are X; the others, Y, are drawn from the circuit given these.
    nodes : (m,) int array_like, optional
        Node ids; all units in node-id order by default.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it.

    Returns
    -------
    (N, m) float64 array
        Rows with an x that is impossible under the circuit are NaN.

    Raises
    ------
    TypeError, ValueError
        If the circuit is not normalised, `data` is not evidence for it, `given` is not a mask of its variables, or
        `nodes` are not node ids.

    Notes
    -----
    O(sum over regions of P^2 S) a row, for regions of P products and S sums over variables of both kinds; others cost
    no more than their parameters.

    References
    ----------
    Khosravi, Choi, Liang, Vergari and Van den Broeck (2019), On tractable computation of expected predictions,
    NeurIPS 32.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> inputs = [InputRegion(0, [[1.0, 0.0], [0.0, 1.0]]), InputRegion(1, [[0.5, 0.5], [0.2, 0.8]])]
    >>> pair = Circuit(VTree.from_nested([0, 1]), [*inputs, InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])])
    >>> expected_node_likelihoods(pair, [[1, 0]], [True, False], nodes=[3]).round(3)       # 0.2 * 0.2 + 0.8 * 0.8
    array([[0.68]])
    """
    check_distribution(circuit)
    rows: Any = checked(circuit, data)
    _, mask = count_jobs(n_jobs), _checked_mask(circuit, given)
    wanted, places = np.unique(checked_nodes(circuit, nodes), return_inverse=True)
    with memory_for(
        f"a table of {len(rows)} rows and {len(wanted)} nodes",
        8 * len(rows) * len(wanted),
        "pass fewer rows at a time or fewer `nodes`",
    ):
        result = np.empty((len(rows), len(wanted)))
    most = max(region.num_nodes**2 for region in circuit.regions)
    most = max(most, circuit.num_nodes // 8)
    step = int(np.clip(BLOCK_VALUES // most, 16, 1024))
    if not circuit.is_categorical:
        step = min(step, block_rows(circuit))
    blocks = [slice(start, start + step) for start in range(0, len(rows), step)]

    def fill(block: slice) -> None:
        if circuit.is_categorical:
            result[block] = _of_block(circuit, rows[block].astype(np.int64), mask, wanted)
        else:
            result[block] = _of_numbers(circuit, at_rows(circuit, rows, block), mask, wanted)

    with map_in_threads(fill, blocks, n_jobs) as done:
        for _ in done:
            pass
    return result if np.array_equal(places, np.arange(len(wanted))) else result[:, places]


def _checked_mask(circuit: Circuit, given: ArrayLike) -> Bools:
    """`given` as a (V,) bool array."""
    expected = f"{circuit.num_variables} truth values, one per variable"
    mask = as_array(given, "given", expected)
    if mask.dtype != bool:
        raise TypeError(f"`given` must be {expected}, found {mask.dtype} instead of bool")
    if mask.shape != (circuit.num_variables,):
        raise ValueError(f"`given` must be {expected}, found shape {mask.shape}")
    return mask


def _of_numbers(circuit: Circuit, block: AtRows, given: Bools, nodes: Ints) -> Floats:
    """(n, m) expected likelihoods where leaves are densities.

    Those of the block's tables, times what the columns that are given were divided by, if they are in the node's scope.
    """
    codes = np.where(np.isnan(block.values), -1, block.codes)
    found = _of_block(block.circuit, codes, given, nodes)
    inside = np.zeros((circuit.num_variables, circuit.num_regions))
    for r in range(circuit.num_regions):
        inside[circuit.vtree.scope(r), r] = 1.0
    scale = np.where(given, block.log_scale, 0.0) @ inside
    return found * np.exp(scale[:, circuit.nodes.region[nodes]])


def _of_block(circuit: Circuit, rows: Ints, given: Bools, nodes: Ints) -> Floats:
    """(n, m) expected likelihoods of a block of rows, of ascending nodes."""
    shown, products, _, suspect = upward(circuit, np.where(given, rows, -1))
    if suspect.any() and not suspect.all():
        result = np.empty((len(rows), len(nodes)))
        for some in (suspect, ~suspect):
            result[some] = _of_block(circuit, rows[some], given, nodes)
        return result
    posteriors: Any = None
    if suspect.any():
        posteriors, possible = _posteriors(circuit, np.where(given, rows, -1))
    else:
        possible = shown[-1][0] > 0

    holes = rows < 0
    of_inputs = np.where(
        given | holes.all(axis=0), KNOWN, np.where(holes.any(axis=0), MIXED, DRAWN)
    )
    children, state = circuit.vtree.child_lists(), np.empty(circuit.num_regions, dtype=np.int64)
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            state[r] = of_inputs[region.variable]
        else:
            below = state[children[r]]
            state[r] = below[0] if (below == below[0]).all() else MIXED

    flows, used, inverse, tables = np.full((4, circuit.num_regions), None)
    flows[-1] = np.ones((1, len(rows)))
    for r in range(circuit.num_regions - 1, -1, -1):
        region = circuit.regions[r]
        if state[r] == KNOWN or region.is_input:
            continue
        weights = region.dense_weights()
        if state[r] == DRAWN:
            used[r] = weights.T @ flows[r]
        elif posteriors is None:
            inverse[r] = np.divide(1.0, shown[r], out=np.zeros_like(shown[r]), where=shown[r] > 0)
            used[r] = products[r] * (weights.T @ (flows[r] * inverse[r]))
        else:
            used[r] = np.einsum("kpn,kn->pn", posteriors[r], flows[r])
        for c, units in zip(children[r], region.products.T, strict=True):
            K = circuit.regions[c].num_units
            flows[c] = used[r] if _is_identity(units, K) else np.eye(K)[units].T @ used[r]

    expected, wanted = np.empty((circuit.num_nodes, len(rows))), np.zeros(circuit.num_nodes, bool)
    wanted[nodes] = True
    for r, region in enumerate(circuit.regions):
        first, last = circuit.offsets[r], circuit.offsets[r + 1]
        sums = slice(last - region.num_units, last)
        if region.is_input:
            known = shown[r][None]
            tables[r] = known if state[r] == KNOWN else _of_inputs(region, holes, state[r])
        else:
            inside = np.ones((1, 1, 1))
            for c, units in zip(children[r], region.products.T, strict=True):
                inside = inside * _gathered(tables[c], units)
                tables[c] = None
            if wanted[first : sums.start].any():
                expected[first : sums.start] = _under(used[r], inside)
            weights, (K, P) = region.dense_weights(), region.weights.shape
            mixed = weights @ inside  # (1 or P, K, 1 or n)
            if len(inside) == 1:
                tables[r] = mixed
            elif state[r] == DRAWN:
                tables[r] = (weights @ mixed[:, :, 0])[:, :, None]
            elif posteriors is None:
                mixed *= products[r][:, None]
                tables[r] = (weights @ mixed.reshape(P, -1)).reshape(K, K, -1)
                tables[r] *= inverse[r][:, None]
            else:
                tables[r] = np.einsum("kpn,pln->kln", posteriors[r], mixed)
        if wanted[sums].any():
            expected[sums] = _under(flows[r], tables[r])
    return np.where(possible[:, None], expected[nodes].T, np.nan)


def _posteriors(circuit: Circuit, known: Ints) -> tuple[list[Any], Bools]:
    """By logarithms, per inner region omega (S, P, n) given what is known; and (n,) whether that is possible."""
    logs, log_products = log_units(circuit, known)
    omega: list[Any] = [None] * circuit.num_regions
    for r, region in enumerate(circuit.regions):
        if not region.is_input:
            total = np.where(logs[r] > -np.inf, logs[r], np.inf)[:, None]
            omega[r] = np.exp(log_products[r] - total + log_of(region.dense_weights())[:, :, None])
    return omega, logs[-1][0] > -np.inf


def _of_inputs(region: InputRegion, holes: Bools, state: int) -> Floats:
    """C of an input region of a variable that is drawn, but where it is missing."""
    overlap: Floats = region.leaves.overlap2(region.leaves)[:, :, None]
    total = region.leaves.total()[:, None]
    return overlap if state == DRAWN else np.where(holes[:, region.variable], total, overlap)


def _gathered(table: Floats, units: Ints) -> Floats:
    """C of the units of a child that products take, (1 or K, K, 1 or n) -> (1 or P, P, 1 or n)."""
    if _is_identity(units, table.shape[1]):
        return table
    return table[:, units] if len(table) == 1 else table[units[:, None], units]


def _is_identity(units: Ints, K: int) -> bool:
    """Whether the products take the K units of a child one by one."""
    return np.array_equal(units, np.arange(K))


def _under(flow: Any, table: Floats) -> Any:
    """(units, n) sum_i flow_i C_ij."""
    if len(table) == 1:
        return table[0]
    if table.shape[2] == 1:
        return table[:, :, 0].T @ flow
    return np.einsum("in,ijn->jn", flow, table)
