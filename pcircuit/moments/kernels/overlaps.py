"""Compiled twin of `moments.overlaps`: tables and own columns of an input region, and what all regions share.

The tables of a region lie behind one another in a flat buffer, so that a parent finds them by the number K of
shown units:  second (K, K), second_c (K, K), mean (K,), third (pairs, K), third_c (pairs, K).
"""

from __future__ import annotations

import math

import numpy as np

from pcircuit.kernels.jit import inner_kernel as inner
from pcircuit.moments.kernels.unit_pairs import first_largest, gram_factor
from pcircuit.moments.overlaps import MAX_SHIFT


@inner
def tables_size(K):
    """Numbers in the tables of a region that shows K units."""
    return 2 * K * K + K + K * (K + 1) * K


@inner
def tables_in(buffer, K):
    """Views second, second_c, mean, third, third_c of the tables at the beginning of a buffer."""
    pairs = K * (K + 1) // 2
    after = 2 * K * K + K
    return (
        buffer[: K * K].reshape(K, K),
        buffer[K * K : 2 * K * K].reshape(K, K),
        buffer[after - K : after],
        buffer[after : after + pairs * K].reshape(pairs, K),
        buffer[after + pairs * K : after + 2 * pairs * K].reshape(pairs, K),
    )


@inner
def scaled(value, exponent):
    """value * 2**exponent for exponents of any size."""
    return math.ldexp(value, int(min(max(exponent, -4200), 4200)))


@inner
def shift_of(positive):
    """Exponent e such that the largest entry of `positive` (N, n) / 2**e is in [1/2, 1)."""
    top = 0.0
    for row in positive:
        for value in row:
            top = max(top, value)
    return max(math.frexp(top)[1], -MAX_SHIFT)


@inner
def rescale(numbers, exponent):
    """Multiply by 2**exponent in place, (n,)."""
    if exponent != 0:
        factor = scaled(1.0, exponent)
        for i in range(len(numbers)):
            numbers[i] *= factor


@inner
def closer(value, error, other, other_error, rounding):
    """The value with the smaller rounding error, never one that `other` excludes."""
    return within(value, other, other_error, rounding) if error <= other_error else other


@inner
def within(value, other, size, rounding):
    """`value`, moved to where another way of computing it leaves it possible: other +- rounding * size."""
    return min(max(value, other - rounding * size), other + rounding * size)


@inner
def mixture(weights, excess, size, functions, out):
    """out (R, n) = weights (R, X) @ functions (X, n) of mean zero, or excess @ functions where that cancels less.

    The rounding errors of `excess` are in proportion to the absolute values of `size`.
    """
    n = functions.shape[1]
    other, error, other_error = np.empty(n), np.empty(n), np.empty(n)
    for k in range(len(weights)):
        for j in range(n):
            out[k, j], other[j], error[j], other_error[j] = 0.0, 0.0, 0.0, 0.0
        for x in range(len(functions)):
            w, e, s = weights[k, x], excess[k, x], abs(size[k, x])
            for j in range(n):
                f = functions[x, j]
                out[k, j] += w * f
                other[j] += e * f
                error[j] += w * abs(f)
                other_error[j] += s * abs(f)
        for j in range(n):
            if other_error[j] < error[j]:
                out[k, j] = other[j]


@inner
def minus_average(rows, q):
    """Rows (K, n) minus their average sum_k q_k rows[k], by differences from the row that counts most."""
    K, n = rows.shape
    result, average, first = np.empty((K, n)), np.zeros(n), first_largest(q)
    for k in range(K):
        for i in range(n):
            result[k, i] = rows[k, i] - rows[first, i]
            average[i] += q[k] * result[k, i]
    for k in range(K):
        for i in range(n):
            result[k, i] -= average[i]
    return result


@inner
def deviations(probs, q, rounding):
    """Marginal (C,), means (K,), probs minus means (C, K), probs minus marginal (K, C)."""
    K, C = probs.shape
    marginal, mean = np.zeros(C), np.zeros(K)
    for k in range(K):
        for x in range(C):
            marginal[x] += q[k] * probs[k, x]
    centred = minus_average(probs.T, marginal)
    for k in range(K):
        for x in range(C):
            mean[k] += probs[k, x] * marginal[x]
        variance, second = 0.0, 0.0
        for x in range(C):
            variance += marginal[x] * centred[x, k] ** 2
            second += marginal[x] * probs[k, x] ** 2
        if math.sqrt(variance) <= rounding * math.sqrt(second):
            for x in range(C):
                centred[x, k] = 0.0
    return marginal, mean, centred, minus_average(probs, q)


@inner
def pairs_of_inputs(probs, mean, centred, excess):
    """p_a p_b, and p_a p_b - mu_b p with the size of its terms, as functions of x, (pairs, C)."""
    K, C = probs.shape
    pairs = K * (K + 1) // 2
    plain, other, size = np.empty((pairs, C)), np.empty((pairs, C)), np.empty((pairs, C))
    row = 0
    for a in range(K):
        for b in range(a + 1):
            for x in range(C):
                plain[row, x] = probs[a, x] * probs[b, x]
                one, two = probs[a, x] * centred[x, b], mean[b] * excess[a, x]
                other[row, x], size[row, x] = one + two, abs(one) + abs(two)
            row += 1
    return plain, other, size


@inner
def input_tables(probs, q, rounding, tables):
    """Write the tables of an input region; return exp2, exp3."""
    K, C = probs.shape
    second, second_c, means, third, third_c = tables_in(tables, K)
    _, mean, centred, excess = deviations(probs, q, rounding)
    products, other, sizes = pairs_of_inputs(probs, mean, centred, excess)
    mixture(probs, excess, excess, centred, second_c)
    mixture(products, other, sizes, centred, third_c)
    moving, transposed = _moving(centred), np.ascontiguousarray(probs.T)
    row = 0
    for a in range(K):
        means[a] = mean[a]
        for b in range(a + 1):
            total = 0.0
            for c in range(K):
                third[row, c] = 0.0
            for x in range(C):
                total += products[row, x]
                for c in range(K):
                    third[row, c] += products[row, x] * transposed[x, c]
            second[a, b] = total
            second[b, a] = total
            for c in range(K):
                base = total * mean[c]
                third_c[row, c] = moving[c] * within(
                    third_c[row, c], third[row, c] - base, third[row, c] + base, rounding
                )
            row += 1
    for a in range(K):
        for b in range(K):
            plain, size = second[a, b] - mean[b], second[a, b] + mean[b]
            second_c[a, b] = moving[b] * within(second_c[a, b], plain, size, rounding)
    exp2, exp3 = shift_of(second), shift_of(third)
    rescale(tables[: 2 * K * K + K], -exp2)
    rescale(tables[2 * K * K + K :], -exp3)
    return exp2, exp3


@inner
def input_columns(probs, q, rounding, own, weights, overlaps, compress, mean_out):
    """covariance (n, n), d (K, r), v (pairs, r) of the own units of an input region; writes means to `mean_out`.

    `overlaps` holds the flat tables of the region and their exponents; without tables v has no rows.
    """
    tables, exp2, exp3 = overlaps
    K, C = probs.shape
    n, pairs = len(own), K * (K + 1) // 2
    marginal, mean, centred, excess = deviations(probs, q, rounding)
    functions, covariance = np.empty((C, n)), np.zeros((n, n))
    for j in range(n):
        mean_out[j] = weights[j] * mean[own[j]]
        for x in range(C):
            functions[x, j] = weights[j] * centred[x, own[j]]
        for i in range(j + 1):
            for x in range(C):
                covariance[i, j] += functions[x, i] * marginal[x] * functions[x, j]
            covariance[j, i] = covariance[i, j]
    if len(tables) == 0:
        d = np.empty((K, n))
        mixture(probs, excess, excess, functions, d)
        return covariance, d, np.empty((0, n))
    if compress and n >= C:
        functions = _compressed(probs, own, weights * _moving(centred)[own], marginal)
        d, v = np.empty((K, functions.shape[1])), np.empty((pairs, functions.shape[1]))
        plain, other, size = pairs_of_inputs(probs, mean, centred, excess)
        mixture(probs, excess, excess, functions, d)
        mixture(plain, other, size, functions, v)
        rescale(v.ravel(), -exp2)
        return covariance, d, v
    _, second_c, _, _, third_c = tables_in(tables, K)
    d, v = np.empty((K, n)), np.empty((pairs, n))
    for j in range(n):
        to_d, to_v = scaled(weights[j], exp2), scaled(weights[j], exp3 - exp2)
        for k in range(K):
            d[k, j] = to_d * second_c[k, own[j]]
        for row in range(pairs):
            v[row, j] = to_v * third_c[row, own[j]]
    return covariance, d, v


@inner
def _moving(centred):
    """(K,) one where a unit varies, zero where it is constant, from its deviations (C, K)."""
    moving = np.zeros(centred.shape[1])
    for x in range(len(centred)):
        for k in range(len(moving)):
            if centred[x, k] != 0.0:
                moving[k] = 1.0
    return moving


@inner
def _compressed(probs, own, weights, marginal):
    """At most C - 1 functions (C, r) of mean zero with the Gram matrix of the own ones, summed over units."""
    C, first = probs.shape[1], first_largest(marginal)
    gram = np.zeros((C - 1, C - 1))
    difference = np.empty(C - 1)
    for j in range(len(own)):
        for x in range(C - 1):
            difference[x] = weights[j] * (probs[own[j], x + (x >= first)] - probs[own[j], first])
        for x in range(C - 1):
            for y in range(C - 1):
                gram[x, y] += difference[x] * difference[y]
    factor = gram_factor(gram)
    functions = np.zeros((C, factor.shape[1]))
    for x in range(C - 1):
        functions[x + (x >= first)] = factor[x]
    return minus_average(functions, marginal)
