"""Drawn null distributions: exchangeability, thresholds, tables of training batches, several metrics."""
import numpy as np
import pytest
import zoo
from scipy.stats import binom

from hld import HLDTest, exact_moments
from hld.metrics.metric import Metric
from hld.nulls import drawn as resampling
from hld.nulls.drawn import BatchTable, CircuitDraws, batch_table, drawn_pvalues, drawn_threshold


def plain(m):
    return Metric("euclidean", np.ones(m), 1.0, np.zeros((m, 0)), np.zeros(0))


def draws_of(num_resamples, seed=0):
    circuit = zoo.circuits()["two_coins"]
    moments = exact_moments(circuit)
    return CircuitDraws(circuit, moments.nodes, moments.mean, (plain(5),), num_resamples, seed)


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.01, 0.001])
def test_threshold_and_pvalue_agree(alpha):
    draws = draws_of(199)
    threshold = drawn_threshold(draws, alpha, 20)
    for squared in [*draws.at(20)[0][1][:, 0], 0.0, 100.0, threshold]:
        pvalues, combined = drawn_pvalues(draws, np.array([squared]), 20)
        assert pvalues[0] == combined
        if abs(squared - threshold) > 1e-7:
            assert (combined <= alpha) == (squared > threshold)


def test_pvalues_are_never_zero_and_do_not_depend_on_the_order_of_calls():
    draws, again = draws_of(99), draws_of(99)
    assert drawn_pvalues(draws, np.array([1e4]), 3)[1] == pytest.approx(0.01)
    again.at(7)
    np.testing.assert_array_equal(draws.at(3)[0][1], again.at(3)[0][1])
    assert not np.array_equal(draws.at(3)[0][1], draws_of(99, seed=1).at(3)[0][1])


def test_blocks_do_not_change_what_is_drawn(monkeypatch):
    whole = draws_of(50).at(4)[0][1]
    monkeypatch.setattr(resampling, "BLOCK_ROWS", 4)
    assert draws_of(50).at(4)[0][1].shape == whole.shape == (50, 1)


def test_combined_ranks_are_a_valid_pvalue(rng):
    """Exchangeable tuples with dependent coordinates: the combined p-value is at most a with probability a."""
    B, trials = 99, 2000
    hits = 0
    for _ in range(trials):
        normal = rng.normal(size=(B + 1, 1)) + 0.5 * rng.normal(size=(B + 1, 3))
        table = BatchTable(np.array([5]), np.exp(normal[1:])[None])
        hits += drawn_pvalues(table, np.exp(normal[0]), 5)[1] <= 0.1
    assert binom.ppf(5e-7, trials, 0.08) <= hits <= binom.isf(5e-7, trials, 0.1)


def test_a_table_at_a_size_between_its_own(rng):
    """Normal rows: T d^2 has the same law at every T, so interpolation changes nothing but noise."""
    rows = rng.normal(size=(3000, 4))
    table = batch_table(rows, (plain(4),), 999, 20, rng)
    assert table.sizes.tolist() == [1, 2, 3, 4, 5, 7, 10, 14, 20]
    for T in (1, 6, 8, 20, 50):
        shares = [share for share, _ in table.at(T)]
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0
        median = drawn_threshold(table, 0.5, T) * T  # chi2 with 4 degrees of freedom: 3.3567
        assert median == pytest.approx(3.3567, abs=6 * 0.5 / (0.15 * np.sqrt(999)))
    assert "9 sizes up to 20" in table.describe()


def test_small_training_sets_use_counts(rng):
    table = batch_table(rng.normal(size=(8, 2)), (plain(2),), 50, 100, rng)
    assert np.isfinite(table.squared).all()
    assert table.squared[-1].mean() < table.squared[0].mean()


def test_auto_switches_from_draws_to_the_law():
    circuit = zoo.circuits()["hclt_like"]
    test = HLDTest(circuit, null="auto", metric="whitened", rng=0, num_resamples=99)
    switch = test.calibration.switch
    assert switch > 1
    rows = np.zeros((switch + 1, 6), dtype=int)
    assert test(rows[:switch - 1]).null == "monte-carlo"
    assert test(rows[:switch]).null == "exact"
    assert f"T < {switch}" in test.describe()
