"""Compiled overlaps of inputs, and what all regions share, against the twin of whole arrays."""

import numpy as np
import pytest
from engines import doors

from pcircuit.moments import overlaps as twin
from pcircuit.moments.kernels import overlaps

kernels = doors(overlaps)

ROUNDING = 1e-15


def tables_of(probs, q):
    """The flat tables of an input region, and their exponents."""
    tables = np.full(kernels.tables_size(len(q)), np.nan)
    return tables, *kernels.input_tables(probs, q, ROUNDING, tables)


def some_inputs(rng):
    """Tables (K, C) and masses (K,): usual ones, a constant, one category, zeros, rare ones, those that hardly vary."""
    usual = rng.dirichlet(np.ones(4), size=3)
    constant = np.array([[0.5, 0.5], [0.2, 0.8]])
    zeros = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    rare = np.array([[1.0 - 1e-120, 1e-120], [0.3, 0.7], [1e-200, 1.0]])
    alike = (1 + 2.0**-30 * rng.uniform(-1, 1, (3, 2))) / 2
    for probs in (
        usual,
        constant,
        np.ones((2, 1)),
        zeros,
        rare,
        alike / alike.sum(axis=1, keepdims=True),
    ):
        yield probs, rng.dirichlet(np.ones(len(probs)))


def test_tables_lie_behind_one_another():
    K = 3
    buffer = np.arange(kernels.tables_size(K) + 5.0)
    parts = kernels.tables_in(buffer, K)
    assert [part.shape for part in parts] == [(K, K), (K, K), (K,), (6, K), (6, K)]
    np.testing.assert_array_equal(np.concatenate([part.ravel() for part in parts]), buffer[:-5])


def test_tables_of_inputs_are_those_of_the_twin(rng):
    for probs, q in some_inputs(rng):
        tables, exp2, exp3 = tables_of(probs, q)
        expected = twin.input_overlaps(probs, q, ROUNDING)
        assert (exp2, exp3) == (expected.exp2, expected.exp3)
        names = ("second", "second_c", "mean", "third", "third_c")
        for name, found in zip(names, kernels.tables_in(tables, len(q)), strict=True):
            np.testing.assert_allclose(
                found, getattr(expected, name), rtol=1e-9, atol=1e-15, err_msg=name
            )


@pytest.mark.parametrize("kind", ["tables", "no tables", "compressed"])
def test_own_columns_of_inputs_are_those_of_the_twin(kind, rng):
    for probs, q in some_inputs(rng):
        own, weights = np.arange(len(q))[::-1].copy(), np.linspace(1.0, 2.0, len(q))
        tables, expected_tables = (np.empty(0), 0, 0), None
        if kind != "no tables":
            tables, expected_tables = tables_of(probs, q), twin.input_overlaps(probs, q, ROUNDING)
        compress, mean = kind == "compressed", np.full(len(q), np.nan)
        covariance, d, v = kernels.input_columns(
            probs, q, ROUNDING, own, weights, tables, compress, mean
        )
        expected = twin.input_columns(
            probs, q, ROUNDING, own, weights, expected_tables, compress=compress
        )
        np.testing.assert_allclose(mean, expected.mean, rtol=1e-13)
        scale = np.abs(expected.covariance).max()
        np.testing.assert_allclose(covariance, expected.covariance, rtol=1e-9, atol=1e-15 * scale)
        for found, other in (d, expected.d), (v, expected.v):
            assert found.shape == other.shape
            atol = 1e-14 * np.abs(other).max(initial=0.0)
            np.testing.assert_allclose(found @ found.T, other @ other.T, rtol=1e-7, atol=atol)
            if not compress:
                np.testing.assert_allclose(found, other, rtol=1e-9, atol=atol)


def test_powers_of_two_of_any_size():
    assert [kernels.scaled(0.75, e) for e in (0, 3, -2, -(10**6))] == [0.75, 6.0, 0.1875, 0.0]
    assert kernels.scaled(0.0, 10**6) == 0.0
    for table in (
        np.array([[3.0, 1.0]]),
        np.array([[0.0]]),
        np.array([[0.25], [2.0**-1000]]),
        np.array([[1e-300]]),
    ):
        assert kernels.shift_of(table) == twin.normalized(table)[0]
    numbers = np.array([1.0, -3.0])
    kernels.rescale(numbers, -1)
    assert numbers.tolist() == [0.5, -1.5]


def test_of_two_ways_the_same_one_is_taken_as_by_the_twin(rng):
    for value, error, other, other_error in rng.uniform(0, 1, (40, 4)):
        expected = twin.closer(value, error, other, other_error, 0.25)[0]
        assert kernels.closer(value, error, other, other_error, 0.25) == expected
    weights, functions = rng.dirichlet(np.ones(4), size=3), rng.standard_normal((4, 5))
    q = rng.dirichlet(np.ones(3))
    excess = kernels.minus_average(weights, q)
    np.testing.assert_allclose(excess, twin.minus_average(weights, q), atol=1e-16)
    size, out = np.abs(excess) * rng.uniform(0.5, 3.0, excess.shape), np.full((3, 5), np.nan)
    kernels.mixture(weights, excess, -size, functions, out)
    np.testing.assert_allclose(
        out, twin.mean_zero_sums(weights, excess, size, functions), rtol=1e-12
    )
