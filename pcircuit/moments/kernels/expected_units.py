"""E[l_j(x, Y) | X = x] of all units j, compiled: twin of `pcircuit.moments.expected_units`.

Three passes over the regions for a tile of rows: upward for the likelihood of x alone, which gives the posterior
probabilities omega of each sum's products; downward for the probability that a draw uses a unit; upward again for
C_ij, the mean of l_j if unit i draws.  C is K x K numbers a region and row, and many regions need none of it:

    KNOWN     all of the scope is given (or missing): C_ij = l_j(x), whatever i is
    DRAWN     nothing of it is: C_ij is a constant of the circuit, `overlaps`
    MIXED     else

That, and that no array of (rows, P, P) goes through memory, is what the kernel is for.  The first two passes are
`pcircuit.moments.kernels.posteriors`.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inner, jit
from pcircuit.moments.kernels.expectation_arrays import (
    ARITY,
    CATEGORIES,
    CHILD,
    DATA,
    EDGE,
    NODE,
    OVERLAP,
    PRODUCTS,
    SHOWN,
    STACK,
    TILE,
    UNIT,
    VARIABLE,
)
from pcircuit.moments.kernels.posteriors import (
    DRAWN,
    FULL,
    KNOWN,
    MIXED,
    ONE,
    add,
    add_constant,
    follow,
    look,
)


@jit
def expect_rows(arrays, work, codes, free, column, result):
    """Fill result (n, wanted nodes) for rows of codes (n, V), -1 for a hole; NaN where x is impossible.

    `free` (V,) says what is drawn, `column` (m,) where each node is in `result`, or -1.
    """
    root = (len(column) - 1) * TILE
    for start in range(0, len(codes), TILE):
        count = min(TILE, len(codes) - start)
        for v in range(codes.shape[1]):
            for b in range(TILE):  # the last row fills the last tile
                work.codes[v * TILE + b] = codes[start + min(b, count - 1), v]
        look(arrays, work, free)
        follow(arrays, work)
        _expect(arrays, work, column, result, start, count)
        for b in range(count):
            if work.mantissa[root + b] == 0.0:
                for j in range(result.shape[1]):
                    result[start + b, j] = np.nan


@inner
def _expect(arrays, work, column, result, start, count):
    """E_j = sum_i f_i C_ij of the wanted nodes, with the tables C of MIXED regions on a stack."""
    region = arrays.region
    for r in range(len(region)):
        P, K, node = region[r, PRODUCTS], region[r, SHOWN], region[r, NODE]
        if work.state[r] == KNOWN:
            for j in range(node, node + P + K):
                if column[j] >= 0:
                    for b in range(count):
                        result[start + b, column[j]] = work.known[j * TILE + b]
            continue
        some = _any_wanted(column, node, P)
        if P > 0 and (some or work.state[r] == MIXED):
            for p in range(P):
                _products(arrays, work, r, p)
        if some:
            _write(work, work.products, 0, node, P, column, result, start, count)
        if work.state[r] == DRAWN:
            _write_constants(arrays, work, r, column, result, start, count)
            continue
        if P > 0:
            _sums(arrays, work, r)
        else:
            _partly_known(arrays, work, r)
        _write(work, work.stack, region[r, STACK], node + P, K, column, result, start, count)


@inner
def _any_wanted(column, first, count):
    """Whether one of these nodes is."""
    wanted = False
    for j in range(first, first + count):
        wanted |= column[j] >= 0
    return wanted


@inner
def _write(work, table, base, first, size, column, result, start, count):
    """sum_i f_i table_ij for the wanted ones of the nodes first..first + size."""
    line = work.line
    for j in range(size):
        if column[first + j] >= 0:
            for b in range(FULL):
                line[b] = 0.0
            for i in range(size):
                f, t = np.uintp(first + i) * ONE, np.uintp(base + i * size + j) * ONE
                add(work.flow, f, table, t, line, np.uintp(0))
            for b in range(count):
                result[start + b, column[first + j]] = line[b]


@inner
def _write_constants(arrays, work, r, column, result, start, count):
    """The same for a region that is DRAWN."""
    region, line = arrays.region, work.line
    K, first = region[r, SHOWN], region[r, NODE] + region[r, PRODUCTS]
    for j in range(K):
        if column[first + j] >= 0:
            for b in range(FULL):
                line[b] = 0.0
            for i in range(K):
                constant = arrays.overlaps[region[r, OVERLAP] + i * K + j]
                add_constant(constant, work.flow, np.uintp(first + i) * ONE, line, np.uintp(0))
            for b in range(count):
                result[start + b, column[first + j]] = line[b]


@inner
def _products(arrays, work, r, p):
    """Row p of C of the products of a region: the product of those of their children."""
    region, target = arrays.region, work.products
    P = region[r, PRODUCTS]
    for a in range(region[r, ARITY]):
        c, u = arrays.child[region[r, CHILD] + a], region[r, UNIT] + a * P
        row = arrays.unit[u + p] * region[c, SHOWN]
        first = (
            region[c, NODE] + region[c, PRODUCTS]
            if work.state[c] == KNOWN
            else region[c, STACK] + row
        )
        source = work.known if work.state[c] == KNOWN else work.stack
        for q in range(P):
            o = np.uintp(p * P + q) * ONE
            if a == 0:
                for b in range(FULL):
                    target[o + b] = 1.0
            if work.state[c] == DRAWN:
                x = arrays.overlaps[region[c, OVERLAP] + row + arrays.unit[u + q]]
                for b in range(FULL):
                    target[o + b] *= x
            else:
                s = np.uintp(first + arrays.unit[u + q]) * ONE
                for b in range(FULL):
                    target[o + b] *= source[s + b]


@inner
def _sums(arrays, work, r):
    """C of the sums of a region, omega C of the products w^t, written to the stack over that of the children."""
    region, half = arrays.region, work.half
    P, K = region[r, PRODUCTS], region[r, SHOWN]
    for k in range(K):
        omega = np.uintp(region[r, EDGE] + k * P) * ONE
        for q in range(P):
            _mix_four(work.omega, omega, work.products, q, P, half, np.uintp(q) * ONE)
        for l in range(K):
            _weigh_four(
                arrays.weights,
                region[r, DATA] + l * P,
                half,
                P,
                work.stack,
                np.uintp(region[r, STACK] + k * K + l) * ONE,
            )


@inner
def _mix_four(omega, w, products, q, P, target, o):
    """target = sum_p omega p * products (p, q), four at a time."""
    step = np.uintp(P) * ONE
    t = np.uintp(q) * ONE
    for b in range(FULL):
        target[o + b] = 0.0
    for _ in range(P // 4):
        w1, t1 = w + ONE, t + step
        w2, t2 = w1 + ONE, t1 + step
        w3, t3 = w2 + ONE, t2 + step
        for b in range(FULL):
            target[o + b] += (
                omega[w + b] * products[t + b]
                + omega[w1 + b] * products[t1 + b]
                + omega[w2 + b] * products[t2 + b]
                + omega[w3 + b] * products[t3 + b]
            )
        w, t = w3 + ONE, t3 + step
    for _ in range(P % 4):
        for b in range(FULL):
            target[o + b] += omega[w + b] * products[t + b]
        w, t = w + ONE, t + step


@inner
def _weigh_four(weights, w, source, P, target, o):
    """target = sum_p weights p * source p, four at a time."""
    s = np.uintp(0)
    for b in range(FULL):
        target[o + b] = 0.0
    for i in range(w, w + P // 4 * 4, 4):
        x0, x1, x2, x3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        s1, s2, s3 = s + ONE, s + ONE + ONE, s + ONE + ONE + ONE
        for b in range(FULL):
            target[o + b] += (
                x0 * source[s + b] + x1 * source[s1 + b] + x2 * source[s2 + b] + x3 * source[s3 + b]
            )
        s = s3 + ONE
    for i in range(w + P // 4 * 4, w + P):
        add_constant(weights[i], source, s, target, o)
        s += ONE


@inner
def _partly_known(arrays, work, r):
    """C of a leaf that is drawn, in a tile of which some rows have a hole there."""
    region = arrays.region
    C, K, v = region[r, CATEGORIES], region[r, SHOWN], region[r, VARIABLE]
    for i in range(K):
        for j in range(K):
            for b in range(TILE):
                hole = work.codes[v * TILE + b] < 0
                work.stack[(region[r, STACK] + i * K + j) * TILE + b] = (
                    arrays.tables[region[r, DATA] + j * (C + 1) + C]
                    if hole
                    else arrays.overlaps[region[r, OVERLAP] + i * K + j]
                )
