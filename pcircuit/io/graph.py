"""Circuits as graphs of single units, the way text formats have them, and how such a graph becomes regions.

A text format lists units one by one: inputs, products of units, weighted sums of units.  A `Circuit` holds the same
units region by region over a v-tree.  Every smooth graph whose scopes are pairwise equal, nested or disjoint can be
written in both ways.  Bottom-up, each unit becomes a *mixture* over the products of its region,

    product of units f_1, f_2, ...  one product: for each child of the region, the unit with that scope
    sum of units n_1, n_2, ...      mixture(n) = sum_i w_i mixture(n_i)

so a sum of sums becomes one sum with multiplied weights, and units over one variable become rows of its table.  Where
the factors of a product lie more than one level below it, the products in between are added; they change no value.
The v-tree is the given one, or that of the scopes themselves.

Scopes are sets of variables kept as the bits of whole numbers, each set once: a chain of V variables has scopes of
V^2 / 16 to V^2 / 8 bytes.

A few bytes can stand for a large table: an indicator of one among a million categories, a binomial.  Indicators are
kept as the category that they are of.  Where a table must be made, its entries are counted first, against the size of
the file, so that no file of some kilobytes fills the memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pcircuit.circuit import Circuit
from pcircuit.regions import InnerRegion, InputRegion, StructureError
from pcircuit.vtree import VTree

MOST_WEIGHTS = 50  # times the edges of the graph that multiplied-out sums may have, and
SPARE_WEIGHTS = 1_000_000  # so many more
MOST_SCOPES = 2**31  # bytes of all different scopes together
DENSE_SHARE = 0.25  # share of weights that are not zero, from which a region keeps them dense
MOST_ENTRIES = 16  # for each byte of a file: entries of tables that it does not write out, and
SPARE_ENTRIES = 2**23  # so many more


@dataclass(frozen=True)
class Indicator:
    """The table that is one at `value` and zero at all other categories, which are `size` together."""

    value: int
    size: int

    def __len__(self) -> int:
        return self.size


@dataclass
class Graph:
    """Units in an order in which children come before their parents; filled by the readers of formats."""

    num_bytes: int = 0
    units: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    spent: int = 0  # entries of tables so far that the file does not write out

    def add_input(self, label: str, variable: int, probs: np.ndarray) -> int:
        """Append an input unit with the given probabilities of its categories; its position."""
        return self._add(label, ("input", variable, probs))

    def add_indicator(self, label: str, variable: int, value: int, num_categories: int) -> int:
        """Append an input unit that is one at a single category; its position."""
        return self._add(label, ("input", variable, Indicator(value, num_categories)))

    def spend(self, entries: int) -> None:
        """Count entries of a table that the file does not write out, before it is made; refuse too many."""
        self.spent += entries
        allowed = MOST_ENTRIES * self.num_bytes + SPARE_ENTRIES
        if self.spent > allowed:
            raise StructureError(
                f"the tables of its input units would have more than {allowed} entries that the file "
                f"of {self.num_bytes} bytes does not write out: such a circuit is not read"
            )

    def add_product(self, label: str, children: Sequence[int]) -> int:
        """Append a product; its position."""
        return self._add(label, ("product", tuple(children)))

    def add_sum(self, label: str, children: Sequence[int], weights: Sequence[float]) -> int:
        """Append a weighted sum; its position."""
        return self._add(label, ("sum", tuple(children), tuple(weights)))

    def _add(self, label: Any, unit: Any) -> int:
        self.units.append(unit)
        self.labels.append(label)
        return len(self.units) - 1


def circuit_of_graph(graph: Graph, root: int, vtree: VTree | None = None) -> Circuit:
    """The circuit of a graph of units.

    O(edges), plus what multiplying out sums of sums adds, plus the entries of the tables, as `Graph.spend` counts them,
    plus V bits for each product and each region.
    """
    order = reachable(graph, root)
    variables = sorted({graph.units[i][1] for i in order if graph.units[i][0] == "input"})
    num_variables = len(variables)
    if variables[-1] != num_variables - 1:
        missing = next(v for v, found in enumerate(variables) if found != v)
        raise StructureError(
            f"the circuit has no unit for variable {missing}, but for variable {variables[-1]}: "
            "variables must be numbered without gaps"
        )
    scopes = _Scopes(graph, order)
    if vtree is None:
        vtree = _vtree_of(graph, scopes)
    elif vtree.num_variables != num_variables:
        raise StructureError(
            f"the v-tree has {vtree.num_variables} variables and the circuit {num_variables}"
        )
    lowering = _Lowering(graph, scopes, vtree, _categories(graph, order, num_variables))
    with np.errstate(over="ignore", invalid="ignore"):  # the regions refuse what is not finite
        for i in order:
            lowering.read(i)
    lowering.shown(lowering.region_of[scopes.of[root]], lowering.mixtures[root])
    return Circuit(vtree, lowering.regions())


def variables_of(scope: int) -> list[int]:
    """The variables in a scope given as bits, ascending."""
    return [v for v, bit in enumerate(reversed(bin(scope)[2:])) if bit == "1"]


def reachable(graph: Graph, root: int) -> list[Any]:
    """Positions of the units below the root, ascending: children first."""
    reached = bytearray(root + 1)
    reached[root] = 1
    for i in range(root, -1, -1):
        if reached[i] and graph.units[i][0] != "input":
            for c in graph.units[i][1]:
                reached[c] = 1
    return [i for i in range(root + 1) if reached[i]]


class _Scopes:
    """Scope of each unit, as a number, and the sets that the numbers stand for, as bits.

    Refuses sums that are not smooth and products that are not decomposable.
    """

    def __init__(self, graph: Graph, order: list[int]) -> None:
        self.of: dict[int, int] = {}  # unit -> number of its scope
        self.sets: list[int] = []
        self.numbers: dict[int, int] = {}  # bits -> number
        self.num_bytes = 0
        for i in order:
            kind, *rest = graph.units[i]
            self.of[i] = (
                self._number(1 << rest[0])
                if kind == "input"
                else self._of_product(graph, i, rest[0])
                if kind == "product"
                else self._of_sum(graph, i, rest[0])
            )

    def _of_sum(self, graph: Graph, i: int, children: Any) -> int:
        scope = self.of[children[0]]
        for c in children[1:]:
            if self.of[c] != scope:
                raise StructureError(
                    f"sum {graph.labels[i]} is not smooth: its children {graph.labels[children[0]]} "
                    f"and {graph.labels[c]} have different variables"
                )
        return scope

    def _of_product(self, graph: Graph, i: int, children: Any) -> int:
        scope = self.sets[self.of[children[0]]]
        for c in children[1:]:
            bits = self.sets[self.of[c]]
            if bits & scope:
                raise StructureError(
                    f"product {graph.labels[i]} is not decomposable: its child {graph.labels[c]} "
                    "shares a variable with another child"
                )
            scope |= bits
        return self._number(scope)

    def _number(self, bits: int) -> int:
        """Number of a set, which is kept with the first that asks."""
        number = self.numbers.setdefault(bits, len(self.sets))
        if number == len(self.sets):
            self.num_bytes += bits.bit_length() // 8
            if self.num_bytes > MOST_SCOPES:
                raise StructureError(
                    f"the sets of variables of its units would take more than {MOST_SCOPES} bytes, as "
                    "in chains of some hundred thousand variables: such a circuit is not read"
                )
            self.sets.append(bits)
        return number


def _categories(graph: Graph, order: list[int], num_variables: int) -> np.ndarray:
    """(V,) number of categories of each variable: the longest table."""
    categories = np.zeros(num_variables, dtype=np.int64)
    for i in order:
        if graph.units[i][0] == "input":
            _, variable, probs = graph.units[i]
            categories[variable] = max(categories[variable], len(probs))
    return categories


def _vtree_of(graph: Graph, scopes: _Scopes) -> VTree:
    """The v-tree of nested scopes, smallest first; raises where two of them overlap."""
    distinct = sorted(scopes.sets, key=int.bit_count)
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
                names = [
                    next(
                        graph.labels[i]
                        for i, number in scopes.of.items()
                        if scopes.sets[number] == s
                    )
                    for s in (nodes[top][0], scope)
                ]
                raise StructureError(
                    f"the circuit is not structured-decomposable: the scopes of unit "
                    f"{names[0]} and unit {names[1]} overlap and neither contains the other, so no "
                    "v-tree has both"
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


def _regions_of(scopes: _Scopes, vtree: VTree, children: Any) -> dict[int, int]:
    """Number of a scope -> the lowest region that has it."""
    regions: dict[int, int] = {}
    bits: dict[int, int] = {}  # of the regions whose parents are still to come
    for r, v in enumerate(vtree.variables.tolist()):
        bits[r] = 1 << v if v >= 0 else sum(bits.pop(c) for c in children[r])
        number = scopes.numbers.get(bits[r])
        if number is not None:
            regions.setdefault(number, r)
    return regions


class _Lowering:
    """Regions in the making: the products of each, and the mixtures that it shows."""

    def __init__(self, graph: Graph, scopes: _Scopes, vtree: VTree, categories: np.ndarray) -> None:
        self.graph, self.scopes, self.vtree, self.categories = graph, scopes.of, vtree, categories
        self.children, self.parents = vtree.child_lists(), vtree.parents.tolist()
        self.region_of = _regions_of(scopes, vtree, self.children)
        # unit -> {product number: weight}, or at a leaf a (C,) array, or the one category with value one
        self.mixtures: dict[Any, Any] = {}
        self.product_numbers: list[dict[Any, Any]] = [
            {} for _ in self.parents
        ]  # (A,) units of the children -> number
        # what a shown unit is -> (its number, mixture or table)
        self.rows: list[dict[Any, Any]] = [{} for _ in self.parents]
        self.indicators: list[dict[int, int]] = [
            {} for _ in self.parents
        ]  # category -> number of the row that it is
        edges = sum(len(unit[1]) for unit in graph.units if unit[0] != "input")
        self.allowed = MOST_WEIGHTS * edges + SPARE_WEIGHTS

    def read(self, i: int) -> None:
        """Give unit i its mixture."""
        kind, *rest = self.graph.units[i]
        r = self.region_of.get(self.scopes[i])
        if r is None:
            raise StructureError(
                f"{kind} {self.graph.labels[i]} does not follow the v-tree, which has no node with "
                "its variables"
            )
        if kind == "input":
            self.mixtures[i] = self._table(*rest)
        elif kind == "sum":
            variable = self.vtree.variables[r]
            self.mixtures[i] = (
                self._sum(*rest) if variable < 0 else self._sum_of_tables(variable, *rest)
            )
        elif len(rest[0]) == 1:
            self.mixtures[i] = self.mixtures[rest[0][0]]
        else:
            self.mixtures[i] = self._product(r, list(rest[0]))

    def shown(self, r: int, mixture: Any) -> int:
        """Number of the unit of region r that is this mixture, made at the first call."""
        if isinstance(mixture, int):
            if mixture not in self.indicators[r]:
                table = self._zeros(self.vtree.variables[r])
                table[mixture] = 1.0
                self.indicators[r][mixture] = self.shown(r, table)
            return self.indicators[r][mixture]
        if isinstance(mixture, np.ndarray):
            key: Any = mixture.tobytes()
            mixture = np.frombuffer(key)
        else:
            key = tuple(sorted(mixture.items()))
        known = self.rows[r].get(key)
        if known is None:
            known = self.rows[r][key] = (len(self.rows[r]), mixture)
        return known[0]

    def regions(self) -> list[Any]:
        """The finished regions; what they were made of is let go on the way."""
        self.mixtures.clear()
        return [
            self._inner(r) if v < 0 else self._input(r, v)
            for r, v in enumerate(self.vtree.variables.tolist())
        ]

    def _zeros(self, variable: int) -> np.ndarray:
        """A table that the file does not write out, to be filled."""
        self.graph.spend(int(self.categories[variable]))
        return np.zeros(self.categories[variable])

    def _table(self, variable: int, probs: Any) -> Any:
        """The category of an indicator, or a table of all categories."""
        if isinstance(probs, Indicator):
            return probs.value
        if len(probs) == self.categories[variable]:
            return np.asarray(probs, dtype=np.float64)
        table = self._zeros(variable)
        table[: len(probs)] = probs
        return table

    def _sum_of_tables(self, variable: int, children: Any, weights: Any) -> np.ndarray:
        """Table of a sum of inputs."""
        table = self._zeros(variable)
        for c, w in zip(children, weights, strict=True):
            part = self.mixtures[c]
            if isinstance(part, int):
                table[part] += w
            else:
                table += w * part
        return table

    def _sum(self, children: Any, weights: Any) -> Any:
        """Mixture of a sum: its children's, multiplied out."""
        mixture: dict[int, float] = {}
        for c, w in zip(children, weights, strict=True):
            for product, share in self.mixtures[c].items():
                mixture[product] = mixture.get(product, 0.0) + w * share
        self.allowed -= len(mixture)
        if self.allowed < 0:
            raise StructureError(
                "sums of sums of this circuit would take far more weights multiplied out than the "
                "file has: such a circuit is not read"
            )
        return mixture

    def _product(self, r: int, factors: list[Any]) -> Any:
        """Mixture with one product, of the factors; the products between their regions and r are added.

        Factors are disjoint and make up the scope of r, so that each child of a region between is a region of a factor
        or one between.
        """
        made = {self.region_of[self.scopes[f]]: self.mixtures[f] for f in factors}
        between: set[int] = set()
        for below in made:
            s = self.parents[below]
            while s != r and s not in between:
                between.add(s)
                s = self.parents[s]
        for s in sorted(between):  # in post-order, children before parents
            made[s] = self._one_product(s, made)
        return self._one_product(r, made)

    def _one_product(self, r: int, made: dict[int, Any]) -> dict[int, float]:
        """Mixture with one product, of what is made of the children of region r."""
        units = [self.shown(c, made[c]) for c in self.children[r]]
        numbers = self.product_numbers[r]
        return {numbers.setdefault(tuple(units), len(numbers)): 1.0}

    def _input(self, r: int, variable: int) -> InputRegion:
        """The input region r."""
        tables = np.array([table for _, table in self.rows[r].values()])
        self.rows[r].clear()
        return InputRegion(variable, tables)

    def _inner(self, r: int) -> InnerRegion:
        """The inner region r."""
        import scipy.sparse

        products = np.array(list(self.product_numbers[r]))
        mixtures = [mixture for _, mixture in self.rows[r].values()]
        sizes = np.array([len(mixture) for mixture in mixtures])
        columns = np.fromiter((p for mixture in mixtures for p in mixture), np.int64, sizes.sum())
        values = np.fromiter(
            (w for mixture in mixtures for w in mixture.values()), np.float64, sizes.sum()
        )
        used, columns = np.unique(
            columns, return_inverse=True
        )  # a product that only a sum left out used goes
        shape = (len(mixtures), len(used))
        weights = scipy.sparse.csr_array(
            (values, columns, np.concatenate([[0], np.cumsum(sizes)])), shape
        )
        dense = values.size >= DENSE_SHARE * shape[0] * shape[1]
        return InnerRegion(products[used], weights.toarray() if dense else weights)
