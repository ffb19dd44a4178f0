"""Compiled twin of `moments.operator`, and the pass that fills `StoredParts` for it."""
from __future__ import annotations

import numpy as np

from pcircuit.compiled.jit import compile_kernel as jit
from pcircuit.moments.compiled.arrays import ARITY, BELOW, NEEDED, SHOWN
from pcircuit.moments.compiled.covariance_parts import own_nodes, region_parts
from pcircuit.moments.compiled.masses import children_of, inside_mass, shown_mass, units_of, weights_of
from pcircuit.moments.compiled.overlaps import scaled
from pcircuit.moments.compiled.stored_parts import COVARIANCE, FACTOR, PAIRS, UNITS, D, V
from pcircuit.moments.compiled.traces import push
from pcircuit.moments.compiled.unit_pairs import mix, pair_number


@jit
def fill_parts(arrays, stored, compress):
    """Write the uncompressed parts of all regions: `compress` is false, see `traces.linear_moments`."""
    R = len(arrays.region)
    at, exp3, mean = np.zeros(R, np.int64), np.zeros(R, np.int64), np.empty(len(arrays.local))
    buffer, top, nothing = np.empty(1 << 12), 0, np.empty(0)
    for r in arrays.order:
        at[r] = top
        if not (arrays.region[r, BELOW] or arrays.region[r, NEEDED]):
            continue
        children = children_of(arrays, r)
        tables, covariance, d, v, factors = region_parts(arrays, r, compress, (buffer, at, stored.exp2, exp3), mean)
        _store(d.ravel(), stored.place[r, D], stored.numbers)
        _store(v.ravel(), stored.place[r, V], stored.numbers)
        _store(covariance.ravel(), stored.place[r, COVARIANCE], stored.numbers)
        for a in range(len(children)):
            at[r] = min(at[r], at[children[a]])
            if len(factors) > 0:
                _store(factors[a].ravel(), stored.place[children[a], FACTOR], stored.numbers)
        buffer, top = push(buffer, at[r], tables, nothing, nothing)


@jit
def _store(values, begin, numbers):
    """Copy values (n,) into a flat array."""
    for i in range(len(values)):
        numbers[begin + i] = values[i]


@jit
def apply_covariance(arrays, stored, vector, result):
    """result (m,) = S vector."""
    alpha, beta = np.zeros(stored.work[0]), np.zeros(stored.work[1])
    outside, above = np.zeros(stored.work[0]), np.zeros(stored.work[1])
    for i in range(len(result)):
        result[i] = 0.0
    for r in arrays.order:
        if arrays.region[r, BELOW] or arrays.region[r, NEEDED]:
            _own_columns_up(arrays, stored, r, vector, result, alpha, beta)
            if arrays.region[r, ARITY] > 0:
                _upward(arrays, stored, r, result, alpha, beta)
    for i in range(len(arrays.order) - 1, -1, -1):
        r = arrays.order[i]
        if arrays.region[r, BELOW] or arrays.region[r, NEEDED]:
            _own_columns_down(arrays, stored, r, result, outside, above)
            if arrays.region[r, ARITY] > 0:
                _downward(arrays, stored, r, vector, alpha, outside, above)


@jit
def _parts(arrays, r):
    """Numbers of shown units, and of pairs of them where they are needed, of region r."""
    K = arrays.region[r, SHOWN]
    return K, K * (K + 1) // 2 * arrays.region[r, NEEDED]


@jit
def _own_columns_up(arrays, stored, r, vector, result, alpha, beta):
    """Own covariances; alpha and beta of the own columns."""
    begin, end = own_nodes(arrays, r)
    place, n = stored.place[r], end - begin
    K, pairs = _parts(arrays, r)
    for i in range(n):
        for j in range(n):
            result[begin + i] += stored.numbers[place[COVARIANCE] + i * n + j] * vector[begin + j]
    for k in range(K):
        for j in range(n):
            alpha[place[UNITS] + k] += stored.numbers[place[D] + k * n + j] * vector[begin + j]
    for row in range(pairs):
        for j in range(n):
            beta[place[PAIRS] + row] += stored.numbers[place[V] + row * n + j] * vector[begin + j]


@jit
def _own_columns_down(arrays, stored, r, result, outside, above):
    """What the contexts say about own coordinates."""
    begin, end = own_nodes(arrays, r)
    place, n = stored.place[r], end - begin
    K, pairs = _parts(arrays, r)
    for k in range(K):
        for j in range(n):
            result[begin + j] += stored.numbers[place[D] + k * n + j] * outside[place[UNITS] + k]
    for row in range(pairs):
        for j in range(n):
            result[begin + j] += stored.numbers[place[V] + row * n + j] * above[place[PAIRS] + row]


@jit
def _upward(arrays, stored, r, result, alpha, beta):
    """alpha and beta of an inner region from its children, and covariances of own units with those below."""
    q, qp, units, children = shown_mass(arrays, r), inside_mass(arrays, r), units_of(arrays, r), children_of(arrays, r)
    pointer, column, value = weights_of(arrays, r)
    K, P, place = len(q), len(qp), stored.place[r]
    of_products, average = np.zeros(P), 0.0
    for a in range(len(children)):
        for p in range(P):
            of_products[p] += alpha[stored.place[children[a], UNITS] + units[a, p]]
    for p in range(P):
        average += qp[p] * of_products[p]
    for k in range(K):
        alpha[place[UNITS] + k] -= average
        for e in range(pointer[k], pointer[k + 1]):
            alpha[place[UNITS] + k] += value[e] * of_products[column[e]]
    if not arrays.region[r, NEEDED]:
        return
    table = np.zeros((P, P, 1))
    for a in range(len(children)):
        source, factor = stored.place[children[a], PAIRS], stored.place[children[a], FACTOR]
        for p in range(P):
            for o in range(P):
                table[p, o, 0] += stored.numbers[factor + p * P + o] * beta[source + pair_number(units[a, p],
                                                                                                units[a, o])]
    lifted = mix(table, pointer, column, value)
    begin, end = own_nodes(arrays, r)
    for i in range(begin, end):
        total = 0.0
        if arrays.local[i] < P:
            for p in range(P):
                total += qp[p] * table[p, arrays.local[i], 0]
        else:
            for a in range(K):
                total += q[a] * lifted[pair_number(a, arrays.local[i] - P), 0]
        result[i] += scaled(arrays.weight[i], stored.exp2[r]) * total
    for row in range(len(lifted)):
        beta[place[PAIRS] + row] += lifted[row, 0]


@jit
def _downward(arrays, stored, r, vector, alpha, outside, above):
    """Contexts of the children of an inner region from its own."""
    qp, units, children = inside_mass(arrays, r), units_of(arrays, r), children_of(arrays, r)
    pointer, column, value = weights_of(arrays, r)
    K, P, place = len(pointer) - 1, len(qp), stored.place[r]
    of_products, total, average = np.zeros(P), np.zeros(P), 0.0
    for k in range(K):
        average += outside[place[UNITS] + k]
        for e in range(pointer[k], pointer[k + 1]):
            of_products[column[e]] += value[e] * outside[place[UNITS] + k]
    for a in range(len(children)):
        for p in range(P):
            total[p] += alpha[stored.place[children[a], UNITS] + units[a, p]]
    for p in range(P):
        of_products[p] += qp[p] * (total[p] - average)
    table = _lowered(arrays, stored, r, vector, above, pointer, column, value)
    for a in range(len(children)):
        child = stored.place[children[a]]
        for p in range(P):
            from_others = of_products[p] - qp[p] * alpha[child[UNITS] + units[a, p]]
            outside[child[UNITS] + units[a, p]] += from_others
        if arrays.region[r, NEEDED]:
            for p in range(P):
                for o in range(P):
                    above[child[PAIRS] + pair_number(units[a, p], units[a, o])] += (
                        stored.numbers[child[FACTOR] + p * P + o] * table[p, o])


@jit
def _lowered(arrays, stored, r, vector, above, pointer, column, value):
    """(P, P) coefficients of tables of products: the context of region r and its own units' rows; empty if unneeded."""
    if not arrays.region[r, NEEDED]:
        return np.zeros((0, 0))
    q, qp, place = shown_mass(arrays, r), inside_mass(arrays, r), stored.place[r]
    K, P = len(q), len(qp)
    context = np.zeros(K * (K + 1) // 2)
    for row in range(len(context)):
        context[row] = above[place[PAIRS] + row]
    begin, end = own_nodes(arrays, r)
    table, half = np.zeros((P, P)), np.zeros((P, K))
    for i in range(begin, end):
        scale = scaled(arrays.weight[i], stored.exp2[r]) * vector[i]
        if arrays.local[i] < P:
            for p in range(P):
                table[p, arrays.local[i]] += scale * qp[p]
        else:
            for a in range(K):
                context[pair_number(a, arrays.local[i] - P)] += scale * q[a]
    for k in range(K):
        for e in range(pointer[k], pointer[k + 1]):
            for l in range(k + 1):
                half[column[e], l] += value[e] * context[k * (k + 1) // 2 + l]
    for l in range(K):
        for e in range(pointer[l], pointer[l + 1]):
            for p in range(P):
                table[p, column[e]] += half[p, l] * value[e]
    return table
