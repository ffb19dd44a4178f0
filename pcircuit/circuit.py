"""What a circuit is: a v-tree and one region of units for each of its nodes.

A probabilistic circuit is a computational graph of three kinds of units, each a function of some of the variables,
its scope.  An *input* unit is a distribution of one variable, a *product* unit multiplies units with disjoint scopes, a
*sum* unit is a mixture of units with one common scope: their average with weights that sum to one.  All units with the
same scope form a *region*.  Over a v-tree (`pcircuit.vtree`) there is one region per node:

* A leaf carries an `InputRegion`: a table ``probs`` (K, C), row k the distribution p_k(x) of input unit k.
* An inner node with children c = 0..A-1 carries an `InnerRegion`: P products and K sums,

      product p:  prod_c  unit ``products[p, c]`` of child c        sum k:  sum_p ``weights[k, p]`` product p.

A region shows K units to its parent: its input units at a leaf, otherwise its sums; the products stay inside.  So
``region.num_units`` is K, ``region.num_nodes`` is K + P, and ``circuit.num_units`` counts all units.  The
root shows one unit, and that unit is the distribution of the circuit.  Two coins that are thrown together, a mixture
of two ways to throw them:

>>> coins = Circuit(VTree.from_nested([0, 1]), [                      # nodes: two leaves, then the root
...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]),                     # P(first coin = 0, 1), one row for each way
...     InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),                     # and of the second coin
...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])               # product p multiplies the units p of both
>>> round(float(np.exp(coins.log_likelihood([[0, 1]])[0])), 4)        # of first = 0, second = 1
0.1575
>>> round(0.25 * (0.9 * 0.3) + 0.75 * (0.2 * 0.6), 4)                 # weights times products
0.1575

A circuit written like this is *smooth* (a sum mixes products of one scope) and *structured-decomposable* (products
follow one v-tree), which is all that exact sums over states need.  `check_regions` sees to it.

Units are numbered ("node ids" of the HLD paper, whose nodes are units) region by region in post-order, inside a region
products before sums.  `Circuit.nodes` lists them.

A `Mixture` is a weighted list of circuits, on a v-tree each: p(x) = sum_m weights[m] p_m(x).  What is linear in p is
exact for it and costs a sum over the circuits: likelihoods and samples, also conditional ones.  What is quadratic in p
(overlaps, covariances of unit likelihoods and the test built on them) needs one v-tree, and refuses a `Mixture`.

Most functions of the package are methods, too: ``circuit.sample(3)`` is ``pcircuit.sample(circuit, 3)``.  The modules
that define them import `Circuit`, so this one cannot import them.  Therefore ``sample = pcircuit.sample`` in the body
of the class stores a `Method`, which fetches the function at its first use.  While this module is read, the name
``pcircuit`` stands for `Functions`, not for the package.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import (
    Floats,
    Immutable,
    Ints,
    check_numbers,
    check_whole_number,
    is_listing,
    shown,
    unchecked,
)
from pcircuit.regions import InnerRegion, InputRegion, StructureError
from pcircuit.vtree import VTree

__all__ = [
    "Circuit",
    "InnerRegion",
    "InputRegion",
    "Mixture",
    "StructureError",
    "child_units",
    "derived",
    "factors",
    "with_regions",
]
T = TypeVar("T")
NORMALIZED_TOLERANCE = (
    1e-9  # how far the sum of a row of probabilities, or of weights, may be from one
)


class Method:
    """A public function that becomes a method of a class when it is first asked for."""

    def __init__(self, function: str) -> None:
        self.function = function

    def __set_name__(self, kind: type, name: str) -> None:
        self.kind, self.name = kind, name

    def __get__(self, instance: Any, owner: type) -> Any:
        function = getattr(sys.modules["pcircuit"], self.function)
        setattr(self.kind, self.name, function)
        return function if instance is None else function.__get__(instance, owner)


class Functions:
    """Stands for the package while a class of it is made: each public function is a `Method`."""

    def __getattr__(self, name: str) -> Method:
        return Method(name)


if TYPE_CHECKING:
    import pcircuit
else:
    pcircuit = Functions()


@dataclass(frozen=True, eq=False, repr=False)
class Circuit(Immutable):
    """A probabilistic circuit: a v-tree and one region per v-tree node, checked once, immutable.

    Parameters
    ----------
    vtree : VTree
        The hierarchy of scopes.
    regions : sequence of InputRegion and InnerRegion
        One per v-tree node, in post-order; the last has one unit, the root.

    Raises
    ------
    TypeError, StructureError
        If an argument is of the wrong kind, or regions and v-tree disagree: which region, its scope, and in what.

    Notes
    -----
    Construction costs O(number of parameters).  All arrays are read-only, so a circuit can be shared by
    threads; learning and editing return new circuits.  Most functions of the package are methods, too:
    ``circuit.sample(3)`` is ``pcircuit.sample(circuit, 3)``.

    Examples
    --------
    A mixture of two independent pairs of coins:

    >>> circuit = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]),
    ...     InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])])
    >>> circuit
    Circuit(2 variables, 3 regions, 7 units, 10 parameters)
    >>> circuit.nodes.kind.tolist()
    ['input', 'input', 'input', 'input', 'product', 'product', 'sum']
    """

    vtree: VTree
    regions: tuple[InputRegion | InnerRegion, ...]
    _cache: dict[str, Any] = field(init=False, default_factory=dict)  # what `derived` has made

    if TYPE_CHECKING:  # what may be given; the fields say what is kept

        def __init__(self, vtree: VTree, regions: Iterable[InputRegion | InnerRegion]) -> None: ...

    log_likelihood = pcircuit.log_likelihood
    node_likelihoods = pcircuit.node_likelihoods
    expected_flows = pcircuit.expected_flows
    sample = pcircuit.sample
    fit_em = pcircuit.fit_em
    exact_moments = pcircuit.exact_moments
    condition = pcircuit.condition
    log_probability = pcircuit.log_probability
    marginalize = pcircuit.marginalize
    normalize = pcircuit.normalize
    prune = pcircuit.prune
    power = pcircuit.power
    multiply = pcircuit.multiply
    overlap = pcircuit.overlap
    expectation = pcircuit.expectation
    variance = pcircuit.variance
    covariance = pcircuit.covariance
    marginal_tables = pcircuit.marginal_tables
    pairwise_tables = pcircuit.pairwise_tables
    linear_moments = pcircuit.linear_moments
    sum_distribution = pcircuit.sum_distribution
    entropy = pcircuit.entropy
    mutual_information = pcircuit.mutual_information
    most_probable_state = pcircuit.most_probable_state
    latent_posterior = pcircuit.latent_posterior
    shapley_values = pcircuit.shapley_values
    properties = pcircuit.properties
    save = pcircuit.save
    describe = pcircuit.describe
    plot = pcircuit.plot_circuit
    write_html = pcircuit.write_html

    def __post_init__(self) -> None:
        if not is_listing(self.regions):
            raise TypeError(
                f"`regions` must be a sequence of regions, one per v-tree node, found "
                f"{type(self.regions).__name__}"
            )
        object.__setattr__(self, "regions", tuple(self.regions))
        check_regions(self.vtree, self.regions)

    @property
    def num_variables(self) -> int:
        """V, the number of variables and of input regions (int, at least 1)."""
        return self.vtree.num_variables

    @cached_property
    def num_categories(self) -> tuple[int, ...]:
        """Number of categories C_v of each variable, by variable: a tuple of V int.

        Evidence of variable v is 0, ..., C_v - 1.  0 says that its leaves are no tables: then evidence is any number,
        NaN where missing.
        """
        return tuple(region.num_categories for region in self.inputs)

    @cached_property
    def inputs(self) -> tuple[InputRegion, ...]:
        """The input region of each variable, by variable: a tuple of V InputRegion."""
        return tuple(self.regions[r] for r in self.vtree.leaf_of().tolist())

    @cached_property
    def is_categorical(self) -> bool:
        """Whether all leaves are tables of categories, so that evidence is integers (bool)."""
        return 0 not in self.num_categories

    @cached_property
    def offsets(self) -> Ints:
        """First node id of each region, then the number of units: (R + 1,) int64 array, read-only.

        Region r holds the node ids ``offsets[r]``, ..., ``offsets[r + 1] - 1``, its products before its sums.
        """
        offsets = np.concatenate([[0], np.cumsum([region.num_nodes for region in self.regions])])
        offsets.flags.writeable = False
        return offsets

    @property
    def num_units(self) -> int:
        """Number of units of all kinds, products included (int): the sum of `num_nodes` of the regions."""
        return int(self.offsets[-1])

    @property
    def num_nodes(self) -> int:
        """The same as `num_units`: "nodes" of a circuit are its units, while nodes of its v-tree are its regions."""
        return self.num_units

    @property
    def num_regions(self) -> int:
        """R, the number of regions, one per node of the v-tree: ``vtree.num_nodes`` (int)."""
        return len(self.regions)

    @cached_property
    def num_parameters(self) -> int:
        """Number of stored input probabilities and sum weights (int): K C of each leaf, K P of each other region.

        Of sparse weights those that are stored count, zeros among them.  Not the degrees of freedom, which are one less
        for each row that sums to one.
        """
        return sum(region.num_parameters for region in self.regions)

    @cached_property
    def is_normalized(self) -> bool:
        """Whether every row of every table sums to one, to 1e-9, so that each unit is a distribution (bool).

        Sufficient, not necessary, for the root to be one; `pcircuit.normalize` gives the proportional circuit that is.
        One pass over the parameters at the first call.
        """
        with np.errstate(over="ignore"):
            sums = np.concatenate([region.row_sums() for region in self.regions])
        return bool(np.all(np.abs(sums - 1) <= NORMALIZED_TOLERANCE))

    @cached_property
    def nodes(self) -> np.recarray[Any, Any]:
        """One record per unit, in node-id order.

        Fields: ``kind`` ("input", "product" or "sum"), ``region``, ``unit`` (number among the units of its kind
        in the region) and ``scope_size``.
        """
        table = np.recarray(
            self.num_nodes,
            dtype=[
                ("kind", "U7"),
                ("region", np.int64),
                ("unit", np.int64),
                ("scope_size", np.int64),
            ],
        )
        sizes = np.array([region.num_nodes for region in self.regions])
        shown = np.array([region.num_units for region in self.regions])
        is_input = np.repeat([region.is_input for region in self.regions], sizes)
        table.region = np.repeat(np.arange(len(sizes)), sizes)
        position = np.arange(self.num_nodes) - self.offsets[table.region]
        inside = (sizes - shown)[table.region]  # products come first: P of them, none at a leaf
        table.kind = np.where(is_input, "input", np.where(position < inside, "product", "sum"))
        table.unit = np.where(position < inside, position, position - inside)
        table.scope_size = self.vtree.scope_sizes()[table.region]
        table.flags.writeable = False
        return table

    def scope(self, node_id: int) -> Ints:
        """(n,) int64 array of the variables in the scope of a unit, ascending: those of its region's v-tree node.

        TypeError if `node_id` is not a whole number, IndexError if there is no such unit; negative numbers do not count
        from the end.
        """
        if not 0 <= check_whole_number(node_id, "node_id") < self.num_nodes:
            raise IndexError(
                f"`node_id` {node_id} does not exist: node ids are 0..{self.num_nodes - 1}"
            )
        return self.vtree.scope(int(np.searchsorted(self.offsets, node_id, side="right")) - 1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Circuit):
            return NotImplemented
        return self.vtree == other.vtree and self.regions == other.regions

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"Circuit({self.num_variables} variables, {self.num_regions} regions, {self.num_units} units, "
            f"{self.num_parameters} parameters{'' if self.is_normalized else ', not normalised'})"
        )


def check_circuit(circuit: object, name: str = "circuit") -> None:
    """Raise unless `circuit` is a Circuit; `name` is what the error calls it."""
    if not isinstance(circuit, Circuit):
        raise TypeError(f"`{name}` must be a pcircuit.Circuit, found {type(circuit).__name__}")


def check_distribution(circuit: Circuit, name: str = "circuit") -> Circuit:
    """Return `circuit` after checking that it is a circuit and a distribution."""
    check_circuit(circuit, name)
    if not circuit.is_normalized:
        raise StructureError(
            f"`{name}` is not normalised, so it is not a distribution: "
            f"`pcircuit.normalize({name})` makes it one"
        )
    return circuit


def child_units(circuit: Circuit, r: int) -> list[tuple[int, Ints]]:
    """The children of inner region r, each with the unit (P,) of it that the products take."""
    region: Any = circuit.regions[r]
    return list(zip(circuit.vtree.children(r).tolist(), region.products.T, strict=True))


def factors(circuit: Circuit, r: int, values: Any) -> list[Any]:
    """Per child of inner region r what its units have, (K, ...) in `values` by region, for the products: (P, ...)."""
    return [values[c][units] for c, units in child_units(circuit, r)]


def derived(circuit: Circuit, name: str, make: Callable[[], T]) -> T:
    """What a module derives from a circuit: `make()` at the first call with this name, then kept with the circuit."""
    value: T | None = circuit._cache.get(name)
    return circuit._cache.setdefault(name, make()) if value is None else value


def with_regions(
    circuit: Circuit,
    regions: Iterable[InputRegion | InnerRegion],
    new: dict[str, Any],
    kept: Iterable[str],
    is_normalized: bool,
) -> Circuit:
    """The circuit with regions of the same structure that need no check."""
    cache = {name: circuit._cache[name] for name in kept if name in circuit._cache} | new
    known = {
        name: circuit.__dict__[name]
        for name in ("num_categories", "offsets", "num_parameters")
        if name in circuit.__dict__
    } | {"is_normalized": is_normalized}
    return unchecked(Circuit, vtree=circuit.vtree, regions=tuple(regions), _cache=cache, **known)


def check_regions(vtree: VTree, regions: tuple[Any, ...]) -> None:
    """Raise the first disagreement between a v-tree and its regions."""
    if not isinstance(vtree, VTree):
        raise TypeError(f"`vtree` must be a VTree, found {type(vtree).__name__}")
    if len(regions) != vtree.num_nodes:
        raise StructureError(
            f"`regions` has {len(regions)} entries but the v-tree {vtree.num_nodes} nodes: "
            "give one region per node, in post-order"
        )
    children_of, variables = vtree.child_lists(), vtree.variables.tolist()

    def fail(r: int, message: str) -> NoReturn:
        raise StructureError(f"region {r} with scope {vtree.scope(r).tolist()}: {message}")

    for r, region in enumerate(regions):
        needed, why = (
            (InnerRegion, "has children and needs an InnerRegion")
            if variables[r] < 0
            else (
                InputRegion,
                f"is the leaf of variable {variables[r]}, which needs an InputRegion",
            )
        )
        if not isinstance(region, needed):
            fail(r, f"found {type(region).__name__}, but the v-tree node {why}")
        if region.is_input:
            if region.variable != variables[r]:
                fail(
                    r,
                    f"the region is of variable {region.variable}, the v-tree leaf of variable {variables[r]}",
                )
            continue
        children = children_of[r]
        if region.products.shape[1] != len(children):
            fail(
                r,
                f"`products` has {region.products.shape[1]} columns, the v-tree node {len(children)} children",
            )
        available = [regions[c].num_units for c in children]
        largest = region.products.max(axis=0).tolist()
        for child, units, most in zip(children, available, largest, strict=True):
            if most >= units:
                fail(
                    r,
                    f"`products` asks for unit {most} of child region {child}, which has {units} units",
                )
    if regions[-1].num_units != 1:
        fail(
            len(regions) - 1,
            f"the root region shows {regions[-1].num_units} units, a circuit has exactly one root",
        )


@dataclass(frozen=True, eq=False)
class Mixture(Immutable):
    """A mixture of circuits over the same variables, each on a v-tree of its own.

    ``p(x) = sum_m weights[m] p_m(x)``

    Parameters
    ----------
    circuits : sequence of Circuit
        At least one; normalised, with the same numbers of categories.  Blocks of correlated columns, which `learn`
        makes of columns of numbers, may be among them (`pcircuit.learning.normal_blocks`).
    weights : (M,) float array_like, optional
        Not negative, with sum 1 up to 1e-9 (they are divided by their sum).  Default: 1/M each.

    Attributes
    ----------
    circuits : tuple of Circuit
        The M components, over the same variables.
    weights : (M,) float64 array, read-only
        Probability of each component; not negative, with sum 1.

    Raises
    ------
    TypeError
        If a circuit is not a `Circuit`.
    StructureError
        If a circuit is not normalised.
    ValueError
        If there is none, their variables or categories differ, or the weights are not a distribution.

    Notes
    -----
    `log_likelihood` and `sample` take a mixture wherever they take a circuit, missing entries included, and are methods
    of it, too; so is `save`, which is `pcircuit.save_mixture`.  There is no exact covariance of unit likelihoods over
    several v-trees, so no moments and no HLD test.

    Examples
    --------
    >>> from pcircuit import InputRegion, VTree, log_likelihood
    >>> coins = [Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.2, 0.6)]
    >>> mixed = Mixture(coins, [0.5, 0.5])
    >>> mixed
    Mixture(2 circuits, 1 variables, 4 parameters)
    >>> np.exp(log_likelihood(mixed, [[0], [1], [-1]])).round(12)
    array([0.4, 0.6, 1. ])
    >>> np.exp(mixed.log_likelihood([[0]])).round(12)
    array([0.4])
    """

    circuits: tuple[Circuit, ...]
    weights: Floats

    log_likelihood = pcircuit.log_likelihood
    sample = pcircuit.sample
    save = pcircuit.save_mixture

    def __init__(self, circuits: Iterable[Circuit], weights: ArrayLike | None = None) -> None:
        if isinstance(circuits, Circuit) or not is_listing(circuits):
            raise TypeError(
                f"`circuits` must be a sequence of circuits, found {type(circuits).__name__}"
            )
        members = tuple(
            circuit
            if getattr(circuit, "is_block", False)
            else check_distribution(circuit, f"circuits[{m}]")
            for m, circuit in enumerate(circuits)
        )
        if not members:
            raise ValueError("`circuits` is empty: a mixture needs at least one")
        for m, circuit in enumerate(members):
            if not np.array_equal(circuit.num_categories, members[0].num_categories):
                raise ValueError(
                    "`circuits` must have the same variables and numbers of categories, found "
                    f"{shown(circuit.num_categories)} in number {m} and "
                    f"{shown(members[0].num_categories)} in number 0"
                )
        object.__setattr__(self, "circuits", members)
        object.__setattr__(self, "weights", _checked_weights(weights, len(members)))

    @property
    def pattern(self) -> Circuit:
        """A circuit over the same variables and categories (`Circuit`)."""
        return plain(self.circuits[0])

    @property
    def num_variables(self) -> int:
        """V, the number of variables, the same in all circuits (int)."""
        return self.circuits[0].num_variables

    @property
    def num_categories(self) -> tuple[int, ...]:
        """Number of categories C_v of each variable, the same in all circuits: a tuple of V int."""
        return self.circuits[0].num_categories

    @property
    def num_parameters(self) -> int:
        """Parameters of all circuits together, see `Circuit.num_parameters`; the M weights are not counted (int)."""
        return sum(circuit.num_parameters for circuit in self.circuits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixture):
            return NotImplemented
        return self.circuits == other.circuits and np.array_equal(self.weights, other.weights)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        count = len(self.circuits)
        return (
            f"Mixture({count} circuit{'s' * (count != 1)}, {self.num_variables} variables, "
            f"{self.num_parameters} parameters)"
        )


def plain(member: Any) -> Circuit:
    """A member of a mixture as a circuit: of correlated blocks the products without correlations."""
    circuit: Circuit = getattr(member, "products", member)
    return circuit


def check_mixture(mixture: object) -> None:
    """Raise unless `mixture` is a Mixture."""
    if not isinstance(mixture, Mixture):
        raise TypeError(f"`mixture` must be a pcircuit.Mixture, found {type(mixture).__name__}")


def _checked_weights(weights: ArrayLike | None, count: int) -> Floats:
    """Read-only weights that sum to one."""
    if weights is None:
        shares = np.full(count, 1 / count)
    else:
        expected = f"{count} finite numbers of at least 0 with sum 1, one for each circuit"
        shares = np.array(
            check_numbers(weights, "weights", expected, (count,), least=0), dtype=np.float64
        )
        with np.errstate(over="ignore"):
            total = shares.sum()
        if abs(total - 1) > NORMALIZED_TOLERANCE:
            advice = ": divide them by it" if 0 < total < np.inf else ""
            raise ValueError(f"`weights` must be {expected}, found the sum {total:.12g}{advice}")
        if (
            abs(total - 1) > count * np.finfo(np.float64).eps
        ):  # weights that were divided once stay as they are
            shares /= total
    shares.setflags(write=False)
    return shares
