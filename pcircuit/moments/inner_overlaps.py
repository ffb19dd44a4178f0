"""Overlaps of the units of an inner region from those of its children: the product step and the sum step.

The recursion is written down in `moments.overlaps`.  Products are built up child by child.  The pairwise tables
of each stage are kept (`_Stage`), because the tables with three indices need them; those are built for a few values
of the third index at a time, so that no temporary array grows like P^3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.circuit import InnerRegion
from pcircuit.moments.overlaps import (
    Overlaps,
    OwnColumns,
    closer,
    mean_zero_sums,
    minus_average,
    normalized,
    scaled,
)
from pcircuit.moments.unit_pairs import mix, num_pairs, pair_numbers

BLOCK = (
    1 << 16
)  # numbers in a temporary array of triples, where one value of the third index takes less


@dataclass(frozen=True)
class _Stage:
    """Products over the first children: tables of `moments.overlaps` over product units, and the last covariance."""

    second: Floats  # (P, P), largest entry in [1/2, 1)
    second_c: Floats  # (P, P)
    mean: Floats  # (P,)
    cov: Floats  # (P,) mu_f - mu_f1 mu_f2 of the last step
    cov_error: Floats  # (P,) size of the terms it was summed from
    diagonal: Floats  # (P,) M3[p, p, p], the largest entries of that table by Hoelder's inequality
    exp2: int  # as in Overlaps
    exp3: int
    shift3: int  # part of exp3 that this stage added to those of its parts

    @property
    def ratio(self) -> float:
        """Power of two that brings second * mean to the scale of M3; at most 4, as M3[p, p, p] >= M2[p, p]^2."""
        return float(scaled(1.0, 2 * self.exp2 - self.exp3))


def inner_overlaps(
    region: InnerRegion,
    masses: tuple[Floats, Floats],
    children: list[Overlaps],
    own: tuple[Ints, Ints, Floats],
    rounding: float,
) -> tuple[Overlaps, OwnColumns]:
    """Overlaps and OwnColumns of an inner region.

    `masses` are q (K,) and qp (P,), `children` holds the Overlaps of the child regions, `own` the selected products and
    sums as local numbers, with weights (n,) for both together; `rounding` is the relative error of likelihoods.
    """
    (q, qp), (own_products, own_sums, weights) = masses, own
    stages = _product_stages(region.products, qp, children, rounding)
    products = stages[-1]
    dense = region.dense_weights()
    excess = minus_average(dense, q)
    second = dense @ products.second @ dense.T
    second_c = mean_zero_sums(dense, excess, np.abs(excess), products.second_c @ dense.T)
    shift2, second, second_c, mean = normalized(second, second_c, dense @ products.mean)
    third, third_c, product_v, (product_cov, sizes) = _third(
        region, qp, children, stages, own_products, rounding
    )
    still = _variances(third_c, q) <= rounding * ((dense @ sizes) * dense).sum(axis=1)
    second_c[:, still], third_c[:, still] = 0.0, 0.0
    shift3, third, third_c = normalized(third, third_c)
    exp2, exp3 = products.exp2, products.exp3
    tables = Overlaps(second, second_c, mean, third, third_c, exp2 + shift2, exp3 + shift3)

    moving = np.diag(product_cov) > rounding * np.diag(sizes)[own_products]
    product_weights, sum_weights = weights[: len(own_products)], weights[len(own_products) :]
    product_scale, sum_scale = product_weights * moving, sum_weights * ~still[own_sums]
    d = np.concatenate(
        [
            scaled(
                product_scale
                * mean_zero_sums(dense, excess, np.abs(excess), products.second_c[:, own_products]),
                exp2,
            ),
            scaled(sum_scale * second_c[:, own_sums], tables.exp2),
        ],
        axis=1,
    )
    v = np.concatenate(
        [
            scaled(product_scale * product_v, exp3 - tables.exp2),
            scaled(sum_scale * third_c[:, own_sums], tables.exp3 - tables.exp2),
        ],
        axis=1,
    )
    mean = np.concatenate(
        [
            scaled(product_weights * products.mean[own_products], exp2),
            scaled(sum_weights * mean[own_sums], tables.exp2),
        ]
    )
    covariance = _own_covariance(
        q,
        own_sums,
        scaled(sum_scale, tables.exp2),
        v,
        _times_weights(product_cov, product_scale, exp3),
    )
    return tables, OwnColumns(mean, covariance, d, v)


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


def _product_stages(
    products: Ints, qp: Floats, children: list[Overlaps], rounding: float
) -> list[_Stage]:
    """One _Stage per child: the products over children 0..c."""
    stages: list[_Stage] = []
    for child, units in zip(children, products.T, strict=True):
        second, second_c = child.second[np.ix_(units, units)], child.second_c[np.ix_(units, units)]
        mean, cov, cov_error = child.mean[units], np.zeros(len(units)), np.zeros(len(units))
        diagonal = child.third[pair_numbers(units, units), units]
        exp2, exp3 = child.exp2, child.exp3
        if stages:
            last = stages[-1]
            diagonal, exp2, exp3 = last.diagonal * diagonal, last.exp2 + exp2, last.exp3 + exp3
            second, second_c, mean, cov, cov_error = _multiplied(
                last, second, second_c, mean, qp, rounding
            )
        shift2, second, second_c, mean, cov, cov_error = normalized(
            second, second_c, mean, cov, cov_error
        )
        shift3, diagonal = normalized(diagonal)
        stages.append(
            _Stage(
                second,
                second_c,
                mean,
                cov,
                cov_error,
                diagonal,
                exp2 + shift2,
                exp3 + shift3,
                shift3,
            )
        )
    return stages


def _multiplied(
    last: _Stage, second: Floats, second_c: Floats, mean: Floats, qp: Floats, rounding: float
) -> tuple[Floats, ...]:
    """second, second_c, mean, cov and cov_error of the products of a stage with one more child's units."""
    both = last.second * second
    both_mean, apart = qp @ both, last.mean * mean
    terms = last.second_c * second_c
    cov, cov_error = closer(
        qp @ terms, qp @ np.abs(terms), both_mean - apart, both_mean + apart, rounding
    )
    one, two = last.second_c * second, last.mean * second_c
    both_c, _ = closer(
        one + two - cov,
        np.abs(one) + np.abs(two) + cov_error,
        both - both_mean,
        both + both_mean,
        rounding,
    )
    return both, both_c, both_mean, cov, cov_error


def _third(
    region: InnerRegion,
    qp: Floats,
    children: list[Overlaps],
    stages: list[_Stage],
    own_products: Ints,
    rounding: float,
) -> tuple[Floats, Floats, Floats, tuple[Floats, Floats]]:
    """third, third_c (pairs, K); of the selected products columns (pairs, n), and covariance (n, n) with sizes (P, P).

    The sizes are those of the terms that the covariances of all products were summed from.
    """
    P = region.num_products
    dense = region.dense_weights()
    third = np.zeros((num_pairs(region.num_units), region.num_units))
    third_c = np.zeros_like(third)
    columns = np.zeros((len(third), len(own_products)))
    covariance = np.zeros((len(own_products), len(own_products)))
    sizes = np.zeros((P, P))
    step = max(1, BLOCK // (P * P))
    for start in range(0, P, step):
        block = np.arange(start, min(start + step, P))
        plain, centred, size = _third_of_products(
            region.products, children, stages, block, rounding
        )
        mixed = mix(centred, region.weights)
        third += mix(plain, region.weights) @ dense[:, block].T
        third_c += mixed @ dense[:, block].T
        sizes[:, block] = np.tensordot(qp, size, 1)
        here = (own_products >= start) & (own_products < start + step)
        columns[:, here] = mixed[:, own_products[here] - start]
        covariance[:, here] = np.tensordot(qp, centred, 1)[
            np.ix_(own_products, own_products[here] - start)
        ]
    return third, third_c, columns, (covariance, sizes)


def _third_of_products(
    products: Ints, children: list[Overlaps], stages: list[_Stage], block: Ints, rounding: float
) -> tuple[Floats, Floats, Floats]:
    """(P, P, B) sum_x p_p p_p' p_p'', its centred form, and the size of the terms of that, for p'' in `block` (B,)."""
    third = third_c = size = np.zeros(0)
    for c, (child, units) in enumerate(zip(children, products.T, strict=True)):
        entries = (pair_numbers(units[:, None], units)[:, :, None], units[block])
        of_child, of_child_c = (
            np.ldexp(table[entries], -stages[c].shift3) for table in (child.third, child.third_c)
        )
        if c == 0:
            third, third_c, size = of_child, of_child_c, np.abs(of_child_c)
            continue
        last, now = stages[c - 1], stages[c]
        scale = now.ratio * now.second[:, :, None]
        one = third_c * of_child
        two = (last.ratio * last.second[:, :, None] * last.mean[block]) * of_child_c
        third = third * of_child
        base, error = scale * now.mean[block], np.abs(two) + scale * now.cov_error[block]
        third_c, _ = closer(
            one + two - scale * now.cov[block],
            np.abs(one) + error,
            third - base,
            third + base,
            rounding,
        )
        size = np.minimum(size * of_child + error, third + base)
    return third, third_c, size


def _variances(third_c: Floats, q: Floats) -> Floats:
    """(K,) variances sum_a q_a third_c[(a, k), k], on the scale of the table."""
    units = np.arange(len(q))
    variances: Floats = q @ third_c[pair_numbers(units[:, None], units), units]
    return variances


def _own_covariance(
    q: Floats, own_sums: Ints, scale: Floats, v: Floats, product_cov: Floats
) -> Floats:
    """(n, n) covariance of the selected products and sums."""
    num_products = len(product_cov)
    covariance = np.zeros((v.shape[1], v.shape[1]))
    covariance[:num_products, :num_products] = (product_cov + product_cov.T) / 2
    rows = sum_rows(q, own_sums, scale) @ v
    covariance[num_products:] = rows
    covariance[:, num_products:] = rows.T
    block = rows[:, num_products:]
    covariance[num_products:, num_products:] = (block + block.T) / 2
    return covariance


def _times_weights(covariance: Floats, weights: Floats, exponent: int) -> Floats:
    """covariance[i, j] weights[i] weights[j] 2**exponent, without overflow on the way."""
    half = exponent // 2
    weighted: Floats = (
        covariance * scaled(weights, half)[:, None] * scaled(weights, exponent - half)
    )
    return weighted
