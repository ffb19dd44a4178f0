"""Sums of functions of single variables: their exact mean, variance and whole distribution under a circuit.

Let f(x) = sum_v g_v(x_v), for instance a score, a price, or the number of variables with a certain level.  Bottom-up,
for the units of each region,

                inputs               products           sums
    mean        m = probs g          m_p = sum_c m_c    m_k = sum_p w_kp m_p
    variance    probs (g - m)^2      s_p = sum_c s_c    sum_p w_kp (s_p + (m_p - m_k)^2)

since the parts of f below the children of a product are independent given the product.  If the g_v are whole numbers,
the distribution of f follows in the same way: that of a product is the convolution of those of its children, that
of a sum the mixture.  Threshold and counting queries, P(f >= t), are sums of its entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import is_listing, shown
from pcircuit.array_types import Floats
from pcircuit.arrays import check_numbers
from pcircuit.circuit import Circuit, check_distribution
from pcircuit.regions import InnerRegion, InputRegion

MOST_VALUES = 1_000_000  # that the sum can take
TOO_LARGE = 2**53  # from here on doubles do not hold all whole numbers
LARGEST_SIZE = 2.0**1023  # of a sum of doubles whose means are doubles, however they are rounded
LARGEST_SUM = 2**62  # whose neighbours are 64-bit integers, too


def linear_moments(circuit: Circuit, functions: Sequence[ArrayLike]) -> tuple[float, float]:
    """Mean and variance of a sum of functions of single variables.

    E f and Var f for f(x) = sum_v g_v(x_v), x drawn from the circuit.

    Parameters
    ----------
    circuit : Circuit
        Normalised.
    functions : sequence of V (C_v,) float array_like
        g_v by level: zeros for variables that do not count.

    Returns
    -------
    float, float

    Raises
    ------
    StructureError
        If the circuit is not normalised.
    TypeError, ValueError
        If an argument is of the wrong kind, there is not one finite number for each level of each variable, or sums
        could reach 2**1023 in size.

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
    values = _checked(circuit, functions)
    _check_size(values)
    means: list[Any] = []  # of each region's units
    variances: list[Any] = []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            g = values[region.variable]
            means.append(region.probs @ g)
            variances.append(_mean_square(region.probs, g, means[r]))
            continue
        children = circuit.vtree.children(r).tolist()
        inside = sum(means[c][region.products[:, a]] for a, c in enumerate(children))
        spread = sum(variances[c][region.products[:, a]] for a, c in enumerate(children))
        mean = region.weights @ inside
        means.append(mean)
        variances.append(_mean_square(region.dense_weights(), inside, mean, spread))
    return float(means[-1][0]), float(variances[-1][0])


def _check_size(values: list[np.ndarray]) -> None:
    """Raise where sums of the largest numbers would leave the range of doubles, or their means by rounding."""
    with np.errstate(over="ignore"):
        size = float(np.sum([np.abs(g).max() for g in values]))
    if size >= LARGEST_SIZE:
        raise ValueError(
            f"`functions` must have sums below 2**1023 in size, found numbers that add up to {size:.4g}: "
            "divide them by a constant"
        )


def _mean_square(
    shares: Floats, values: Floats, means: Floats, spread: Floats | float = 0.0
) -> Floats:
    """(K,) means of squared differences, plus `spread`; values without a share may be so large that they overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        terms = shares * (spread + (values - means[:, None]) ** 2)
    squares: Floats = np.where(shares > 0, terms, 0.0).sum(axis=1)
    return squares


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
        If an argument is of the wrong kind, the functions are not whole numbers below 2**53 in size, one for each
        level, or f can take more than 1,000,000 values, or values beyond 2**62.

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
    values = _checked(circuit, functions)
    if any((g != np.round(g)).any() for g in values):
        raise ValueError(
            "`functions` must hold whole numbers: the sum of others takes too many values; "
            "`linear_moments` has mean and variance"
        )
    lows, highs = ([int(op(g)) for g in values] for op in (np.min, np.max))
    start, stop = _checked_range(lows, highs)
    laws: list[
        Any
    ] = []  # per region (K, n): laws of the units' sums, counted from their smallest value
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            g = values[region.variable].astype(np.int64) - lows[region.variable]
            law = np.zeros((region.num_units, g.max() + 1))
            np.add.at(law.T, g, region.probs.T)
        else:
            law = region.weights @ _convolved(region, circuit.vtree.children(r).tolist(), laws)
        laws.append(law)
    return np.arange(start, stop), laws[-1][0]


def _checked_range(lows: list[int], highs: list[int]) -> tuple[int, int]:
    """The smallest sum, and one more than the largest; refused where numbers are not exact, or sums are too many."""
    for v, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if max(-low, high) >= TOO_LARGE:
            raise ValueError(
                "`functions` must hold whole numbers between -2**53 and 2**53, which doubles keep exactly,"
                f" found {shown(high if high >= TOO_LARGE else low)} for variable {v}: subtract a "
                "constant from the function, and add it to the sums"
            )
    start, stop = sum(lows), sum(highs) + 1
    if stop - start > MOST_VALUES:
        raise ValueError(
            f"`functions` let the sum take {stop - start} values, expected at most {MOST_VALUES}"
        )
    if max(-start, stop) > LARGEST_SUM:
        raise ValueError(
            f"`functions` must have sums between -2**62 and 2**62, found sums of {start} to {stop - 1}: "
            "subtract constants from the functions, and add them to the sums"
        )
    return start, stop


def _convolved(region: InnerRegion, children: list[int], laws: list[Any]) -> Any:
    """(P, n) laws of the products' sums."""
    inside = laws[children[0]][region.products[:, 0]]
    for a, c in enumerate(children[1:], start=1):
        other = laws[c][region.products[:, a]]
        wide, narrow = (inside, other) if inside.shape[1] >= other.shape[1] else (other, inside)
        both = np.zeros((len(wide), wide.shape[1] + narrow.shape[1] - 1))
        for shift in range(narrow.shape[1]):
            both[:, shift : shift + wide.shape[1]] += narrow[:, shift, None] * wide
        inside = both
    for c in children:
        laws[c] = None
    return inside


def _checked(circuit: Circuit, functions: Sequence[ArrayLike]) -> list[np.ndarray]:
    """One float array for each variable."""
    return [
        check_numbers(
            g, "functions", f"{C} finite numbers for variable {v}, one for each level", (C,)
        )
        for v, (g, C) in enumerate(
            zip(one_each(functions, circuit.num_variables), circuit.num_categories, strict=True)
        )
    ]


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
