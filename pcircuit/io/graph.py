"""Circuits as graphs of single units, the way text formats have them, and how such a graph becomes regions.

A text format lists units one by one: inputs, products of units, weighted sums of units.  A `Circuit` holds the same
units region by region over a v-tree.  Every smooth graph whose scopes are pairwise equal, nested or disjoint can be
written in both ways.  Bottom-up, each unit becomes a *mixture*: of the products of its region, or of the categories of
its variable,

    input unit                      mixture of the categories that it gives a probability to
    product of units f_1, f_2, ...  one product: for each child of the region, the unit with that scope
    sum of units n_1, n_2, ...      mixture(n) = sum_i w_i mixture(n_i)

so a sum of sums becomes one sum with multiplied weights.  Where the factors of a product lie more than one level below
it, the products in between are added; they change no value.  The v-tree is the given one, or that of the scopes
themselves.

Scopes are sets of variables kept as the bits of whole numbers, each set once: a chain of V variables has scopes of
V^2 / 16 to V^2 / 8 bytes.

A few bytes can stand for a large table: an indicator of one among a million categories, a binomial, sums of sums.
Such entries are counted before they are made, against the size of the file, so that no file of some kilobytes fills the
memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.circuit import Circuit
from pcircuit.regions import InnerRegion, InputRegion, StructureError
from pcircuit.vtree import VTree

MOST_SCOPES = 2**31  # bytes of all different scopes together
DENSE_SHARE = 0.25  # share of weights that are not zero, from which a region keeps them dense
MOST_ENTRIES = 16  # for each byte of a file: entries of tables and sums that it does not write out,
SPARE_ENTRIES = 2**23  # and so many more

Mixture: TypeAlias = tuple[Ints, Floats]  # numbers of products, or categories, and their weights


class Unit(NamedTuple):
    """An input, which has a variable and a mixture of some of its categories, or else a product or a sum."""

    label: str
    kind: str
    children: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    variable: int = -1
    mixture: Any = None
    num_categories: int = 0


@dataclass
class Graph:
    """Units in an order in which children come before their parents; filled by the readers of formats."""

    num_bytes: int = 0
    units: list[Unit] = field(default_factory=list)
    spent: int = 0  # entries so far that the file does not write out

    def add_input(self, label: str, variable: int, probs: np.ndarray) -> int:
        """Append an input unit with the given probabilities of its categories; its position."""
        places = np.flatnonzero(probs)
        mixture = places, np.asarray(probs, dtype=np.float64)[places]
        return self._add(Unit(label, "input", (), (), variable, mixture, len(probs)))

    def add_indicator(self, label: str, variable: int, value: int, num_categories: int) -> int:
        """Append an input unit that is one at a single category; its position."""
        mixture = np.array([value]), np.ones(1)
        return self._add(Unit(label, "input", (), (), variable, mixture, num_categories))

    def add_product(self, label: str, children: Sequence[int]) -> int:
        """Append a product; its position."""
        return self._add(Unit(label, "product", tuple(children)))

    def add_sum(self, label: str, children: Sequence[int], weights: Sequence[float]) -> int:
        """Append a weighted sum; its position."""
        return self._add(Unit(label, "sum", tuple(children), tuple(weights)))

    def spend(self, entries: int) -> None:
        """Count entries that the file does not write out, before they are made; refuse too many."""
        self.spent += entries
        allowed = MOST_ENTRIES * self.num_bytes + SPARE_ENTRIES
        if self.spent > allowed:
            raise StructureError(
                f"its tables and sums would have more than {allowed} entries that the file of "
                f"{self.num_bytes} bytes does not write out: such a circuit is not read"
            )

    def below(self, root: int) -> list[int]:
        """Positions of the units below the root, ascending: children first."""
        reached = {root}
        for i in range(root, -1, -1):
            if i in reached:
                reached.update(self.units[i].children)
        return sorted(reached)

    def _add(self, unit: Unit) -> int:
        self.units.append(unit)
        return len(self.units) - 1


def circuit_of_graph(graph: Graph, root: int, vtree: VTree | None = None) -> Circuit:
    """The circuit of a graph of units.

    O(edges), plus the entries that `Graph.spend` counts, plus V bits for each product and each region.
    """
    order = graph.below(root)
    inputs = [graph.units[i] for i in order if graph.units[i].kind == "input"]
    num_variables = len({unit.variable for unit in inputs})
    last = max(unit.variable for unit in inputs)
    if last >= num_variables:
        missing = min(set(range(last)) - {unit.variable for unit in inputs})
        raise StructureError(
            f"the circuit has no unit for variable {missing}, but for variable {last}: "
            "variables must be numbered without gaps"
        )
    scopes = _scopes(graph, order)
    if vtree is None:
        vtree = _vtree_of(graph, scopes)
    elif vtree.num_variables != num_variables:
        raise StructureError(
            f"the v-tree has {vtree.num_variables} variables and the circuit {num_variables}"
        )
    lowering = _Lowering(graph, scopes, vtree)
    with np.errstate(over="ignore", invalid="ignore"):  # the regions refuse what is not finite
        for i in order:
            lowering.read(i)
    lowering.shown(lowering.region_of[scopes[root]], lowering.mixtures[root])
    lowering.mixtures.clear()
    return Circuit(vtree, lowering.regions(inputs))


def variables_of(scope: int) -> list[int]:
    """The variables in a scope given as bits, ascending."""
    return [v for v, bit in enumerate(reversed(bin(scope)[2:])) if bit == "1"]


def _scopes(graph: Graph, order: list[int]) -> dict[int, int]:
    """Unit -> its scope as bits, one object for each; sums must be smooth and products decomposable."""
    scopes: dict[int, int] = {}
    known: dict[int, int] = {}
    num_bytes = 0
    for i in order:
        unit = graph.units[i]
        scope = scopes[unit.children[0]] if unit.children else 1 << unit.variable
        for c in unit.children[1:]:
            if unit.kind == "sum" and scopes[c] != scope:
                raise StructureError(
                    f"sum {unit.label} is not smooth: its children {graph.units[unit.children[0]].label} "
                    f"and {graph.units[c].label} have different variables"
                )
            if unit.kind == "product" and scopes[c] & scope:
                raise StructureError(
                    f"product {unit.label} is not decomposable: its child {graph.units[c].label} "
                    "shares a variable with another child"
                )
            scope |= scopes[c]
        if scope not in known:
            num_bytes += scope.bit_length() // 8
            if num_bytes > MOST_SCOPES:
                raise StructureError(
                    f"the sets of variables of its units would take more than {MOST_SCOPES} bytes, as "
                    "in chains of some hundred thousand variables: such a circuit is not read"
                )
        scopes[i] = known.setdefault(scope, scope)
    return scopes


def _vtree_of(graph: Graph, scopes: dict[int, int]) -> VTree:
    """The v-tree of nested scopes, smallest first; raises where two of them overlap."""
    distinct = sorted(set(scopes.values()), key=int.bit_count)
    V = distinct[-1].bit_length()
    nodes: list[tuple[int, Any]] = [(1 << v, v) for v in range(V)]  # (scope, nested list)
    above = list(range(V))  # a node that holds this one; itself for the largest so far
    for scope in distinct:
        below, rest = [], scope
        while (
            rest
        ):  # one node after the other, not one variable: chains are as deep as they have variables
            top = _top(above, (rest & -rest).bit_length() - 1)
            if nodes[top][0] & ~scope:
                first, second = (
                    next(graph.units[i].label for i, own in scopes.items() if own == bits)
                    for bits in (nodes[top][0], scope)
                )
                raise StructureError(
                    f"the circuit is not structured-decomposable: the scopes of unit {first} and unit "
                    f"{second} overlap and neither contains the other, so no v-tree has both"
                )
            below.append(top)
            rest &= ~nodes[top][0]
        if len(below) > 1:
            above.append(len(nodes))
            for node in below:
                above[node] = len(nodes)
            nodes.append((scope, [nodes[node][1] for node in below]))
    return VTree.from_nested(nodes[_top(above, 0)][1])


def _top(above: list[int], node: int) -> int:
    """The largest node that holds this one; what is on the way is led past half of it."""
    while above[node] != node:
        above[node] = above[above[node]]
        node = above[node]
    return node


class _Lowering:
    """Regions in the making: the products of each, and the mixtures that it shows."""

    def __init__(self, graph: Graph, scopes: dict[int, int], vtree: VTree) -> None:
        self.graph, self.scopes, self.vtree = graph, scopes, vtree
        self.children, self.parents = vtree.child_lists(), vtree.parents.tolist()
        self.region_of = self._lowest_regions()  # by scope
        self.mixtures: dict[int, Mixture] = {}  # by unit
        # of each region: units of the children -> number of their product; bytes of a mixture -> number of the unit
        self.products: list[dict[tuple[int, ...], int]] = [{} for _ in self.parents]
        self.rows: list[dict[tuple[bytes, bytes], int]] = [{} for _ in self.parents]

    def _lowest_regions(self) -> dict[int, int]:
        """Scope -> the lowest region that has it."""
        wanted = set(self.scopes.values())
        found: dict[int, int] = {}
        bits: dict[int, int] = {}  # of the regions whose parents are still to come
        for r, v in enumerate(self.vtree.variables.tolist()):
            bits[r] = 1 << v if v >= 0 else sum(bits.pop(c) for c in self.children[r])
            if bits[r] in wanted:
                found.setdefault(bits[r], r)
        return found

    def read(self, i: int) -> None:
        """Give unit i its mixture."""
        unit = self.graph.units[i]
        r = self.region_of.get(self.scopes[i])
        if r is None:
            raise StructureError(
                f"{unit.kind} {unit.label} does not follow the v-tree, which has no node with its variables"
            )
        if unit.kind == "input":
            self.mixtures[i] = unit.mixture
        elif unit.kind == "sum":
            self.mixtures[i] = self._sum(unit)
        elif len(unit.children) == 1:
            self.mixtures[i] = self.mixtures[unit.children[0]]
        else:
            self.mixtures[i] = self._product(r, unit.children)

    def shown(self, r: int, mixture: Mixture) -> int:
        """Number of the unit of region r that is this mixture, made at the first call."""
        places, weights = mixture
        key = places.tobytes(), weights.tobytes()
        return self.rows[r].setdefault(key, len(self.rows[r]))

    def _sum(self, unit: Unit) -> Mixture:
        """Mixture of a sum: those of its children, multiplied out."""
        parts = [self.mixtures[c] for c in unit.children]
        weights = [w * part[1] for w, part in zip(unit.weights, parts, strict=True)]
        places, numbers = np.unique(
            np.concatenate([part[0] for part in parts]), return_inverse=True
        )
        self.graph.spend(len(places))
        return places, np.asarray(np.bincount(numbers, np.concatenate(weights), len(places)), float)

    def _product(self, r: int, factors: Sequence[int]) -> Mixture:
        """Mixture with one product, of the factors; the products between their regions and r are added.

        Factors are disjoint and make up the scope of r, so that each child of a region between is a region of a factor
        or one between.
        """
        made = {self.region_of[self.scopes[f]]: self.mixtures[f] for f in factors}
        between = {r}
        for below in made:
            s = self.parents[below]
            while s not in between:
                between.add(s)
                s = self.parents[s]
        for s in sorted(between):  # in post-order, children before parents
            units = tuple(self.shown(c, made[c]) for c in self.children[s])
            number = self.products[s].setdefault(units, len(self.products[s]))
            made[s] = np.array([number]), np.ones(1)
        return made[r]

    def regions(self, inputs: Iterable[Unit]) -> list[Any]:
        """The finished regions; a variable has as many categories as its longest table."""
        import scipy.sparse

        categories = dict.fromkeys(range(self.vtree.num_variables), 0)
        for unit in inputs:
            categories[unit.variable] = max(categories[unit.variable], unit.num_categories)
        regions: list[Any] = []
        for r, v in enumerate(self.vtree.variables.tolist()):
            rows = [(np.frombuffer(p, np.int64), np.frombuffer(w)) for p, w in self.rows[r]]
            ends = np.cumsum([0, *(len(weights) for _, weights in rows)])
            places, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
            if v >= 0:
                shape = len(rows), categories[v]
                self.graph.spend(shape[0] * shape[1] - len(values))
                table = scipy.sparse.csr_array((values, places, ends), shape)
                regions.append(InputRegion(v, table.toarray()))
                continue
            used, places = np.unique(places, return_inverse=True)  # some are of sums left out alone
            weights = scipy.sparse.csr_array((values, places, ends), (len(rows), len(used)))
            products = np.array(list(self.products[r]))[used]
            dense = len(values) >= DENSE_SHARE * len(rows) * len(used)
            regions.append(InnerRegion(products, weights.toarray() if dense else weights))
        return regions
