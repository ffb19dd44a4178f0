"""Overlaps of the units of a region: sums over x of products of two and three of them, plain and centred.

Write E_a for the expectation when the scope of a region is drawn from its unit a, and E = sum_a q_a E_a for the
expectation under the circuit.  With mu_b = E[p_b] the tables of a region are

    second    M2[a, b]     = E_a[p_b]                    = sum_x p_a p_b
    third     M3[a, b, c]  = E_a[p_b p_c]                = sum_x p_a p_b p_c
    second_c  M2~[a, b]    = E_a[p_b - mu_b]             = M2[a, b] - mu_b
    third_c   M3~[a, b, c] = E_a[p_b (p_c - mu_c)]       = M3[a, b, c] - M2[a, b] mu_c

The centred tables are what covariances are made of, e.g. cov(p_b, p_c) = sum_a q_a M3~[a, b, c].  Subtracting at the
end would lose their digits wherever a likelihood hardly varies, so they have a recursion of their own, in which the
small quantities are sums of small terms.  Each step also knows the plain difference, which is more accurate where
a likelihood varies by orders of magnitude, and errs by at most rho (M3 + M2 mu), with rho the relative error of
likelihoods (`pcircuit.moments.rounding`).  Entry by entry, the sum is moved to within that error of it (`within`).  So
every centred entry errs by at most twice as much, and a covariance by a few rho (E[l_i l_j] + mu_i mu_j), whatever the
circuit.

    inputs     integrals over the table of the input region
    products   children c = 0, 1, ... are multiplied in one after the other.  For f = f1 f2 and g = g1 g2, whose parts
               are independent under every product unit (M2~1 is a table of the first part, M2_2 of the second),
                   cov_f = mu_f - mu_f1 mu_f2 = sum_p qp_p M2~1[p, f1] M2~2[p, f2]
                   M2~   = M2~1 M2_2 + mu_f1 M2~2 - cov_f
                   M3~   = M3~1 M3_2 + M2_1 mu_g1 M3~2 - M2 cov_g
    sums       all tables are multilinear: one multiplication by the weights per index

A unit that is constant to working precision (`pcircuit.moments.rounding`) is made exactly constant: its centred
entries, which hold nothing but rounding errors, are set to zero, so that no product of the unit takes them for
something that varies.

Overlaps of large scopes underflow, so the tables carry powers of two: true M2 = second * 2**exp2 (also second_c and
mean), true M3 = third * 2**exp3 (also third_c).

The tables of B regions of equal shape are stacked (`moments.plan`), so that regions of few units share NumPy's calls.
"""

from typing import Any, NamedTuple

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.moments.unit_pairs import as_pairs, gram_factor, pair_numbers
from pcircuit.regions import LeafFamily

MAX_SHIFT = 900  # powers of two taken out at once, so that no factor overflows


class Overlaps(NamedTuple):
    """Tables of the K units that each of B regions shows; see the module docstring.

    In the centred tables and means n selected products come before these units, n > 0 at inner regions only.
    """

    second: Floats  # (B, K, K)
    second_c: Floats  # (B, K, n + K)
    mean: Floats  # (B, n + K)
    third: Floats  # (B, pairs, K)
    third_c: Floats  # (B, pairs, n + K); the first two indices are the symmetric ones
    exp2: Ints  # (B,)
    exp3: Ints  # (B,)


def scaled(values: Any, exponent: Any) -> Any:
    """values * 2**exponent for exponents of any size."""
    return np.ldexp(values, np.minimum(np.maximum(exponent, -4200), 4200))


def input_overlaps(probs: Floats, q: Floats, rounding: Floats) -> Overlaps:
    """Tables of B input regions, `probs` (B, K, C), with top-down masses q (B, K) and relative errors `rounding`.

    Shapes: probs (B, K, C), q (B, K), rounding (B,).
    """
    mean, centred, excess = deviations(probs, q, rounding)
    pairs, pairs_excess, _ = _pairs_of_inputs(probs, mean, centred, excess)
    moving, functions = np.asarray(centred.any(axis=2))[:, None], centred.swapaxes(1, 2)
    second, third, mean = probs @ probs.swapaxes(1, 2), pairs @ probs.swapaxes(1, 2), mean[:, None]
    base, rounding = as_pairs(second[..., None]) * mean, rounding[:, None, None]
    second_c = within(excess @ functions, second - mean, rounding * (second + mean)) * moving
    third_c = within(pairs_excess @ functions, third - base, rounding * (third + base))
    third_c *= moving
    exp2, second, second_c, mean = normalized(second, second_c, mean[:, 0])
    exp3, third, third_c = normalized(third, third_c)
    return Overlaps(second, second_c, mean, third, third_c, exp2, exp3)


def input_moments(probs: Floats, q: Floats, rounding: Floats) -> tuple[Floats, Floats]:
    """Means (B, K) of the units of such regions and their covariances (B, K, K)."""
    mean, centred, _ = deviations(probs, q, rounding)
    covariance = (centred * (q[:, None] @ probs)) @ centred.swapaxes(1, 2)
    return mean, (covariance + covariance.swapaxes(1, 2)) / 2


def input_columns(
    probs: Floats,
    q: Floats,
    rounding: float,
    own: Ints,
    weights: Floats,
    exp2: int | None,
    *,
    compress: bool,
) -> tuple[Floats, Floats]:
    """Columns d, v of the units `own` of an input region on the scale 2**exp2; v has no rows without it.

    With `compress` they may be replaced by C - 1 others with the same Gram matrices: functions of one variable with
    C categories and mean zero span no more.

    Shapes: probs (K, C), q (K,), own (n,), weights (n,).
    """
    mean, centred, excess = deviations(probs, q, np.asarray(rounding))
    functions = weights * centred[own].T
    if compress and len(own) >= probs.shape[1]:
        functions = _compressed(probs[own], weights * centred[own].any(axis=1), q @ probs)
    d = mean_zero_sums(probs, excess, np.abs(excess), functions)
    if exp2 is None:
        return d, np.zeros((0, functions.shape[1]))
    return d, scaled(
        mean_zero_sums(*_pairs_of_inputs(probs, mean, centred, excess), functions), -exp2
    )


def overlaps_of_leaves(leaves: LeafFamily, q: Floats, rounding: Floats) -> tuple[Overlaps, Floats]:
    """Tables of one input region of a family that is no table, and covariance (1, K, K), from its integrals.

    Shapes: q (1, K), rounding (1,).
    """
    K = q.shape[1]
    second, third = np.array([leaves.overlap2(leaves)]), as_pairs(leaves.overlap3()[None])
    mean = q @ second[0]
    base = as_pairs(second[..., None]) * mean
    second_c, third_c = second - mean, third - base
    rows = pair_numbers(np.arange(K)[:, None], np.arange(K))  # (k, a): which pairs
    covariance, size = (
        np.einsum("a,kaj->kj", q[0], table[0, rows]) for table in (third_c, third + base)
    )
    moving = np.diag(covariance) > rounding * np.diag(size)
    shift2, second, second_c, mean = normalized(second, second_c * moving, mean)
    shift3, third, third_c = normalized(third, third_c * moving)
    covariance = (covariance + covariance.T) * moving * moving[:, None] / 2
    return Overlaps(second, second_c, mean, third, third_c, shift2, shift3), covariance[None]


def _compressed(probs: Floats, weights: Floats, marginal: Floats) -> Floats:
    """At most C - 1 functions (C, rank) of mean zero with the Gram matrix of the units `probs` (n, C), centred."""
    # a function of mean zero is fixed by its differences to one category, which are exact where rows are alike
    first = int(np.argmax(marginal))
    differences = weights[:, None] * (np.delete(probs, first, axis=1) - probs[:, first : first + 1])
    factor = gram_factor(differences.T @ differences)
    return minus_average(np.insert(factor, first, 0.0, axis=0), marginal)


def deviations(probs: Floats, q: Floats, rounding: Floats) -> tuple[Floats, Floats, Floats]:
    """Means mu_k (..., K), p_k(x) - mu_k (..., K, C) and p_k(x) - p(x) (..., K, C), where p = sum_k q_k p_k."""
    marginal = q[..., None, :] @ probs
    mean = (probs * marginal).sum(axis=-1)
    centred = minus_average(probs.swapaxes(-1, -2), marginal[..., 0, :]).swapaxes(-1, -2)
    spread, size = (np.sqrt((rows**2 * marginal).sum(axis=-1)) for rows in (centred, probs))
    moving = spread > rounding[..., None] * size
    return mean, centred * moving[..., None], minus_average(probs, q)


def minus_average(rows: Floats, q: Floats) -> Floats:
    """Rows (..., K, n) minus their average sum_k q_k rows[k], by differences from the row that counts most.

    What is left of that row is a sum of small terms where the others are improbable, and keeps its digits.

    Shapes: rows (..., K, n), q (..., K) -> (..., K, n).
    """
    q = q[..., None, :]
    differences = rows - np.take_along_axis(rows, q.argmax(axis=-1)[..., None], axis=-2)
    centred: Floats = differences - q @ differences
    return centred


def _pairs_of_inputs(
    probs: Floats, mean: Floats, centred: Floats, excess: Floats
) -> tuple[Floats, Floats, Floats]:
    """Functions of x (..., pairs, C): p_a p_b, and p_a p_b - mu_b p with the size of the terms it was summed from."""
    one = as_pairs(probs[..., None, :] * centred[..., None, :, :])
    two = as_pairs(mean[..., None, :, None] * excess[..., None, :])
    return (
        as_pairs(probs[..., None, :] * probs[..., None, :, :]),
        one + two,
        np.abs(one) + np.abs(two),
    )


def mean_zero_sums(weights: Floats, excess: Floats, size: Floats, functions: Floats) -> Floats:
    """weights @ functions for functions of mean zero, equal to excess @ functions; takes the one that cancels less.

    `excess` is `weights` minus a multiple of the distribution under which the functions have mean zero, with rounding
    errors in proportion to `size`.

    Shapes: weights (a, b), excess (a, b), size (a, b), functions (b, n) -> (a, n).
    """
    sizes = np.abs(functions)
    return np.where(size @ sizes < weights @ sizes, excess @ functions, weights @ functions)


def within(value: Floats, other: Floats, slack: Floats) -> Floats:
    """`value`, moved to where another way of computing it leaves it possible: other +- slack."""
    return np.clip(value, other - slack, other + slack)


def normalized(positive: Floats, *others: Floats) -> Any:
    """Exponents e (B,) >= -MAX_SHIFT and arrays (B, ...) over 2**e: the largest entries of the first are in [1/2, 1).

    In place: fresh memory for large tables takes longer than the division.
    """
    largest = positive.max(axis=tuple(range(1, positive.ndim)))
    shift = np.maximum(np.frexp(largest)[1], -MAX_SHIFT)  # 0 for all zeros
    factor = np.ldexp(1.0, -shift)
    for array in (positive, *others):
        array *= factor.reshape(-1, *[1] * (array.ndim - 1))
    return shift, positive, *others
