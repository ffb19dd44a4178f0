"""Compiled bets: a first row by hand, the NumPy text on any rows, and what is left alone."""

import numpy as np
import pytest
import zoo
from engines import HAS_NUMBA, WITHOUT_NUMBA
from hypothesis import given, settings
from hypothesis import strategies as st

from hld import likelihood_vectors
from hld.monitoring import bets
from hld.monitoring.betting import advance as plain
from hld.monitoring.monitor import Monitor

if not HAS_NUMBA:
    pytest.skip(WITHOUT_NUMBA, allow_module_level=True)

from hld.monitoring.kernel import advance


def after(text, values, given_bets):
    """(n,) log W after each row, and the wealth."""
    wealth, logs = bets.new_wealth(given_bets), np.full(len(values), np.nan)
    text(values, given_bets, wealth, logs)
    return logs, wealth


@pytest.mark.parametrize("margin", [0.0, 0.1])
@pytest.mark.parametrize("state", [0, 1])
def test_the_first_row_of_a_coin_is_bet_on_by_hand(state, margin):
    """One node of mean 0.58 and bound 0.7: no direction yet, the money on the node moves with up and down."""
    circuit = zoo.independent([[0.3, 0.7]])
    monitor = Monitor(circuit, margin=margin)
    values = likelihood_vectors(circuit, [[state]], monitor.nodes)
    assert values.tolist() == [[0.3 if state == 0 else 0.7]]
    logs, wealth = after(advance, values, monitor._bets)
    x, stakes = values[0, 0] - 0.58, np.array(bets.NODE_STAKES)
    up, down = (x - margin) / (0.58 + margin), (-x - margin) / (0.12 + margin)
    each = bets.ON_NODES / (2 * len(stakes))
    total = 1 + each * (stakes * up).sum() + each * (stakes * down).sum()
    assert logs[0] == pytest.approx(np.log(total), abs=1e-12)
    assert (wealth.num_rows[0], wealth.log[0]) == (1, logs[0])
    share = bets.SHARE / 2
    expected = (1 - share) * each * (1 + stakes * up) / total + share * each
    np.testing.assert_allclose(wealth.on_nodes[0, : len(stakes)], expected, rtol=1e-12)
    assert wealth.cash[0] + wealth.on_directions.sum() + wealth.on_nodes.sum() == pytest.approx(
        1, rel=1e-12
    )


@given(zoo.circuit_strategy(), st.integers(0, 2**32), st.sampled_from([0.0, 0.1]))
@settings(max_examples=25)
def test_kernel_and_numpy_agree_on_any_rows(circuit, seed, margin):
    monitor = Monitor(circuit, margin=margin)
    rows = np.random.default_rng(seed).integers(
        0, circuit.num_categories, size=(70, circuit.num_variables)
    )
    values = likelihood_vectors(circuit, rows, monitor.nodes)
    ours, theirs = bets.new_wealth(monitor._bets), bets.new_wealth(monitor._bets)
    log, log_compiled = np.empty(70), np.empty(70)
    plain(values, monitor._bets, ours, log)
    advance(values, monitor._bets, theirs, log_compiled)
    # both round alike but for the order of their sums; a score is a difference of terms up to 1 / gain times as large
    scale = 1 + np.abs(log).max()
    np.testing.assert_allclose(
        log, log_compiled, rtol=0, atol=70 * 1e3 * monitor._bets.doubts.max() * scale
    )
    assert ours.num_rows == theirs.num_rows


@pytest.mark.parametrize("is_identity", [False, True])
@pytest.mark.parametrize("name", ["hclt_like", "mixed_categories", "zero_rows"])
def test_all_that_is_kept_is_that_of_the_numpy_text(name, is_identity):
    """Also with variances in place of correlations, as of too many nodes."""
    circuit = zoo.circuits()[name]
    monitor = Monitor(circuit)
    whitening = np.zeros((0, 0)) if is_identity else monitor._bets.whitening
    own = bets.make_bets(circuit, monitor.nodes, monitor.mean, monitor.stds, whitening, 0.0)
    shape = 3 * bets.REFRESH + 5, circuit.num_variables
    rows = np.random.default_rng(0).integers(0, circuit.num_categories, size=shape)
    values = likelihood_vectors(circuit, rows, monitor.nodes)
    (logs, wealth), (expected, other) = after(advance, values, own), after(plain, values, own)
    assert wealth.directions.any()
    np.testing.assert_allclose(logs, expected, rtol=1e-9, atol=1e-9)
    for field, array, like in zip(wealth._fields, wealth, other, strict=True):
        np.testing.assert_allclose(
            array, like, rtol=1e-8, atol=1e-9 * max(np.abs(like).max(), 1e-300), err_msg=field
        )


def test_no_rows_change_nothing_and_bets_are_never_written_to():
    monitor = Monitor(zoo.circuits()["two_coins"])
    before = [np.array(part) for part in monitor._bets]
    logs, wealth = after(advance, np.zeros((0, len(monitor.nodes))), monitor._bets)
    assert len(logs) == 0
    for array, fresh in zip(wealth, bets.new_wealth(monitor._bets), strict=True):
        np.testing.assert_array_equal(array, fresh)
    after(advance, likelihood_vectors(monitor.circuit, [[0, 1]] * 40, monitor.nodes), monitor._bets)
    for part, old in zip(monitor._bets, before, strict=True):
        np.testing.assert_array_equal(part, old)
