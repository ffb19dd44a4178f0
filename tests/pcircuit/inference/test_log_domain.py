"""The passes with one logarithm per unit: a second route, right where the first one has to give up."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import Circuit, InnerRegion, InputRegion, VTree
from pcircuit.inference.log_domain import input_values, log_flows, log_of, log_units

ZOO = zoo.all_circuits()


@given(zoo.circuit_strategy(max_variables=5, zeros=True), st.integers(0, 2**32))
def test_the_logarithm_per_unit_is_a_second_route(circuit, seed):
    data = zoo.rows_with_holes(circuit, np.random.default_rng(seed), 10)
    shown, products = log_units(circuit, data)
    values = np.concatenate(
        [part for pair in zip(products, shown, strict=True) for part in pair if part is not None]
    )
    np.testing.assert_allclose(np.exp(values).T, naive.node_values(circuit, data), rtol=1e-12)


@pytest.mark.parametrize("name", ZOO)
def test_flows_are_those_of_enumeration_and_come_with_log_likelihoods(name, rng):
    circuit = ZOO[name]
    data, weights = zoo.rows_with_holes(circuit, rng, 9), rng.random(9)
    weights[2] = 0.0
    counts, logs = log_flows(circuit, data, weights)
    for found, expected in zip(counts, naive.flows(circuit, data, weights), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(logs, naive.log_likelihood(circuit, data), rtol=1e-12, atol=1e-12)


def test_no_spread_is_too_wide():
    """Two components of 1e-600 and 3e-600 share the row as 1 to 3; no double holds either of them."""
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[1e-300, 1.0], [3e-300, 1.0]]),
            InputRegion(1, [[1e-300, 1.0], [1e-300, 1.0]]),
            InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
        ],
    )
    shown, products = log_units(circuit, np.array([[0, 0]]))
    np.testing.assert_allclose(
        products[-1][:, 0], np.log([1.0, 3.0]) - 600 * np.log(10), rtol=1e-14
    )
    np.testing.assert_allclose(shown[-1][0], np.log(2.0) - 600 * np.log(10), rtol=1e-14)
    counts, _ = log_flows(circuit, np.array([[0, 0]]), np.ones(1))
    np.testing.assert_allclose(counts[-1], [[0.25, 0.75]], rtol=1e-12)
    np.testing.assert_allclose(counts[0], [[0.25, 0.0], [0.75, 0.0]], rtol=1e-12)


def test_a_missing_value_is_spread_as_the_unit_says_at_any_scale():
    for scale in (5e-324, 1e-300, 1e300):
        coin = Circuit(VTree([-1], [0]), [InputRegion(0, np.array([[1.0, 3.0, 0.0]]) * scale)])
        counts, logs = log_flows(coin, np.array([[-1], [1]]), np.array([1.0, 2.0]))
        np.testing.assert_allclose(counts[0], [[0.25, 2.75, 0.0]], rtol=1e-12)
        np.testing.assert_allclose(logs, np.log(np.array([4.0, 3.0])) + np.log(scale), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8])
def test_values_of_inputs_and_their_row_sums_where_missing(dtype):
    region = InputRegion(
        1, np.arange(1.0, 401.0).reshape(2, 200)
    )  # of more categories than int8 counts to
    data = np.array([[0, 0], [0, 1], [0, 100]], dtype=dtype)
    np.testing.assert_array_equal(input_values(region, data), [[1, 2, 101], [201, 202, 301]])
    if dtype != np.uint8:
        missing = np.array([[0, -1]], dtype=dtype)
        np.testing.assert_array_equal(input_values(region, missing)[:, 0], region.probs.sum(axis=1))


def test_the_logarithm_of_zero_is_minus_infinity_without_a_warning():
    np.testing.assert_array_equal(log_of(np.array([0.0, 1.0])), [-np.inf, 0.0])
