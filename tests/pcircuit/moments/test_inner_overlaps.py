"""Overlaps of inner regions: against enumeration, and correlations of units that hardly vary in rational arithmetic."""

import numpy as np
import precise
import pytest

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, exact_moments
from pcircuit.moments import inner_overlaps as module
from pcircuit.moments.inner_overlaps import inner_overlaps, product_rows, sum_rows
from pcircuit.moments.overlaps import input_overlaps
from pcircuit.moments.unit_pairs import as_pairs

ROUNDING = 1e-15
PRODUCTS = np.array(
    [[0, 1, 0], [2, 1, 1], [1, 0, 0], [2, 0, 1]]
)  # of leaves of three, two and two units


def near_uniform(rng, K, C, step):
    """(K, C) rows, each within `step` / C of the uniform one."""
    rows = 1 + step * rng.uniform(-0.5, 0.5, (K, C))
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("step", [2.0**-10, 2.0**-26])
@pytest.mark.parametrize("which", ["likelihoods that hardly vary", "sums that hardly differ"])
def test_correlations_keep_their_digits(which, step, engine):
    """One region with four children of three units: its products and sums are made with some sixteen roundings."""
    rng = np.random.default_rng(7)
    of_tables, of_weights = (step, 0.5) if which == "likelihoods that hardly vary" else (0.5, step)
    circuit = Circuit(
        VTree.from_nested([0, 1, 2, 3]),
        [
            *(InputRegion(v, near_uniform(rng, 3, 2, of_tables)) for v in range(4)),
            InnerRegion(
                np.repeat(np.arange(3)[:, None], 4, axis=1), near_uniform(rng, 1, 3, of_weights)
            ),
        ],
    )
    nodes = np.arange(circuit.num_nodes)[-6:]  # two inputs, the products, the root
    _, S, _ = precise.moments(circuit, nodes)
    found, stds = exact_moments(circuit, nodes).covariance(), precise.roots(np.diag(S))
    errors = precise.relative_errors(found, S, np.outer(stds, stds))
    assert (errors <= 16 * np.finfo(float).eps).all()


def over_leaves(rng):
    """A region with three leaves, its masses q and qp, and the overlaps of the leaves."""
    region = InnerRegion(PRODUCTS, rng.dirichlet(np.ones(4), size=3))
    tables = [rng.dirichlet(np.ones(3), size=K) for K in (3, 2, 2)]
    q = rng.dirichlet(np.ones(3))
    qp = q @ region.weights
    leaves = [
        input_overlaps(table, np.bincount(units, weights=qp, minlength=len(table)), ROUNDING)
        for units, table in zip(PRODUCTS.T, tables, strict=True)
    ]
    products = np.einsum(
        "px,py,pz->pxyz", *(table[units] for units, table in zip(PRODUCTS.T, tables, strict=True))
    )
    return region, (q, qp), leaves, products.reshape(4, -1)


@pytest.mark.parametrize("block", [1, 40, 1 << 16])
def test_tables_and_own_columns_are_sums_over_states(block, rng, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    region, (q, qp), leaves, products = over_leaves(rng)
    own, weights = (np.array([3, 1]), np.array([0, 2])), np.array([1.0, 0.5, 2.0, 0.25])
    tables, columns = inner_overlaps(region, (q, qp), leaves, (*own, weights), ROUNDING)
    sums, p = region.weights @ products, qp @ products
    mean, second, third = sums @ p, sums @ sums.T, np.einsum("ax,bx,cx->abc", sums, sums, sums)
    for found, exponent, expected in (
        (tables.second, tables.exp2, second),
        (tables.mean, tables.exp2, mean),
        (tables.third, tables.exp3, as_pairs(third)),
    ):
        np.testing.assert_allclose(np.ldexp(found, exponent), expected, rtol=1e-12)
    np.testing.assert_allclose(np.ldexp(tables.second_c, tables.exp2), second - mean, atol=1e-14)
    centred = as_pairs(third - second[:, :, None] * mean)
    np.testing.assert_allclose(np.ldexp(tables.third_c, tables.exp3), centred, atol=1e-15)
    selected = weights[:, None] * np.concatenate([products[own[0]], sums[own[1]]])
    functions = selected - (selected @ p)[:, None]
    np.testing.assert_allclose(columns.mean, selected @ p, rtol=1e-12)
    np.testing.assert_allclose(columns.covariance, (functions * p) @ functions.T, atol=1e-15)
    np.testing.assert_allclose(columns.d, sums @ functions.T, atol=1e-14)
    expected = as_pairs(np.einsum("ax,bx,jx->abj", sums, sums, functions))
    np.testing.assert_allclose(np.ldexp(columns.v, tables.exp2), expected, atol=1e-15)


def test_rows_read_averages_off_tables_over_pairs(rng):
    """sum_a q_a V[(a, k)] of own sums k, and sum_p' qp_p' F[p', p] V[(u(p'), u(p))] of own products p."""
    K, q, table = 3, rng.random(3), rng.random((3, 3))
    table += table.T
    own, scale = np.array([2, 0]), np.array([0.5, 4.0])
    np.testing.assert_allclose(
        sum_rows(q, own, scale) @ as_pairs(table), scale * (q @ table)[own], rtol=1e-14
    )
    units, qp, factor = np.array([0, 2, 2, 1]), rng.random(4), rng.random((4, 4))
    factor += factor.T
    expected = [
        scale[i] * sum(qp[o] * factor[o, p] * table[units[o], units[p]] for o in range(4))
        for i, p in enumerate(own)
    ]
    np.testing.assert_allclose(
        product_rows(qp, own, scale, units, factor, K) @ as_pairs(table), expected, rtol=1e-14
    )
