"""Functions that are circuits: their expectation and covariance, and circuits that count.

For circuits p, f, g on one v-tree, p a distribution, sums over all states are overlaps (`pcircuit.overlap`):

    E f = sum_x p(x) f(x)          E fg = sum_x p(x) f(x) g(x)          Cov(f, g) = E fg - E f E g

Which functions are circuits?  Likelihoods of other models, mixtures and products of these, and every function that
a small automaton can compute while it reads the variables in the order of the v-tree.  `sum_indicator` is the most
useful one: it counts.  For f(x) = 1 where s(x) = sum_v g_v(x_v) lies in a set, else 0, the units of a region are the
values t that the sum of the variables below can take,

    inputs     1 where g_v(x_v) = t         products    one value of each child        sums    products with total t

and the root adds up the products whose total lies in the set.  Exactly one unit of a region is 1 for each row, so the
circuit is deterministic.  Its expectation is a probability, its product with p a conditional distribution.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import is_listing
from pcircuit.arrays import check_integers
from pcircuit.circuit import Circuit, check_distribution
from pcircuit.operations.linear_functions import one_each
from pcircuit.operations.products import check_one_space, overlap, scaled_overlap
from pcircuit.operations.properties import prune
from pcircuit.regions import InnerRegion, InputRegion
from pcircuit.vtree import VTree, check_vtree

MOST_PRODUCTS = 1_000_000  # of one region of a circuit that counts
LARGEST_EXPONENT = 1024  # of doubles, with mantissas below 1
ROUND_OFF = 1e-14  # relative, of terms beyond doubles
LARGEST_SUM = 2**62  # that a sum of 64-bit integers may reach


def expectation(circuit: Circuit, f: Circuit) -> float:
    """Expectation of a function that is a circuit.

    E f = sum_x p(x) f(x), x drawn from the circuit.

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    f : Circuit
        On the same v-tree, normalised or not.

    Returns
    -------
    float

    Raises
    ------
    StructureError
        If `circuit` is not normalised, or the v-trees differ.
    TypeError, ValueError
        If an argument is of the wrong kind, or the numbers of categories differ.

    Notes
    -----
    O(K P^2 + K^2 P) for each region.

    References
    ----------
    Khosravi et al. (2019), On tractable computation of expected predictions, NeurIPS; Vergari et al. (2021), A
    Compositional Atlas of Tractable Circuit Operations, NeurIPS.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin, f = (Circuit(VTree([-1], [0]), [InputRegion(0, [row])]) for row in ([0.25, 0.75], [0.0, 2.0]))
    >>> expectation(coin, f)
    1.5
    """
    check_one_space((circuit, f), ("circuit", "f"))
    return overlap(check_distribution(circuit), f)


def covariance(circuit: Circuit, f: Circuit, g: Circuit) -> float:
    """Covariance of two functions that are circuits.

    Cov(f, g) = E fg - E f E g, x drawn from the circuit.

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    f, g : Circuit
        On the same v-tree, normalised or not.

    Returns
    -------
    float

    Raises
    ------
    StructureError
        If `circuit` is not normalised, or the v-trees differ.
    TypeError, ValueError
        If an argument is of the wrong kind, or the numbers of categories differ.

    Notes
    -----
    An overlap of three circuits, O(K P^3) for each region.  The two terms cancel where f hardly varies: the absolute
    error is about 1e-16 times E fg, not times the covariance; also where E f, E g or a term is outside the range of
    doubles.  Infinite where the covariance itself is beyond it.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin, f = (Circuit(VTree([-1], [0]), [InputRegion(0, [row])]) for row in ([0.25, 0.75], [0.0, 2.0]))
    >>> covariance(coin, f, f)                                   # 4 * 0.75 - 1.5 * 1.5
    0.75
    """
    check_one_space((circuit, f, g), ("circuit", "f", "g"))
    check_distribution(circuit)
    both, of_f, of_g = map(scaled_overlap, ((circuit, f, g), (circuit, f), (circuit, g)))
    apart = of_f[0] * of_g[0], of_f[1] + of_g[1]
    top = max(both[1], apart[1])
    difference = math.ldexp(both[0], both[1] - top) - math.ldexp(apart[0], apart[1] - top)
    if top > LARGEST_EXPONENT and abs(difference) <= ROUND_OFF:
        return 0.0
    try:
        return math.ldexp(difference, top)
    except OverflowError:
        return math.copysign(math.inf, difference)


def variance(circuit: Circuit, f: Circuit) -> float:
    """Variance of a function that is a circuit.

    Var f = E f^2 - (E f)^2, x drawn from the circuit; never negative.

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    f : Circuit
        On the same v-tree, normalised or not.

    Returns
    -------
    float

    Raises
    ------
    StructureError
        If `circuit` is not normalised, or the v-trees differ.
    TypeError, ValueError
        If an argument is of the wrong kind, or the numbers of categories differ.

    Notes
    -----
    As `covariance`.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, VTree
    >>> coin, f = (Circuit(VTree([-1], [0]), [InputRegion(0, [row])]) for row in ([0.25, 0.75], [0.0, 2.0]))
    >>> variance(coin, f)
    0.75
    """
    return max(covariance(circuit, f, f), 0.0)


def sum_indicator(vtree: VTree, functions: Sequence[ArrayLike], values: Collection[int]) -> Circuit:
    """The circuit that is 1 where a sum of whole-number functions lies in a set, and 0 elsewhere.

    f(x) = 1[sum_v g_v(x_v) in values].

    Parameters
    ----------
    vtree : VTree
    functions : sequence of V (C_v,) int array_like
        g_v by level; the lengths say how many categories there are.
    values : collection of int
        For instance ``range(t, m + 1)`` for a threshold t and the largest sum m.

    Returns
    -------
    Circuit
        On the v-tree, deterministic, not normalised: its total is the number of such states.

    Raises
    ------
    TypeError, ValueError
        If the functions are not whole numbers, one array for each variable, with sums up to 2**62 in size, if `values`
        is no collection of whole numbers, or a region would need more than a million products.

    Notes
    -----
    Units of a region are the values of the sum below it, products are pairs of them: n values on both sides make n^2.
    `pcircuit.sum_distribution` is faster if only the distribution of the sum is needed.

    References
    ----------
    Choi, Van den Broeck and Darwiche (2015), Tractable learning for structured probability spaces, IJCAI.

    Examples
    --------
    Two of three coins show heads:

    >>> import pcircuit
    >>> two = sum_indicator(VTree.balanced(3), [[0, 1]] * 3, {2})
    >>> np.exp(pcircuit.log_likelihood(two, [[1, 1, 0], [1, 0, 0], [-1, -1, -1]]))
    array([1., 0., 3.])
    """
    tables = _whole_functions(vtree, functions)
    wanted = _whole_values(values)
    regions: list[Any] = []
    sums: list[Any] = []  # per region the values of the sum below, ascending
    for r, v in enumerate(vtree.variables.tolist()):
        if v >= 0:
            levels = np.unique(tables[v])
            inside = (
                _are_in(tables[v], wanted)[None]
                if r == vtree.root
                else tables[v][None] == levels[:, None]
            )
            regions.append(InputRegion(v, inside.astype(np.float64)))
            sums.append(levels)
            continue
        children = vtree.children(r).tolist()
        sizes = [len(sums[c]) for c in children]
        if math.prod(sizes) > MOST_PRODUCTS:
            raise ValueError(
                f"`functions` let the children of v-tree node {r} take {sizes} sums, and all combinations "
                f"of them are more than {MOST_PRODUCTS} products: use a v-tree with two children a node, "
                "or `sum_distribution`"
            )
        products = np.indices(sizes).reshape(len(children), -1).T
        totals = sum(sums[c][products[:, a]] for a, c in enumerate(children))
        levels, rows = np.unique(totals, return_inverse=True)
        regions.append(
            InnerRegion(
                products,
                _ones(np.where(_are_in(totals, wanted), 0, -1), 1)
                if r == vtree.root
                else _ones(rows, len(levels)),
            )
        )
        sums.append(levels)
    return prune(Circuit(vtree, regions))


def _are_in(totals: np.ndarray, wanted: Any) -> np.ndarray:
    """Which sums are among the values; a range of billions is not written out."""
    if isinstance(wanted, range):
        return np.fromiter((total in wanted for total in totals.tolist()), bool, len(totals))
    return np.isin(totals, wanted)


def _ones(rows: np.ndarray, num_rows: int) -> Any:
    """CSR weights with a one for each product in its row, and none where that is -1."""
    import scipy.sparse

    used = np.flatnonzero(rows >= 0)
    return scipy.sparse.csr_array(
        (np.ones(len(used)), (rows[used], used)), shape=(num_rows, len(rows))
    )


def _whole_functions(vtree: VTree, functions: Sequence[ArrayLike]) -> list[np.ndarray]:
    """One int64 array for each variable of the v-tree."""
    check_vtree(vtree)
    tables = [
        check_integers(g, "functions", "whole numbers, one for each level")
        for g in one_each(functions, vtree.num_variables)
    ]
    for v, table in enumerate(tables):
        if table.ndim != 1 or not len(table):
            raise ValueError(
                f"`functions` must hold one number for each level of variable {v}, found shape "
                f"{table.shape}"
            )
    largest = sum(max(-int(table.min()), int(table.max()), 0) for table in tables)
    if largest > LARGEST_SUM:
        raise ValueError(
            "`functions` must have sums between -2**62 and 2**62, found numbers that add up to "
            f"{largest} in size: subtract constants from the functions, and their sum from `values`"
        )
    return tables


def _whole_values(values: Collection[int]) -> Any:
    """`values` as one int64 array; a range as it is."""
    if isinstance(values, range):
        return values
    if not is_listing(values):
        hint = f": write a single one as [{values}]" if isinstance(values, Integral) else ""
        raise TypeError(
            f"`values` must be whole numbers in a list, set or range, found {values!r}{hint}"
        )
    wanted = check_integers(list(values), "values", "whole numbers")
    if wanted.ndim != 1:
        raise ValueError(
            f"`values` must be whole numbers in a list, set or range, found shape {wanted.shape}"
        )
    return wanted
