"""The two kinds of regions, what a leaf family is, and the error for circuits that are not well formed.

`pcircuit.circuit` says what regions are for.  At a first reading skip to `InputRegion` and `InnerRegion`, two arrays
each, and come back to `LeafFamily` when a query names one of its methods.

The K input units of a variable are distributions of one *family*: tables of categories (`Categorical`), normal
distributions, counts.  An object of a family is all K units, with arrays of which row k belongs to unit k.  What a
circuit can be asked follows from the methods of its families, which `LeafFamily` lists; no query looks at their kind.

sum_x p(x) means a sum for categories, an integral for numbers, and both where single values (atoms) have a probability
of their own.  Wherever this package writes sum_x, read whichever belongs to the leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import (
    Floats,
    Immutable,
    Ints,
    Weights,
    check_integers,
    check_numbers,
    check_whole_number,
)

MOST_UNITS = 2**31  # in one region
PRODUCTS = f"a non-empty (P, A) array of unit indices from 0 to {MOST_UNITS - 1}"


class StructureError(ValueError):
    """A circuit lacks a property that is needed: consistent regions, or normalisation."""


class LeafError(TypeError):
    """A query needs a method that a leaf family does not have."""


class LeafFamily(Immutable):
    """What every family of leaves derives from: a frozen dataclass of arrays, row k for unit k.

    A family defines `log_density`, and as many of the other methods as it is to be asked for.
    Fields named in `shared` belong to all units together.
    """

    shared: ClassVar[tuple[str, ...]] = ()
    # shared fields that must be equal before units of two objects are combined: bounds, edges of bins, atoms
    states: ClassVar[tuple[str, ...]] = ()
    num_categories: int = 0  # C of a table of categories; other families have none
    is_discrete: ClassVar[bool] = False  # whether the values are whole numbers

    def log_density(self, x: Any) -> Floats:
        """(N, K) ln of the density of each unit; 0 where x is NaN, which means missing."""
        raise self._lacks("log_density")

    def log_bound(self) -> Floats:
        """(K,) ln of the largest value of each density."""
        raise self._lacks("log_bound")

    def statistics(self, x: Any, flows: Any) -> Floats:
        """(K, S) sums over rows with flows (N, K), additive: the E-step of EM."""
        raise self._lacks("statistics")

    def maximize(self, statistics: Any, pseudocount: float) -> LeafFamily:
        """The M-step: units from their statistics."""
        raise self._lacks("maximize")

    def overlap2(self, other: Any) -> Floats:
        """(K, K') integrals of products of two densities."""
        raise self._lacks("overlap2")

    def overlap3(self) -> Floats:
        """(K, K, K) integrals of products of three densities."""
        raise self._lacks("overlap3")

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) a draw of unit units[n] for each n."""
        raise self._lacks("sample")

    def mode(self) -> Floats:
        """(K,) where each density is largest."""
        raise self._lacks("mode")

    def interval(self, low: Any, high: Any) -> Floats:
        """(K,) P(low < X <= high)."""
        raise self._lacks("interval")

    def condition(self, low: float, high: float) -> LeafFamily:
        """The units given low < X <= high."""
        raise self._lacks("condition")

    def expectation(self, g: Callable[[Any], Any]) -> Floats:
        """(K,) E g(X)."""
        raise self._lacks("expectation")

    def cross_entropy(self, other: Any) -> Floats:
        """(K, K') -E ln of the other units."""
        raise self._lacks("cross_entropy")

    def scores(self, x: Any) -> Floats:
        """(N, K, S) gradients of `log_density` in the parameters."""
        raise self._lacks("scores")

    @classmethod
    def like(cls, x: Any, num_units: int) -> LeafFamily:
        """Equal units that fit a column x (N,): what EM begins with."""
        raise cls._lacks("like")

    def again(self, x: Any, num_units: int) -> LeafFamily:
        """Equal units that fit a column x (N,), on the states of these."""
        return type(self).like(x, num_units)

    @classmethod
    def _lacks(cls, name: str) -> LeafError:
        """What is said of a method that the family does not have."""
        return LeafError(
            f"leaves of the family {cls.__name__} have no method `{name}`, which this query needs: define it, or "
            "ask what the methods that it has allow"
        )

    @property
    def num_units(self) -> int:
        """K (int)."""
        first = next(iter(self._rows().values()))
        return first.num_units if isinstance(first, LeafFamily) else len(first)

    @property
    def num_parameters(self) -> int:
        """Stored numbers that belong to single units (int)."""
        return sum(
            part.num_parameters if isinstance(part, LeafFamily) else part.size
            for part in self._rows().values()
        )

    @property
    def num_statistics(self) -> int:
        """S, the columns of `statistics` (int)."""
        return int(self.statistics(np.zeros(0), np.zeros((0, self.num_units))).shape[1])

    def total(self) -> Floats:
        """(K,) the integral of each unit: 1 for distributions."""
        return np.ones(self.num_units)

    def table(self) -> Floats:
        """(K, C + 1) likelihoods of the categories, and of a missing value last: the only one where there are none."""
        return self.total()[:, None]

    def log_table(self) -> Floats:
        """(K, C + 1) natural logarithms of `table`, which keep what underflows in it."""
        return np.zeros((self.num_units, 1))

    def product(self, other: Any) -> tuple[LeafFamily, Floats] | None:
        """Products of units with equal numbers, as distributions, and ln of their integrals (K,); None if unknown."""
        return None

    def meets(self) -> Any:
        """(K, K) bool: whether some value is possible under both units; true where nobody knows."""
        return np.ones((self.num_units, self.num_units), dtype=bool)

    def with_prior(self, x: Any) -> LeafFamily:
        """The units with a prior of the column x, as `like` has it, if the family keeps one and has none yet.

        Shapes: x (N,).
        """
        if "prior" not in self.shared or len(self.prior):  # type: ignore[attr-defined]
            return self
        found = type(self).like(x, 1)
        return type(self).from_arrays(self.to_arrays() | {"prior": found.to_arrays()["prior"]})

    def mixed(self, weights: Any) -> LeafFamily | None:
        """The mixtures of the units with the rows of weights (J, K), or None where these are not of the family."""
        return None

    def said(self, k: int) -> str:
        """The parameters of unit k, in words."""
        return " ".join(
            f"{name} {part.said(k) if isinstance(part, LeafFamily) else np.array2string(part[k], precision=4)}"
            for name, part in self._rows().items()
        )

    def take(self: Leaves, units: Any) -> Leaves:
        """Some of the units, in this order; shapes units (n,)."""
        parts = {
            name: part.take(units) if isinstance(part, LeafFamily) else part[units]
            for name, part in self._rows().items()
        }
        return type(self).from_arrays(self.to_arrays() | parts)

    def joined(self: Leaves, others: Sequence[Leaves]) -> Leaves:
        """The units of this object and of others, one after the other."""
        if any(not self.is_like(other) for other in others):
            raise LeafError("leaves of one variable must be of one family, on the same states")
        rows = [other._rows() for other in others]
        parts = {
            name: part.joined([row[name] for row in rows])
            if isinstance(part, LeafFamily)
            else np.concatenate([part, *(row[name] for row in rows)])
            for name, part in self._rows().items()
        }
        return type(self).from_arrays(self.to_arrays() | parts)

    def is_like(self, other: LeafFamily) -> bool:
        """Whether the other units are of the same family, on the same states."""
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self.states
        )

    def to_arrays(self) -> dict[str, Any]:
        """The arrays, or families, by their names, for files."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_arrays(cls: type[Leaves], arrays: dict[str, Any]) -> Leaves:
        """The family that `to_arrays` took apart."""
        return cls(**arrays)

    def _rows(self) -> dict[str, Any]:
        """The arrays that have a row for each unit."""
        return {name: a for name, a in self.to_arrays().items() if name not in self.shared}

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, its = self.to_arrays(), other.to_arrays()
        return all(
            part == its[name] if isinstance(part, LeafFamily) else np.array_equal(part, its[name])
            for name, part in mine.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_units} units)"


Leaves = TypeVar("Leaves", bound=LeafFamily)


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(LeafFamily):
    """Tables of categories: unit k has category c with probability ``probs[k, c]``; Bernoulli is C = 2.

    Parameters
    ----------
    probs : (K, C) float array
        Non-negative and finite.  Rows of a distribution sum to one; only products of circuits have other sums.

    Examples
    --------
    >>> Categorical([[0.9, 0.1], [0.2, 0.8]]).overlap2(Categorical([[0.5, 0.5]]))
    array([[0.5],
           [0.5]])
    """

    probs: Floats
    is_discrete: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, probs: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "probs", _weights_array(self.probs, "probs"))

    @property
    def num_units(self) -> int:
        """K (int)."""
        return len(self.probs)

    @property
    def num_categories(self) -> int:  # type: ignore[override]
        """C (int)."""
        return int(self.probs.shape[1])

    @property
    def num_statistics(self) -> int:
        """C: how often each category was used (int)."""
        return int(self.probs.shape[1])

    def total(self) -> Floats:
        """(K,) sums of the rows; infinite where they overflow."""
        with np.errstate(over="ignore"):
            return np.asarray(self.probs.sum(axis=1))

    def table(self) -> Floats:
        """(K, C + 1) the table, and the sums of its rows."""
        return np.concatenate([self.probs, self.total()[:, None]], axis=1)

    def log_table(self) -> Floats:
        """(K, C + 1) natural logarithms of `table`; the last column cannot overflow."""
        largest = self.probs.max(axis=1, keepdims=True)
        shares = self.probs / np.where(largest > 0, largest, 1.0)
        with np.errstate(divide="ignore"):
            last = np.log(largest) + np.log(shares.sum(axis=1, keepdims=True))
            return np.concatenate([np.log(self.probs), last], axis=1)

    def log_density(self, x: Any) -> Floats:
        """(N, K) ln of the probabilities of categories x (N,); 0 where that is NaN, -inf where there is none such."""
        x = np.asarray(x, dtype=np.float64)
        place, is_one = np.where(np.isnan(x), 0, x), (x >= 0) & (x < self.num_categories)
        place = np.where(is_one & (place == np.floor(place)), place, -1).astype(np.int64)
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([self.probs, np.zeros((self.num_units, 1))], axis=1))
        return np.where(np.isnan(x)[:, None], 0.0, logs[:, place].T)

    def log_bound(self) -> Floats:
        """(K,) ln of the largest entry of each row."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probs.max(axis=1)))

    def statistics(self, x: Any, flows: Any) -> Floats:
        """(K, C) flow of each category; shapes x (N,), flows (N, K) -> (K, C)."""
        seen = ~np.isnan(x)
        one_hot = np.asarray(x)[seen, None] == np.arange(self.num_categories)
        return np.asarray(flows[seen].T @ one_hot.astype(np.float64))

    def maximize(self, statistics: Any, pseudocount: float) -> Categorical:
        """Shares of the flow, with the pseudocount spread evenly; a row without any stays; shapes statistics (K, C)."""
        counts = statistics + pseudocount / self.num_categories
        sums = counts.sum(axis=1, keepdims=True)
        return Categorical(np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), self.probs))

    def overlap2(self, other: Categorical) -> Floats:
        """(K, K') sum_c p_a(c) p_b(c)."""
        return np.asarray(self.probs @ other.probs.T)

    def overlap3(self) -> Floats:
        """(K, K, K) sum_c p_a(c) p_b(c) p_d(c)."""
        return np.asarray(
            np.einsum("ac,bc,dc->abd", self.probs, self.probs, self.probs, optimize=True)
        )

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) a category for each unit, by inversion of one uniform number."""
        sums = np.cumsum(self.probs, axis=1)
        sums = (sums / sums[:, -1:])[units]
        return np.asarray((sums <= rng.random(len(units))[:, None]).sum(axis=1), dtype=np.float64)

    def mode(self) -> Floats:
        """(K,) the most probable category."""
        return np.asarray(self.probs.argmax(axis=1).astype(np.float64))

    def interval(self, low: float, high: float) -> Floats:
        """(K,) P(low < X <= high)."""
        codes = np.arange(self.num_categories)
        return np.asarray(self.probs @ ((codes > low) & (codes <= high)))

    def condition(self, low: float, high: float) -> Categorical:
        """The units given low < X <= high; one that has no such category becomes uniform on these."""
        codes = np.arange(self.num_categories)
        inside = ((codes > low) & (codes <= high)).astype(np.float64)
        kept = self.probs * inside
        sums = kept.sum(axis=1, keepdims=True)
        kept = np.where(sums > 0, kept, inside)
        return Categorical(kept / kept.sum(axis=1, keepdims=True))

    def expectation(self, g: Callable[[Any], Any]) -> Floats:
        """(K,) E g(X)."""
        return np.asarray(self.probs @ np.asarray(g(np.arange(self.num_categories, dtype=float))))

    def again(self, x: Any, num_units: int) -> Categorical:
        """Equal units with the shares of the categories in a column, one row more spread over all; shapes x (N,)."""
        return self.take([0] * num_units).maximize(
            self.statistics(x, np.ones((len(x), num_units))), 1.0
        )

    def cross_entropy(self, other: Categorical) -> Floats:
        """(K, K') -sum_c p_a(c) ln p_b(c), infinite where b is zero and a is not."""
        logs = -np.log(np.where(other.probs > 0, other.probs, 1.0))
        outside = self.probs @ (other.probs == 0).T.astype(np.float64) > 0
        return np.where(outside, np.inf, self.probs @ logs.T)

    def scores(self, x: Any) -> Floats:
        """(N, K, C) 1[x = c] - p_k(c): gradients in the logits; zero where x is NaN; shapes x (N,) -> (N, K, C)."""
        one_hot = (np.asarray(x)[:, None] == np.arange(self.num_categories)).astype(np.float64)
        return np.where(np.isnan(x)[:, None, None], 0.0, one_hot[:, None, :] - self.probs)

    def said(self, k: int) -> str:
        """The probabilities of unit k."""
        return " ".join(f"{value:.4g}" for value in self.probs[k])

    def mixed(self, weights: Any) -> Categorical:
        """The mixtures of the units with the rows of weights (J, K)."""
        return Categorical(weights @ self.probs)

    def meets(self) -> Any:
        """(K, K) bool: whether some category is possible under both units."""
        support = (self.probs > 0).astype(np.float64)
        return support @ support.T > 0


@dataclass(frozen=True, eq=False, repr=False)
class InputRegion(Immutable):
    """The K input units of one variable: distributions of one family.

    Parameters
    ----------
    variable : int
        The variable, a column of the data.
    leaves : LeafFamily or (K, C) float array
        The family with its K units; a table means `Categorical`: row k holds the probabilities of the categories
        under unit k; non-negative and finite.  Rows of a distribution sum to one; only products of circuits
        (`pcircuit.multiply`) have other sums.

    Raises
    ------
    StructureError
        If `leaves` is neither.

    Examples
    --------
    >>> InputRegion(0, [[0.9, 0.1], [0.2, 0.8]])       # two Bernoulli units
    InputRegion(variable 0, 2 units, 2 categories)
    >>> from pcircuit.leaves import Gaussian
    >>> InputRegion(1, Gaussian([0.0, 3.0], [1.0, 0.5]))
    InputRegion(variable 1, Gaussian(2 units))
    """

    variable: int
    leaves: LeafFamily

    is_input: ClassVar[Literal[True]] = True
    is_sparse: ClassVar[bool] = False

    if TYPE_CHECKING:  # what may be given; the fields say what is kept

        def __init__(self, variable: int, leaves: LeafFamily | ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "variable",
            _refused_as_structure(check_whole_number, self.variable, "variable", 0),
        )
        if not isinstance(self.leaves, LeafFamily):
            object.__setattr__(self, "leaves", Categorical(self.leaves))

    @property
    def probs(self) -> Floats:
        """(K, C) probabilities of the categories, read-only; only `Categorical` leaves have any."""
        if not self.leaves.num_categories:
            raise LeafError(
                f"variable {self.variable} has leaves of the family {type(self.leaves).__name__}, which have "
                "no `probs`: this query is for tables of categories"
            )
        return self.leaves.probs  # type: ignore[attr-defined,no-any-return]

    @property
    def num_units(self) -> int:
        """K, the input units, all of which the region shows to its parent (int, at least 1)."""
        return self.leaves.num_units

    @property
    def num_categories(self) -> int:
        """C, the number of categories of the variable, columns of `probs` (int); 0 where leaves have none."""
        return self.leaves.num_categories

    @property
    def num_nodes(self) -> int:
        """All units of the region, the node ids that it takes in its circuit: K (int)."""
        return self.leaves.num_units

    @property
    def num_parameters(self) -> int:
        """Stored numbers: K C of a table (int)."""
        return self.leaves.num_parameters

    def row_sums(self) -> Floats:
        """(K,) the integral of each unit; 1 for distributions."""
        return self.leaves.total()

    def merged(self, weights: Weights, units: Ints) -> InputRegion | None:
        """The region whose units are mixtures, with weights (K, P), of units (P,) of this one; None if not possible."""
        leaves = self.leaves.take(units).mixed(weights)
        return None if leaves is None else InputRegion(self.variable, leaves)

    def stored(self, table: Floats) -> Floats:
        """(parameters,) a dense table of the same shape, in the order in which the region stores its parameters.

        Shapes: table (K, S).
        """
        return table.ravel()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InputRegion):
            return NotImplemented
        return self.variable == other.variable and self.leaves == other.leaves

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        C = self.num_categories
        return f"InputRegion(variable {self.variable}, " + (
            f"{self.num_units} units, {C} categories)" if C else f"{self.leaves!r})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class InnerRegion(Immutable):
    """The P product and K sum units of one inner v-tree node with A children.

    Parameters
    ----------
    products : (P, A) int array
        Entry (p, c) is the unit of child c that product p multiplies.
    weights : (K, P) float array or scipy.sparse array
        Row k holds the mixture weights of sum unit k; non-negative and finite.  A sparse array is kept as CSR.

    Raises
    ------
    StructureError
        If the arrays are not of this form.

    Examples
    --------
    >>> InnerRegion([[0, 0], [1, 1]], [[0.3, 0.7]])
    InnerRegion(2 children, 2 products, 1 sum)
    """

    products: Ints
    weights: Weights

    is_input: ClassVar[Literal[False]] = False
    num_categories: ClassVar[int] = 0

    if TYPE_CHECKING:  # what may be given; the fields say what is kept

        def __init__(self, products: ArrayLike, weights: Weights) -> None: ...

    def __post_init__(self) -> None:
        products = self.products
        if not _is_right(products, np.int64, MOST_UNITS):
            products = _refused_as_structure(
                check_integers, products, "products", PRODUCTS, 0, MOST_UNITS - 1
            )
            if products.ndim != 2 or products.size == 0:
                raise StructureError(f"`products` must be {PRODUCTS}, found shape {products.shape}")
        products = np.array(products, order="C")
        products.flags.writeable = False
        object.__setattr__(self, "products", products)
        weights = (
            _csr_weights(self.weights)
            if hasattr(self.weights, "tocsr")
            else _weights_array(self.weights, "weights")
        )
        if weights.shape[1] != len(products):
            raise StructureError(
                f"`weights` has {weights.shape[1]} columns but `products` {len(products)} rows: "
                "they must agree, one per product unit"
            )
        object.__setattr__(self, "weights", weights)

    @property
    def is_sparse(self) -> bool:
        """Whether `weights` is a CSR array of SciPy, rather than a dense one of NumPy (bool)."""
        return hasattr(self.weights, "indptr")

    @property
    def num_units(self) -> int:
        """K, the sum units: rows of `weights`, and all that the region shows to its parent (int, at least 1)."""
        return int(self.weights.shape[0])

    @property
    def num_products(self) -> int:
        """P, the product units: rows of `products` and columns of `weights` (int, at least 1)."""
        return len(self.products)

    @property
    def num_nodes(self) -> int:
        """All units of the region, the node ids that it takes in its circuit: P products, then K sums (int)."""
        return self.num_products + self.num_units

    @property
    def num_weights(self) -> int:
        """Number of stored weights: K P if dense, the entries of the CSR array if sparse, zeros among them (int)."""
        return int(self.weights.nnz if self.is_sparse else self.weights.size)

    @property
    def num_parameters(self) -> int:
        """The same as `num_weights`, by the name that input regions have for theirs (int)."""
        return self.num_weights

    def row_sums(self) -> Floats:
        """(K,) sums of the weights of each sum unit; infinite where they overflow."""
        return np.asarray(self.weights.sum(axis=1))

    def merged(self, weights: Weights, units: Ints) -> InnerRegion:
        """The region whose units are mixtures, with weights (K, P), of the units (P,) of this one."""
        return InnerRegion(self.products, weights @ self.weights[units])

    def stored(self, table: Floats) -> Floats:
        """(weights,) a dense table of the same shape, in the order in which the region stores its weights.

        Shapes: table (K, P).
        """
        if not self.is_sparse:
            return table.ravel()
        rows = np.repeat(np.arange(self.num_units), np.diff(self.weights.indptr))
        return np.asarray(table[rows, self.weights.indices])

    def row(self, k: int) -> tuple[Ints, Floats]:
        """The products p that sum unit k mixes, ``weights[k, p] > 0``, ascending (n,), and these weights (n,).

        Empty if all weights are zero.  TypeError if `k` is not a whole number, IndexError if there is no such sum;
        negative numbers do not count from the end.  O(P) if dense, O(n) if sparse.

        Examples
        --------
        >>> InnerRegion([[0, 0], [0, 1], [1, 1]], [[0.3, 0.0, 0.7]]).row(0)
        (array([0, 2]), array([0.3, 0.7]))
        """
        k = check_whole_number(k, "k")
        if not 0 <= k < self.num_units:
            raise IndexError(
                f"`k` {k} does not exist: the sum units of the region are 0..{self.num_units - 1}"
            )
        if self.is_sparse:
            part = slice(self.weights.indptr[k], self.weights.indptr[k + 1])
            products, weights = self.weights.indices[part], self.weights.data[part]
            return products[weights > 0], weights[weights > 0]
        products = np.flatnonzero(self.weights[k])
        return products, self.weights[k, products]

    def dense_weights(self) -> Floats:
        """`weights` as a dense (K, P) float64 array: itself, read-only, or a new array if it is sparse."""
        return np.asarray(self.weights.toarray() if self.is_sparse else self.weights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InnerRegion):
            return NotImplemented
        alike = (
            self.weights.shape == other.weights.shape
            and np.array_equal(self.products, other.products)
            and self.is_sparse == other.is_sparse
        )
        if alike and self.is_sparse:  # their dense form may not fit the memory
            return bool((self.weights != other.weights).nnz == 0)
        return alike and np.array_equal(self.weights, other.weights)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sums = f"{self.num_units} sum{'s' if self.num_units > 1 else ''}"
        return (
            f"InnerRegion({self.products.shape[1]} children, {self.num_products} products, {sums}"
            f"{', sparse' if self.is_sparse else ''})"
        )


def _weights_array(values: Any, name: str) -> Floats:
    """`values` as a read-only 2-D float64 copy of non-negative finite numbers."""
    if not _is_right(values, np.float64, np.inf):
        expected = "a non-empty two-dimensional array of finite numbers of at least 0"
        values = _refused_as_structure(check_numbers, values, name, expected, least=0)
        if values.ndim != 2 or values.size == 0:
            raise StructureError(f"`{name}` must be {expected}, found shape {values.shape}")
    array = np.array(values, order="C")
    array.flags.writeable = False
    return array


def _is_right(values: object, dtype: type[np.generic], end: float) -> bool:
    """Whether `values` is a plain table of numbers from 0 to below `end`; circuits may have thousands of small ones."""
    return (
        type(values) is np.ndarray
        and values.dtype == dtype
        and values.ndim == 2
        and values.size > 0
        and bool(
            np.minimum.reduce(values, axis=None) >= 0 and np.maximum.reduce(values, axis=None) < end
        )
    )


def _csr_weights(weights: Any) -> Any:
    """A scipy.sparse array as a canonical read-only CSR array of non-negative finite float64."""
    import scipy.sparse

    if weights.dtype.kind not in "biuf":
        raise StructureError(
            f"`weights` must be a sparse array of real numbers, found {weights.dtype}"
        )
    try:
        csr = scipy.sparse.csr_array(weights, dtype=np.float64, copy=True)
        csr.check_format(
            full_check=True
        )  # indices beyond the columns would be read from anywhere in memory
    except ValueError as error:
        raise StructureError(f"`weights` is not a well-formed sparse array: {error}") from None
    csr.sum_duplicates()
    if csr.ndim != 2 or 0 in csr.shape:
        raise StructureError(f"`weights` must be a non-empty (K, P) array, found shape {csr.shape}")
    check_weights(csr.data, "weights")
    for part in (csr.data, csr.indices, csr.indptr):
        part.flags.writeable = False
    return csr


def check_weights(array: Floats, name: str) -> None:
    """Raise unless all numbers are finite and non-negative."""
    if array.size and not (array.min() >= 0 and array.max() < np.inf):  # a NaN fails the comparison
        bad = array[~((array >= 0) & (array < np.inf))].flat[0]
        raise StructureError(f"`{name}` holds {bad}: all entries must be finite and at least 0")


def _refused_as_structure(check: Callable[..., Any], *arguments: Any, **limits: Any) -> Any:
    """What a check of arguments returns; what it refuses is a StructureError with the same sentence."""
    try:
        return check(*arguments, **limits)
    except (TypeError, ValueError) as error:
        raise StructureError(str(error)) from None
