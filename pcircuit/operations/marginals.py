"""Marginals: the circuit of a subset of the variables.

To sum a variable out of a circuit, its inputs are replaced by their totals, because summation passes through sums and
products:

    sum_x of input k:      t_k = sum_x probs[k, x]
    of product p:          prod_c t_{u(p,c)}              u(p,c): the unit of child c in product p
    of sum k:              t_k = sum_p weights[k, p] * total of product p

All totals are 1 in a distribution.  What remains is made smaller, region by region from the leaves to the
root, so that the result is a circuit over the remaining variables alone.  An inner region whose children are

* all gone            is summed out itself, and hands its totals upwards;
* some gone           drops those: their totals multiply the weights,  W[k,p] <- W[k,p] prod_gone t_{u(p,c)};
* all gone but one    is then merged with that child, since a sum of sums is a sum:

      W'[k,j] = sum_p W[k,p] W_child[u(p),j]      or, if the child is a leaf,      probs' = W probs_child[u].

The v-tree shrinks with it.  Its nodes are visited in post-order and a merged region takes the place of its child,
so the remaining nodes are again in post-order.

Marginal tables of single variables and of pairs, all in one pass.

With q_r the top-down masses of region r (`inference.masses`), the marginal of a variable is a mixture of the rows
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

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pcircuit.arguments import (
    Bools,
    Floats,
    Ints,
    Weights,
    check_integers,
    check_whole_number,
    is_listing,
    shown,
)
from pcircuit.circuit import Circuit, InnerRegion, InputRegion, check_circuit, check_distribution
from pcircuit.inference.masses import unit_masses
from pcircuit.vtree import VTree


def marginalize(
    circuit: Circuit, variables: Iterable[int] | None = None, *, keep: Iterable[int] | None = None
) -> Circuit:
    """Sum variables out of a circuit: g(x_keep) = sum over x_variables of f(x).

    Parameters
    ----------
    circuit : Circuit
        Normalised or not.
    variables : sequence of int, optional
        The variables to sum out; none at all returns the circuit.
    keep : sequence of int, optional
        The variables to keep instead.  Give exactly one of the two; the order does not matter.

    Returns
    -------
    Circuit
        Over the remaining variables, renumbered 0, 1, ... in ascending order of their old numbers.  A merged
        region has CSR weights where both of its parts had.

    Raises
    ------
    ValueError
        If both or none of `variables` and `keep` are given, if nothing remains, or if a variable does not
        exist or is listed twice.
    TypeError
        If `variables` or `keep` is not a sequence of integers.

    Notes
    -----
    One pass without recursion, O(number of parameters) and one matrix product per merged region.  The
    likelihood of the result equals that of the circuit with the other entries missing.  Totals of a circuit
    that is not normalised are ordinary doubles: use `pcircuit.overlap` for sums of products that may
    underflow.

    References
    ----------
    Darwiche (2003), A differential approach to inference in Bayesian networks, J. ACM 50; Choi, Vergari and
    Van den Broeck (2020), Probabilistic Circuits: A Unifying Framework for Tractable Probabilistic Models
    (marginals of smooth decomposable circuits).

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> marginalize(circuit, [0])
    Circuit(1 variables, 1 regions, 1 units, 2 parameters)
    >>> marginalize(circuit, keep=[1]).regions[0].probs.round(3)       # 0.25 * 0.7 + 0.75 * 0.4 = 0.475
    array([[0.475, 0.525]])
    """
    check_circuit(circuit)
    kept = _kept_variables(circuit.num_variables, variables, keep)
    if kept.all():
        return circuit
    renumbered = np.cumsum(kept) - 1
    regions: list[InputRegion | InnerRegion] = []  # of the result, like its `parents`
    parents: list[int] = []
    place = np.full(
        circuit.num_regions, -1
    )  # number in the result of each old region, -1 if it is gone
    totals: list[Any] = [None] * circuit.num_regions  # of the units of the regions that are gone
    vtree = circuit.vtree
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            if not kept[region.variable]:
                totals[r] = region.row_sums()
                continue
            region = InputRegion(renumbered[region.variable], region.leaves)
            children: list[int] = []
        else:
            scale, columns, children = _without_the_gone(
                region, vtree.children(r).tolist(), place, totals
            )
            weights = _columns_scaled(region.weights, scale)
            if not children:
                totals[r] = weights @ np.ones(region.num_products)
                continue
            if len(children) == 1:
                only = place[children[0]]
                merged = regions[only].merged(weights, region.products[:, columns[0]])
                if merged is not None:
                    place[r], regions[only] = only, merged
                    continue
            region = InnerRegion(region.products[:, columns], weights)
        place[r] = len(regions)
        for child in children:
            parents[place[child]] = place[r]
        regions.append(region)
        parents.append(-1)
    leaf_variables = [getattr(region, "variable", -1) for region in regions]
    return Circuit(VTree(np.array(parents), np.array(leaf_variables)), regions)


def subcircuit(circuit: Circuit, unit: int, region: int | None = None) -> Circuit:
    """A unit as a circuit: g(x_S) = l_unit(x_S), over the variables S of its region.

    Parameters
    ----------
    circuit : Circuit
        Normalised or not.
    unit : int
        Id of an input, product or sum unit.
    region : int, optional
        A region whose scope contains the unit's: the circuit is then over that scope, and does not depend on the
        other variables, g(x) = l_unit(x_S).  So it fits together with that region's marginal, and with other units.

    Returns
    -------
    Circuit
        Over the variables of the scope, renumbered 0, 1, ... in ascending order, on the same v-tree as
        ``marginalize(circuit, keep=circuit.vtree.scope(region))``.  Normalised if the circuit is, and the unit's scope
        is all of it.

    Raises
    ------
    TypeError
        If `circuit` is not a circuit, or a number not a whole one.
    ValueError
        If there is no such unit or region, or the region's scope does not contain the unit's.

    Notes
    -----
    O(size of the part): parameters are shared, not copied.

    References
    ----------
    K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection, algorithm
    1 of the supplement, which multiplies such circuits.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree, overlap
    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]), InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> subcircuit(circuit, 3).regions[0].probs                                  # the second unit of x_1
    array([[0.4, 0.6]])
    >>> round(overlap(marginalize(circuit, keep=[1]), subcircuit(circuit, 3)), 6)   # 0.475 * 0.4 + 0.525 * 0.6
    0.505
    """
    check_circuit(circuit)
    vtree, last = circuit.vtree, circuit.num_units - 1
    record = circuit.nodes[check_whole_number(unit, "unit", 0, last)]
    r = int(record.region)
    top = r if region is None else check_whole_number(region, "region", 0, circuit.num_regions - 1)
    if not vtree.is_ancestor(top, r):
        raise ValueError(
            f"`region` {top} does not contain the scope of unit {unit}, which is of region {r}: give "
            "that one, or one above it"
        )
    first, scope = int(vtree.first[top]), vtree.scope(top)
    regions: list[InputRegion | InnerRegion] = []
    own, alone = [int(record.unit)], np.ones((1, 1))
    for s in range(first, top + 1):
        known, is_outside = circuit.regions[s], not vtree.is_ancestor(r, s)
        if isinstance(known, InputRegion):
            rows = np.ones((1, known.num_categories)) if is_outside else known.probs
            rows = rows[own] if s == r else rows
            regions.append(InputRegion(int(np.searchsorted(scope, known.variable)), rows))
        elif is_outside:
            nothing = np.zeros((1, known.products.shape[1]), dtype=np.int64)
            regions.append(InnerRegion(nothing, alone))
        elif s == r and record.kind == "product":
            regions.append(InnerRegion(known.products[own], alone))
        else:
            regions.append(
                InnerRegion(known.products, known.weights[own] if s == r else known.weights)
            )
    parents = vtree.parents[first : top + 1] - first
    parents[-1] = -1
    leaves = [one.variable if isinstance(one, InputRegion) else -1 for one in regions]
    return Circuit(VTree(parents, np.array(leaves)), regions)


def _kept_variables(
    num_variables: int, variables: Iterable[int] | None, keep: Iterable[int] | None
) -> Bools:
    """(V,) bool: which variables remain."""
    if (variables is None) == (keep is None):
        raise ValueError(
            "`variables` (to sum out) or `keep` must be given, one of the two, found "
            + ("neither" if keep is None else "both")
        )
    name, listed = ("variables", variables) if keep is None else ("keep", keep)
    chosen = np.zeros(num_variables, dtype=bool)
    chosen[variable_numbers(listed, name, num_variables)] = True
    kept = ~chosen if keep is None else chosen
    if not kept.any():
        raise ValueError(
            f"`{name}` leaves no variable, but a circuit needs at least one: keep one, or use "
            "`pcircuit.overlap` for the sum of a product over all states"
        )
    return kept


def variable_numbers(values: Iterable[int] | None, name: str, num_variables: int) -> list[int]:
    """`values` as a list of different variables; a single one is refused, and so is a mask, which lists none."""
    expected = f"a sequence of different variables out of 0..{num_variables - 1}"
    if not is_listing(values) or isinstance(values, Mapping):  # an event's levels would be ignored
        raise TypeError(f"`{name}` must be {expected}, found {shown(values)}")
    listed: Any = values if isinstance(values, np.ndarray) else list(values)  # type: ignore[arg-type]
    numbers = check_integers(listed, name, expected, 0, num_variables - 1)
    if numbers.ndim != 1 or len(np.unique(numbers)) < numbers.size:
        raise ValueError(f"`{name}` must be {expected}, found {shown(listed)}")
    return [int(v) for v in numbers]


def _without_the_gone(
    region: InnerRegion, children: list[int], place: Ints, totals: list[Any]
) -> tuple[Floats, list[int], list[int]]:
    """Factor (P,) of each product from its summed-out children; columns and numbers of the other children."""
    scale = np.ones(region.num_products)
    remaining = [a for a, child in enumerate(children) if place[child] >= 0]
    for a, child in enumerate(children):
        if place[child] < 0:
            scale *= totals[child][region.products[:, a]]
            totals[child] = None
    return scale, remaining, [children[a] for a in remaining]


def _columns_scaled(weights: Weights, scale: Floats) -> Weights:
    """`weights` (K, P) with column p multiplied by scale[p]; a sparse array stays sparse."""
    if not hasattr(weights, "indptr"):
        return weights * scale
    scaled = weights.copy()
    scaled.data = weights.data * scale[weights.indices]
    return scaled


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
    for region, leaf in zip(circuit.inputs, circuit.vtree.leaf_of().tolist(), strict=True):
        tables[region.variable] = masses[leaf][0] @ region.probs
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
        if region.is_input:
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
