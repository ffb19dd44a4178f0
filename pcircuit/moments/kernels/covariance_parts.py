"""Compiled twin of `moments.covariance_parts`: own columns, their covariance, and sibling factors of one region."""

from __future__ import annotations

import numpy as np

from pcircuit.kernels.jit import inlined_kernel as inlined
from pcircuit.kernels.jit import inner_kernel as inner
from pcircuit.moments.kernels.arrays import ARITY, FIRST_NODE, INSIDE, NEEDED, NUM_NODES, SHOWN
from pcircuit.moments.kernels.inner_overlaps import (
    dense_weights,
    inner_second,
    inner_third,
    product_stages,
)
from pcircuit.moments.kernels.masses import (
    children_of,
    inside_mass,
    probs_of,
    shown_mass,
    units_of,
    weights_of,
)
from pcircuit.moments.kernels.overlaps import (
    input_columns,
    input_tables,
    minus_average,
    mixture,
    rescale,
    scaled,
    shift_of,
    tables_in,
    tables_size,
)
from pcircuit.moments.kernels.unit_pairs import pair_number
from pcircuit.moments.overlaps import MAX_SHIFT


@inner
def own_nodes(arrays, r):
    """Where the selected units of region r are among all selected ones: begin and end."""
    begin = arrays.region[r, FIRST_NODE]
    return begin, begin + arrays.region[r, NUM_NODES]


@inlined
def region_parts(arrays, r, compress, open_tables, mean):
    """Tables (flat), covariance (n, n), d (K, n'), v (pairs, n'), factors (A, P, P) of region r; fills mean (m,).

    `open_tables` are a flat buffer with the tables of the children, and (R,) arrays that say where they begin in it and
    their exponents exp2 and exp3, to which those of region r are added.
    """
    buffer, at, exp2, exp3 = open_tables
    tables, covariance, v = np.empty(0), np.empty((0, 0)), np.empty((0, 0))
    d, factors = np.empty((arrays.region[r, SHOWN], 0)), np.empty((0, 0, 0))
    if arrays.region[r, ARITY] == 0:
        tables, exp2[r], exp3[r], covariance, d, v = _leaf_parts(arrays, r, compress, mean)
    elif arrays.region[r, NEEDED]:
        tables, exp2[r], exp3[r], covariance, d, v, factors = _inner_parts(
            arrays, r, buffer, at, exp2, exp3, mean
        )
    return tables, covariance, d, v, factors


@inlined
def _leaf_parts(arrays, r, compress, mean):
    """Tables (flat), exp2, exp3, covariance (n, n), d (K, n'), v (pairs, n') of input region r; fills mean (m,)."""
    probs, q, is_needed = probs_of(arrays, r), shown_mass(arrays, r), arrays.region[r, NEEDED]
    tables = np.empty(tables_size(len(q)) if is_needed else 0)
    exp2, exp3 = 0, 0
    if is_needed:
        exp2, exp3 = input_tables(probs, q, arrays.rounding[r], tables)
    begin, end = own_nodes(arrays, r)
    covariance, d, v = input_columns(
        probs,
        q,
        arrays.rounding[r],
        arrays.local[begin:end],
        arrays.weight[begin:end],
        (tables, exp2, exp3),
        compress,
        mean[begin:end],
    )
    return tables, exp2, exp3, covariance, d, v


@inlined
def _inner_parts(arrays, r, buffer, at, exp2, exp3, mean):
    """The same for an inner region with needed tables, and the sibling factors (A, P, P) of its children."""
    K, P = arrays.region[r, SHOWN], arrays.region[r, INSIDE]
    q, qp, units, children = (
        shown_mass(arrays, r),
        inside_mass(arrays, r),
        units_of(arrays, r),
        children_of(arrays, r),
    )
    A = len(children)
    weights = weights_of(arrays, r)
    dense = dense_weights(weights, P)
    excess = minus_average(dense, q)
    child_at, shown = np.empty(A, np.int64), np.empty(A, np.int64)
    child_exp2, child_exp3 = np.empty(A, np.int64), np.empty(A, np.int64)
    for a in range(A):
        child = children[a]
        child_at[a], shown[a] = at[child], arrays.region[child, SHOWN]
        child_exp2[a], child_exp3[a] = exp2[child], exp3[child]
    below = buffer, child_at, shown, child_exp2, child_exp3
    stages = product_stages(units, qp, below, arrays.rounding[r])
    tables = np.empty(tables_size(K))
    shift2 = inner_second(dense, excess, stages, tables)

    begin, end = own_nodes(arrays, r)
    local, own_weights = arrays.local[begin:end], arrays.weight[begin:end]
    num_products = 0
    while num_products < len(local) and local[num_products] < P:
        num_products += 1
    shift3, product_v, product_cov = inner_third(
        units, (q, qp), weights, stages, below, tables, local[:num_products], arrays.rounding[r]
    )
    product2, product3 = stages[5][A - 1, 0], stages[5][A - 1, 1]
    exponents = product2, product2 + shift2, product3, product3 + shift3
    n, pairs = len(local), len(product_v)
    d, v, covariance = np.empty((K, n)), np.empty((pairs, n)), np.zeros((n, n))
    columns = d, v, covariance, mean[begin:end]
    if num_products > 0:
        of_products = product_v, product_cov
        _product_columns(
            (dense, excess),
            stages,
            local[:num_products],
            own_weights,
            of_products,
            exponents,
            columns,
        )
    _sum_columns(q, tables, local[num_products:] - P, own_weights, exponents, columns)
    return (
        tables,
        exponents[1],
        exponents[3],
        covariance,
        d,
        v,
        _sibling_factors(units, below, -exponents[1]),
    )


@inner
def _product_columns(mixing, stages, local, weights, of_products, exponents, columns):
    """Fill the columns of the selected products `local`, from their own tables `of_products`."""
    (dense, excess), (product_v, product_cov), (d, v, covariance, mean_out) = (
        mixing,
        of_products,
        columns,
    )
    product2, sum2, product3, _ = exponents
    K, P = dense.shape
    chosen, mixed = np.empty((P, len(local))), np.empty((K, len(local)))
    for j in range(len(local)):
        for p in range(P):
            chosen[p, j] = stages[4][p, local[j]] if product_cov[j, j] > 0.0 else 0.0
        mean_out[j] = scaled(weights[j] * stages[1][-1, local[j]], product2)
    mixture(dense, excess, excess, chosen, mixed)
    for j in range(len(local)):
        for k in range(K):
            d[k, j] = scaled(weights[j] * mixed[k, j], product2)
        for row in range(len(v)):
            v[row, j] = scaled(weights[j] * product_v[row, j], product3 - sum2)
        for i in range(
            j + 1
        ):  # the product of two weights alone may be beyond the range of doubles
            covariance[i, j] = (
                (product_cov[i, j] + product_cov[j, i])
                / 2
                * scaled(weights[i], product3 // 2)
                * scaled(weights[j], product3 - product3 // 2)
            )
            covariance[j, i] = covariance[i, j]


@inner
def _sum_columns(q, tables, sums, weights, exponents, columns):
    """Fill the columns of the selected `sums`, which stand behind the products, and all their covariances."""
    d, v, covariance, mean_out = columns
    _, sum2, _, sum3 = exponents
    K, n = d.shape
    first = n - len(sums)
    _, second_c, mean, _, third_c = tables_in(tables, K)
    to_third = min(
        sum3 - sum2, MAX_SHIFT
    )  # no third overlap is above the second ones: beyond 1 they are all zero
    for j in range(first, n):
        k, to_d, to_v = sums[j - first], scaled(weights[j], sum2), scaled(weights[j], to_third)
        mean_out[j] = to_d * mean[k]
        for a in range(K):
            d[a, j] = to_d * second_c[a, k]
        for row in range(len(v)):
            v[row, j] = to_v * third_c[row, k]
    for i in range(first, n):
        scale = scaled(weights[i], sum2)
        for a in range(K):
            row = v[pair_number(a, sums[i - first])]
            for j in range(n):
                covariance[i, j] += q[a] * scale * row[j]
    for i in range(first, n):
        for j in range(first):
            covariance[j, i] = covariance[i, j]
        for j in range(first, i):
            covariance[i, j] = (covariance[i, j] + covariance[j, i]) / 2
            covariance[j, i] = covariance[i, j]
    for i in range(first, n):
        if not covariance[i, i] > 0.0:  # a constant has no covariances
            for j in range(n):
                covariance[i, j], covariance[j, i] = 0.0, 0.0


@inner
def _sibling_factors(units, below, exponent):
    """(A, P, P) per child the product of its siblings' overlaps, times 2**(exponent + that of its own overlaps)."""
    buffer, at, shown, exp2, _ = below
    A, P = units.shape
    factors, exponents, total = np.ones((A, P, P)), np.zeros(A, np.int64), exponent
    for a in range(A):
        total += exp2[a]
    for direction in (1, -1):
        running, shift = np.ones((P, P)), 0
        for step in range(A):
            a = step if direction == 1 else A - 1 - step
            second, u = buffer[at[a] : at[a] + shown[a] ** 2].reshape(shown[a], shown[a]), units[a]
            exponents[a] += shift
            for p in range(P):
                for o in range(P):
                    factors[a, p, o] *= running[p, o]
                    running[p, o] *= second[u[p], u[o]]
            taken = shift_of(running)
            rescale(running.ravel(), -taken)
            shift += taken
    for a in range(A):
        rescale(factors[a].ravel(), min(total + exponents[a], MAX_SHIFT))
    return factors
