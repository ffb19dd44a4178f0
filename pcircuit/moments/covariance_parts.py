"""The parts of the covariance, region by region from the leaves to the root.

Write l_j for the coordinates at or below a region and, with E_a as in `moments.overlaps`,

    D[a, j] = E_a[l_j - mu_j]        V[(a, b), j] 2**exp2 = sum_x p_a p_b (l_j - mu_j)

for its units a, b.  Both are linear in l_j, and so are their recursions:

    from child c:   D = excess @ D_c[units]          excess = W - 1 qp^T, which equals W on columns with qp @ D = 0
                    V = lift(V_c, units, factor, W)  factor[p, p'] = prod over the siblings of c of M2[u(p), u(p')]
    own units:      the columns of `OwnColumns`

and so are the covariances that meet in a region:

    of coordinates below two children:           sum_p qp_p D_c[u(p), i] D_c'[u'(p), j]
    of an own sum and one below:                 sum_rows @ V
    of an own product and one below child c:     product_rows(c) @ V_c

This is the law of total covariance: given the product unit that a sample passes through, the children are independent.
`moments.covariance`, `moments.traces` and `moments.operator` differ only in what they do with these formulas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.inference.masses import unit_masses
from pcircuit.moments.inner_overlaps import inner_overlaps, product_rows, sum_rows
from pcircuit.moments.overlaps import (
    MAX_SHIFT,
    Overlaps,
    OwnColumns,
    columns_of_leaves,
    input_columns,
    input_overlaps,
    minus_average,
    normalized,
    overlaps_of_leaves,
    scaled,
)
from pcircuit.moments.plan import Plan

EMPTY = np.zeros(0)


@dataclass(frozen=True)
class CovarianceParts:
    """One region as the covariance sees it: K shown units, P products, A children, n own selected units."""

    own: OwnColumns
    excess: Floats = field(default_factory=lambda: EMPTY)  # (K, P); empty at a leaf
    qp: Floats = field(default_factory=lambda: EMPTY)  # (P,); empty at a leaf
    factors: tuple[
        Floats, ...
    ] = ()  # per child (P, P); empty if no overlap of units of this region is needed
    sum_rows: Floats = field(default_factory=lambda: EMPTY)  # (own sums, pairs)
    product_rows: tuple[Floats, ...] = ()  # per child (own products, pairs of the child)


def covariance_parts(
    plan: Plan, *, compress: bool, own_only: bool = False
) -> Iterator[tuple[int, CovarianceParts]]:
    """Yield (r, CovarianceParts) for the regions that matter, in the order of the plan.

    `compress` lets the own columns of an input region be others with the same Gram matrices.  With `own_only` the parts
    that lead from region to region are left out: means and variances need none.
    """
    circuit = plan.circuit
    masses: list[Any] = list(unit_masses(circuit))
    open_tables: dict[int, Overlaps] = {}
    for r in plan.order.tolist():
        if not (plan.below[r] or plan.needed[r]):
            continue
        region, (q, qp) = circuit.regions[r], masses[r]
        if region.is_input and not region.num_categories:
            _, shown, weights = plan.own(r)
            tables = overlaps_of_leaves(region.leaves, q, plan.rounding[r])
            open_tables |= {r: tables} if plan.needed[r] else {}
            yield r, CovarianceParts(columns_of_leaves(q, shown, weights, tables))
            continue
        if region.is_input:
            _, shown, weights = plan.own(r)
            if plan.needed[r]:
                open_tables[r] = input_overlaps(region.probs, q, plan.rounding[r])
            own = input_columns(
                region.probs,
                q,
                plan.rounding[r],
                shown,
                weights,
                open_tables.get(r),
                compress=compress,
            )
            yield r, CovarianceParts(own)
            continue
        children = circuit.vtree.children(r).tolist()
        if not plan.needed[r]:
            own = no_columns(region.num_units)
            yield r, CovarianceParts(own) if own_only else _inner_parts(plan, r, q, qp, own)
            continue
        below = [open_tables.pop(c) for c in children]
        open_tables[r], own = inner_overlaps(region, (q, qp), below, plan.own(r), plan.rounding[r])
        if own_only:
            yield r, CovarianceParts(own)
            continue
        exp2 = open_tables[r].exp2
        factors = _sibling_factors(region.products, below, exp2)
        yield r, _inner_parts(plan, r, q, qp, own, factors, exp2)


def _inner_parts(
    plan: Plan,
    r: int,
    q: Floats,
    qp: Floats,
    own: OwnColumns,
    factors: tuple[Floats, ...] = (),
    exp2: int = 0,
) -> CovarianceParts:
    """The parts of an inner region from masses q (K,) and qp (P,), own columns, and per child (P, P) factors.

    Shapes: q (K,), qp (P,).
    """
    region: Any = plan.circuit.regions[r]
    excess = minus_average(region.dense_weights(), q)
    if not factors:
        return CovarianceParts(own, excess, qp)
    products, sums, weights = plan.own(r)
    scale = scaled(weights, exp2)
    rows = tuple(
        product_rows(
            qp, products, scale[: len(products)], units, factor, plan.circuit.regions[c].num_units
        )
        for units, factor, c in zip(
            region.products.T, factors, plan.circuit.vtree.children(r).tolist(), strict=True
        )
    )
    return CovarianceParts(
        own, excess, qp, factors, sum_rows(q, sums, scale[len(products) :]), rows
    )


def no_columns(num_units: int) -> OwnColumns:
    """The columns of a region without selected units."""
    return OwnColumns(np.zeros(0), np.zeros((0, 0)), np.zeros((num_units, 0)), np.zeros((0, 0)))


def _sibling_factors(products: Ints, children: list[Overlaps], exp2: int) -> tuple[Floats, ...]:
    """Per child c (P, P): prod over its siblings of their overlaps, such that lifting changes scale to 2**exp2."""
    gathered = [
        child.second[np.ix_(units, units)]
        for child, units in zip(children, products.T, strict=True)
    ]
    before, after = _running_products(gathered), _running_products(gathered[::-1])[::-1]
    exponent = sum(child.exp2 for child in children) - exp2
    # above the cut the overlaps of the child itself underflow, so its columns are zero
    return tuple(
        scaled(left * right, min(left_exp + right_exp + exponent, MAX_SHIFT))
        for (left, left_exp), (right, right_exp) in zip(before, after, strict=True)
    )


def _running_products(tables: list[Floats]) -> list[tuple[Floats, int]]:
    """Per position the product of all tables before it, (P, P), and an exponent of two that goes with it."""
    running = [(np.ones_like(tables[0]), 0)]
    for table in tables[:-1]:
        last, exponent = running[-1]
        shift, product = normalized(last * table)
        running.append((product, exponent + shift))
    return running
