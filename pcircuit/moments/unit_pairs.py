"""Tables over unordered pairs of units, and how they move between a child region and its parent.

A symmetric table X[a, b] over the K units of a region is kept as the K (K + 1) / 2 numbers with a >= b, entry (a, b)
at number a (a + 1) / 2 + b.  Several such tables are the columns of one (pairs, n) array.

Tables of a child become tables of its parent by a linear map, the *lift*.  With u(p) the unit of the child in
product p, F[p, p'] what the siblings of the child contribute, and W the weights,

    X_parent[k, l] = sum_{p, p'} W[k, p] W[l, p'] F[p, p'] X_child[u(p), u(p')]

`lift` applies the map to columns, `lower` its transpose.  A Gram tensor H = sum_j X_j X_j^T over pairs is moved by
lifting twice: first its columns, then the rows of the result.  `gram_factor` goes back from a Gram matrix to
columns with that Gram matrix.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from pcircuit.arguments import Floats, Ints, Weights

BLOCK = 1 << 16  # numbers in the largest temporary array of a lift: it should fit a cache


def pair_numbers(a: Ints, b: Ints) -> Ints:
    """Number of the unordered pair of units (a, b), elementwise."""
    high: Ints = np.maximum(a, b)
    low: Ints = np.minimum(a, b)
    return high * (high + 1) // 2 + low


def num_pairs(num_units: Any) -> Any:
    """K (K + 1) / 2."""
    return num_units * (num_units + 1) // 2


def as_pairs(table: Floats) -> Floats:
    """(..., K, K, n) symmetric in the first two of these axes -> (..., pairs, n)."""
    return _flat(table).take(_triangles(table.shape[-3])[0], axis=-2)


def symmetrized(table: Floats) -> Floats:
    """The same of the table plus its transpose in these axes."""
    lower, upper = _triangles(table.shape[-3])
    pairs = _flat(table).take(lower, axis=-2)
    pairs += _flat(table).take(upper, axis=-2)
    return pairs


def _flat(table: Floats) -> Floats:
    """(..., K, K, n) -> (..., K^2, n)."""
    *batch, K, _, n = table.shape
    return table.reshape(*batch, K * K, n)


@lru_cache(maxsize=64)
def _triangles(num_units: int) -> tuple[Ints, Ints]:
    """Places (pairs,) of pairs a >= b in a flat table, and of their mirror images; making them takes long."""
    rows, columns = np.tril_indices(num_units)
    return rows * num_units + columns, columns * num_units + rows


def lift(columns: Floats, units: Ints, factor: Floats, weights: Weights) -> Floats:
    """(pairs of the child, n) -> (pairs of the parent, n); `units` (P,), `factor` (P, P), `weights` (K, P)."""
    numbers = pair_numbers(units[:, None], units)
    step = max(1, BLOCK // numbers.size)
    blocks = [columns[:, start : start + step] for start in range(0, columns.shape[1], step)]
    lifted = [_mix(block[numbers] * factor[:, :, None], weights) for block in blocks]
    return np.concatenate(lifted, axis=1) if lifted else np.zeros((num_pairs(weights.shape[0]), 0))


def _mix(of_products: Floats, weights: Weights) -> Floats:
    """(P, P, n) symmetric tables over products -> (pairs of sums, n): W X W^T, column by column.

    Shapes: of_products (P, P, n), weights (K, P) -> (pairs, n).
    """
    K, P = weights.shape
    half = (weights @ of_products.reshape(P, -1)).reshape(K, P, -1)
    full = (weights @ half.swapaxes(0, 1).reshape(P, -1)).reshape(K, K, -1)
    return as_pairs(full)


def lift_gram(gram: Floats, units: Ints, factor: Floats, weights: Weights) -> Floats:
    """Gram tensor (pairs of the child, same) -> (pairs of the parent, same).

    Shapes: gram (pairs of the child, pairs of the child) -> (pairs of the parent, pairs of the parent).
    """
    return lift(lift(gram, units, factor, weights).T, units, factor, weights)


def lower(contexts: Floats, weights: Weights) -> Floats:
    """(pairs of the parent, n) coefficients of lifted tables -> (P, P, n) coefficients of tables of products.

    If X = lift(Y) then sum_pairs contexts X = sum_{p, p'} lower(contexts) Y_products.

    Shapes: contexts (pairs of the parent, n), weights (K, P) -> (P, P, n).
    """
    K, P = weights.shape
    n = contexts.shape[1]
    full = np.zeros((K, K, n))
    full.reshape(K * K, n)[_triangles(K)[0]] = contexts
    half = (weights.T @ full.reshape(K, -1)).reshape(P, K, n)
    lowered: Floats = (
        (weights.T @ half.swapaxes(0, 1).reshape(K, -1)).reshape(P, P, n).swapaxes(0, 1)
    )
    return lowered


def scatter(of_products: Floats, units: Ints, factor: Floats, num_units: int) -> Floats:
    """(P, P, n) coefficients of tables of products -> (pairs of the child, n).

    Shapes: of_products (P, P, n), units (P,), factor (P, P) -> (pairs of the child, n).
    """
    numbers = pair_numbers(units[:, None], units)
    lowered = np.zeros((num_pairs(num_units), of_products.shape[2]))
    np.add.at(lowered, numbers, of_products * factor[:, :, None])
    return lowered


def gram_factor(gram: Floats) -> Floats:
    """(N, rank) columns Z with Z Z^T = gram (N, N), positive semi-definite.

    Cholesky with the largest remaining pivot first, on the correlation matrix: small rows are as precise as large
    ones.  Stops when nothing but rounding is left of any row.
    """
    size = np.sqrt(np.diag(gram))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    rest = gram * inverse[:, None] * inverse
    left = np.where(size > 0, 1.0, 0.0)
    tolerance = len(gram) * np.finfo(float).eps
    columns: list[Floats] = []
    while left.max(initial=0.0) > tolerance:
        pivot = int(left.argmax())
        column = rest[:, pivot].copy()
        for earlier in columns:
            column -= earlier[pivot] * earlier
        column /= np.sqrt(left[pivot])
        columns.append(column)
        left = left - column * column
        left[pivot] = 0.0
    if not columns:
        return np.zeros((len(gram), 0))
    return np.stack(columns, axis=1) * size[:, None]
