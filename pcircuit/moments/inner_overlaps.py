"""Overlaps of the units of inner regions from those of their children: the product step and the sum step.

The recursion is written down in `moments.overlaps`.  Products are built up child by child.  The pairwise tables
of each stage are kept (`_Stage`), because the tables with three indices need them.  Those of products p, p', p'' are
built for a block of p at a time and for p' up to its end, as they are symmetric in p and p', and mixed over p'' and p'
at once: two matrix products, after which only sums over p are left,

    Y[p, k', j] = sum over p' up to the block of p of  W[k', p'] sum over p'' of  U[j, p''] X[p, p', p'']
    M3[k, k', j] = T[k, k', j] + T[k', k, j]           T[k, k', j] = sum over p of  W[k, p] Y[p, k', j]

where X are the tables of products, plain or centred, and U is W (K, P) below a unit row for each selected product.  A
p' before the block is met once, and T[k', k, j] adds its mirror image; pairs inside the block are met in both orders,
so that they count half.
"""

from dataclasses import dataclass

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.moments.overlaps import (
    Overlaps,
    mean_zero_sums,
    minus_average,
    normalized,
    scaled,
    within,
)
from pcircuit.moments.unit_pairs import num_pairs, pair_numbers, symmetrized

BLOCK = (
    1 << 15
)  # numbers in a temporary array of triples, where one value of the first index takes less


@dataclass(frozen=True)
class _Stage:
    """Products over the first children: tables of `moments.overlaps` over product units, and the last covariance."""

    second: Floats  # (B, P, P), largest entry in [1/2, 1)
    second_c: Floats  # (B, P, P)
    mean: Floats  # (B, P)
    cov: Floats  # (B, P) mu_f - mu_f1 mu_f2 of the last step
    diagonal: (
        Floats  # (B, P) M3[p, p, p], the largest entries of that table by Hoelder's inequality
    )
    exp2: Ints  # (B,) as in Overlaps
    exp3: Ints
    shift3: Ints  # part of exp3 that this stage added to those of its parts

    @property
    def ratio(self) -> Floats:
        """Power of two that brings second * mean to the scale of M3; at most 4, as M3[p, p, p] >= M2[p, p]^2."""
        ratio: Floats = scaled(1.0, 2 * self.exp2 - self.exp3)[:, None, None, None]
        return ratio


def inner_overlaps(
    products: Ints,
    dense: Floats,
    masses: tuple[Floats, Floats],
    children: list[Overlaps],
    own_products: Ints,
    rounding: Floats,
) -> tuple[Overlaps, Floats, Ints]:
    """Overlaps of B inner regions with the same products (P, A); covariances (B, n + K, n + K) with exponents (B,).

    `dense` are the weights (B, K, P), `masses` q (B, K) and qp (B, P), `children` the Overlaps of the child regions,
    `own_products` (n,) the selected ones; `rounding` (B,) are the relative errors of likelihoods.
    """
    q, qp = masses
    stages = _product_stages(products, qp, children, rounding[:, None])
    last = stages[-1]
    chosen = np.zeros((len(q), len(own_products), len(products)))
    chosen[:, np.arange(len(own_products)), own_products] = 1.0
    below = np.concatenate([chosen, dense], axis=1)  # U
    excess = minus_average(dense, q)
    second = dense @ last.second @ dense.swapaxes(1, 2)
    second_c = mean_zero_sums(dense, excess, np.abs(excess), last.second_c @ below.swapaxes(1, 2))
    mean = (below @ last.mean[..., None])[..., 0]
    third, third_c, covariance, size = _third(
        products, dense, below, qp, children, stages, rounding
    )
    moving = _diagonal(covariance) > rounding[:, None] * _diagonal(size)
    second_c *= moving[:, None]
    third_c *= moving[:, None]
    shift2, second, second_c, mean = normalized(second, second_c, mean)
    shift3, third, third_c = normalized(third, third_c)
    exp2, exp3 = last.exp2 + shift2, last.exp3 + shift3
    covariance = covariance * moving[:, None] * moving[:, :, None]
    return Overlaps(second, second_c, mean, third, third_c, exp2, exp3), covariance, last.exp3


def _diagonal(tables: Floats) -> Floats:
    """(B, n, n) -> (B, n)."""
    return tables.diagonal(axis1=1, axis2=2)


def _product_stages(
    products: Ints, qp: Floats, children: list[Overlaps], rounding: Floats
) -> list[_Stage]:
    """One _Stage per child: the products over children 0..c."""
    stages: list[_Stage] = []
    for child, units in zip(children, products.T, strict=True):
        K = child.second.shape[1]
        second, second_c = (
            table[:, units[:, None], units] for table in (child.second, child.second_c[:, :, -K:])
        )
        mean = child.mean[:, -K:][:, units]
        cov = np.zeros_like(mean)
        diagonal = child.third[:, pair_numbers(units, units), units]
        exp2, exp3 = child.exp2, child.exp3
        if stages:
            last = stages[-1]
            diagonal, exp2, exp3 = last.diagonal * diagonal, last.exp2 + exp2, last.exp3 + exp3
            second, second_c, mean, cov = _multiplied(
                last, second, second_c, mean, qp[:, None], rounding
            )
        shift2, second, second_c, mean, cov = normalized(second, second_c, mean, cov)
        shift3, diagonal = normalized(diagonal)
        stages.append(
            _Stage(
                second,
                second_c,
                mean,
                cov,
                diagonal,
                exp2 + shift2,
                exp3 + shift3,
                shift3,
            )
        )
    return stages


def _multiplied(
    last: _Stage, second: Floats, second_c: Floats, mean: Floats, qp: Floats, rounding: Floats
) -> tuple[Floats, ...]:
    """second, second_c, mean and cov of the products of a stage with one more child's units."""
    both = last.second * second
    mean_of_both, apart = qp @ both, (last.mean * mean)[:, None]
    slack = rounding[:, None] * (mean_of_both + apart)
    cov = within(qp @ (last.second_c * second_c), mean_of_both - apart, slack)
    both_c = last.second_c * second + last.mean[:, None] * second_c - cov
    slack = rounding[:, None] * (both + mean_of_both)
    return both, within(both_c, both - mean_of_both, slack), mean_of_both[:, 0], cov[:, 0]


def _third(
    products: Ints,
    dense: Floats,
    below: Floats,
    qp: Floats,
    children: list[Overlaps],
    stages: list[_Stage],
    rounding: Floats,
) -> tuple[Floats, ...]:
    """third (B, pairs, K), third_c (B, pairs, n + K), covariances (B, n + K, n + K) and the sizes of their terms.

    Shapes: dense (B, K, P), below (B, n + K, P), qp (B, P).
    """
    B, K, P = dense.shape
    mixed = np.empty((B, P, K, K + below.shape[1]))  # plain and centred side by side
    means = np.zeros((2, B, P, P))  # over p of centred entries and of their absolute values
    step = max(1, BLOCK // (B * P * P))
    for start in range(0, P, step):
        end = min(start + step, P)
        plain, centred = _third_of_products(products, children, stages, (start, end), rounding)
        half = dense[:, None, :, :end].copy()
        half[..., start:] /= 2
        sides = (plain, dense, mixed[..., :K]), (centred, below, mixed[..., K:])
        for table, right, into in sides:
            over = table.reshape(B, -1, P) @ right.swapaxes(1, 2)
            np.matmul(half, over.reshape(B, -1, end, right.shape[1]), out=into[:, start:end])
        for mean, table in zip(means, (centred, np.abs(centred)), strict=True):
            mean[:, :end] += (qp[:, None, start:end] @ table.reshape(B, end - start, -1)).reshape(
                B, end, P
            )
            mean[:, start:end] += (qp[:, None, None, :start] @ table[:, :, :start])[:, :, 0]
    triples = symmetrized((dense @ mixed.reshape(B, P, -1)).reshape(B, K, K, -1))
    covariance, size = (below @ mean @ below.swapaxes(1, 2) for mean in means)
    covariance = (covariance + covariance.swapaxes(1, 2)) / 2
    return triples[..., :K], triples[..., K:], covariance, size


def _third_of_products(
    products: Ints,
    children: list[Overlaps],
    stages: list[_Stage],
    block: tuple[int, int],
    rounding: Floats,
) -> tuple[Floats, Floats]:
    """(B, n, end, P) sum_x p_p p_p' p_p'' and its centred form; p in start..end, p' < end."""
    (start, end), rounding = block, rounding[:, None, None, None]
    rows, upto = slice(start, end), slice(0, end)
    third = third_c = np.zeros(0)
    for c, (child, units) in enumerate(zip(children, products.T, strict=True)):
        pairs = pair_numbers(units[rows, None], units[upto])
        K = child.second.shape[1]
        is_in_order = np.array_equal(units, np.arange(K))  # as in hidden Markov trees
        of_child, of_child_c = (
            table[:, pairs] if is_in_order else table[:, pairs[..., None], units]
            for table in (child.third, child.third_c[:, :, -K:])
        )
        now, factor = stages[c], np.ldexp(1.0, -stages[c].shift3)[:, None, None, None]
        of_child *= factor
        if c == 0:
            third, third_c = of_child, of_child_c * factor
            continue
        last = stages[c - 1]
        third_c = third_c * of_child
        third = third * of_child
        of_child_c *= (factor * last.ratio * last.second[:, rows, upto, None]) * last.mean[
            :, None, None
        ]
        third_c += of_child_c
        scale = now.ratio * now.second[:, rows, upto, None]
        third_c -= scale * now.cov[:, None, None]
        base = scale * now.mean[:, None, None]
        third_c = within(third_c, third - base, rounding * (third + base))
    return third, third_c


def sum_rows(q: Floats, own_sums: Ints, scale: Floats) -> Floats:
    """(n, pairs) rows that read covariances off columns: cov(l_k, l_j) = sum_a q_a V[(a, k), j], times `scale`.

    Shapes: q (K,), own_sums (n,), scale (n,) -> (n, pairs).
    """
    K = len(q)
    rows = np.zeros((len(own_sums), num_pairs(K)))
    numbers = pair_numbers(np.arange(K), own_sums[:, None])
    np.put_along_axis(rows, numbers, q * scale[:, None], axis=1)
    return rows


def product_rows(
    qp: Floats, own_products: Ints, scale: Floats, units: Ints, factor: Floats, num_units: int
) -> Floats:
    """The same for products: cov(l_p, l_j) = sum_p' qp_p' F[p', p] V_child[(u(p'), u(p)), j], (n, pairs of child).

    Shapes: qp (P,), own_products (n,), scale (n,), units (P,), factor (P, P) -> (n, pairs).
    """
    rows = np.zeros((len(own_products), num_pairs(num_units)))
    numbers = pair_numbers(units, units[own_products][:, None])
    np.add.at(
        rows,
        (np.arange(len(own_products))[:, None], numbers),
        factor[own_products] * qp * scale[:, None],
    )
    return rows
