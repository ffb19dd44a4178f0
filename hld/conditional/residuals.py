r"""The likelihood vector less its mean given the covariates: L(x, y) - E[L(x, Y) | X = x], exactly, in one pass.

The circuit's distribution of the free variables Y given X = x runs through the same regions as the circuit.  Going up
with Y summed out gives v_i(x) for every unit i, and for a sum s the posterior probabilities of its products,

.. math:: \omega_{sp}(x) = w_{sp} v_p(x) / v_s(x).

Let C_ij(x) be the mean of unit j's likelihood l_j(x, Y) if unit i of the same region draws Y given x.  Bottom-up:

    input of a covariate          C_ij = p_j(x)
    input of a free variable      C_ij = sum_c p_i(c) p_j(c)
    a hole, either way            C_ij = 1, as in L
    products p, q                 C_pq = the product over the children of C at the children of p and of q
    sums s, t                     C_st = sum_pq omega_sp w_tq C_pq

and with the probability f_i(x) that the posterior uses unit i of its region (top-down by omega, 1 at the root)

.. math:: E[l_j(x, Y) \mid X = x] = \sum_i f_i(x) \, C_{ij}(x).

All of these numbers are in [0, 1]: nothing that matters underflows.  The residual has mean zero given x, so it has mean
zero whatever the distribution of X is.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import pcircuit

BLOCK_VALUES = 4_000_000  # entries of matrices that are held at a time


def residuals(circuit: pcircuit.Circuit, nodes: np.ndarray, rows: np.ndarray, given: np.ndarray) -> np.ndarray:
    """(n, m) L(x, y) - E[L(x, Y) | X = x] of the nodes.

    Parameters
    ----------
    circuit : pcircuit.Circuit
        Normalised.
    nodes : (m,) int array
    rows : (n, V) int array
        -1 for a hole, which is summed out on both sides.
    given : (V,) bool array
        Which variables are covariates.

    Returns
    -------
    (n, m) float array
        0 for nodes over covariates only, and for rows whose covariates are impossible under the circuit.

    Notes
    -----
    O(sum over regions of P^2 S) a row, for regions of P products and S sums.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> inputs = [InputRegion(0, [[1.0, 0.0], [0.0, 1.0]]), InputRegion(1, [[0.5, 0.5], [0.2, 0.8]])]
    >>> pair = Circuit(VTree.from_nested([0, 1]), [*inputs, InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])])
    >>> residuals(pair, np.array([3]), np.array([[1, 1], [1, 0]]), np.array([True, False])).round(3)   # 0.8, 0.2 - 0.68
    array([[ 0.12],
           [-0.48]])
    """
    found = np.empty((len(rows), len(nodes)))
    work = sum(2 * region.num_nodes ** 2 for region in circuit.regions)
    step = max(1, BLOCK_VALUES // work)
    for start in range(0, len(rows), step):
        block = rows[start:start + step]
        expected, possible = conditional_means(circuit, nodes, block, given)
        actual = pcircuit.node_likelihoods(circuit, block, nodes=nodes)
        found[start:start + step] = np.where(possible[:, None], actual - expected, 0.0)
    known = _scopes_within(circuit, given)[circuit.nodes.region[nodes]]
    found[:, known] = 0.0
    return found


def conditional_means(circuit: pcircuit.Circuit, nodes: np.ndarray, rows: np.ndarray,
                      given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, m) E[L(x, Y) | X = x], and (n,) whether x is possible under the circuit.

    Parameters
    ----------
    circuit : pcircuit.Circuit
    nodes : (m,) int array
    rows : (n, V) integer array
        -1 where missing; entries of variables that are not given are not looked at.
    given : (V,) bool array
        The covariates X.

    Returns
    -------
    means : (n, m) float array
    possible : (n,) bool array
    """
    above: list[np.ndarray] = []
    means: list[np.ndarray] = []
    posterior: list[Any] = []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, pcircuit.InputRegion):
            value, mean = _input(region, rows[:, region.variable], bool(given[region.variable]))
            parts: Any = None
        else:
            children = circuit.vtree.children(r).tolist()
            value, mean, parts = _inner(region, [above[c] for c in children], [means[c] for c in children])
        above.append(value)
        means.append(mean)
        posterior.append(parts)
    flows: list[Any] = [None] * len(above)
    flows[-1] = np.zeros((len(rows), above[-1].shape[1]))
    flows[-1][:, -1] = 1.0
    expected = np.empty((len(rows), len(nodes)))
    regions, first = circuit.nodes.region[nodes], np.asarray(circuit.offsets)
    for r in range(len(above) - 1, -1, -1):
        places = np.flatnonzero(regions == r)
        here = _mean_of_units(flows[r], means[r], posterior[r])
        expected[:, places] = here[:, nodes[places] - first[r]]
        if posterior[r] is not None:
            _hand_down(circuit, r, flows, posterior[r][0])
    return expected, np.broadcast_to(above[-1][:, -1] > 0, len(rows))


def _input(region: pcircuit.InputRegion, values: np.ndarray, is_given: bool) -> tuple[np.ndarray, np.ndarray]:
    """(n or 1, K) v and (n or 1, K, K) C of an input region."""
    probs, holes = region.probs, values < 0
    K = len(probs)
    overlap = (probs @ probs.T)[None]
    if not is_given:
        mean = np.where(holes[:, None, None], 1.0, overlap) if holes.any() else overlap
        return np.ones((1, K)), mean
    seen = np.where(holes, 0, values)
    shown = np.where(holes[:, None], 1.0, probs.T[seen])
    return shown, np.broadcast_to(shown[:, None, :], (len(values), K, K))


def _inner(region: pcircuit.InnerRegion, above: list[np.ndarray], means: list[np.ndarray]) -> tuple[Any, ...]:
    """v and C of the sums of a region, and what the way down needs: omega, C of the products, w."""
    products = region.products
    weights = region.weights.toarray() if region.is_sparse else np.asarray(region.weights)
    value, mean = np.ones((1, len(products))), np.ones((1, len(products), len(products)))
    for a, (own, inside) in enumerate(zip(above, means, strict=True)):
        value = value * own[:, products[:, a]]
        mean = mean * inside[:, products[:, a][:, None], products[:, a]]
    joint = weights * value[:, None, :]
    total = joint.sum(axis=2)
    omega = np.divide(joint, total[:, :, None], out=np.zeros(joint.shape), where=total[:, :, None] > 0)
    largest = total.max(axis=1, keepdims=True)
    return total / np.where(largest > 0, largest, 1.0), omega @ mean @ weights.T, (omega, mean)


def _mean_of_units(flow: np.ndarray, mean: np.ndarray, parts: Any) -> np.ndarray:
    """(n, units) sum_i f_i C_ij of all units of a region: products, where it has any, and what it shows."""
    shown = (flow[:, None, :] @ mean)[:, 0]
    if parts is None:
        return shown
    omega, of_products = parts
    used = (flow[:, None, :] @ omega)
    return np.concatenate([(used @ of_products)[:, 0], shown], axis=1)


def _hand_down(circuit: pcircuit.Circuit, r: int, flows: list[Any], omega: np.ndarray) -> None:
    """The flows of the regions below region r."""
    parent: Any = circuit.regions[r]
    products = parent.products
    used = (flows[r][:, None, :] @ omega)[:, 0]
    for a, child in enumerate(circuit.vtree.children(r).tolist()):
        region = circuit.regions[child]
        count = region.num_nodes if isinstance(region, pcircuit.InputRegion) else region.num_nodes - region.num_products
        chosen = np.zeros((len(products), count))
        chosen[np.arange(len(products)), products[:, a]] = 1.0
        flows[child] = used @ chosen


def _scopes_within(circuit: pcircuit.Circuit, given: np.ndarray) -> np.ndarray:
    """(regions,) whether all variables of a region are covariates."""
    regions: Sequence[Any] = circuit.regions
    within = np.empty(len(regions), dtype=bool)
    for r, region in enumerate(regions):
        children = circuit.vtree.children(r)
        within[r] = within[children].all() if len(children) else given[region.variable]
    return within
