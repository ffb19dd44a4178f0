"""The passes with one logarithm per unit: a second route, right where the first one has to give up."""

import naive
import numpy as np
import precise
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    VTree,
    expected_flows,
    log_likelihood,
    mean_node_likelihoods,
    node_likelihoods,
    overlap,
)
from pcircuit.inference.log_domain import log_flows, log_units, may_overflow

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


LARGE = 1e300
STATES = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)])


def three_variables(size, last=1.0):
    """Two units each, one of them `size` times as large; the third variable multiplies everything by `last`."""
    return Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            InputRegion(0, [[0.5 * size, 0.25 * size], [0.2, 0.8]]),
            InputRegion(1, [[0.3 * size, 0.0], [0.4, 0.6]]),
            InnerRegion([[0, 0], [1, 1]], [[size, 0.5], [0.0, 1.0]]),
            InputRegion(2, [[0.25 * last, 0.5 * last]]),
            InnerRegion([[0, 0], [1, 0]], [[0.5, 0.5]]),
        ],
    )


@pytest.mark.parametrize("last", [1.0, 1e-300])
@pytest.mark.parametrize("size", [1e90, LARGE, 1.5e308])
def test_logarithms_are_finite_and_right(engine, size, last):
    circuit = three_variables(size, last)
    shown, products = precise.unit_values(circuit, STATES)
    assert may_overflow(circuit) == (size > 1e90)
    np.testing.assert_allclose(
        log_likelihood(circuit, STATES), precise.doubles(precise.logs(shown[-1][0])), rtol=1e-14
    )
    nodes = np.flatnonzero(
        circuit.nodes.kind != "product"
    )  # products far behind others may be given as 0
    expected = precise.doubles(precise.in_node_order(shown, products)).T[:, nodes]
    found = node_likelihoods(circuit, STATES, nodes=nodes)
    np.testing.assert_allclose(found, expected, rtol=1e-11)  # inf where the doubles end
    assert np.isinf(found).any() == (size > 1e90)
    mean = (found / len(STATES)).sum(
        axis=0
    )  # the sum of all rows may be beyond the doubles where their mean is not
    np.testing.assert_allclose(
        mean_node_likelihoods(circuit, STATES, nodes=nodes), mean, rtol=1e-11
    )


def test_flows_of_rows_that_overflow(engine):
    circuit, weights = three_variables(LARGE), np.arange(1.0, len(STATES) + 1)
    flows = expected_flows(circuit, STATES, weights=weights)
    for found, expected in zip(
        flows.by_region(circuit), precise.flows(circuit, STATES, weights), strict=True
    ):
        np.testing.assert_allclose(found, precise.doubles(expected), rtol=1e-11, atol=1e-14)
    possible = np.isfinite(log_likelihood(circuit, STATES))
    assert possible.all()
    assert flows.log_likelihood == pytest.approx(
        weights @ log_likelihood(circuit, STATES), rel=1e-14
    )
    assert flows.total_weight == weights.sum()


def test_row_sums_beyond_the_doubles(engine):
    """Two categories of 1.5e308 each: the total mass is no double, its logarithm is."""
    coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[1.5e308, 1.5e308, 0.0]])])
    expected = np.log(1.5e308) + np.array([0.0, -np.inf, np.log(2.0)])
    np.testing.assert_allclose(log_likelihood(coin, [[1], [2], [-1]]), expected, rtol=1e-15)
    np.testing.assert_allclose(
        node_likelihoods(coin, [[0], [2], [-1]]).ravel(), [1.5e308, 0.0, np.inf], rtol=1e-12
    )
    np.testing.assert_allclose(
        expected_flows(coin, [[-1], [0]]).inputs, [1.5, 0.5, 0.0], rtol=1e-15
    )
    assert overlap(coin, coin, log=True) == pytest.approx(
        2 * np.log(1.5e308) + np.log(2.0), rel=1e-15
    )


def test_the_bound_counts_partial_products():
    """A large child beside a small one overflows before the small one has its turn."""
    V = VTree.from_nested([0, 1, 2])
    regions = [InputRegion(v, [[10.0**e]]) for v, e in enumerate((200, 200, -300))]
    circuit = Circuit(V, [*regions, InnerRegion([[0, 0, 0]], [[1.0]])])
    assert may_overflow(circuit)
    assert log_likelihood(circuit, [[0, 0, 0]])[0] == pytest.approx(100 * np.log(10.0), rel=1e-14)


@pytest.mark.parametrize(("exponent", "overflows"), [(960, False), (961, True)])
def test_the_bound_is_sharp(exponent, overflows, engine):
    regions = [InputRegion(0, [[2.0**500]]), InputRegion(1, [[2.0 ** (exponent - 500)]])]
    circuit = Circuit(VTree.from_nested([0, 1]), [*regions, InnerRegion([[0, 0]], [[1.0]])])
    assert may_overflow(circuit) == overflows
    assert log_likelihood(circuit, [[0, 0]])[0] == pytest.approx(exponent * np.log(2.0), rel=1e-15)
