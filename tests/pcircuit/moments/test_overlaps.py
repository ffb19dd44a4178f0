"""Overlaps of inputs against their definitions, the choice between two ways of computing, and tables with exponents."""

import numpy as np
import pytest

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, exact_moments
from pcircuit.moments.overlaps import (
    closer,
    input_columns,
    input_overlaps,
    mean_zero_sums,
    minus_average,
    normalized,
    within,
)
from pcircuit.moments.unit_pairs import as_pairs

ROUNDING = 1e-15


@pytest.mark.parametrize(("K", "C"), [(1, 2), (3, 1), (3, 4), (5, 2)])
def test_tables_of_an_input_region_are_their_definitions(K, C, rng):
    probs, q = rng.dirichlet(np.ones(C), size=K), rng.dirichlet(np.ones(K))
    found = input_overlaps(probs, q, ROUNDING)
    mean = probs @ (q @ probs)
    second, third = probs @ probs.T, np.einsum("ax,bx,cx->abc", probs, probs, probs)
    np.testing.assert_allclose(np.ldexp(found.second, found.exp2), second, rtol=1e-13)
    np.testing.assert_allclose(np.ldexp(found.mean, found.exp2), mean, rtol=1e-13)
    np.testing.assert_allclose(np.ldexp(found.third, found.exp3), as_pairs(third), rtol=1e-13)
    np.testing.assert_allclose(np.ldexp(found.second_c, found.exp2), second - mean, atol=1e-15)
    np.testing.assert_allclose(
        np.ldexp(found.third_c, found.exp3), as_pairs(third - second[:, :, None] * mean), atol=1e-15
    )
    for table in (found.second, found.third):
        assert 0.5 <= table.max() < 1


def test_selected_inputs_are_columns_of_the_tables_whether_or_not_these_are_at_hand(rng):
    probs, q = rng.dirichlet(np.ones(4), size=5), rng.dirichlet(np.ones(5))
    own, weights = np.array([4, 0]), np.array([0.5, 2.0])
    tables = input_overlaps(probs, q, ROUNDING)
    with_tables, without = (
        input_columns(probs, q, ROUNDING, own, weights, given, compress=False)
        for given in (tables, None)
    )
    marginal = q @ probs
    centred = weights[:, None] * (probs[own] - (probs[own] @ marginal)[:, None])
    np.testing.assert_allclose(with_tables.mean, weights * (probs[own] @ marginal), rtol=1e-14)
    np.testing.assert_allclose(with_tables.covariance, (centred * marginal) @ centred.T, atol=1e-16)
    np.testing.assert_allclose(with_tables.d, probs @ centred.T, atol=1e-15)
    expected = as_pairs(np.einsum("ax,bx,jx->abj", probs, probs, centred))
    np.testing.assert_allclose(np.ldexp(with_tables.v, tables.exp2), expected, atol=1e-15)
    np.testing.assert_allclose(without.d, with_tables.d, atol=1e-15)
    assert without.v.shape == (0, 2)


def test_units_that_are_constant_have_no_centred_entries():
    probs = np.array([[0.5, 0.5], [0.3, 0.7]])
    found = input_overlaps(probs, np.array([0.4, 0.6]), ROUNDING)
    assert not found.second_c[:, 0].any()
    assert not found.third_c[:, 0].any()
    assert found.second_c[:, 1].all()


def test_of_two_ways_the_one_with_the_smaller_error_is_taken_within_what_the_other_allows():
    value, error = closer(
        np.array([1.0, 1.0, 1.0]),
        np.array([1.0, 3.0, 1.0]),
        np.array([1.25, 1.25, 4.0]),
        np.array([2.0, 2.0, 2.0]),
        0.25,
    )
    assert value.tolist() == [1.0, 1.25, 3.5]  # the last one is moved to 4 - 0.25 * 2
    assert error.tolist() == [1.0, 2.0, 1.0]
    assert within(np.array([0.0, 1.0, 9.0]), 1.0, 2.0, 0.5).tolist() == [0.0, 1.0, 2.0]


def test_rows_minus_their_average_keep_the_digits_of_small_differences():
    step = 2.0**-50
    rows, q = np.array([[1.0, 1.0], [1.0 + step, 1.0 - step]]), np.array([0.75, 0.25])
    np.testing.assert_array_equal(
        minus_average(rows, q), step * np.array([[-0.25, 0.25], [0.75, -0.75]])
    )
    excess, functions = minus_average(rows, q), np.array([[1.0], [-1.0]])
    np.testing.assert_array_equal(
        mean_zero_sums(rows, excess, np.abs(excess), functions), step * np.array([[-0.5], [1.5]])
    )


def test_normalized_arrays_have_their_largest_entry_near_one_and_zeros_stay():
    shift, one, other = normalized(np.array([3.0, 1.0]), np.array([8.0]))
    assert (shift, one.tolist(), other.tolist()) == (2, [0.75, 0.25], [2.0])
    assert normalized(np.zeros(2))[0] == 0
    assert normalized(np.array([2.0**-1000]))[0] == -900


@pytest.mark.parametrize("V", [530, 1040])
def test_units_whose_overlap_is_hardly_a_double_keep_their_exponents(V, engine):
    """Above, only the unit is used whose overlap is 2**-V of that of the other: its power of two is no double."""
    coin = np.array([[0.5, 0.5], [1.0, 0.0]])
    circuit = Circuit(
        VTree.from_nested([list(range(V)), V]),
        [
            *(InputRegion(v, coin) for v in range(V)),
            InnerRegion([[0] * V, [1] * V], np.eye(2)),
            InputRegion(V, coin),
            InnerRegion([[0, 0], [0, 1]], [[1.0, 0.0]]),
        ],
    )
    moments = exact_moments(circuit, np.arange(circuit.num_nodes))
    is_fixed = (circuit.nodes.kind == "input") & (circuit.nodes.unit == 1)
    np.testing.assert_allclose(moments.diagonal(), 0.25 * is_fixed, atol=2.0 ** (1 - V))
    assert moments.trace == pytest.approx(0.25 * (V + 1), rel=1e-12)
    assert moments.trace_sq == pytest.approx((V + 1) / 16, rel=1e-12)
