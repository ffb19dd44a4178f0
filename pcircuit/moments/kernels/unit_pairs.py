"""Compiled twin of `moments.unit_pairs`: tables over pairs of units, lifted from a child region to its parent.

Weights come as CSR (pointer, column, value), also those of dense regions; all inner loops run over columns of the
tables, which are contiguous.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inner_kernel as inner
from pcircuit.moments.unit_pairs import BLOCK

EPSILON = np.finfo(np.float64).eps


@inner
def first_largest(values):
    """Index of the first largest of values (n,); `np.argmax` would compile Python's texts, for its error."""
    best = 0
    for i in range(1, len(values)):
        if values[i] > values[best]:
            best = i
    return best


@inner
def pair_number(a, b):
    """Number of the unordered pair of units (a, b)."""
    return a * (a + 1) // 2 + b if a >= b else b * (b + 1) // 2 + a


@inner
def combine(start, stop, column, value, table, out):
    """out (n,) = sum over the entries start..stop of value * row `column` of table (P, n), four at a time."""
    for i in range(len(out)):
        out[i] = 0.0
    e = start
    while e + 4 <= stop:
        w0, w1, w2, w3 = value[e], value[e + 1], value[e + 2], value[e + 3]
        t0, t1, t2, t3 = (
            table[column[e]],
            table[column[e + 1]],
            table[column[e + 2]],
            table[column[e + 3]],
        )
        for i in range(len(out)):
            out[i] += (w0 * t0[i] + w1 * t1[i]) + (w2 * t2[i] + w3 * t3[i])
        e += 4
    while e < stop:
        w0, t0 = value[e], table[column[e]]
        for i in range(len(out)):
            out[i] += w0 * t0[i]
        e += 1


@inner
def mix(of_products, pointer, column, value):
    """(P, P, n) symmetric tables over products -> (pairs of sums, n): W X W^T, column by column."""
    P, n, K = of_products.shape[0], of_products.shape[2], len(pointer) - 1
    flat, half = of_products.reshape(P, P * n), np.empty(P * n)
    mixed = np.empty((K * (K + 1) // 2, n))
    for k in range(K):
        combine(pointer[k], pointer[k + 1], column, value, flat, half)
        for l in range(k + 1):
            combine(
                pointer[l],
                pointer[l + 1],
                column,
                value,
                half.reshape(P, n),
                mixed[k * (k + 1) // 2 + l],
            )
    return mixed


@inner
def lift(columns, units, factor, pointer, column, value):
    """(pairs of the child, n) -> (pairs of the parent, n); `units` (P,), `factor` (P, P)."""
    P, n, K = len(units), columns.shape[1], len(pointer) - 1
    lifted = np.empty((K * (K + 1) // 2, n))
    step = max(1, BLOCK // (P * P))
    for start in range(0, n, step):
        size = min(step, n - start)
        of_products = np.empty((P, P, size))
        for p in range(P):
            for o in range(p + 1):
                row, f = columns[pair_number(units[p], units[o])], factor[p, o]
                for i in range(size):
                    of_products[p, o, i] = f * row[start + i]
                    of_products[o, p, i] = of_products[p, o, i]
        mixed = mix(of_products, pointer, column, value)
        if size == n:
            return mixed
        for row in range(len(lifted)):
            for i in range(size):
                lifted[row, start + i] = mixed[row, i]
    return lifted


@inner
def gram_factor(gram):
    """(N, rank) columns with the given Gram matrix: pivoted Cholesky on the correlation matrix."""
    N = len(gram)
    size, left = np.zeros(N), np.zeros(N)
    for i in range(N):
        if gram[i, i] > 0:
            size[i] = np.sqrt(gram[i, i])
            left[i] = 1.0
    columns = np.empty((N, N))  # row c is the c-th column of the factor
    rank = 0
    while rank < N:
        pivot = first_largest(left)
        if not left[pivot] > N * EPSILON:
            break
        new = columns[rank]
        for i in range(N):
            new[i] = gram[i, pivot] / (size[i] * size[pivot]) if size[i] > 0 else 0.0
        for c in range(rank):
            for i in range(N):
                new[i] -= columns[c, pivot] * columns[c, i]
        root = np.sqrt(left[pivot])
        for i in range(N):
            new[i] /= root
            left[i] -= new[i] * new[i]
        left[pivot] = 0.0
        rank += 1
    factor = np.empty((N, rank))
    for i in range(N):
        for c in range(rank):
            factor[i, c] = columns[c, i] * size[i]
    return factor
