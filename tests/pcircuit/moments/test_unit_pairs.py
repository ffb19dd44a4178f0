"""Tables over pairs of units: lifted, lowered and factorised, against the formulas over all ordered pairs."""

import numpy as np
import pytest
import scipy.sparse

from pcircuit.moments import unit_pairs
from pcircuit.moments.unit_pairs import (
    as_pairs,
    gram_factor,
    lift,
    lift_gram,
    lower,
    mix,
    num_pairs,
    pair_numbers,
    scatter,
)


def symmetric(rng, K, n):
    """(K, K, n) random tables."""
    tables = rng.standard_normal((K, K, n))
    return tables + tables.swapaxes(0, 1)


@pytest.fixture(params=["dense", "sparse"])
def step(request, rng):
    """One step from a child of four units to a parent of three: units, sibling factor, weights as stored, dense."""
    weights = rng.random((3, 5)) * (rng.random((3, 5)) < 0.7)
    stored = scipy.sparse.csr_array(weights) if request.param == "sparse" else weights
    return np.array([0, 3, 1, 3, 0]), symmetric(rng, 5, 1)[:, :, 0], stored, weights


def test_pairs_are_numbered_row_by_row_of_the_lower_triangle():
    assert [
        int(pair_numbers(a, b)) for a, b in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1), (2, 2)]
    ] == [0, 1, 1, 2, 3, 4, 5]
    assert [num_pairs(K) for K in (0, 1, 2, 3)] == [0, 1, 3, 6]
    table = symmetric(np.random.default_rng(0), 4, 2)
    pairs = as_pairs(table)
    assert pairs.shape == (num_pairs(4), 2)
    a, b = np.indices((4, 4))
    np.testing.assert_array_equal(pairs[pair_numbers(a, b)], table)


@pytest.mark.parametrize("block", [1, 60, 1 << 16])
def test_lifted_tables_are_double_sums_over_products(step, block, rng, monkeypatch):
    monkeypatch.setattr(unit_pairs, "BLOCK", block)
    (units, factor, stored, weights), child = step, symmetric(rng, 4, 7)
    expected = np.einsum(
        "kp,lq,pq,pqn->kln", weights, weights, factor, child[units[:, None], units]
    )
    np.testing.assert_allclose(
        lift(as_pairs(child), units, factor, stored), as_pairs(expected), rtol=1e-12, atol=1e-14
    )
    assert lift(np.zeros((10, 0)), units, factor, stored).shape == (6, 0)


def test_mixed_tables_of_products_are_those_of_sums(step, rng):
    (_, _, stored, weights), of_products = step, symmetric(rng, 5, 3)
    expected = np.einsum("kp,pqn,lq->kln", weights, of_products, weights)
    np.testing.assert_allclose(mix(of_products, stored), as_pairs(expected), rtol=1e-12, atol=1e-14)


def test_a_lifted_gram_tensor_is_that_of_the_lifted_columns(step, rng):
    (units, factor, stored, _), columns = step, as_pairs(symmetric(rng, 4, 6))
    lifted = lift(columns, units, factor, stored)
    np.testing.assert_allclose(
        lift_gram(columns @ columns.T, units, factor, stored),
        lifted @ lifted.T,
        rtol=1e-12,
        atol=1e-13,
    )


def test_lowering_and_scattering_is_the_transpose_of_lifting(step, rng):
    """For all tables X below and coefficients B above: <B, lift X> = <scatter lower B, X>."""
    units, factor, stored, _ = step
    as_matrix = lift(np.eye(num_pairs(4)), units, factor, stored)
    contexts = rng.standard_normal((num_pairs(3), 2))
    lowered = lower(contexts, stored)
    assert lowered.shape == (5, 5, 2)
    np.testing.assert_allclose(
        scatter(lowered, units, factor, 4), as_matrix.T @ contexts, rtol=1e-12, atol=1e-13
    )
    of_products = symmetric(rng, 5, 1)
    np.testing.assert_allclose(
        (contexts * mix(of_products, stored)).sum(axis=0),
        (lowered * of_products).sum(axis=(0, 1)),
        rtol=1e-12,
    )


@pytest.mark.parametrize(("N", "rank"), [(5, 5), (40, 3), (4, 1), (3, 0)])
def test_columns_of_a_gram_matrix_are_as_many_as_its_rank(N, rank, rng):
    columns = rng.standard_normal((N, rank))
    factor = gram_factor(columns @ columns.T)
    assert factor.shape == (N, rank)
    np.testing.assert_allclose(factor @ factor.T, columns @ columns.T, atol=1e-13)


def test_small_rows_of_a_gram_matrix_are_as_precise_as_large_ones(rng):
    size = np.array([1.0, 1e-100, 1e-7, 0.0, 1e50])
    columns = size[:, None] * rng.standard_normal((5, 5))
    found = gram_factor(columns @ columns.T)
    scale = np.where(size > 0, size, 1.0)
    np.testing.assert_allclose(
        (found / scale[:, None]) @ (found / scale[:, None]).T,
        columns / scale[:, None] @ (columns / scale[:, None]).T,
        atol=1e-13,
    )
    assert not found[3].any()
    assert gram_factor(np.zeros((0, 0))).shape == (0, 0)
