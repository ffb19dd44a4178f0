"""The two kinds of regions, and the error for circuits that are not well formed.

See `pcircuit.circuit` for what regions are for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import (
    Floats,
    Ints,
    Weights,
    check_integers,
    check_numbers,
    check_whole_number,
)
from pcircuit.immutable import Immutable

MOST_UNITS = 2**31  # in one region
PRODUCTS = f"a non-empty (P, A) array of unit indices from 0 to {MOST_UNITS - 1}"


class StructureError(ValueError):
    """A circuit lacks a property that is needed: consistent regions, or normalisation."""


@dataclass(frozen=True, eq=False, repr=False)
class InputRegion(Immutable):
    """The K input units of one variable with C categories.

    Parameters
    ----------
    variable : int
        The variable, a column of the data.
    probs : (K, C) float array
        Row k holds the probabilities of the categories under unit k; non-negative and finite.  Rows of a
        distribution sum to one; only products of circuits (`pcircuit.multiply`) have other sums.

    Raises
    ------
    StructureError
        If `probs` is not such an array.

    Examples
    --------
    >>> InputRegion(0, [[0.9, 0.1], [0.2, 0.8]])       # two Bernoulli units
    InputRegion(variable 0, 2 units, 2 categories)
    """

    variable: int
    probs: Floats

    if TYPE_CHECKING:  # what may be given; the fields say what is kept

        def __init__(self, variable: int, probs: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "variable",
            _refused_as_structure(check_whole_number, self.variable, "variable", 0),
        )
        object.__setattr__(self, "probs", _weights_array(self.probs, "probs"))

    @property
    def num_units(self) -> int:
        """K, the input units, all of which the region shows to its parent (int, at least 1)."""
        return len(self.probs)

    @property
    def num_categories(self) -> int:
        """C, the number of categories of the variable: columns of `probs` (int, at least 1)."""
        return int(self.probs.shape[1])

    @property
    def num_nodes(self) -> int:
        """All units of the region, the node ids that it takes in its circuit: K (int)."""
        return len(self.probs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InputRegion):
            return NotImplemented
        return self.variable == other.variable and np.array_equal(self.probs, other.probs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"InputRegion(variable {self.variable}, {self.num_units} units, {self.num_categories} categories)"


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

    def row(self, k: int) -> tuple[Ints, Floats]:
        """What sum unit k mixes: the products p with ``weights[k, p] > 0``, and these weights.

        Parameters
        ----------
        k : int
            0, ..., `num_units` - 1.

        Returns
        -------
        products : (n,) int array
            Ascending; empty if all weights are zero.
        weights : (n,) float64 array
            Positive.

        Raises
        ------
        TypeError
            If `k` is not a whole number.
        IndexError
            If there is no such sum; negative numbers do not count from the end.

        Notes
        -----
        O(P) if dense, O(n) if sparse.

        Examples
        --------
        >>> InnerRegion([[0, 0], [0, 1], [1, 1]], [[0.3, 0.0, 0.7]]).row(0)
        (array([0, 2]), array([0.3, 0.7]))
        """
        k = self._checked_sum(k)
        if self.is_sparse:
            part = slice(self.weights.indptr[k], self.weights.indptr[k + 1])
            products, weights = self.weights.indices[part], self.weights.data[part]
            return products[weights > 0], weights[weights > 0]
        products = np.flatnonzero(self.weights[k])
        return products, self.weights[k, products]

    def dense_weights(self) -> Floats:
        """`weights` as a dense array.

        Returns
        -------
        (K, P) float64 array
            `weights` itself, read-only, if it is dense; a new array of 8 K P bytes if it is sparse.
        """
        return np.asarray(self.weights.toarray() if self.is_sparse else self.weights)

    def weight_row(self, k: int) -> Floats:
        """All weights of sum unit k, zeros included: row k of `dense_weights`, without making the others.

        Parameters
        ----------
        k : int
            0, ..., `num_units` - 1.

        Returns
        -------
        (P,) float64 array

        Raises
        ------
        TypeError, IndexError
            As for `row`.
        """
        k = self._checked_sum(k)
        return np.asarray(self.weights[[k]].toarray()[0] if self.is_sparse else self.weights[k])

    def _checked_sum(self, k: int) -> int:
        """`k` as an int, refused unless it is a sum unit (negative numbers do not wrap around)."""
        k = check_whole_number(k, "k")
        if not 0 <= k < self.num_units:
            raise IndexError(
                f"`k` {k} does not exist: the sum units of the region are 0..{self.num_units - 1}"
            )
        return k

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
