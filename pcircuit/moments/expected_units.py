r"""The likelihoods of all units that are expected given a part of a row: E[l_j(x, Y) | X = x].

The circuit's distribution of the other variables Y given X = x runs through the same regions as the circuit.  An upward
pass with Y summed out gives the likelihood v_i(x) of every unit i, and for a sum s the posterior probabilities of its
products,

.. math:: \omega_{sp}(x) = w_{sp} v_p(x) / v_s(x).

Let C_ij(x) be the mean of unit j's likelihood l_j(x, Y) if unit i of the same region draws Y given x.  Bottom-up:

    input of a known variable     C_ij = l_j(x)
    input of a drawn variable     C_ij = sum_c p_i(c) p_j(c)
    a hole, either way            C_ij = the sum of unit j's table, as in l_j: 1
    products p, q                 C_pq = the product over the children of C at the children of p and of q
    sums s, t                     C_st = sum_pq omega_sp w_tq C_pq

and with the probability f_i(x) that the posterior uses unit i of its region (top-down by omega, 1 at the root)

.. math:: E[l_j(x, Y) \mid X = x] = \sum_i f_i(x) \, C_{ij}(x).

All of these are sums of products of numbers in [0, 1]: what underflows does not matter.  Only v may matter however
small it is, so omega of rows that are suspect in the linear domain comes from logarithms.
`pcircuit.moments.kernels.expected_units` is the compiled twin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Bools, Evidence, Floats, Ints, as_array, memory_for
from pcircuit.circuit import Circuit, InnerRegion, InputRegion, check_distribution
from pcircuit.evidence import as_integer_table, refuse_out_of_range
from pcircuit.inference.likelihood import cut_rows, tiny_circuit, upward
from pcircuit.inference.log_domain import log_of, log_units
from pcircuit.inference.threads import count_jobs, map_in_threads
from pcircuit.inference.unit_likelihoods import checked_nodes
from pcircuit.kernels.engine import Kernels, numpy_seconds
from pcircuit.moments.kernels.expectation_arrays import (
    as_free,
    column_of_each_node,
    expectation_arrays,
    new_scratch,
)

BLOCK_VALUES = 4_000_000  # entries of the matrices of a block of rows
STEPS, PAIR_SECONDS = (
    4,
    2e-9,
)  # of NumPy: for a region, where likelihoods take one; for a pair of units and a row


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
    data : (N, V) integer array_like
        Evidence.  What is missing (-1, NaN or masked) is integrated out, in the likelihoods as in the condition.  Of
        variables that are not given nothing else counts but that they are not missing.
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
    rows, _, mask = (
        as_integer_table(circuit, data),
        count_jobs(n_jobs),
        _checked_mask(circuit, given),
    )
    wanted, places = np.unique(checked_nodes(circuit, nodes), return_inverse=True)
    refuse_out_of_range(circuit, rows)
    with memory_for(
        f"a table of {len(rows)} rows and {len(wanted)} nodes",
        8 * len(rows) * len(wanted),
        "pass fewer rows at a time or fewer `nodes`",
    ):
        result = np.empty((len(rows), len(wanted)))
    if EXPECTATIONS.in_numpy(_seconds(circuit, len(rows))):
        step = max(1, BLOCK_VALUES // sum(2 * region.num_nodes**2 for region in circuit.regions))
        for start in range(0, len(rows), step):
            result[start : start + step] = _in_numpy(
                circuit, rows[start : start + step], mask, wanted
            )
    else:
        _by_kernel(circuit, rows, mask, wanted, result, n_jobs)
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


def _seconds(circuit: Circuit, N: int) -> float:
    """About what NumPy takes for N rows."""
    pairs = sum(region.num_nodes**2 * min(8, region.num_nodes) for region in circuit.regions)
    return numpy_seconds(STEPS * circuit.num_regions, PAIR_SECONDS * pairs, N)


def _by_kernel(
    circuit: Circuit, rows: Evidence, given: Bools, nodes: Ints, result: Floats, n_jobs: int | None
) -> None:
    """Fill the result by the kernel, in threads."""
    from pcircuit.moments.kernels.expected_units import expect_rows

    arrays, free = expectation_arrays(circuit), as_free(given)
    column = column_of_each_node(nodes, circuit.num_nodes)

    def fill(chunk: tuple[int, int]) -> None:
        part, work = slice(*chunk), new_scratch(arrays, circuit.num_variables)
        expect_rows(
            arrays, work, np.require(rows[part], np.int64, ["C", "W"]), free, column, result[part]
        )

    with map_in_threads(fill, cut_rows(circuit, len(rows)), n_jobs) as done:
        for _ in done:
            pass


EXPECTATIONS = Kernels(
    "expected likelihoods",
    lambda: expected_node_likelihoods(tiny_circuit(), [[0, 0]], [True, False]),
)


def _in_numpy(circuit: Circuit, rows: Evidence, given: Bools, nodes: Ints) -> Floats:
    """(n, m) expected likelihoods of a block of rows."""
    known = np.where(given, rows.astype(np.int64), -1)
    omega, possible = _posteriors(circuit, known)
    means: list[Floats] = []
    of_products: list[Any] = []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            v = region.variable
            means.append(_means_of_inputs(region, rows[:, v].astype(np.int64), bool(given[v])))
            of_products.append(None)
            continue
        inside = np.ones((1, 1, 1))
        for c, units in zip(circuit.vtree.children(r).tolist(), region.products.T, strict=True):
            inside = inside * means[c][:, units[:, None], units]
        of_products.append(inside)
        means.append(omega[r] @ inside @ region.dense_weights().T)
    flows: list[Any] = [None] * circuit.num_regions
    flows[-1] = np.ones((len(rows), 1, 1))
    expected, regions = np.empty((len(rows), len(nodes))), circuit.nodes.region[nodes]
    for r in range(circuit.num_regions - 1, -1, -1):
        region, found = circuit.regions[r], [(flows[r] @ means[r])[:, 0]]
        if isinstance(region, InnerRegion):
            used = flows[r] @ omega[r]
            found.insert(0, (used @ of_products[r])[:, 0])
            for c, units in zip(circuit.vtree.children(r).tolist(), region.products.T, strict=True):
                flows[c] = used @ np.eye(means[c].shape[2])[units]
        places = np.flatnonzero(regions == r)
        expected[:, places] = np.concatenate(found, axis=1)[
            :, nodes[places] - int(circuit.offsets[r])
        ]
    return np.where(possible[:, None], expected, np.nan)


def _posteriors(circuit: Circuit, known: Ints) -> tuple[list[Any], Bools]:
    """Per inner region omega (n, S, P) given what is known; and (n,) whether that is possible."""
    shown, products, _, suspect = upward(circuit, known)
    omega: list[Any] = [None] * circuit.num_regions
    inner = [
        (r, region) for r, region in enumerate(circuit.regions) if isinstance(region, InnerRegion)
    ]
    for r, region in inner:
        joint = products[r].T[:, None, :] * region.dense_weights()
        omega[r] = np.divide(
            joint,
            shown[r].T[:, :, None],
            out=np.zeros(joint.shape),
            where=shown[r].T[:, :, None] > 0,
        )
    possible = shown[-1][0] > 0
    if suspect.any():
        logs, log_products = log_units(circuit, known[suspect])
        for r, region in inner:
            total = logs[r].T[:, :, None]
            share = np.exp(
                log_products[r].T[:, None, :]
                - np.where(total > -np.inf, total, np.inf)
                + log_of(region.dense_weights())
            )
            omega[r][suspect] = share
        possible[suspect] = logs[-1][0] > -np.inf
    return omega, possible


def _means_of_inputs(region: InputRegion, values: Ints, is_given: bool) -> Floats:
    """(n or 1, K, K) C of an input region."""
    holes = (values < 0)[:, None, None]
    total = np.broadcast_to(region.probs.sum(axis=1), (region.num_units,) * 2)
    if is_given:
        return np.where(holes, total, region.probs.T[np.maximum(values, 0)][:, None, :])
    overlap: Floats = (region.probs @ region.probs.T)[None]
    return np.where(holes, total, overlap) if holes.any() else overlap
