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

from dataclasses import dataclass
from typing import Any

import numpy as np

from pcircuit.arguments import Bools, Floats, Ints
from pcircuit.circuit import Circuit
from pcircuit.moments.rounding import region_rounding
from pcircuit.moments.unit_pairs import num_pairs
from pcircuit.vtree import VTree

BLOCK = 1 << 14  # numbers in the largest table of a batch
OPEN = 1 << 18  # numbers in the Gram tensors of a subtree whose regions may wait together


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
    batches: list[Ints]  # regions that are computed together, children before their parents

    def own(self, r: int) -> tuple[Ints, Ints, Floats]:
        """Selected units of region r: local numbers of its products, of its shown units, and their weights."""
        here = slice(self.start[r], self.start[r + 1])
        local = self.nodes[here] - self.circuit.offsets[r]
        region = self.circuit.regions[r]
        num_inside = (
            region.num_nodes - region.num_units
        )  # the products, which stay inside; none at a leaf
        return (
            local[local < num_inside],
            local[local >= num_inside] - num_inside,
            self.weights[here],
        )


def make_plan(circuit: Circuit, nodes: Ints, weights: Floats) -> Plan:
    """The plan for a checked selection `nodes` (m,) with weights (m,)."""
    vtree = circuit.vtree
    start = np.searchsorted(nodes, circuit.offsets)
    below = start[1:] > start[vtree.first]
    is_inner = vtree.variables < 0
    has_own = is_inner & (start[1:] > start[:-1])
    nested = np.zeros(len(is_inner), dtype=bool)
    parents = vtree.parents.tolist()
    for r in range(len(parents) - 2, -1, -1):  # parents have larger numbers
        nested[r] = nested[parents[r]] or has_own[parents[r]]
    needed = nested | has_own
    batches = _batches(circuit, nodes, start, below, needed)
    return Plan(
        circuit, nodes, weights, start, below, nested, needed, region_rounding(circuit), batches
    )


def _batches(circuit: Circuit, nodes: Ints, start: Ints, below: Bools, needed: Bools) -> list[Ints]:
    """Regions with equal products, numbers of units and selections, as many as their tables allow, children first.

    Only regions of one small subtree, all of whose tables may be open at once, are taken together.
    """
    vtree, numbers = circuit.vtree, np.arange(circuit.num_regions)
    units = np.array([region.num_units for region in circuit.regions])
    shape, height, triples = np.zeros_like(numbers), np.zeros_like(numbers), units**3
    shapes: dict[Any, int] = {}
    region: Any
    for r, region in enumerate(circuit.regions):
        children = vtree.children(r)
        kind: Any = region.num_categories or (r,)  # families that are no tables come one by one
        if len(children):
            triples[r] = max(region.num_products, units[r]) ** 3
            height[r] = 1 + height[children].max()
            kind = (units[children].tobytes(), region.products.tobytes())
        own = nodes[start[r] : start[r + 1]] - circuit.offsets[r]
        key = units[r], kind, own.tobytes(), needed[r]
        shape[r] = shapes.setdefault(key, len(shapes))
    pairs = np.cumsum(num_pairs(units) ** 2)
    is_small = pairs - pairs[vtree.first] <= OPEN
    head = numbers.copy()  # the top of the largest small subtree that a region is in
    for r, parent in reversed(list(enumerate(vtree.parents[:-1].tolist()))):
        head[r] = head[parent] if is_small[parent] else r
    position = np.argsort(_heavy_first(vtree))[head]
    wanted = np.flatnonzero(below | needed)
    order = wanted[np.lexsort([key[wanted] for key in (numbers, shape, height, position)])]
    breaks = (
        np.flatnonzero(np.diff([key[order] for key in (shape, height, position)]).any(axis=0)) + 1
    )
    return [
        run[first : first + step]
        for run in np.split(order, breaks)
        for step in [max(1, int(BLOCK // triples[run[0]]))]
        for first in range(0, len(run), step)
    ]


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
