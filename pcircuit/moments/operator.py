"""S as an operator: y = S v without S, by one pass from the leaves to the root and one back.

On the way up each region sums the columns of the coordinates at or below it,

    alpha = sum_j D[:, j] v_j   (K,)             beta = sum_j V[:, j] v_j   (pairs,)

by the recursion of the columns (`moments.covariance_parts`), and covariances with coordinates at or below a region are
read off: an own sum k has sum_j cov(l_k, l_j) v_j = sum_rows beta.  On the way down each region receives its contexts,
the coefficients of its columns in all covariances with coordinates elsewhere,

    R (K,)      coordinates whose scopes are disjoint from that of the region:    adds D^T R
    B (pairs,)  coordinates of regions above:                                     adds V^T B

The maps down are the transposes of the maps up.  The context of a child's units is that of the products,
R_p = (excess^T R)[p], plus qp_p times what the other children's alpha say; B is lowered through the weights and the
sibling factor after the region's own units have joined it, with the rows that read their covariances.

Cost O(K^3) per region and vector; nothing is ever divided, so underflow is harmless.
"""

from typing import Any, TypeAlias

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.moments.covariance_parts import CovarianceParts
from pcircuit.moments.plan import Plan
from pcircuit.moments.unit_pairs import lift, lower, scatter

AllParts: TypeAlias = list[tuple[int, CovarianceParts]]


def apply_covariance(plan: Plan, all_parts: AllParts, vectors: Floats) -> Floats:
    """S @ vectors, (m, t) -> (m, t); `all_parts` is the list of all (r, CovarianceParts), uncompressed."""
    result = np.zeros_like(vectors)
    sums = _upward(plan, all_parts, vectors, result)
    _downward(plan, all_parts, vectors, sums, result)
    return result


def _upward(plan: Plan, all_parts: AllParts, vectors: Floats, result: Floats) -> dict[int, Floats]:
    """Add what covariances with own coordinates and those below give; return alpha (K, t) of each region."""
    alphas: dict[int, Floats] = {}
    betas: dict[int, Floats] = {}
    for r, parts in all_parts:
        region, own = plan.circuit.regions[r], slice(plan.start[r], plan.start[r + 1])
        v_own = vectors[own]
        result[own] += parts.covariance @ v_own
        alphas[r], betas[r] = parts.d @ v_own, parts.v @ v_own
        if region.is_input:
            continue
        for a, (c, units) in enumerate(
            zip(plan.circuit.vtree.children(r).tolist(), region.products.T, strict=True)
        ):
            if c not in alphas:  # nothing at, below or above is selected
                continue
            alphas[r] += parts.excess @ alphas[c][units]
            if parts.factors:
                beta = betas.pop(c)
                lifted = lift(beta, units, parts.factors[a], region.weights)
                result[own] += np.concatenate(
                    [parts.product_rows[a] @ beta, parts.sum_rows @ lifted]
                )
                betas[r] += lifted
    return alphas


def _downward(
    plan: Plan, all_parts: AllParts, vectors: Floats, alphas: dict[int, Floats], result: Floats
) -> None:
    """Add what covariances with coordinates elsewhere give."""
    contexts: dict[int, tuple[Floats, Any]] = {}
    for r, parts in reversed(all_parts):
        region, own = plan.circuit.regions[r], slice(plan.start[r], plan.start[r + 1])
        outside, above = contexts.pop(r, (np.zeros((len(parts.d), vectors.shape[1])), None))
        result[own] += parts.d.T @ outside
        if above is not None:
            result[own] += parts.v.T @ above
        if region.is_input:
            continue
        present = [
            (a, c, units)
            for a, (c, units) in enumerate(
                zip(plan.circuit.vtree.children(r).tolist(), region.products.T, strict=True)
            )
            if c in alphas
        ]
        of_products = parts.excess.T @ outside
        total = sum((alphas[c][units] for _, c, units in present), np.zeros_like(of_products))
        if parts.factors:
            num_products = len(parts.product_rows[0])
            v_products, v_sums = vectors[own][:num_products], vectors[own][num_products:]
            joined = parts.sum_rows.T @ v_sums
            above = lower(joined if above is None else above + joined, region.weights)
        for a, c, units in present:
            below, pairs = np.zeros_like(alphas[c]), None
            np.add.at(below, units, of_products + parts.qp[:, None] * (total - alphas[c][units]))
            if parts.factors:
                pairs = (
                    scatter(above, units, parts.factors[a], len(below))
                    + parts.product_rows[a].T @ v_products
                )
            contexts[c] = below, pairs
