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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pcircuit.array_types import Bools, Floats, Ints, Weights
from pcircuit.arrays import check_integers
from pcircuit.circuit import Circuit, InnerRegion, InputRegion, check_circuit
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
        if isinstance(region, InputRegion):
            if not kept[region.variable]:
                totals[r] = region.probs.sum(axis=1)
                continue
            region = InputRegion(renumbered[region.variable], region.probs)
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
                place[r] = place[children[0]]
                regions[place[r]] = _merged(
                    weights, region.products[:, columns[0]], regions[place[r]]
                )
                continue
            region = InnerRegion(region.products[:, columns], weights)
        place[r] = len(regions)
        for child in children:
            parents[place[child]] = place[r]
        regions.append(region)
        parents.append(-1)
    leaf_variables = [
        region.variable if isinstance(region, InputRegion) else -1 for region in regions
    ]
    return Circuit(VTree(np.array(parents), np.array(leaf_variables)), regions)


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
    if not isinstance(values, Iterable):
        raise TypeError(
            f"`{name}` must be a sequence of variables, found {values!r}: write a single one as "
            f"[{values!r}]"
        )
    if isinstance(values, Mapping):  # an event, whose levels would be ignored
        raise TypeError(
            f"`{name}` must be a sequence of variables, found the mapping {values!r}: give an event to "
            "`pcircuit.condition`, or its variables as a list"
        )
    expected = "a sequence of integers, the numbers of variables"
    numbers = check_integers(
        values if isinstance(values, np.ndarray) else list(values), name, expected
    )
    if numbers.ndim != 1:
        raise ValueError(f"`{name}` must be {expected}, found shape {numbers.shape}")
    listed: list[int] = numbers.tolist()
    seen: set[int] = set()
    for v in listed:
        if not 0 <= v < num_variables:
            raise ValueError(
                f"`{name}` holds {v}, which does not exist: the variables are 0..{num_variables - 1}"
            )
        if v in seen:
            raise ValueError(f"`{name}` holds variable {v} twice: list each variable once")
        seen.add(v)
    return listed


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


def _merged(
    weights: Weights, units: Ints, child: InputRegion | InnerRegion
) -> InputRegion | InnerRegion:
    """The region that `weights` (K, P) over units (P,) of the only child make: one of the child's kind."""
    if isinstance(child, InputRegion):
        return InputRegion(child.variable, weights @ child.probs[units])
    return InnerRegion(child.products, weights @ child.weights[units])
