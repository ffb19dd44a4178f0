"""Overlaps of the units of one region: sums over x of products of two and three of them, plain and centred.

Write E_a for the expectation when the scope of a region is drawn from its unit a, and E = sum_a q_a E_a for the
expectation under the circuit.  With mu_b = E[p_b] the tables of a region are

    second    M2[a, b]     = E_a[p_b]                    = sum_x p_a p_b
    third     M3[a, b, c]  = E_a[p_b p_c]                = sum_x p_a p_b p_c
    second_c  M2~[a, b]    = E_a[p_b - mu_b]             = M2[a, b] - mu_b
    third_c   M3~[a, b, c] = E_a[p_b (p_c - mu_c)]       = M3[a, b, c] - M2[a, b] mu_c

The centred tables are what covariances are made of, e.g. cov(p_b, p_c) = sum_a q_a M3~[a, b, c].  Subtracting at the
end would lose their digits wherever a likelihood hardly varies, so they have a recursion of their own, in which the
small quantities are sums of small terms.  Each step also knows the plain difference, which is more accurate where
a likelihood varies by orders of magnitude; of the two the one with the smaller rounding error is taken, entry by
entry (`closer`, `mean_zero_sums`), and never one that the rounding errors of the plain difference exclude.  So with rho
the relative error of likelihoods (`pcircuit.moments.rounding`) every centred entry errs by at most a few rho
(M3 + M2 mu), and a covariance by a few rho (E[l_i l_j] + mu_i mu_j), whatever the circuit.

    inputs     integrals over the table of the input region
    products   children c = 0, 1, ... are multiplied in one after the other.  For f = f1 f2 and g = g1 g2, whose parts
               are independent under every product unit,
                   cov_f = mu_f - mu_f1 mu_f2 = sum_p qp_p M2~1[p, f1] M2~2[p, f2]
                   M2~   = M2~1 M2_2 + mu_f1 M2~2 - cov_f
                   M3~   = M3~1 M3_2 + M2_1 mu_g1 M3~2 - M2 cov_g
    sums       all tables are multilinear: one multiplication by the weights per index

A unit that is constant to working precision (`pcircuit.moments.rounding`) is made exactly constant: its centred
entries, which hold nothing but rounding errors, are set to zero, so that no product of the unit takes them for
something that varies.

Overlaps of large scopes underflow, so the tables carry powers of two: true M2 = second * 2**exp2 (also second_c and
mean), true M3 = third * 2**exp3 (also third_c).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.moments.unit_pairs import as_pairs, gram_factor, pair_numbers
from pcircuit.regions import LeafFamily

MAX_SHIFT = 900  # powers of two taken out at once, so that no factor overflows


@dataclass(frozen=True)
class Overlaps:
    """Tables of the K units that a region shows; see the module docstring."""

    second: Floats  # (K, K)
    second_c: Floats  # (K, K)
    mean: Floats  # (K,)
    third: Floats  # (pairs, K)
    third_c: Floats  # (pairs, K); the first two indices are the symmetric ones
    exp2: int
    exp3: int


@dataclass(frozen=True)
class OwnColumns:
    """The n selected units of a region, products before sums, as columns over the K units it shows.

    With l_j = weight times likelihood and p_a, p_b units of the region:  d[a, j] = E_a[l_j - mu_j],
    v[(a, b), j] * 2**exp2 = sum_x p_a p_b (l_j - mu_j),  covariance[i, j] = cov(l_i, l_j).
    """

    mean: Floats  # (n,)
    covariance: Floats  # (n, n)
    d: Floats  # (K, n)
    v: Floats  # (pairs, n)


def scaled(values: Any, exponent: int) -> Any:
    """values * 2**exponent for exponents of any size."""
    return np.ldexp(values, int(min(max(exponent, -4200), 4200)))


def input_overlaps(probs: Floats, q: Floats, rounding: float) -> Overlaps:
    """Tables of an input region, `probs` (K, C), with top-down masses q (K,) and relative errors `rounding`.

    Shapes: probs (K, C), q (K,).
    """
    mean, centred, excess = _deviations(probs, q, rounding)
    pairs, pairs_excess, size = _pairs_of_inputs(probs, mean, centred, excess)
    moving = centred.any(axis=1)
    second, third, second_c = (
        probs @ probs.T,
        pairs @ probs.T,
        mean_zero_sums(probs, excess, np.abs(excess), centred.T),
    )
    third_c, base = (
        mean_zero_sums(pairs, pairs_excess, size, centred.T),
        as_pairs(second)[:, None] * mean,
    )
    second_c = within(second_c, second - mean, second + mean, rounding) * moving
    third_c = within(third_c, third - base, third + base, rounding) * moving
    exp2, second, second_c, mean = normalized(second, second_c, mean)
    exp3, third, third_c = normalized(third, third_c)
    return Overlaps(second, second_c, mean, third, third_c, exp2, exp3)


def input_columns(
    probs: Floats,
    q: Floats,
    rounding: float,
    own: Ints,
    weights: Floats,
    overlaps: Overlaps | None,
    *,
    compress: bool,
) -> OwnColumns:
    """The selected units `own` (n,) of an input region; without its `overlaps` v has no rows.

    With `compress` the columns d and v may be replaced by C - 1 others with the same Gram matrices: functions of
    one variable with C categories and mean zero span no more.

    Shapes: probs (K, C), q (K,), own (n,), weights (n,).
    """
    mean, centred, excess = _deviations(probs, q, rounding)
    marginal = q @ probs
    functions = weights[:, None] * centred[own]
    covariance = (functions * marginal) @ functions.T
    if overlaps is None:
        d, v = mean_zero_sums(probs, excess, np.abs(excess), functions.T), np.zeros((0, len(own)))
    elif compress and len(own) >= probs.shape[1]:
        functions = _compressed(probs[own], weights * centred[own].any(axis=1), marginal)
        d = mean_zero_sums(probs, excess, np.abs(excess), functions)
        v = scaled(
            mean_zero_sums(*_pairs_of_inputs(probs, mean, centred, excess), functions),
            -overlaps.exp2,
        )
    else:
        d = scaled(weights * overlaps.second_c[:, own], overlaps.exp2)
        v = scaled(weights * overlaps.third_c[:, own], overlaps.exp3 - overlaps.exp2)
    return OwnColumns(weights * mean[own], (covariance + covariance.T) / 2, d, v)


def overlaps_of_leaves(leaves: LeafFamily, q: Floats, rounding: float) -> Overlaps:
    """Tables of an input region of a family that is no table, from its integrals.

    Shapes: q (K,).
    """
    K = len(q)
    second, third = leaves.overlap2(leaves), as_pairs(leaves.overlap3())
    mean = q @ second
    base = as_pairs(second)[:, None] * mean
    second_c, third_c = second - mean, third - base
    own = pair_numbers(np.arange(K)[:, None], np.arange(K)), np.arange(K)  # (a, k), k
    moving = q @ third_c[own] > rounding * (q @ (third + base)[own])
    exp2, second, second_c, mean = normalized(second, second_c * moving, mean)
    exp3, third, third_c = normalized(third, third_c * moving)
    return Overlaps(second, second_c, mean, third, third_c, exp2, exp3)


def columns_of_leaves(q: Floats, own: Ints, weights: Floats, overlaps: Overlaps) -> OwnColumns:
    """The selected units `own` (n,) of such a region.

    Shapes: q (K,), own (n,), weights (n,).
    """
    d = scaled(weights * overlaps.second_c[:, own], overlaps.exp2)
    v = scaled(weights * overlaps.third_c[:, own], overlaps.exp3 - overlaps.exp2)
    rows = pair_numbers(np.arange(len(q)), own[:, None])  # (n, K): which pairs (a, i)
    covariance = scaled(weights[:, None] * np.einsum("a,iaj->ij", q, v[rows]), overlaps.exp2)
    mean = scaled(weights * overlaps.mean[own], overlaps.exp2)
    return OwnColumns(mean, (covariance + covariance.T) / 2, d, v)


def _compressed(probs: Floats, weights: Floats, marginal: Floats) -> Floats:
    """At most C - 1 functions (C, rank) of mean zero with the Gram matrix of the units `probs` (n, C), centred."""
    # a function of mean zero is fixed by its differences to one category, which are exact where rows are alike
    first = int(np.argmax(marginal))
    differences = weights[:, None] * (np.delete(probs, first, axis=1) - probs[:, first : first + 1])
    factor = gram_factor(differences.T @ differences)
    return minus_average(np.insert(factor, first, 0.0, axis=0), marginal)


def _deviations(probs: Floats, q: Floats, rounding: float) -> tuple[Floats, Floats, Floats]:
    """Means mu_k (K,), p_k(x) - mu_k (K, C) and p_k(x) - p(x) (K, C), where p = sum_k q_k p_k."""
    marginal = q @ probs
    mean = probs @ marginal
    centred = minus_average(probs.T, marginal).T
    centred[np.sqrt(centred**2 @ marginal) <= rounding * np.sqrt(probs**2 @ marginal)] = 0.0
    return mean, centred, minus_average(probs, q)


def minus_average(rows: Floats, q: Floats) -> Floats:
    """Rows (K, n) minus their average sum_k q_k rows[k], by differences from the row that counts most.

    What is left of that row is a sum of small terms where the others are improbable, and keeps its digits.

    Shapes: rows (K, n), q (K,) -> (K, n).
    """
    differences = rows - rows[np.argmax(q)]
    centred: Floats = differences - q @ differences
    return centred


def _pairs_of_inputs(
    probs: Floats, mean: Floats, centred: Floats, excess: Floats
) -> tuple[Floats, Floats, Floats]:
    """p_a p_b, and p_a p_b - mu_b p with the size of the terms it was summed from, as functions of x, (pairs, C)."""
    one, two = as_pairs(probs[:, None] * centred), as_pairs(mean[:, None] * excess[:, None])
    return as_pairs(probs[:, None] * probs), one + two, np.abs(one) + np.abs(two)


def mean_zero_sums(weights: Floats, excess: Floats, size: Floats, functions: Floats) -> Floats:
    """weights @ functions for functions of mean zero, equal to excess @ functions; takes the one that cancels less.

    `excess` is `weights` minus a multiple of the distribution under which the functions have mean zero, with rounding
    errors in proportion to `size`.

    Shapes: weights (a, b), excess (a, b), size (a, b), functions (b, n) -> (a, n).
    """
    sizes = np.abs(functions)
    return np.where(size @ sizes < weights @ sizes, excess @ functions, weights @ functions)


def closer(
    value: Floats, error: Floats, other: Floats, other_error: Floats, rounding: float
) -> tuple[Floats, Floats]:
    """The value with the smaller rounding error, and that error, elementwise; never one that `other` excludes."""
    first = error <= other_error
    value = within(value, other, other_error, rounding)
    return np.where(first, value, other), np.where(first, error, other_error)


def within(value: Floats, other: Floats, size: Floats, rounding: float) -> Floats:
    """`value`, moved to where another way of computing it leaves it possible: other +- rounding * size."""
    moved: Floats = np.minimum(np.maximum(value, other - rounding * size), other + rounding * size)
    return moved


def normalized(positive: Floats, *others: Floats) -> Any:
    """An exponent e >= -MAX_SHIFT and all arrays divided by 2**e, which brings the largest of the first to [1/2, 1)."""
    shift = max(math.frexp(positive.max())[1], -MAX_SHIFT)  # 0 for all zeros
    return shift, *(np.ldexp(array, -shift) for array in (positive, *others))
