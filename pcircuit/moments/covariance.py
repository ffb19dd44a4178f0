"""The covariance matrix itself, or a block of it, by the dense recursion.

Every region r holds the columns D and V (`moments.covariance_parts`) of all selected units at or below it.  Node ids
are in post-order, so these are a slice of the coordinates, and the matrix is filled block by block:

    coordinates below different children     sum_p qp_p D_c[u(p), i] D_c'[u'(p), j]     one matrix product, rank P
    own units against those below            rows @ V                                   one matrix product
    own units among themselves               CovarianceParts.covariance

For m coordinates and K units this takes about m^2 K multiplications, plus K^3 per column and level, for memory of
m^2 numbers and K^2 per open column.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.circuit import InnerRegion
from pcircuit.moments.covariance_parts import CovarianceParts
from pcircuit.moments.plan import Plan
from pcircuit.moments.unit_pairs import lift


def dense_covariance(plan: Plan, all_parts: Iterable[tuple[int, CovarianceParts]]) -> Floats:
    """(m, m) covariance of the coordinates, symmetric; `all_parts` yields (r, CovarianceParts), uncompressed."""
    covariance = np.zeros((len(plan.nodes), len(plan.nodes)))
    # region -> (slice of coordinates, D (K, n), V (pairs, n))
    open_columns: dict[int, tuple[slice, Floats, Floats]] = {}
    for r, parts in all_parts:
        region, own = plan.circuit.regions[r], slice(plan.start[r], plan.start[r + 1])
        covariance[own, own] = parts.covariance
        coordinates = slice(plan.start[plan.circuit.vtree.first[r]], own.stop)
        if region.is_input:
            open_columns[r] = coordinates, parts.d, parts.v
            continue
        children = [open_columns.pop(c, None) for c in plan.circuit.vtree.children(r).tolist()]
        d = _disjoint_scopes(region, parts, children, covariance)
        v = _nested_scopes(region, parts, children, own, covariance)
        open_columns[r] = coordinates, d, v
    return covariance


def _disjoint_scopes(
    region: InnerRegion, parts: CovarianceParts, children: list[Any], covariance: Floats
) -> Floats:
    """Fill the blocks of coordinates below different children; return D of the region."""
    d = np.zeros((region.num_products, 0))
    for units, child in zip(region.products.T, children, strict=True):
        if child is None:
            continue
        here, child_d, _ = child
        child_d = child_d[units]
        earlier = slice(
            here.start - d.shape[1], here.start
        )  # children come in the order of their coordinates
        _write(covariance, earlier, here, (d * parts.qp[:, None]).T @ child_d)
        d = np.concatenate([d, child_d], axis=1)
    return np.concatenate([parts.excess @ d, parts.d], axis=1)


def _nested_scopes(
    region: InnerRegion, parts: CovarianceParts, children: list[Any], own: slice, covariance: Floats
) -> Floats:
    """Fill the blocks of the region's own coordinates and those below; return V of the region."""
    v = []
    for units, child, factor, product_rows in zip(
        region.products.T, children, parts.factors, parts.product_rows, strict=False
    ):  # no factors: nothing at or above is selected
        if child is None:
            continue
        here, _, child_v = child
        v.append(lift(child_v, units, factor, region.weights))
        _write(
            covariance, own, here, np.concatenate([product_rows @ child_v, parts.sum_rows @ v[-1]])
        )
    return np.concatenate([*v, parts.v], axis=1)


def _write(covariance: Floats, rows: slice, columns: slice, block: Floats) -> None:
    """Store a block and its mirror image."""
    covariance[rows, columns] = block
    covariance[columns, rows] = block.T
