"""Compiled overlaps of inner regions, stage by stage, against the twin of whole arrays."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from engines import door, doors

from pcircuit import InnerRegion
from pcircuit.moments import inner_overlaps as twin
from pcircuit.moments.kernels import inner_overlaps
from pcircuit.moments.kernels import overlaps as of_inputs
from pcircuit.moments.overlaps import input_overlaps, minus_average

kernels = doors(inner_overlaps)
tables_in, tables_size = door(of_inputs.tables_in), door(of_inputs.tables_size)

ROUNDING = 1e-4  # so that little of what is centred is bounded by what is not
NAMES = ("second", "second_c", "mean", "third", "third_c")
KINDS = ("usual", "large", "sparse", "hardly varying")


def case(kind, rng):
    """A region over three leaves, masses q and qp, overlaps of the leaves, and the same as the kernels take them."""
    shown, P, K = np.array([3, 2, 4]), 5, 3
    weights = rng.dirichlet(np.ones(P), size=K) * (
        rng.random((K, P)) < 0.6 if kind == "sparse" else 1.0
    )
    weights[:, 0] += 0.1
    weights /= weights.sum(axis=1, keepdims=True)
    region = InnerRegion(
        np.stack([rng.integers(K, size=P) for K in shown], axis=1),
        scipy.sparse.csr_array(weights) if kind == "sparse" else weights,
    )
    q = rng.dirichlet(np.ones(K))
    qp, children = q @ weights, []
    for units, number in zip(region.products.T, shown, strict=True):
        probs = rng.dirichlet(np.ones(3), size=number)
        if kind == "hardly varying":
            probs = (1 + 2.0**-10 * rng.uniform(-1, 1, probs.shape)) / 3
        tables = input_overlaps(probs, np.bincount(units, weights=qp, minlength=number), ROUNDING)
        if kind == "large":  # 700 more variables, of which all units make coins
            tables = dataclasses.replace(tables, exp2=tables.exp2 - 700, exp3=tables.exp3 - 1400)
        children.append(tables)
    flat = [flattened(tables) for tables in children]
    sizes = np.array([len(part) for part in flat])
    assert sizes.tolist() == [tables_size(number) for number in shown]
    exponents = (np.array([getattr(c, name) for c in children]) for name in ("exp2", "exp3"))
    below = np.concatenate(flat), np.cumsum(sizes) - sizes, shown, *exponents
    csr = scipy.sparse.csr_array(weights)
    stored = csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data
    return region, (q, qp), children, below, stored


def flattened(tables):
    """Tables as they lie behind one another."""
    return np.concatenate([np.ravel(getattr(tables, name)) for name in NAMES])


def close(found, expected):
    np.testing.assert_allclose(
        found, expected, rtol=1e-9, atol=1e-14 * np.abs(expected).max(initial=0.0)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_tables_and_own_products_are_those_of_the_twin(kind, rng):
    region, (q, qp), children, below, stored = case(kind, rng)
    K, P, own = region.num_units, region.num_products, np.array([0, 4])
    units = np.ascontiguousarray(region.products.T)
    dense = kernels.dense_weights(stored, P)
    np.testing.assert_array_equal(dense, region.dense_weights())
    stages = kernels.product_stages(units, qp, below, ROUNDING)
    tables = np.full(tables_size(K), np.nan)
    shift2 = kernels.inner_second(dense, minus_average(dense, q), stages, tables)
    shift3, v, covariance = kernels.inner_third(
        units, (q, qp), stored, stages, below, tables, own, ROUNDING
    )
    exp2, exp3, _ = stages[5][-1].tolist()

    selected = own, np.array([], dtype=int), np.ones(2)
    expected, columns = twin.inner_overlaps(region, (q, qp), children, selected, ROUNDING)
    assert (exp2 + shift2, exp3 + shift3) == (expected.exp2, expected.exp3)
    for name, found in zip(NAMES, tables_in(tables, K), strict=True):
        close(found, getattr(expected, name))
    close(np.ldexp(v, exp3 - expected.exp2), columns.v)
    close(np.ldexp((covariance + covariance.T) / 2, exp3), columns.covariance)
    close(np.ldexp(stages[1][-1, own], exp2), columns.mean)


@pytest.mark.parametrize("kind", KINDS)
def test_triples_of_products_come_in_blocks_and_the_last_stage_is_symmetric(kind, rng):
    region, (_, qp), _, below, _ = case(kind, rng)
    units = np.ascontiguousarray(region.products.T)
    stages = kernels.product_stages(units, qp, below, ROUNDING)
    whole = kernels.third_of_products(units, stages, below, 0, 5, ROUNDING)
    parts = [
        kernels.third_of_products(units, stages, below, *ends, ROUNDING)
        for ends in ((0, 2), (2, 5))
    ]
    for w, table in enumerate(whole):
        np.testing.assert_array_equal(np.concatenate([part[w] for part in parts], axis=2), table)
        np.testing.assert_array_equal(table, table.swapaxes(0, 1))
    third = whole[0]
    np.testing.assert_allclose(third, third.transpose(2, 1, 0), rtol=1e-12)
    np.testing.assert_allclose(third.diagonal().T[np.arange(5), np.arange(5)].max(), third.max())


def test_sums_that_are_constant_are_cleared(rng):
    """The first sum mixes products of a leaf that together are uniform, up to rounding."""
    leaf = input_overlaps(
        np.array([[0.2, 0.3, 0.5], [0.5, 0.2, 0.3], [0.3, 0.5, 0.2]]), np.full(3, 1 / 3), ROUNDING
    )
    below = (
        flattened(leaf),
        np.zeros(1, dtype=np.int64),
        np.array([3]),
        np.array([leaf.exp2]),
        np.array([leaf.exp3]),
    )
    units, dense, q = (
        np.array([[0, 1, 2]]),
        np.array([[1 / 3, 1 / 3, 1 / 3], [0.2, 0.3, 0.5]]),
        np.array([0.9, 0.1]),
    )
    qp = q @ dense
    stages = kernels.product_stages(units, qp, below, ROUNDING)
    tables = np.full(tables_size(2), np.nan)
    kernels.inner_second(dense, minus_average(dense, q), stages, tables)
    assert tables_in(tables, 2)[1][:, 0].any()  # rounding errors
    stored = np.array([0, 3, 6]), np.array([0, 1, 2] * 2), dense.ravel()
    kernels.inner_third(
        units, (q, qp), stored, stages, below, tables, np.array([], dtype=np.int64), ROUNDING
    )
    _, second_c, _, _, third_c = tables_in(tables, 2)
    assert not second_c[:, 0].any()
    assert not third_c[:, 0].any()
    assert third_c[:, 1].any()
