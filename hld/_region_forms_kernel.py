"""Compiled twin of `_region_forms`: own columns, their covariance, and sibling factors of one region."""
from __future__ import annotations

import numpy as np

from ._compile import jit
from ._inner_overlaps_kernel import dense_weights, inner_second, inner_third, product_stages
from ._masses_kernel import weights_of
from ._moment_arrays import ARITY, CHILD, DATA, INSIDE, INSIDE_MASS, MASS, SHOWN, UNIT
from ._overlaps_kernel import (
    input_columns,
    input_tables,
    minus_average,
    mixture,
    scaled,
    tables_at,
    tables_size,
)
from ._pairs_kernel import pair_number


@jit
def leaf_form(arrays, r, compress, mean_out):
    """Tables (flat), exp2, exp3, covariance (n, n), d (K, n'), v (pairs, n') of input region r."""
    spec = arrays.region[r]
    K, C = spec[SHOWN], spec[INSIDE]
    probs = arrays.data[spec[DATA]:spec[DATA] + K * C].reshape(K, C)
    q = arrays.mass[spec[MASS]:spec[MASS] + K]
    here = slice(arrays.start[r], arrays.start[r + 1])
    tables = np.empty(tables_size(K) if arrays.needed[r] else 0)
    exp2, exp3 = 0, 0
    if arrays.needed[r]:
        exp2, exp3 = input_tables(probs, q, tables, 0)
    covariance, d, v = input_columns(probs, q, arrays.local[here], arrays.weight[here], tables, exp2, exp3, compress,
                                     mean_out)
    return tables, exp2, exp3, covariance, d, v


@jit
def inner_form(arrays, r, buffer, at, exp2, exp3, mean_out):
    """The same for an inner region with needed tables, and the sibling factors (A, P, P) of its children.

    The children's tables begin at `at` (R,) in `buffer` and have exponents `exp2`, `exp3` (R,).
    """
    spec = arrays.region[r]
    K, P, A = spec[SHOWN], spec[INSIDE], spec[ARITY]
    q = arrays.mass[spec[MASS]:spec[MASS] + K]
    qp = arrays.inside_mass[spec[INSIDE_MASS]:spec[INSIDE_MASS] + P]
    units = arrays.unit[spec[UNIT]:spec[UNIT] + A * P].reshape(A, P)
    children = arrays.child[spec[CHILD]:spec[CHILD] + A]
    weights = weights_of(arrays, r)
    dense = dense_weights(weights, P)
    excess = minus_average(dense, q)
    child_at, shown, ratios = at[children], arrays.region[children, SHOWN], np.empty(A)
    below2, below3 = 0, 0
    for a in range(A):
        ratios[a] = scaled(1.0, 2 * exp2[children[a]] - exp3[children[a]])
        below2 += exp2[children[a]]
        below3 += exp3[children[a]]
    stages = product_stages(units, qp, buffer, child_at, shown, ratios)
    tables = np.empty(tables_size(K))
    shift2 = inner_second(dense, excess, stages, tables)

    here = slice(arrays.start[r], arrays.start[r + 1])
    local, own_weights = arrays.local[here], arrays.weight[here]
    num_products = np.searchsorted(local, P)
    products = local[:num_products]
    shift3, product_v, product_cov = inner_third(units, qp, weights, dense, stages, buffer, child_at, shown, tables,
                                                 products)
    exponents = below2, below2 + shift2, below3, below3 + shift3
    covariance, d, v = _own_columns(q, dense, excess, stages, tables, local, own_weights, product_v, product_cov,
                                    exponents, mean_out)
    return tables, exponents[1], exponents[3], covariance, d, v, _sibling_factors(units, children, buffer, at, arrays,
                                                                                  -shift2)


@jit
def _own_columns(q, dense, excess, stages, tables, local, weights, product_v, product_cov, exponents, mean_out):
    """covariance (n, n), d (K, n), v (pairs, n) of the selected products and sums of a region."""
    product2, sum2, product3, sum3 = exponents
    K, P = dense.shape
    n, num_products = len(local), len(product_cov)
    second, second_c, mean, _, third_c = tables_at(tables, 0, K)
    d, v, covariance = np.empty((K, n)), np.empty((len(third_c), n)), np.zeros((n, n))
    if num_products > 0:
        of_products = np.empty((P, num_products))
        for j in range(num_products):
            of_products[:, j] = stages[5][:, local[j]]
            mean_out[j] = scaled(weights[j] * stages[1][-1, local[j]], product2)
        mixed = np.empty((K, num_products))
        mixture(dense, excess, of_products, mixed)
        for j in range(num_products):
            for k in range(K):
                d[k, j] = scaled(weights[j] * mixed[k, j], product2)
            for row in range(len(v)):
                v[row, j] = scaled(weights[j] * product_v[row, j], product3 - sum2)
            for i in range(num_products):
                covariance[i, j] = (scaled(weights[i], product3 // 2) * scaled(weights[j], product3 - product3 // 2)
                                    * (product_cov[i, j] + product_cov[j, i]) / 2)
    for j in range(num_products, n):
        k, to_d, to_v = local[j] - P, scaled(weights[j], sum2), scaled(weights[j], sum3 - sum2)
        mean_out[j] = to_d * mean[k]
        for a in range(K):
            d[a, j] = to_d * second_c[a, k]
        for row in range(len(v)):
            v[row, j] = to_v * third_c[row, k]
    for i in range(num_products, n):
        scale = scaled(weights[i], sum2)
        for a in range(K):
            row = v[pair_number(a, local[i] - P)]
            for j in range(n):
                covariance[i, j] += q[a] * scale * row[j]
    for i in range(num_products, n):
        for j in range(num_products):
            covariance[j, i] = covariance[i, j]
        for j in range(num_products, i):
            covariance[i, j] = (covariance[i, j] + covariance[j, i]) / 2
            covariance[j, i] = covariance[i, j]
    return covariance, d, v


@jit
def _sibling_factors(units, children, buffer, at, arrays, exponent):
    """(A, P, P) per child the product of its siblings' overlaps, times 2**exponent."""
    A, P = units.shape
    factors = np.empty((A, P, P))
    running = np.full((P, P), scaled(1.0, exponent))
    for a in range(A):
        factors[a] = running
        _times_second(running, units[a], children[a], buffer, at, arrays)
    running[:] = 1.0
    for a in range(A - 1, -1, -1):
        factors[a] *= running
        _times_second(running, units[a], children[a], buffer, at, arrays)
    return factors


@jit
def _times_second(table, units, child, buffer, at, arrays):
    """Multiply table (P, P) by the overlaps of a child's units."""
    K = arrays.region[child, SHOWN]
    second = buffer[at[child]:at[child] + K * K].reshape(K, K)
    for p in range(len(units)):
        for o in range(len(units)):
            table[p, o] *= second[units[p], units[o]]
