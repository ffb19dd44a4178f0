"""S as an operator: y = S v without S, by one pass from the leaves to the root and one back.

On the way up each region sums the columns of the coordinates at or below it,

    alpha = sum_j D[:, j] v_j   (K,)             beta = sum_j V[:, j] v_j   (pairs,)

by the recursion of the columns (`moments.region_forms`), and covariances with coordinates at or below a region are read
off: an own sum k has sum_j cov(l_k, l_j) v_j = sum_rows beta.  On the way down each region receives its contexts,
the coefficients of its columns in all covariances with coordinates elsewhere,

    R (K,)      coordinates whose scopes are disjoint from that of the region:    adds D^T R
    B (pairs,)  coordinates of regions above:                                     adds V^T B

The maps down are the transposes of the maps up.  The context of a child's units is that of the products,
R_p = (excess^T R)[p], plus qp_p times what the other children's alpha say; B is lowered through the weights and the
sibling factor after the region's own units have joined it, with the rows that read their covariances.

Cost O(K^3) per region and vector; nothing is ever divided, so underflow is harmless.
"""
from __future__ import annotations

import numpy as np

from pcircuit.moments.plan import Plan
from pcircuit.moments.unit_pairs import lift, lower, scatter


def apply_covariance(plan: Plan, forms: list, vectors) -> np.ndarray:
    """S @ vectors, (m, t) -> (m, t); `forms` is the list of all (r, RegionForm), uncompressed."""
    result = np.zeros_like(vectors)
    sums = _upward(plan, forms, vectors, result)
    _downward(plan, forms, vectors, sums, result)
    return result


def _upward(plan: Plan, forms: list, vectors, result) -> dict:
    """Add what covariances with own coordinates and those below give; return alpha (K, t) of each region."""
    alphas, betas = {}, {}
    for r, form in forms:
        own = slice(plan.start[r], plan.start[r + 1])
        v_own = vectors[own]
        result[own] += form.own.covariance @ v_own
        alphas[r], betas[r] = form.own.d @ v_own, form.own.v @ v_own
        if form.qp is None:
            continue
        region = plan.circuit.regions[r]
        for a, (c, units) in enumerate(zip(plan.circuit.vtree.children(r).tolist(), region.products.T, strict=True)):
            if c not in alphas:  # nothing at, below or above is selected
                continue
            alphas[r] += form.excess @ alphas[c][units]
            if form.factors:
                beta = betas.pop(c)
                lifted = lift(beta, units, form.factors[a], region.weights)
                result[own] += np.concatenate([form.product_rows[a] @ beta, form.sum_rows @ lifted])
                betas[r] += lifted
    return alphas


def _downward(plan: Plan, forms: list, vectors, alphas: dict, result) -> None:
    """Add what covariances with coordinates elsewhere give."""
    contexts = {}
    for r, form in reversed(forms):
        own = slice(plan.start[r], plan.start[r + 1])
        outside, above = contexts.pop(r, (np.zeros((len(form.own.d), vectors.shape[1])), None))
        result[own] += form.own.d.T @ outside
        if above is not None:
            result[own] += form.own.v.T @ above
        if form.qp is None:
            continue
        region = plan.circuit.regions[r]
        present = [(a, c, units) for a, (c, units) in enumerate(
            zip(plan.circuit.vtree.children(r).tolist(), region.products.T, strict=True)) if c in alphas]
        of_products = form.excess.T @ outside
        total = sum(alphas[c][units] for _, c, units in present)
        if form.factors:
            num_products = len(form.product_rows[0])
            v_products, v_sums = vectors[own][:num_products], vectors[own][num_products:]
            joined = form.sum_rows.T @ v_sums
            above = lower(joined if above is None else above + joined, region.weights)
        for a, c, units in present:
            below, pairs = np.zeros_like(alphas[c]), None
            np.add.at(below, units, of_products + form.qp[:, None] * (total - alphas[c][units]))
            if form.factors:
                pairs = scatter(above, units, form.factors[a], len(below)) + form.product_rows[a].T @ v_products
            contexts[c] = below, pairs
