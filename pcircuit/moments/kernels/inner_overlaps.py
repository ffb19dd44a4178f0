"""Compiled twin of `moments.inner_overlaps`: tables of an inner region, and its products, from those of its children.

The children of a region come as one tuple `below`: a flat buffer, and (A,) arrays that say where the tables of each
child begin in it, how many units it shows, and the exponents exp2 and exp3 of its tables.  The units (A, P) say which
unit of each child is in each product.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inner_kernel as inner
from pcircuit.moments.inner_overlaps import BLOCK
from pcircuit.moments.kernels.overlaps import closer, mixture, rescale, scaled, shift_of, tables_in
from pcircuit.moments.kernels.unit_pairs import mix, pair_number


@inner
def product_stages(units, qp, below, rounding):
    """Tables of the products over the first children, one stage per child.

    Returns second (A, P, P), mean, cov, cov_error (A, P), second_c (P, P) of the last stage, and exponents (A, 3)
    with columns exp2, exp3, shift3.
    """
    buffer, at, shown, child_exp2, child_exp3 = below
    A, P = units.shape
    second, second_c, diagonal = np.empty((A, P, P)), np.empty((P, P)), np.ones((1, P))
    mean, cov, cov_error, exponents = (
        np.zeros((A, P)),
        np.zeros((A, P)),
        np.zeros((A, P)),
        np.zeros((A, 3), np.int64),
    )
    for a in range(A):
        child, child_c, child_mean, child_third, _ = tables_in(buffer[at[a] :], shown[a])
        u = units[a]
        exponents[a, 0], exponents[a, 1] = child_exp2[a], child_exp3[a]
        for p in range(P):
            diagonal[0, p] *= child_third[pair_number(u[p], u[p]), u[p]]
        if a == 0:
            for p in range(P):
                mean[0, p] = child_mean[u[p]]
                for o in range(P):
                    second[0, p, o], second_c[p, o] = child[u[p], u[o]], child_c[u[p], u[o]]
        else:
            exponents[a, 0] += exponents[a - 1, 0]
            exponents[a, 1] += exponents[a - 1, 1]
            _multiply_in(
                (child, child_c, child_mean),
                u,
                qp,
                second[a - 1],
                mean[a - 1],
                (second[a], second_c, mean[a], cov[a], cov_error[a]),
                rounding,
            )
        shift2, exponents[a, 2] = shift_of(second[a]), shift_of(diagonal)
        exponents[a, 0] += shift2
        exponents[a, 1] += exponents[a, 2]
        rescale(diagonal[0], -exponents[a, 2])
        for part in (second[a].ravel(), second_c.ravel(), mean[a], cov[a], cov_error[a]):
            rescale(part, -shift2)
    return second, mean, cov, cov_error, second_c, exponents


@inner
def _multiply_in(child_tables, u, qp, last, last_mean, tables, rounding):
    """Fill the tables of a stage; its second_c (P, P) holds those of the last one and is overwritten."""
    child, child_c, child_mean = child_tables
    second, second_c, mean, cov, cov_error = tables
    P = len(u)
    for p in range(P):  # column sums under qp, row by row
        for o in range(P):
            second[p, o] = last[p, o] * child[u[p], u[o]]
            mean[o] += qp[p] * second[p, o]
            term = second_c[p, o] * child_c[u[p], u[o]]
            cov[o] += qp[p] * term
            cov_error[o] += qp[p] * abs(term)
    for o in range(P):
        apart = last_mean[o] * child_mean[u[o]]
        cov[o] = closer(cov[o], cov_error[o], mean[o] - apart, mean[o] + apart, rounding)
        cov_error[o] = min(cov_error[o], mean[o] + apart)
    for p in range(P):
        for o in range(P):
            one, two = second_c[p, o] * child[u[p], u[o]], last_mean[o] * child_c[u[p], u[o]]
            second_c[p, o] = closer(
                one + two - cov[o],
                abs(one) + abs(two) + cov_error[o],
                second[p, o] - mean[o],
                second[p, o] + mean[o],
                rounding,
            )


@inner
def _ratio(exponents, a):
    """Power of two that brings second * mean to the scale of third."""
    return scaled(1.0, 2 * exponents[a, 0] - exponents[a, 1])


@inner
def third_of_products(units, stages, below, start, stop, rounding):
    """(P, P, B) sum_x p_p p_p' p_p'', its centred form, and the size of the terms of that, for p'' in start..stop."""
    second, mean, cov, cov_error, _, exponents = stages
    buffer, at, shown, _, _ = below
    A, P = units.shape
    B = stop - start
    third, third_c, sizes = np.empty((P, P, B)), np.empty((P, P, B)), np.empty((P, P, B))
    for a in range(A):
        _, _, _, child, child_c = tables_in(buffer[at[a] :], shown[a])
        u, shift = units[a], scaled(1.0, -exponents[a, 2])
        last_ratio, ratio = _ratio(exponents, a - 1) if a > 0 else 0.0, _ratio(exponents, a)
        for p in range(P):
            for o in range(p + 1):
                row, row_c = child[pair_number(u[p], u[o])], child_c[pair_number(u[p], u[o])]
                plain, centred, size = third[p, o], third_c[p, o], sizes[p, o]
                if a == 0:
                    for b in range(stop - start):
                        plain[b], centred[b] = (
                            shift * row[u[start + b]],
                            shift * row_c[u[start + b]],
                        )
                        size[b] = abs(centred[b])
                    continue
                before, now = last_ratio * second[a - 1, p, o], ratio * second[a, p, o]
                for b in range(stop - start):
                    t = start + b
                    of_child, of_child_c = shift * row[u[t]], shift * row_c[u[t]]
                    one, two = centred[b] * of_child, before * mean[a - 1, t] * of_child_c
                    plain[b] *= of_child
                    base, error = now * mean[a, t], abs(two) + now * cov_error[a, t]
                    centred[b] = closer(
                        one + two - now * cov[a, t],
                        abs(one) + error,
                        plain[b] - base,
                        plain[b] + base,
                        rounding,
                    )
                    size[b] = min(size[b] * of_child + error, plain[b] + base)
    for p in range(P):
        for o in range(p):
            for b in range(stop - start):
                third[o, p, b], third_c[o, p, b], sizes[o, p, b] = (
                    third[p, o, b],
                    third_c[p, o, b],
                    sizes[p, o, b],
                )
    return third, third_c, sizes


@inner
def dense_weights(weights, P):
    """(K, P) from CSR."""
    pointer, column, value = weights
    dense = np.zeros((len(pointer) - 1, P))
    for k in range(len(dense)):
        for e in range(pointer[k], pointer[k + 1]):
            dense[k, column[e]] = value[e]
    return dense


@inner
def inner_second(dense, excess, stages, tables):
    """Write second, second_c and mean of the sums to `tables`; return the shift of their exponent."""
    second, mean, _, _, second_c, _ = stages
    A = len(second)
    K, P = dense.shape
    out, out_c, out_mean, _, _ = tables_in(tables, K)
    half = np.zeros((P, K))
    half_c = np.zeros((P, K))
    for p in range(P):
        for l in range(K):
            for o in range(P):
                half[p, l] += second[A - 1, p, o] * dense[l, o]
                half_c[p, l] += second_c[p, o] * dense[l, o]
    for k in range(K):
        out_mean[k] = 0.0
        for l in range(K):
            out[k, l] = 0.0
        for p in range(P):
            out_mean[k] += dense[k, p] * mean[A - 1, p]
            for l in range(K):
                out[k, l] += dense[k, p] * half[p, l]
    mixture(dense, excess, excess, half_c, out_c)
    shift = shift_of(out)
    rescale(tables[: 2 * K * K + K], -shift)
    return shift


@inner
def inner_third(units, masses, weights, stages, below, tables, own, rounding):
    """Write third and third_c of the sums to `tables`; return their shift, and v (pairs, n), covariance (n, n) of
    the products `own`, all before that shift.  What is constant to working precision is cleared.
    """
    q, qp = masses
    pointer, column, value = weights
    K, P = len(pointer) - 1, len(qp)
    _, _, _, third, third_c = tables_in(tables, K)
    pairs = K * (K + 1) // 2
    for row in range(pairs):
        for k in range(K):
            third[row, k], third_c[row, k] = 0.0, 0.0
    v, covariance, sizes = (
        np.zeros((pairs, len(own))),
        np.zeros((len(own), len(own))),
        np.zeros((P, P)),
    )
    step = max(1, BLOCK // (P * P))
    for first in range(0, P, step):
        last = min(first + step, P)
        plain, centred, size = third_of_products(units, stages, below, first, last, rounding)
        mixed, mixed_c = mix(plain, pointer, column, value), mix(centred, pointer, column, value)
        for row in range(pairs):
            for k in range(K):
                for e in range(pointer[k], pointer[k + 1]):
                    if first <= column[e] < last:
                        third[row, k] += mixed[row, column[e] - first] * value[e]
                        third_c[row, k] += mixed_c[row, column[e] - first] * value[e]
        for p in range(P):
            for o in range(P):
                for b in range(last - first):
                    sizes[o, first + b] += qp[p] * size[p, o, b]
        for j in range(len(own)):
            if first <= own[j] < last:
                for row in range(pairs):
                    v[row, j] = mixed_c[row, own[j] - first]
                for i in range(len(own)):
                    for p in range(P):
                        covariance[i, j] += qp[p] * centred[p, own[i], own[j] - first]
    _clear_constants(q, weights, sizes, rounding, tables)
    for j in range(len(own)):
        if covariance[j, j] <= rounding * sizes[own[j], own[j]]:
            for row in range(pairs):
                v[row, j] = 0.0
            for i in range(len(own)):
                covariance[i, j], covariance[j, i] = 0.0, 0.0
    shift = shift_of(third)
    rescale(tables[2 * K * K + K :], -shift)
    return shift, v, covariance


@inner
def _clear_constants(q, weights, sizes, rounding, tables):
    """Set the centred entries of sums to zero that are constant to working precision; `sizes` (P, P) of products."""
    pointer, column, value = weights
    K = len(q)
    _, second_c, _, _, third_c = tables_in(tables, K)
    for k in range(K):
        variance, size = 0.0, 0.0
        for a in range(K):
            variance += q[a] * third_c[pair_number(a, k), k]
        for e in range(pointer[k], pointer[k + 1]):
            for f in range(pointer[k], pointer[k + 1]):
                size += value[e] * value[f] * sizes[column[e], column[f]]
        if variance <= rounding * size:
            for a in range(K):
                second_c[a, k] = 0.0
            for row in range(len(third_c)):
                third_c[row, k] = 0.0
