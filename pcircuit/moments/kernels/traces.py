"""Compiled twin of `moments.traces`: mean, variances and tr(S^2) in one pass over the regions.

What a region leaves for its parent lies on a stack, `buffer`: its tables, then G (K, K), then the columns V
(pairs, n) or the tensor H (pairs, pairs).  Regions come in post-order, so the entries of the children of a region
are the last ones on the stack; its own entry takes their place.
"""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import compile_kernel as jit
from pcircuit.kernels.jit import inner_kernel as inner
from pcircuit.moments.kernels.arrays import ARITY, BELOW, NEEDED, SHOWN
from pcircuit.moments.kernels.covariance_parts import own_nodes, region_parts
from pcircuit.moments.kernels.inner_overlaps import dense_weights
from pcircuit.moments.kernels.masses import (
    children_of,
    inside_mass,
    shown_mass,
    units_of,
    weights_of,
)
from pcircuit.moments.kernels.overlaps import minus_average, scaled, tables_size
from pcircuit.moments.kernels.stored_parts import COVARIANCE, FACTOR, D, V
from pcircuit.moments.kernels.unit_pairs import gram_factor, lift, pair_number

TENSOR = -1  # in the place of a number of columns: a region carries H
NOTHING = -2  # nothing at or below a region is selected


@jit
def linear_moments(arrays, squares, stored, mean, variances):
    """Write mean (m,) and variances (m,); return tr(S^2), or 0 unless `squares`.

    The uncompressed parts of all regions are written to `stored`, unless that has no room for numbers.
    """
    R, stores = len(arrays.region), len(stored.numbers) > 0
    at, exp2, exp3 = np.zeros(R, np.int64), stored.exp2, np.zeros(R, np.int64)
    width = np.zeros(R, np.int64)
    for r in range(R):
        width[r] = NOTHING
    buffer, top, trace_sq = np.empty(1 << 12), 0, 0.0
    for r in arrays.order:
        at[r] = top
        if not (arrays.region[r, BELOW] or arrays.region[r, NEEDED]):
            continue
        K, is_leaf = arrays.region[r, SHOWN], arrays.region[r, ARITY] == 0
        tables, covariance, d, v, factors = region_parts(
            arrays, r, not stores, (buffer, at, exp2, exp3), mean
        )
        if stores:
            _store(d.ravel(), stored.place[r, D], stored.numbers)
            _store(v.ravel(), stored.place[r, V], stored.numbers)
            _store(covariance.ravel(), stored.place[r, COVARIANCE], stored.numbers)
            for a in range(len(factors)):
                place = stored.place[children_of(arrays, r)[a], FACTOR]
                _store(factors[a].ravel(), place, stored.numbers)
        begin, end = own_nodes(arrays, r)
        for j in range(end - begin):
            variances[begin + j] = covariance[j, j]
        gram, pairs = np.empty((0, 0)), v
        if squares and arrays.region[r, BELOW]:
            for i in range(end - begin):
                for j in range(end - begin):
                    trace_sq += covariance[i, j] ** 2
            width[r] = v.shape[1]
            gram = np.zeros((K, K))
            _add_gram(d, gram)
            if not is_leaf:
                trace_sq += 2 * _disjoint_scopes(arrays, r, buffer, at, width, gram)
            if not is_leaf and arrays.region[r, NEEDED]:
                nested, pairs, width[r] = _nested_scopes(
                    arrays, r, factors, buffer, at, width, exp2[r], v
                )
                trace_sq += 2 * nested
        for child in children_of(arrays, r):
            at[r] = min(at[r], at[child])
        buffer, top = push(buffer, at[r], tables, gram.ravel(), pairs.ravel())
    return trace_sq


@inner
def _store(values, begin, numbers):
    """Copy values (n,) into a flat array."""
    for i in range(len(values)):
        numbers[begin + i] = values[i]


@inner
def push(buffer, top, tables, gram, pairs):
    """Copy the parts of an entry to `top`; return the buffer, enlarged if need be, and the new top."""
    size = top + len(tables) + len(gram) + len(pairs)
    if size > len(buffer):
        larger = np.empty(2 * size)
        for i in range(top):
            larger[i] = buffer[i]
        buffer = larger
    for part in (tables, gram, pairs):
        for i in range(len(part)):
            buffer[top + i] = part[i]
        top += len(part)
    return buffer, top


@inner
def _gram_at(arrays, c, buffer, at):
    """G (K, K) of region c."""
    K = arrays.region[c, SHOWN]
    begin = at[c] + (tables_size(K) if arrays.region[c, NEEDED] else 0)
    return buffer[begin : begin + K * K].reshape(K, K)


@inner
def _pairs_at(arrays, c, buffer, at, width):
    """V (pairs, n) or H (pairs, pairs) of region c."""
    K = arrays.region[c, SHOWN]
    begin, pairs = at[c] + tables_size(K) + K * K, K * (K + 1) // 2
    n = pairs if width[c] == TENSOR else width[c]
    return buffer[begin : begin + pairs * n].reshape(pairs, n)


@inner
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


@inner
def _disjoint_scopes(arrays, r, buffer, at, width, gram):
    """Sum of squared covariances between coordinates below different children; adds their G to `gram` (K, K)."""
    q, qp, units, children = (
        shown_mass(arrays, r),
        inside_mass(arrays, r),
        units_of(arrays, r),
        children_of(arrays, r),
    )
    K, P = len(q), len(qp)
    of_products, total = np.zeros((P, P)), 0.0
    for a in range(len(children)):
        if width[children[a]] == NOTHING:
            continue
        below, u = _gram_at(arrays, children[a], buffer, at), units[a]
        for p in range(P):
            for o in range(P):
                term = below[u[p], u[o]]
                total += qp[p] * qp[o] * of_products[p, o] * term
                of_products[p, o] += term
    excess = minus_average(dense_weights(weights_of(arrays, r), P), q)
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


@inner
def _nested_scopes(arrays, r, factors, buffer, at, width, exp2, v):
    """Sum of squared covariances of own units with those below; V or H of the region, and its `width`."""
    q, qp, units, children = (
        shown_mass(arrays, r),
        inside_mass(arrays, r),
        units_of(arrays, r),
        children_of(arrays, r),
    )
    pointer, column, value = weights_of(arrays, r)
    begin, end = own_nodes(arrays, r)
    pairs, n = len(v), v.shape[1]
    for child in children:
        if width[child] != NOTHING:
            n += _pairs_at(arrays, child, buffer, at, width).shape[1]
    keep_columns = n <= pairs
    below, filled = np.zeros((pairs, n if keep_columns else pairs)), np.int64(0)
    filled = _add_columns(v, keep_columns, below, filled)
    total = 0.0
    for a in range(len(children)):
        child = children[a]
        if width[child] == NOTHING:
            continue
        table, is_tensor = _pairs_at(arrays, child, buffer, at, width), width[child] == TENSOR
        for i in range(begin, end):
            if arrays.local[i] < len(qp):
                total += _squares_of_product(
                    arrays.local[i],
                    qp,
                    units[a],
                    factors[a],
                    table,
                    is_tensor,
                    scaled(arrays.weight[i], exp2),
                )
        if keep_columns and is_tensor:
            table, is_tensor = gram_factor(table), False
        lifted = lift(table, units[a], factors[a], pointer, column, value)
        if is_tensor:
            lifted = lift(
                np.ascontiguousarray(lifted.T), units[a], factors[a], pointer, column, value
            )
            for i in range(pairs):
                for j in range(pairs):
                    below[i, j] += lifted[i, j]
        else:
            filled = _add_columns(lifted, keep_columns, below, filled)
        for i in range(begin, end):
            if arrays.local[i] >= len(qp):
                total += _squares_of_sum(
                    arrays.local[i] - len(qp), q, lifted, is_tensor, scaled(arrays.weight[i], exp2)
                )
    if keep_columns:
        return total, np.ascontiguousarray(below[:, :filled]), filled
    return total, below, TENSOR


@inner
def _add_columns(columns, keep_columns, below, filled):
    """Put columns (pairs, n) behind the `filled` ones of V, or add their Gram matrix to H; return the new number."""
    if not keep_columns:
        _add_gram(columns, below)
        return filled
    for row in range(len(columns)):
        for j in range(columns.shape[1]):
            below[row, filled + j] = columns[row, j]
    return filled + columns.shape[1]


@inner
def _squares_of_sum(k, q, table, is_tensor, scale):
    """sum_j (scale * sum_a q_a V[(a, k), j])^2 from V or H."""
    rows, coefficients = np.empty(len(q), np.int64), np.empty(len(q))
    for a in range(len(q)):
        rows[a], coefficients[a] = pair_number(a, k), scale * q[a]
    return _squares(rows, coefficients, table, is_tensor)


@inner
def _squares_of_product(p, qp, units, factor, table, is_tensor, scale):
    """The same for product p, from V or H of a child; its square alone may be beyond the range of doubles."""
    rows, coefficients = np.empty(len(qp), np.int64), np.empty(len(qp))
    for o in range(len(qp)):
        rows[o] = pair_number(units[o], units[p])
        coefficients[o] = scale * qp[o] * factor[p, o]
    return _squares(rows, coefficients, table, is_tensor)


@inner
def _squares(rows, coefficients, table, is_tensor):
    """Sum over columns j of (sum_i coefficients[i] V[rows[i], j])^2, from V or from H = V V^T."""
    total = 0.0
    if is_tensor:
        for j in range(len(rows)):
            covariances = 0.0
            for i in range(len(rows)):
                covariances += coefficients[i] * table[rows[i], rows[j]]
            total += (
                covariances * coefficients[j]
            )  # the product of two coefficients alone may overflow
        return total
    for j in range(table.shape[1]):
        covariance = 0.0
        for i in range(len(rows)):
            covariance += coefficients[i] * table[rows[i], j]
        total += covariance * covariance
    return total
