"""What the moment recursions need to know before they start: the selected units of each region, and the masses.

Node ids run region by region, so the selected units of region r are the slice ``start[r]:start[r + 1]`` of the
vector, those at or below r the slice ``start[first[r]]:start[r + 1]``.

A pass from the root to the leaves gives the top-down mass of every unit, the probability that a sample passes
through it: q (K,) of the units a region shows, and qp = weights^T q (P,) of its products.  Both sum to one in every
region, because a sample passes through each region exactly once; hence the marginal distribution of the scope of
a region is the mixture sum_a q[a] p_a.

Which tables a region needs depends on where the selected units are.

    below[r]     something at or below r is selected
    nested[r]    a unit of a region above r is selected, so that covariances of units with nested scopes pass r
    needed[r]    nested[r], or a product or sum of r itself is selected: overlaps of the units of r are needed
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcircuit.arguments import Bools, Floats, Ints
from pcircuit.circuit import Circuit
from pcircuit.moments.rounding import region_rounding
from pcircuit.vtree import VTree


@dataclass(frozen=True)
class Plan:
    """A circuit, a selection of its units with weights, and what follows from them; R regions, m nodes."""

    circuit: Circuit
    nodes: Ints  # (m,) ascending
    weights: Floats  # (m,) positive: coordinate j is weights[j] * likelihood of node j
    start: Ints  # (R + 1,) where the nodes of each region start in `nodes`
    below: Bools  # (R,)
    nested: Bools  # (R,)
    needed: Bools  # (R,)
    rounding: Floats  # (R,) relative errors of likelihoods, see `pcircuit.moments.rounding`
    order: Ints  # regions, children before their parent, the child with the larger subtree first

    def own(self, r: int) -> tuple[Ints, Ints, Floats]:
        """Selected units of region r: local numbers of its products, of its shown units, and their weights."""
        here = slice(self.start[r], self.start[r + 1])
        local = self.nodes[here] - self.circuit.offsets[r]
        region = self.circuit.regions[r]
        num_hidden = region.num_nodes - region.num_units  # the products; none at a leaf
        return (
            local[local < num_hidden],
            local[local >= num_hidden] - num_hidden,
            self.weights[here],
        )


def make_plan(circuit: Circuit, nodes: Ints, weights: Floats) -> Plan:
    """The plan for a checked selection `nodes` (m,) with weights (m,).

    Shapes: nodes (m,), weights (m,).
    """
    vtree = circuit.vtree
    start = np.searchsorted(nodes, circuit.offsets)
    below = start[1:] > start[vtree.first]
    is_inner = vtree.variables < 0
    has_own = is_inner & (start[1:] > start[:-1])
    nested = np.zeros(len(is_inner), dtype=bool)
    parents = vtree.parents.tolist()
    for r in range(len(parents) - 2, -1, -1):  # parents have larger numbers
        nested[r] = nested[parents[r]] or has_own[parents[r]]
    return Plan(
        circuit,
        nodes,
        weights,
        start,
        below,
        nested,
        nested | has_own,
        region_rounding(circuit),
        _heavy_first(vtree),
    )


def _heavy_first(vtree: VTree) -> Ints:
    """(R,) regions in a post-order that visits larger subtrees first: then few tables are open at any time."""
    numbers = np.arange(vtree.num_nodes)
    size = numbers - vtree.first + 1
    children = np.lexsort((-size, vtree.parents))[
        1:
    ].tolist()  # by parent, heavy first; the root sorts to the front
    first = np.concatenate(
        [[0], np.cumsum(np.bincount(vtree.parents[:-1], minlength=len(numbers)))]
    ).tolist()
    backwards, waiting = [], [vtree.root]
    while waiting:
        r = waiting.pop()
        backwards.append(r)
        waiting.extend(children[first[r] : first[r + 1]])
    return np.array(backwards[::-1])
