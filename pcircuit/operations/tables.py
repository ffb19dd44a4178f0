"""Marginal tables of single variables and of pairs, all in one pass.

With q_r the top-down masses of region r (`pcircuit.unit_masses`), the marginal of a variable is a mixture of the rows
of its table, P(x_v) = sum_k q[k] p_k(x_v).  For pairs carry, for each region and each variable v below it, the table
t_v[k, c] = P_k(x_v = c) of its units,

    inputs     t_v = probs          products   t_v[p] = t_v of the unit u(p, c) with v below child c
    sums       t_v = W t_v

Two variables meet in the region r where their leaves join, below different children a and b, and there

    P(x_u = i, x_v = j) = sum_p qp[p] t_u[u(p, a), i] t_v[u(p, b), j].

A variable is carried no further than to the last region in which it meets another one of the pairs that are asked for:
the edges of a tree of dependences meet near their leaves, and all of them together then cost about as much as the
parameters do, however deep the v-tree is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pcircuit.arguments import is_listing
from pcircuit.arrays import check_integers
from pcircuit.circuit import Circuit, check_distribution
from pcircuit.inference.masses import unit_masses
from pcircuit.regions import InputRegion


def marginal_tables(circuit: Circuit) -> list[np.ndarray]:
    """Marginal distributions of all variables.

    Parameters
    ----------
    circuit : Circuit
        Normalised.

    Returns
    -------
    list of (C_v,) float64 arrays
        P(x_v = c), by variable.

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    O(number of parameters).

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> [table.round(3).tolist() for table in marginal_tables(circuit)]
    [[0.375, 0.625], [0.475, 0.525]]
    """
    check_distribution(circuit)
    masses = unit_masses(circuit)
    tables: list[Any] = [None] * circuit.num_variables
    for (q, _), region in zip(masses, circuit.regions, strict=True):
        if isinstance(region, InputRegion):
            tables[region.variable] = q @ region.probs
    return tables


def pairwise_tables(
    circuit: Circuit, pairs: Iterable[tuple[int, int]] | None = None
) -> dict[tuple[int, int], np.ndarray]:
    """Joint distributions of pairs of variables, all of them in one pass.

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    pairs : iterable of (int, int), optional
        Pairs of different variables; by default all (u, v) with u < v.

    Returns
    -------
    dict of (u, v) to (C_u, C_v) float64 array
        P(x_u = i, x_v = j), keyed by the pairs as they were given.

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If an argument is of the wrong kind, or a pair names a variable twice, or one that does not exist.

    Notes
    -----
    O(P C^2) for each pair, and O(K P C) for each region that a variable passes on the way to where it last meets
    another; O(R V K P C) for all pairs.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> pairwise_tables(circuit)[0, 1].round(4)
    array([[0.2175, 0.1575],
           [0.2575, 0.3675]])
    """
    check_distribution(circuit)
    V = circuit.num_variables
    wanted = (
        [(u, v) for u in range(V) for v in range(u + 1, V)]
        if pairs is None
        else _checked_pairs(pairs, V)
    )
    masses: list[Any] = list(unit_masses(circuit))
    vtree, leaf = circuit.vtree, circuit.vtree.leaf_of()
    meeting: dict[int, list[Any]] = {}
    for u, v in wanted:
        meeting.setdefault(vtree.lowest_common_ancestor(int(leaf[u]), int(leaf[v])), []).append(
            (u, v)
        )
    last = {
        v: r for r in sorted(meeting) for pair in meeting[r] for v in pair
    }  # regions are in post-order
    below: list[Any] = [None] * len(circuit.regions)  # per region: variable -> (K, C_v)
    found: dict[Any, Any] = {}
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            below[r] = {region.variable: region.probs} if region.variable in last else {}
            continue
        inside = {}  # variable -> (P, C_v)
        for a, c in enumerate(vtree.children(r).tolist()):
            inside.update({v: table[region.products[:, a]] for v, table in below[c].items()})
            below[c] = None
        for u, v in meeting.get(r, ()):
            found[u, v] = (masses[r][1][:, None] * inside[u]).T @ inside[v]
        below[r] = {v: region.weights @ table for v, table in inside.items() if last[v] > r}
    return {pair: found[pair] for pair in wanted}


def _checked_pairs(pairs: Iterable[tuple[int, int]], num_variables: int) -> list[tuple[int, int]]:
    """`pairs` as a list of pairs of different variables."""
    expected = f"pairs of different variables out of 0..{num_variables - 1}"
    if not is_listing(pairs):
        raise TypeError(f"`pairs` must be {expected}, found {pairs!r}")
    numbers = [check_integers(pair, "pairs", expected, 0, num_variables - 1) for pair in pairs]
    for pair in numbers:
        if pair.shape != (2,) or pair[0] == pair[1]:
            raise ValueError(f"`pairs` must be {expected}, found {tuple(pair.ravel().tolist())}")
    return [(int(u), int(v)) for u, v in numbers]
