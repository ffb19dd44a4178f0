"""Every bet is fair: by enumeration in exact arithmetic, with all that rounding does to the wealth."""

from functools import cache

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import exact_expectation, exact_probabilities, next_factors, paid_for_rounding, shifted

from hld import distance
from hld.monitoring import bets
from hld.monitoring.monitor import Monitor
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, rat_spn, sample


def one_variable(*rows, weights=None):
    """A circuit over one variable: an input unit, or a mixture of some."""
    if weights is None:
        return Circuit(VTree([-1], [0]), [InputRegion(0, rows)])
    products = np.arange(len(rows))[:, None]
    return Circuit(VTree.from_nested([0]), [InputRegion(0, rows), InnerRegion(products, weights)])


def mixed_to_uniform():
    """Pairs of variables whose first sum is uniform, a mixture of four products that are not."""
    inputs = [[0.3, 0.7], [0.7, 0.3]]
    pairs = InnerRegion([[0, 0], [0, 1], [1, 0], [1, 1]], [[0.25] * 4, [0.1, 0.2, 0.3, 0.4]])
    return Circuit(
        VTree.from_nested([[0, 1], [2, 3]]),
        [
            InputRegion(0, inputs),
            InputRegion(1, inputs),
            pairs,
            InputRegion(2, inputs),
            InputRegion(3, inputs),
            pairs,
            InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
        ],
    )


NEARLY_CONSTANT = {
    "uniform over 5": one_variable(np.full(5, 1 / 5)),
    "uniform over 6": one_variable(np.full(6, 1 / 6)),
    "uniform to 1e-13": one_variable([0.5 + 1e-13, 0.5 - 1e-13]),
    "uniform to 1e-9": one_variable([0.25 + 1e-9, 0.25 - 1e-9, 0.25, 0.25]),
    "mixed to uniform": one_variable(
        [0.3, 0.1, 0.6], [11 / 30, 17 / 30, 1 / 15], weights=[[0.5, 0.5]]
    ),
    "products mixed to uniform": mixed_to_uniform(),
    "sums off by 1e-10": one_variable([0.4, 0.6 + 1e-10]),
    "one state to 1e-15": one_variable([1 - 1e-15, 1e-15]),
}
CIRCUITS = zoo.circuits() | NEARLY_CONSTANT


@cache
def states_of(name):
    """All states of a circuit and their exact probabilities."""
    states = naive.states(CIRCUITS[name])
    return states, exact_probabilities(CIRCUITS[name], states)


def assert_fair(monitor, states, probabilities):
    """E[W_t / W_{t-1}] is at most 1 in exact arithmetic, and below by no more than what is paid for rounding."""
    assert next_factors(monitor, states).min() > 0
    gain = exact_expectation(monitor, states, probabilities)
    assert gain <= 0
    assert float(-gain) <= 2 * paid_for_rounding(monitor)


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize("num_rows", [0, 15, 16, 70])
def test_every_bet_is_fair_whatever_happened_before(name, num_rows, engine):
    monitor = Monitor(CIRCUITS[name])
    monitor.update(sample(shifted(CIRCUITS[name]), num_rows, rng=1))
    assert_fair(monitor, *states_of(name))


@settings(max_examples=15)
@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 40), st.integers(0, 2**32))
def test_bets_on_random_circuits_are_fair(circuit, num_rows, seed):
    states = naive.states(circuit)
    monitor = Monitor(circuit)
    monitor.update(states[np.random.default_rng(seed).integers(len(states), size=num_rows)])
    assert_fair(monitor, states, exact_probabilities(circuit, states))


@pytest.mark.thorough
@pytest.mark.parametrize("name", NEARLY_CONSTANT)
def test_rows_of_nearly_constant_circuits_never_make_a_monitor_rich(name, engine):
    """A bet on rounding would win 1e-7 in every row, and so at last any amount; where all is constant nobody wins."""
    monitor = Monitor(CIRCUITS[name], alpha=1e-6)
    log_values = monitor.update(sample(CIRCUITS[name], 3000, rng=2)).log_e_values
    assert log_values.max() < -np.log(1e-6)
    if not monitor.stds.any():
        assert log_values.max() <= 0


def test_nodes_that_vary_by_rounding_only_are_not_bet_on(engine):
    for name in (
        "uniform over 5",
        "uniform over 6",
        "mixed to uniform",
        "products mixed to uniform",
    ):
        circuit = CIRCUITS[name]
        monitor = Monitor(circuit)
        values = naive.node_values(circuit, naive.states(circuit))[:, monitor.nodes]
        constant = np.ptp(values, axis=0) <= 1e-15 * values.max(axis=0)
        assert constant.any()
        assert (monitor.stds[constant] == 0).all()
        assert (monitor._bets.scale[constant] == 0).all()
        assert (monitor._bets.rise[constant] == 0).all()
        assert (monitor._bets.fall[constant] == 0).all()
        assert not np.isin(monitor._bets.kept, np.flatnonzero(constant)).any()


@pytest.fixture(scope="module")
def circuit():
    return rat_spn([2, 3, 2, 2, 4, 2], num_units=3, depth=2, rng=5)


@pytest.mark.parametrize("num_rows", [0, 16, 400])
def test_no_bet_is_favourable_within_the_margin(circuit, num_rows):
    """Rows from another circuit at distance d: with margin d no bet gains in expectation, with margin 0 some do."""
    other, states = shifted(circuit), naive.states(circuit)
    gains = []
    for margin in (distance(circuit, other), 0.0):
        monitor = Monitor(circuit, margin=margin)
        monitor.update(sample(other, num_rows, rng=3))
        factors = next_factors(monitor, states)
        assert factors.min() > 0
        gains.append(naive.likelihood(other, states) @ factors - 1)
    assert gains[0] <= len(states) * bets.EPS
    assert gains[1] > 1e-3 or num_rows == 0


def test_many_nodes_are_monitored_without_correlations(circuit, monkeypatch):
    monkeypatch.setattr(bets, "MOST_WHITENED", 10)
    monitor, states = Monitor(circuit), naive.states(circuit)
    assert monitor._whitening.shape == (0, 0)
    assert "variances only" in monitor.describe()
    monitor.update(sample(shifted(circuit), 20, rng=1))
    assert_fair(monitor, states, exact_probabilities(circuit, states))


def test_nodes_of_whitened_directions_vary_enough_for_their_bounds_and_their_rounding():
    """Bounds of at most 50 deviations, and a rounding of the mean of at most a thousandth of one."""
    stds, mean = np.full(5, 0.1), np.full(5, 0.5)
    kept = bets.kept_nodes(
        np.array([4.9, 5.1, 1, 1, 1]), mean, stds, np.array([0, 0, 1.9e-4, 2.1e-4, 0.0])
    )
    assert kept.tolist() == [0, 2, 4]
