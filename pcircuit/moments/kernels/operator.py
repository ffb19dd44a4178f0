"""Compiled twin of `moments.operator`, on the `StoredParts` that `traces.linear_moments` fills.

The parts of a large circuit are more than fit into a cache, and every vector needs them all.  So S is applied to some
vectors at a time: each number is read once for all of them, and the inner loops run over vectors, which lie side by
side: 32 at once take a fifth to a fourteenth of their time one by one (`benchmarks.bench_moments --operator`).
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import compile_kernel as jit
from pcircuit.kernels.jit import inner_kernel as inner
from pcircuit.moments.kernels.arrays import ARITY, BELOW, NEEDED, SHOWN
from pcircuit.moments.kernels.covariance_parts import own_nodes
from pcircuit.moments.kernels.masses import (
    children_of,
    inside_mass,
    shown_mass,
    units_of,
    weights_of,
)
from pcircuit.moments.kernels.overlaps import scaled
from pcircuit.moments.kernels.stored_parts import COVARIANCE, FACTOR, PAIRS, UNITS, D, V
from pcircuit.moments.kernels.unit_pairs import mix, pair_number

ONLY = np.int64(0)  # the row of an average; a literal 0 would be a type of its own


@jit
def apply_covariance(arrays, stored, vectors, result):
    """result (m, t) = S vectors, for vectors (m, t)."""
    t = vectors.shape[1]
    alpha, beta = np.zeros((stored.work[0], t)), np.zeros((stored.work[1], t))
    outside, above = np.zeros((stored.work[0], t)), np.zeros((stored.work[1], t))
    for i in range(len(result)):
        for j in range(t):
            result[i, j] = 0.0
    for r in arrays.order:
        if arrays.region[r, BELOW] or arrays.region[r, NEEDED]:
            _own_columns_up(arrays, stored, r, vectors, result, alpha, beta)
            if arrays.region[r, ARITY] > 0:
                _upward(arrays, stored, r, result, alpha, beta)
    for i in range(len(arrays.order) - 1, -1, -1):
        r = arrays.order[i]
        if arrays.region[r, BELOW] or arrays.region[r, NEEDED]:
            _own_columns_down(arrays, stored, r, result, outside, above)
            if arrays.region[r, ARITY] > 0:
                _downward(arrays, stored, r, vectors, alpha, outside, above)


@inner
def _parts(arrays, r):
    """Numbers of shown units, and of pairs of them where they are needed, of region r."""
    K = arrays.region[r, SHOWN]
    return K, K * (K + 1) // 2 * arrays.region[r, NEEDED]


@inner
def _add(out, i, factor, rows, j):
    """Row i of out (., t) += factor * row j of rows (., t)."""
    for v in range(out.shape[1]):
        out[i, v] += factor * rows[j, v]


@inner
def _add_product(out, at, numbers, place, size, rows, begin):
    """Rows `at`.. of out (., t) += the table (size) of numbers @ rows `begin`.. (., t)."""
    for i in range(size[0]):
        for j in range(size[1]):
            _add(out, at + i, numbers[place + i * size[1] + j], rows, begin + j)


@inner
def _add_transposed(out, at, numbers, place, size, rows, begin):
    """Rows `at`.. of out (., t) += the table (size) of numbers, transposed, @ rows `begin`.. (., t)."""
    for i in range(size[0]):
        for j in range(size[1]):
            _add(out, at + j, numbers[place + i * size[1] + j], rows, begin + i)


@inner
def _own_columns_up(arrays, stored, r, vectors, result, alpha, beta):
    """Own covariances; alpha and beta of the own columns."""
    begin, end = own_nodes(arrays, r)
    place, numbers, n = stored.place[r], stored.numbers, end - begin
    K, pairs = _parts(arrays, r)
    _add_product(result, begin, numbers, place[COVARIANCE], (n, n), vectors, begin)
    _add_product(alpha, place[UNITS], numbers, place[D], (K, n), vectors, begin)
    _add_product(beta, place[PAIRS], numbers, place[V], (pairs, n), vectors, begin)


@inner
def _own_columns_down(arrays, stored, r, result, outside, above):
    """What the contexts say about own coordinates."""
    begin, end = own_nodes(arrays, r)
    place, numbers, n = stored.place[r], stored.numbers, end - begin
    K, pairs = _parts(arrays, r)
    _add_transposed(result, begin, numbers, place[D], (K, n), outside, place[UNITS])
    _add_transposed(result, begin, numbers, place[V], (pairs, n), above, place[PAIRS])


@inner
def _upward(arrays, stored, r, result, alpha, beta):
    """alpha and beta of an inner region from its children, and covariances of own units with those below."""
    q, qp, units, children = (
        shown_mass(arrays, r),
        inside_mass(arrays, r),
        units_of(arrays, r),
        children_of(arrays, r),
    )
    pointer, column, value = weights_of(arrays, r)
    K, P, place, t = len(q), len(qp), stored.place[r], alpha.shape[1]
    of_products, average = np.zeros((P, t)), np.zeros((1, t))
    for a in range(len(children)):
        for p in range(P):
            _add(of_products, p, 1.0, alpha, stored.place[children[a], UNITS] + units[a, p])
    for p in range(P):
        _add(average, ONLY, qp[p], of_products, p)
    for k in range(K):
        _add(alpha, place[UNITS] + k, -1.0, average, ONLY)
        for e in range(pointer[k], pointer[k + 1]):
            _add(alpha, place[UNITS] + k, value[e], of_products, column[e])
    if not arrays.region[r, NEEDED]:
        return
    table = np.zeros((P * P, t))
    for a in range(len(children)):
        source, factor = stored.place[children[a], PAIRS], stored.place[children[a], FACTOR]
        for p in range(P):
            for o in range(P):
                _add(
                    table,
                    p * P + o,
                    stored.numbers[factor + p * P + o],
                    beta,
                    source + pair_number(units[a, p], units[a, o]),
                )
    lifted = mix(table.reshape(P, P, t), pointer, column, value)
    begin, end = own_nodes(arrays, r)
    for i in range(begin, end):
        scale, local = scaled(arrays.weight[i], stored.exp2[r]), arrays.local[i]
        if local < P:
            for p in range(P):
                _add(result, i, scale * qp[p], table, p * P + local)
        else:
            for a in range(K):
                _add(result, i, scale * q[a], lifted, pair_number(a, local - P))
    for row in range(len(lifted)):
        _add(beta, place[PAIRS] + row, 1.0, lifted, row)


@inner
def _downward(arrays, stored, r, vectors, alpha, outside, above):
    """Contexts of the children of an inner region from its own."""
    qp, units, children = inside_mass(arrays, r), units_of(arrays, r), children_of(arrays, r)
    pointer, column, value = weights_of(arrays, r)
    K, P, place, t = len(pointer) - 1, len(qp), stored.place[r], alpha.shape[1]
    of_products, total, average = np.zeros((P, t)), np.zeros((P, t)), np.zeros((1, t))
    for k in range(K):
        _add(average, ONLY, 1.0, outside, place[UNITS] + k)
        for e in range(pointer[k], pointer[k + 1]):
            _add(of_products, column[e], value[e], outside, place[UNITS] + k)
    for a in range(len(children)):
        for p in range(P):
            _add(total, p, 1.0, alpha, stored.place[children[a], UNITS] + units[a, p])
    for p in range(P):
        _add(of_products, p, qp[p], total, p)
        _add(of_products, p, -qp[p], average, ONLY)
    table = _lowered(arrays, stored, r, vectors, above, pointer, column, value)
    for a in range(len(children)):
        child = stored.place[children[a]]
        for p in range(P):
            _add(outside, child[UNITS] + units[a, p], 1.0, of_products, p)
            _add(outside, child[UNITS] + units[a, p], -qp[p], alpha, child[UNITS] + units[a, p])
        if arrays.region[r, NEEDED]:
            for p in range(P):
                for o in range(P):
                    _add(
                        above,
                        child[PAIRS] + pair_number(units[a, p], units[a, o]),
                        stored.numbers[child[FACTOR] + p * P + o],
                        table,
                        p * P + o,
                    )


@inner
def _lowered(arrays, stored, r, vectors, above, pointer, column, value):
    """(P P, t) coefficients of tables of products: the context of region r and its own units' rows; () if unneeded."""
    if not arrays.region[r, NEEDED]:
        return np.zeros((0, 0))
    q, qp, place, t = shown_mass(arrays, r), inside_mass(arrays, r), stored.place[r], above.shape[1]
    K, P = len(q), len(qp)
    context = np.zeros((K * (K + 1) // 2, t))
    for row in range(len(context)):
        _add(context, row, 1.0, above, place[PAIRS] + row)
    begin, end = own_nodes(arrays, r)
    table, half = np.zeros((P * P, t)), np.zeros((P * K, t))
    for i in range(begin, end):
        scale, local = scaled(arrays.weight[i], stored.exp2[r]), arrays.local[i]
        if local < P:
            for p in range(P):
                _add(table, p * P + local, scale * qp[p], vectors, i)
        else:
            for a in range(K):
                _add(context, pair_number(a, local - P), scale * q[a], vectors, i)
    for k in range(K):
        for e in range(pointer[k], pointer[k + 1]):
            for l in range(k + 1):
                _add(half, column[e] * K + l, value[e], context, k * (k + 1) // 2 + l)
    for l in range(K):
        for e in range(pointer[l], pointer[l + 1]):
            for p in range(P):
                _add(table, p * P + column[e], value[e], half, p * K + l)
    return table
