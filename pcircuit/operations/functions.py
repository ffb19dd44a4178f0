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

Sums of functions of single variables: their exact mean, variance and whole distribution under a circuit.

Let f(x) = sum_v g_v(x_v), for instance a score, a price, or the number of variables with a certain level.  Bottom-up,
for the units of each region,

                inputs               products           sums
    mean        m = probs g          m_p = sum_c m_c    m_k = sum_p w_kp m_p
    variance    probs (g - m)^2      s_p = sum_c s_c    sum_p w_kp (s_p + (m_p - m_k)^2)

since the parts of f below the children of a product are independent given the product.  If the g_v are whole numbers,
the distribution of f follows in the same way: that of a product is the convolution of those of its children, that
of a sum the mixture.  Threshold and counting queries, P(f >= t), are sums of its entries.
"""

import functools
import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Floats, check_integers, check_numbers, is_listing, shown
from pcircuit.circuit import Circuit, check_distribution, factors
from pcircuit.operations.products import check_one_space, overlap, scaled_overlap
from pcircuit.operations.properties import prune
from pcircuit.regions import InnerRegion, InputRegion
from pcircuit.vtree import VTree, check_vtree

MOST_PRODUCTS = 1_000_000  # of one region of a circuit that counts
LARGEST_EXPONENT = 1024  # of doubles, with mantissas below 1
ROUND_OFF = 1e-14  # relative, of terms beyond doubles
MOST_VALUES = 1_000_000  # that the sum can take
LARGEST_WHOLE = 10**12  # of a function of one variable: sums stay exact
LARGEST = 1e150  # of a function of one variable: squares of sums stay finite


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
        If the functions are not whole numbers up to 10^12 in size, one array for each variable, if `values`
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
    listed: Any = list(values) if is_listing(values) else values
    wanted = check_integers(listed, "values", "whole numbers in a list, set or range").ravel()
    regions: list[Any] = []
    sums: list[Any] = []  # per region the values of the sum below, ascending
    for r, v in enumerate(vtree.variables.tolist()):
        if v >= 0:
            levels = np.unique(tables[v])
            inside = (
                np.isin(tables[v], wanted)[None]
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
                _ones(np.where(np.isin(totals, wanted), 0, -1), 1)
                if r == vtree.root
                else _ones(rows, len(levels)),
            )
        )
        sums.append(levels)
    return prune(Circuit(vtree, regions))


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
    listed = one_each(functions, vtree.num_variables)
    expected = f"whole numbers up to {LARGEST_WHOLE} in size, one for each level"
    tables = [
        check_integers(g, "functions", expected, -LARGEST_WHOLE, LARGEST_WHOLE) for g in listed
    ]
    for v, table in enumerate(tables):
        if table.ndim != 1 or not len(table):
            raise ValueError(
                f"`functions` must hold one number for each level of variable {v}, found shape "
                f"{table.shape}"
            )
    return tables


def linear_moments(circuit: Circuit, functions: Sequence[ArrayLike]) -> tuple[float, float]:
    """Mean and variance of a sum of functions of single variables.

    E f and Var f for f(x) = sum_v g_v(x_v), x drawn from the circuit.

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    functions : sequence of V (C_v,) float array_like
        g_v by level: zeros for variables that do not count.  A function of an array where leaves are no tables.

    Returns
    -------
    float, float

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If an argument is of the wrong kind, or there is not one number up to 1e150 in size for each level of each
        variable.

    Notes
    -----
    O(number of parameters).  Variances add up from squares of differences, so no digits cancel.

    Examples
    --------
    >>> from pcircuit import Circuit, InnerRegion, InputRegion, VTree
    >>> two_equal_coins = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[1, 0], [0, 1]]), InputRegion(1, [[1, 0], [0, 1]]),
    ...     InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])])
    >>> linear_moments(two_equal_coins, [[0, 1], [0, 1]])        # both or none
    (1.0, 1.0)
    """
    check_distribution(circuit)
    values = _checked(circuit, functions, LARGEST, allow_callables=True)
    means: list[Any] = []  # of each region's units
    variances: list[Any] = []
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            g: Any = values[region.variable]
            if not region.num_categories:
                means.append(region.leaves.expectation(g))
                centre = float(means[r][0])
                square = region.leaves.expectation(_squared_from(g, centre))
                variances.append(np.maximum(square - (means[r] - centre) ** 2, 0.0))
                continue
            means.append(region.probs @ g)
            variances.append(_mean_square(region.probs, g, means[r]))
            continue
        inside: Any = sum(factors(circuit, r, means))
        spread: Any = sum(factors(circuit, r, variances))
        mean = region.weights @ inside
        means.append(mean)
        variances.append(_mean_square(region.dense_weights(), inside, mean, spread))
    return float(means[-1][0]), float(variances[-1][0])


def _squared_from(g: Any, centre: float) -> Any:
    """The function (g(x) - centre)^2."""
    return lambda x: (np.asarray(g(x), dtype=float) - centre) ** 2


def _mean_square(
    shares: Floats, values: Floats, means: Floats, spread: Floats | float = 0.0
) -> Floats:
    """(K,) means of squared differences, plus `spread`."""
    return np.asarray((shares * (spread + (values - means[:, None]) ** 2)).sum(axis=1))


def sum_distribution(
    circuit: Circuit, functions: Sequence[ArrayLike]
) -> tuple[np.ndarray, np.ndarray]:
    """The distribution of a sum of whole-number functions of single variables.

    P(f = s) for f(x) = sum_v g_v(x_v), x drawn from the circuit.

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    functions : sequence of V (C_v,) int array_like
        g_v by level.

    Returns
    -------
    (n,) int64 array
        All whole numbers from the smallest to the largest value of f.
    (n,) float64 array
        Their probabilities.

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If an argument is of the wrong kind, the functions are not whole numbers up to 10^12 in size, one for each
        level, or f can take more than 1,000,000 values.

    Notes
    -----
    O(P n^2) at each region for n values below it, by direct convolution: nothing is subtracted, so small probabilities
    keep their digits.

    Examples
    --------
    >>> from pcircuit import Circuit, InputRegion, InnerRegion, VTree
    >>> dice = Circuit(VTree.from_nested([0, 1]), [
    ...     InputRegion(0, [[1 / 6] * 6]), InputRegion(1, [[1 / 6] * 6]), InnerRegion([[0, 0]], [[1.0]])])
    >>> total, probs = sum_distribution(dice, [range(1, 7)] * 2)
    >>> int(total[5]), float(round(probs[5] * 36, 9)), float(round(probs[total >= 11].sum() * 36, 9))
    (7, 6.0, 3.0)
    """
    check_distribution(circuit)
    values = _checked(circuit, functions, LARGEST_WHOLE, allow_callables=False)
    if any((g != np.round(g)).any() for g in values):
        raise ValueError(
            "`functions` must hold whole numbers: the sum of others takes too many values; "
            "`linear_moments` has mean and variance"
        )
    lows, highs = ([int(op(g)) for g in values] for op in (np.min, np.max))
    start, stop = sum(lows), sum(highs) + 1
    if stop - start > MOST_VALUES:
        raise ValueError(
            f"`functions` let the sum take {stop - start} values, expected at most {MOST_VALUES}"
        )
    laws: list[
        Any
    ] = []  # per region (K, n): laws of the units' sums, counted from their smallest value
    for r, region in enumerate(circuit.regions):
        if region.is_input:
            g = values[region.variable].astype(np.int64) - lows[region.variable]
            law = np.zeros((region.num_units, g.max() + 1))
            np.add.at(law.T, g, region.probs.T)
        else:
            law = region.weights @ functools.reduce(_convolved, factors(circuit, r, laws))
        laws.append(law)
    return np.arange(start, stop), laws[-1][0]


def _convolved(left: Floats, right: Floats) -> Floats:
    """(P, n + m - 1) laws of sums of two independent numbers with laws (P, n) and (P, m)."""
    wide, narrow = (left, right) if left.shape[1] >= right.shape[1] else (right, left)
    both = np.zeros((len(wide), wide.shape[1] + narrow.shape[1] - 1))
    for shift in range(narrow.shape[1]):
        both[:, shift : shift + wide.shape[1]] += narrow[:, shift, None] * wide
    return both


def _checked(
    circuit: Circuit, functions: Sequence[ArrayLike], largest: float, *, allow_callables: bool
) -> list[Any]:
    """One float array for each variable, or a function."""
    found: list[Any] = []
    listed = one_each(functions, circuit.num_variables)
    for v, (g, C) in enumerate(zip(listed, circuit.num_categories, strict=True)):
        if C:
            expected = f"{C} numbers up to {largest:g} in size for variable {v}, one for each level"
            g = check_numbers(g, "functions", expected, (C,), least=-largest, most=largest)
        elif not (callable(g) and allow_callables):
            raise TypeError(
                f"`functions` holds {shown(g)} for variable {v}, whose leaves are no table: expected a function of an "
                "array, of which `linear_moments` has mean and variance"
            )
        found.append(g)
    return found


def one_each(functions: Sequence[ArrayLike], num_variables: int) -> list[ArrayLike]:
    """`functions` as a list, refused unless it has one entry for each variable."""
    if not is_listing(functions):
        raise TypeError(
            f"`functions` must be a sequence of arrays, one for each variable, found {functions!r}"
        )
    listed = list(functions)
    if len(listed) != num_variables:
        raise ValueError(
            f"`functions` must hold one array for each of the {num_variables} variables, found "
            f"{len(listed)}"
        )
    return listed
