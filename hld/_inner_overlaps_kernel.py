"""Compiled twin of `_inner_overlaps`: tables of an inner region, and its own products, from those of its children."""
from __future__ import annotations

import numpy as np

from ._compile import jit
from ._inner_overlaps import BLOCK
from ._overlaps_kernel import (
    closer,
    mixture,
    rescale,
    shift_of,
    tables_in,
)
from ._pairs_kernel import mix, pair_number


@jit
def product_stages(units, qp, buffer, at, shown, ratios):
    """Tables of the products over the first children, one stage per child.

    units (A, P); `at`, `shown`, `ratios` (A,) say where the children's tables are.  Returns second (A, P, P),
    mean, cov, cov_error (A, P), ratio (A,) and second_c (P, P) of the last stage.
    """
    A, P = units.shape
    second, second_c = np.empty((A, P, P)), np.empty((P, P))
    mean, cov, cov_error, ratio = np.zeros((A, P)), np.zeros((A, P)), np.zeros((A, P)), np.ones(A)
    for a in range(A):
        child, child_c, child_mean, _, _ = tables_in(buffer[at[a]:], shown[a])
        u = units[a]
        if a == 0:
            ratio[0] = ratios[0]
            for p in range(P):
                mean[0, p] = child_mean[u[p]]
                for o in range(P):
                    second[0, p, o], second_c[p, o] = child[u[p], u[o]], child_c[u[p], u[o]]
            continue
        ratio[a] = ratio[a - 1] * ratios[a]
        for p in range(P):  # column sums under qp, row by row
            for o in range(P):
                second[a, p, o] = second[a - 1, p, o] * child[u[p], u[o]]
                mean[a, o] += qp[p] * second[a, p, o]
                term = second_c[p, o] * child_c[u[p], u[o]]
                cov[a, o] += qp[p] * term
                cov_error[a, o] += qp[p] * abs(term)
        for o in range(P):
            other = mean[a - 1, o] * child_mean[u[o]]
            cov[a, o] = closer(cov[a, o], cov_error[a, o], mean[a, o] - other, mean[a, o] + other)
            cov_error[a, o] = min(cov_error[a, o], mean[a, o] + other)
        for p in range(P):
            for o in range(P):
                one, two = second_c[p, o] * child[u[p], u[o]], mean[a - 1, o] * child_c[u[p], u[o]]
                second_c[p, o] = closer(one + two - cov[a, o], abs(one) + abs(two) + cov_error[a, o],
                                        second[a, p, o] - mean[a, o], second[a, p, o] + mean[a, o])
    return second, mean, cov, cov_error, ratio, second_c


@jit
def third_of_products(units, stages, buffer, at, shown, start, stop):
    """(P, P, B) sum_x p_p p_p' p_p'' and its centred form, for p'' in start..stop."""
    second, mean, cov, cov_error, ratio, _ = stages
    A, P = units.shape
    third, third_c = np.empty((P, P, stop - start)), np.empty((P, P, stop - start))
    for a in range(A):
        _, _, _, child, child_c = tables_in(buffer[at[a]:], shown[a])
        u = units[a]
        for p in range(P):
            for o in range(p + 1):
                row, row_c = child[pair_number(u[p], u[o])], child_c[pair_number(u[p], u[o])]
                plain, centred = third[p, o], third_c[p, o]
                if a == 0:
                    for b in range(stop - start):
                        plain[b], centred[b] = row[u[start + b]], row_c[u[start + b]]
                    continue
                before, now = ratio[a - 1] * second[a - 1, p, o], ratio[a] * second[a, p, o]
                for b in range(stop - start):
                    t = start + b
                    one, two = centred[b] * row[u[t]], before * mean[a - 1, t] * row_c[u[t]]
                    plain[b] *= row[u[t]]
                    base = now * mean[a, t]
                    centred[b] = closer(one + two - now * cov[a, t], abs(one) + abs(two) + now * cov_error[a, t],
                                        plain[b] - base, plain[b] + base)
    for p in range(P):
        for o in range(p):
            for b in range(stop - start):
                third[o, p, b], third_c[o, p, b] = third[p, o, b], third_c[p, o, b]
    return third, third_c


@jit
def dense_weights(weights, P):
    """(K, P) from CSR."""
    pointer, column, value = weights
    dense = np.zeros((len(pointer) - 1, P))
    for k in range(len(dense)):
        for e in range(pointer[k], pointer[k + 1]):
            dense[k, column[e]] = value[e]
    return dense


@jit
def inner_second(dense, excess, stages, tables):
    """Write second, second_c and mean of the sums to `tables`; return the shift of their exponent."""
    second, mean, _, _, _, second_c = stages
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
    mixture(dense, excess, half_c, out_c)
    shift = shift_of(out)
    rescale(tables[:2 * K * K + K], -shift)
    return shift


@jit
def inner_third(units, qp, weights, dense, stages, buffer, at, shown, tables, own):
    """Write third and third_c of the sums to `tables`; return the shift, v (pairs, n) and covariance (n, n) of
    the own products.
    """
    pointer, column, value = weights
    K, P = dense.shape
    _, _, _, third, third_c = tables_in(tables, K)
    pairs = K * (K + 1) // 2
    for row in range(pairs):
        for k in range(K):
            third[row, k], third_c[row, k] = 0.0, 0.0
    v, covariance = np.zeros((pairs, len(own))), np.zeros((len(own), len(own)))
    step = max(1, BLOCK // (P * P))
    for first in range(0, P, step):
        last = min(first + step, P)
        plain, centred = third_of_products(units, stages, buffer, at, shown, first, last)
        mixed, mixed_c = mix(plain, pointer, column, value), mix(centred, pointer, column, value)
        for row in range(pairs):
            for k in range(K):
                for e in range(pointer[k], pointer[k + 1]):
                    if first <= column[e] < last:
                        third[row, k] += mixed[row, column[e] - first] * value[e]
                        third_c[row, k] += mixed_c[row, column[e] - first] * value[e]
        for j in range(len(own)):
            if first <= own[j] < last:
                for row in range(pairs):
                    v[row, j] = mixed_c[row, own[j] - first]
                for i in range(len(own)):
                    for p in range(P):
                        covariance[i, j] += qp[p] * centred[p, own[i], own[j] - first]
    shift = shift_of(third)
    rescale(tables[2 * K * K + K:], -shift)
    return shift, v, covariance
