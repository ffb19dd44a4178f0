"""The parts of the covariance, region by region from the leaves to the root.

Write l_j for the coordinates at or below a region and, with E_a as in `moments.overlaps`,

    D[a, j] = E_a[l_j - mu_j]        V[(a, b), j] 2**exp2 = sum_x p_a p_b (l_j - mu_j)

for its units a, b.  Both are linear in l_j, and so are their recursions:

    from child c:   D = excess @ D_c[units]          excess = W - 1 qp^T, which equals W on columns with qp @ D = 0
                    V = lift(V_c, units, factor, W)  factor[p, p'] = prod over the siblings of c of M2[u(p), u(p')]
    own units:      the columns of `CovarianceParts`

and so are the covariances that meet in a region:

    of coordinates below two children:           sum_p qp_p D_c[u(p), i] D_c'[u'(p), j]
    of an own sum and one below:                 sum_rows @ V
    of an own product and one below child c:     product_rows(c) @ V_c

This is the law of total covariance: given the product unit that a sample passes through, the children are independent.
`moments.covariance`, `moments.traces` and `moments.operator` differ only in what they do with these formulas.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.inference.masses import unit_masses
from pcircuit.moments.inner_overlaps import inner_overlaps, product_rows, sum_rows
from pcircuit.moments.overlaps import (
    MAX_SHIFT,
    Overlaps,
    input_columns,
    input_moments,
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
    """One region as the covariance sees it: K shown units, P products, A children, n own selected units.

    Those, l_j = weight times likelihood, products before sums, are columns over the K units p_a that it shows:
    d[a, j] = E_a[l_j - mu_j],  v[(a, b), j] * 2**exp2 = sum_x p_a p_b (l_j - mu_j),  covariance[i, j] = cov(l_i, l_j).
    """

    covariance: Floats  # (n, n)
    d: Floats  # (K, n)
    v: Floats  # (pairs, n)
    excess: Floats = field(default_factory=lambda: EMPTY)  # (K, P); empty at a leaf
    qp: Floats = field(default_factory=lambda: EMPTY)  # (P,); empty at a leaf
    factors: tuple[
        Floats, ...
    ] = ()  # per child (P, P); empty if no overlap of units of this region is needed
    sum_rows: Floats = field(default_factory=lambda: EMPTY)  # (own sums, pairs)
    product_rows: tuple[Floats, ...] = ()  # per child (own products, pairs of the child)


class RegionBatch(NamedTuple):
    """B regions that were computed together, with n selected units each."""

    regions: Ints  # (B,)
    children: list[Overlaps]  # per child, of all B regions; none at leaves
    tables: Overlaps | None  # None where no overlap of their units is needed
    mean: Floats  # (B, n), weighted
    covariance: Floats  # (B, n, n), weighted


def region_batches(plan: Plan) -> Iterator[RegionBatch]:
    """The overlaps of all regions that matter, and moments of their own units, in the order of the plan."""
    regions = plan.circuit.regions
    masses: list[Any] = list(unit_masses(plan.circuit))
    open_tables: dict[int, Overlaps] = {}
    for batch in plan.batches:
        r, numbers = int(batch[0]), batch.tolist()
        products, sums, _ = plan.own(r)
        weights = plan.weights[plan.start[batch][:, None] + np.arange(len(products) + len(sums))]
        children: list[Overlaps] = []
        q, rounding = np.stack([masses[b][0] for b in numbers]), plan.rounding[batch]
        region: Any = regions[r]
        tables, exponent, columns = None, np.zeros(len(batch), dtype=int), sums
        if region.is_input and not region.num_categories:
            tables, covariance = overlaps_of_leaves(region.leaves, q, rounding)
            mean = scaled(tables.mean, tables.exp2)
        elif region.is_input:
            probs = np.stack([regions[b].probs for b in numbers])
            mean, covariance = input_moments(probs, q, rounding)
            tables = input_overlaps(probs, q, rounding) if plan.needed[r] else None
        elif plan.needed[r]:
            children = [
                _stacked([open_tables.pop(c) for c in of_all])
                for of_all in zip(
                    *(plan.circuit.vtree.children(b).tolist() for b in numbers), strict=True
                )
            ]
            qp = np.stack([masses[b][1] for b in numbers])
            dense = np.stack([regions[b].dense_weights() for b in numbers])
            tables, covariance, exponent = inner_overlaps(
                region.products, dense, (q, qp), children, products, rounding
            )
            mean = scaled(tables.mean, tables.exp2[:, None])
            columns = np.concatenate([np.arange(len(products)), len(products) + sums])
        else:
            mean, covariance = np.zeros_like(weights), np.zeros((len(batch), 0, 0))
        if tables is not None and plan.needed[r]:
            open_tables |= {b: Overlaps(*(t[i] for t in tables)) for i, b in enumerate(numbers)}
        yield RegionBatch(
            batch,
            children,
            tables,
            weights * mean[:, columns],
            _times_weights(covariance[:, columns[:, None], columns], weights, exponent),
        )


def _stacked(tables: list[Overlaps]) -> Overlaps:
    """Tables of several regions with a first axis for these."""
    stack: Any = (
        np.stack if len(tables) > 1 else lambda column: np.asarray(column[0])[None]
    )  # no copy of large ones
    return Overlaps(*(stack(column) for column in zip(*tables, strict=True)))


def _times_weights(covariance: Floats, weights: Floats, exponent: Ints) -> Floats:
    """covariance[b, i, j] weights[b, i] weights[b, j] 2**exponent[b], without overflow on the way."""
    half, rest = exponent[:, None] // 2, exponent[:, None] - exponent[:, None] // 2
    weighted: Floats = (
        covariance * scaled(weights, half)[:, :, None] * scaled(weights, rest)[:, None]
    )
    return weighted


def means_and_variances(plan: Plan) -> tuple[Floats, Floats]:
    """Mean (m,) and variances (m,)."""
    mean, variances = np.empty(len(plan.nodes)), np.empty(len(plan.nodes))
    for batch in region_batches(plan):
        own = plan.start[batch.regions][:, None] + np.arange(batch.mean.shape[1])
        mean[own], variances[own] = batch.mean, batch.covariance.diagonal(axis1=1, axis2=2)
    return mean, variances


def covariance_parts(plan: Plan, *, compress: bool) -> Iterator[tuple[int, CovarianceParts]]:
    """Yield (r, CovarianceParts) for the regions that matter, in the order of the plan.

    `compress` lets the own columns of an input region be others with the same Gram matrices.
    """
    circuit, masses = plan.circuit, unit_masses(plan.circuit)
    for batch in region_batches(plan):
        factors = _sibling_factors(circuit.regions[batch.regions[0]], batch)
        for i, r in enumerate(batch.regions.tolist()):
            tables = None if batch.tables is None else Overlaps(*(t[i] for t in batch.tables))
            own = batch.covariance[i], *_own_columns(plan, r, masses[r][0], tables, compress)
            yield r, _parts(plan, r, masses[r], own, tables, tuple(factor[i] for factor in factors))


def _own_columns(
    plan: Plan, r: int, q: Floats, tables: Overlaps | None, compress: bool
) -> tuple[Floats, Floats]:
    """Columns d (K, n) and v (pairs, n) of the selected units of a region; v has no rows without tables."""
    region: Any = plan.circuit.regions[r]
    products, sums, weights = plan.own(r)
    if region.num_categories and (compress or tables is None):
        exp2 = None if tables is None else int(tables.exp2)
        return input_columns(
            region.probs, q, plan.rounding[r], sums, weights, exp2, compress=compress
        )
    if tables is None:
        return np.zeros((region.num_units, 0)), np.zeros((0, 0))
    columns = np.concatenate([np.arange(len(products)), len(products) + sums])
    d = scaled(weights * tables.second_c[:, columns], tables.exp2)
    return d, scaled(weights * tables.third_c[:, columns], tables.exp3 - tables.exp2)


def _parts(
    plan: Plan,
    r: int,
    masses: tuple[Floats, Any],
    own: tuple[Floats, Floats, Floats],
    tables: Overlaps | None,
    factors: tuple[Floats, ...],
) -> CovarianceParts:
    """The parts of a region from its masses q (K,) and qp (P,), own columns, tables and per child (P, P) factors."""
    region: Any = plan.circuit.regions[r]
    if region.is_input:
        return CovarianceParts(*own)
    q, qp = masses
    excess = minus_average(region.dense_weights(), q)
    if tables is None:
        return CovarianceParts(*own, excess, qp)
    products, sums, weights = plan.own(r)
    scale = scaled(weights, tables.exp2)
    rows = tuple(
        product_rows(
            qp, products, scale[: len(products)], units, factor, plan.circuit.regions[c].num_units
        )
        for units, factor, c in zip(
            region.products.T, factors, plan.circuit.vtree.children(r).tolist(), strict=True
        )
    )
    return CovarianceParts(
        *own, excess, qp, factors, sum_rows(q, sums, scale[len(products) :]), rows
    )


def _sibling_factors(region: Any, batch: RegionBatch) -> tuple[Floats, ...]:
    """Per child (B, P, P): prod over its siblings of their overlaps, such that lifting changes scale to 2**exp2."""
    if not batch.children or batch.tables is None:
        return ()
    gathered = [
        child.second[:, units[:, None], units]
        for child, units in zip(batch.children, region.products.T, strict=True)
    ]
    before, after = _running_products(gathered), _running_products(gathered[::-1])[::-1]
    exponent = sum(child.exp2 for child in batch.children) - batch.tables.exp2
    # above the cut the overlaps of the child itself underflow, so its columns are zero
    return tuple(
        scaled(left * right, np.minimum(left_exp + right_exp + exponent, MAX_SHIFT)[:, None, None])
        for (left, left_exp), (right, right_exp) in zip(before, after, strict=True)
    )


def _running_products(tables: list[Floats]) -> list[tuple[Floats, Ints]]:
    """Per position the product of all tables before it, (B, P, P), and exponents of two that go with it."""
    running = [(np.ones_like(tables[0]), np.zeros(len(tables[0]), dtype=int))]
    for table in tables[:-1]:
        last, exponent = running[-1]
        shift, product = normalized(last * table)
        running.append((product, exponent + shift))
    return running
