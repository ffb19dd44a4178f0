"""Compiled twin of `_traces`: mean, variances and tr(S^2) in one pass over the regions.

What a region leaves for its parent lies on a stack, `buffer`: its tables, then G (K, K), then the columns V
(pairs, n) or the tensor H (pairs, pairs).  Regions come in post-order, so the entries of the children of a region
are the last ones on the stack; its own entry takes their place.
"""
from __future__ import annotations

import numpy as np

from ._compile import jit
from ._masses_kernel import weights_of
from ._moment_arrays import ARITY, CHILD, INSIDE, INSIDE_MASS, MASS, SHOWN, UNIT
from ._overlaps_kernel import minus_average, scaled, tables_size
from ._inner_overlaps_kernel import dense_weights
from ._pairs_kernel import gram_factor, lift, lift_gram, pair_number
from ._region_forms_kernel import inner_form, leaf_form

TENSOR = -1  # in the place of a number of columns: a region carries H
NOTHING = -2  # nothing at or below a region is selected


@jit
def linear_moments(arrays, squares, mean, variances):
    """Write mean (m,) and variances (m,); return tr(S^2), or 0 unless `squares`."""
    region, start = arrays.region, arrays.start
    R = len(region)
    at, exp2, exp3 = np.zeros(R, np.int64), np.zeros(R, np.int64), np.zeros(R, np.int64)
    width = np.full(R, NOTHING)
    buffer, top, trace_sq = np.empty(1 << 12), 0, 0.0
    for r in arrays.order:
        at[r] = top
        if not (arrays.below[r] or arrays.needed[r]):
            continue
        K, A = region[r, SHOWN], region[r, ARITY]
        here = mean[start[r]:start[r + 1]]
        factors = np.empty((0, 0, 0))
        if A == 0:
            tables, exp2[r], exp3[r], covariance, d, v = leaf_form(arrays, r, True, here)
        elif arrays.needed[r]:
            tables, exp2[r], exp3[r], covariance, d, v, factors = inner_form(arrays, r, buffer, at, exp2, exp3, here)
        else:
            tables, covariance, d, v = np.empty(0), np.empty((0, 0)), np.empty((K, 0)), np.empty((0, 0))
        for j in range(len(covariance)):
            variances[start[r] + j] = covariance[j, j]
        gram, pairs = np.empty((0, 0)), v
        if squares and arrays.below[r]:
            trace_sq += np.sum(covariance * covariance)
            width[r] = v.shape[1]
            gram = np.zeros((K, K))
            _add_gram(d, gram)
            if A > 0:
                trace_sq += 2 * _disjoint_scopes(arrays, r, buffer, at, width, gram)
            if A > 0 and arrays.needed[r]:
                nested, pairs, width[r] = _nested_scopes(arrays, r, factors, buffer, at, width, exp2[r], v)
                trace_sq += 2 * nested
        for a in range(A):
            at[r] = min(at[r], at[arrays.child[region[r, CHILD] + a]])
        buffer, top = _push(buffer, at[r], tables, gram.ravel(), pairs.ravel())
    return trace_sq


@jit
def _push(buffer, top, tables, gram, pairs):
    """Copy the parts of an entry to `top`; return the buffer, enlarged if need be, and the new top."""
    size = top + len(tables) + len(gram) + len(pairs)
    if size > len(buffer):
        larger = np.empty(2 * size)
        larger[:top] = buffer[:top]
        buffer = larger
    for part in (tables, gram, pairs):
        buffer[top:top + len(part)] = part
        top += len(part)
    return buffer, top


@jit
def _gram_at(arrays, c, buffer, at):
    """G (K, K) of region c."""
    K = arrays.region[c, SHOWN]
    begin = at[c] + (tables_size(K) if arrays.needed[c] else 0)
    return buffer[begin:begin + K * K].reshape(K, K)


@jit
def _pairs_at(arrays, c, buffer, at, width):
    """V (pairs, n) or H (pairs, pairs) of region c."""
    K = arrays.region[c, SHOWN]
    begin, pairs = at[c] + tables_size(K) + K * K, K * (K + 1) // 2
    n = pairs if width[c] == TENSOR else width[c]
    return buffer[begin:begin + pairs * n].reshape(pairs, n)


@jit
def _add_gram(columns, gram):
    """gram (N, N) += columns (N, n) times their transpose."""
    for i in range(len(gram)):
        for j in range(i + 1):
            total = 0.0
            for c in range(columns.shape[1]):
                total += columns[i, c] * columns[j, c]
            gram[i, j] += total
            if j < i:
                gram[j, i] += total


@jit
def _disjoint_scopes(arrays, r, buffer, at, width, gram):
    """Sum of squared covariances between coordinates below different children; adds their G to `gram` (K, K)."""
    spec = arrays.region[r]
    K, P = spec[SHOWN], spec[INSIDE]
    qp = arrays.inside_mass[spec[INSIDE_MASS]:spec[INSIDE_MASS] + P]
    of_products, total = np.zeros((P, P)), 0.0
    for a in range(spec[ARITY]):
        child = arrays.child[spec[CHILD] + a]
        if width[child] == NOTHING:
            continue
        below = _gram_at(arrays, child, buffer, at)
        units = arrays.unit[spec[UNIT] + a * P:spec[UNIT] + (a + 1) * P]
        for p in range(P):
            for o in range(P):
                term = below[units[p], units[o]]
                total += qp[p] * qp[o] * of_products[p, o] * term
                of_products[p, o] += term
    excess = minus_average(dense_weights(weights_of(arrays, r), P), arrays.mass[spec[MASS]:spec[MASS] + K])
    half = np.zeros((K, P))
    for k in range(K):
        for p in range(P):
            for o in range(P):
                half[k, o] += excess[k, p] * of_products[p, o]
    for k in range(K):
        for l in range(K):
            for p in range(P):
                gram[k, l] += half[k, p] * excess[l, p]
    return total


@jit
def _nested_scopes(arrays, r, factors, buffer, at, width, exp2, v):
    """Sum of squared covariances of own units with those below; V or H of the region, and its `width`."""
    spec = arrays.region[r]
    K, P, A = spec[SHOWN], spec[INSIDE], spec[ARITY]
    pointer, column, value = weights_of(arrays, r)
    q, qp = arrays.mass[spec[MASS]:spec[MASS] + K], arrays.inside_mass[spec[INSIDE_MASS]:spec[INSIDE_MASS] + P]
    pairs, n = K * (K + 1) // 2, v.shape[1]
    for a in range(A):
        child = arrays.child[spec[CHILD] + a]
        if width[child] != NOTHING:
            n += _pairs_at(arrays, child, buffer, at, width).shape[1]
    keep_columns = n <= pairs
    total, filled, below = 0.0, v.shape[1], np.zeros((pairs, n if keep_columns else pairs))
    if keep_columns:
        below[:, :filled] = v
    else:
        _add_gram(v, below)
    for a in range(A):
        child = arrays.child[spec[CHILD] + a]
        if width[child] == NOTHING:
            continue
        table, is_tensor = _pairs_at(arrays, child, buffer, at, width), width[child] == TENSOR
        units = arrays.unit[spec[UNIT] + a * P:spec[UNIT] + (a + 1) * P]
        for i in range(arrays.start[r], arrays.start[r + 1]):
            if arrays.local[i] < P:
                total += scaled(arrays.weight[i], exp2) ** 2 * _squares_of_product(
                    arrays.local[i], qp, units, factors[a], table, is_tensor)
        if keep_columns and is_tensor:
            table, is_tensor = gram_factor(table), False
        if is_tensor:
            lifted = lift_gram(table, units, factors[a], pointer, column, value)
            below += lifted
        else:
            lifted = lift(table, units, factors[a], pointer, column, value)
            if keep_columns:
                below[:, filled:filled + lifted.shape[1]] = lifted
                filled += lifted.shape[1]
            else:
                _add_gram(lifted, below)
        for i in range(arrays.start[r], arrays.start[r + 1]):
            if arrays.local[i] >= P:
                total += scaled(arrays.weight[i], exp2) ** 2 * _squares_of_sum(arrays.local[i] - P, q, lifted,
                                                                              is_tensor)
    if keep_columns:
        return total, np.ascontiguousarray(below[:, :filled]), filled
    return total, below, TENSOR


@jit
def _squares_of_sum(k, q, table, is_tensor):
    """sum_j (sum_a q_a V[(a, k), j])^2 from V or H."""
    rows, coefficients = np.empty(len(q), np.int64), q
    for a in range(len(q)):
        rows[a] = pair_number(a, k)
    return _squares(rows, coefficients, table, is_tensor)


@jit
def _squares_of_product(p, qp, units, factor, table, is_tensor):
    """The same for product p, from V or H of a child."""
    rows, coefficients = np.empty(len(qp), np.int64), qp * factor[p]
    for o in range(len(qp)):
        rows[o] = pair_number(units[o], units[p])
    return _squares(rows, coefficients, table, is_tensor)


@jit
def _squares(rows, coefficients, table, is_tensor):
    """Sum over columns j of (sum_i coefficients[i] V[rows[i], j])^2, from V or from H = V V^T."""
    total = 0.0
    if is_tensor:
        for i in range(len(rows)):
            for j in range(len(rows)):
                total += coefficients[i] * coefficients[j] * table[rows[i], rows[j]]
        return total
    for j in range(table.shape[1]):
        covariance = 0.0
        for i in range(len(rows)):
            covariance += coefficients[i] * table[rows[i], j]
        total += covariance * covariance
    return total
