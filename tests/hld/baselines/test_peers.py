"""Tests by the statistics of the baselines: their parts, their level and power, and what they refuse."""

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from scipy.stats import binom

import pcircuit
from hld import baselines
from pcircuit import StructureError

CIRCUITS = zoo.circuits()


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(0, 6), st.floats(0.001, 0.999)
)
def test_threshold_and_pvalue_say_the_same(null, statistic, alpha):
    null = np.sort(np.array(null, float))
    pvalue = (1 + np.sum(null >= statistic)) / (1 + len(null))
    if abs(pvalue - alpha) > 1e-6:
        assert (statistic > baselines.rejection_threshold(null, alpha)) == (pvalue <= alpha)


TESTS = {
    "root": baselines.root_likelihood_test,
    "typicality": baselines.typicality_test,
    "dropout": baselines.dropout_test,
    "mmd": baselines.mmd_test,
}


@pytest.mark.parametrize("name", sorted(TESTS))
def test_calls_agree_with_their_parts(name):
    circuit = CIRCUITS["hclt_like"]
    test = TESTS[name](circuit, num_resamples=39, rng=3)
    batch = pcircuit.sample(circuit, 12, rng=1)
    result = test(batch, alpha=0.1)
    reference, null = test.drawn(12)
    statistic = test.statistic(reference, test.summary(batch))
    assert result.statistic == statistic
    assert result.pvalue == (1 + np.sum(null >= statistic)) / 40
    assert result.threshold == baselines.rejection_threshold(null, 0.1)
    assert result.reject == (result.statistic > result.threshold)
    assert (result.num_samples, result.alpha, result.null) == (12, 0.1, "monte-carlo")
    assert result.to_dict()["pvalue"] == result.pvalue
    assert (
        TESTS[name](circuit, num_resamples=39, rng=3)(batch, alpha=0.1) == result
    )  # the seed says it all
    assert np.all(np.diff(null) >= 0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(TESTS))
def test_level_and_power(name):
    """Rejections under the null inside the 1e-6 binomial bounds around 10 %, and of a clear shift nearly always."""
    circuit, trials, T = CIRCUITS["hclt_like"], 200, 20
    rng = np.random.default_rng(11)
    rejections = 0
    for trial in range(
        trials // 20
    ):  # twenty batches share reference rows and null, which costs a little variance
        test = TESTS[name](circuit, num_resamples=99, rng=trial)
        for _ in range(20):
            rejections += test(pcircuit.sample(circuit, T, rng=rng), alpha=0.1).reject
    low, high = (
        binom.ppf([1e-6, 1 - 1e-6], trials // 4, 0.1) * 4
    )  # as if a quarter of them were independent
    assert low <= rejections <= high
    unlikely = naive.states(circuit)[
        np.argsort(naive.likelihood(circuit, naive.states(circuit)))[:T]
    ]
    assert TESTS[name](circuit, num_resamples=99, rng=0)(unlikely).reject


def test_a_thousand_batches_are_ranked_by_default():
    circuit = CIRCUITS["two_coins"]
    for name in ("root", "typicality"):
        assert len(TESTS[name](circuit, rng=0).drawn(2)[1]) == 999


def test_reference_rows_and_batches_of_one_row():
    circuit = CIRCUITS["two_coins"]
    test = baselines.mmd_test(circuit, num_resamples=19, rng=0)
    assert test([[0, 0]]).num_samples == 1
    assert test.drawn(1)[0].shape == (1, 2)
    assert baselines.typicality_test(circuit, entropy=1.0, num_resamples=9)(
        [[0, 1]]
    ).statistic == pytest.approx(abs(-naive.log_likelihood(circuit, [[0, 1]])[0] - 1.0), rel=1e-12)


def test_impossible_batches_are_rejected():
    circuit = CIRCUITS["deterministic"]
    rows = naive.states(circuit)
    impossible = rows[naive.likelihood(circuit, rows) == 0][:5]
    for name in ("root", "typicality", "dropout"):
        result = TESTS[name](circuit, num_resamples=39, rng=0)(impossible)
        assert result.statistic == np.inf
        assert result.reject


def test_circuits_without_sums_below_the_root_have_no_uncertainty():
    circuit = CIRCUITS["one_region"]
    result = baselines.dropout_test(circuit, num_resamples=19, rng=0)(
        pcircuit.sample(circuit, 5, rng=0)
    )
    assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_refusals():
    circuit = CIRCUITS["two_coins"]
    broken = zoo.unnormalized_circuits()["dense"]
    for make in TESTS.values():
        with pytest.raises(StructureError, match="not normalised"):
            make(broken, num_resamples=9)
        with pytest.raises(ValueError, match="`num_resamples` must be a whole number"):
            make(circuit, num_resamples=0)
        test = make(circuit, num_resamples=9)
        with pytest.raises(ValueError, match="`batch` has no rows"):
            test(np.zeros((0, 2), int))
        with pytest.raises(
            (TypeError, ValueError), match="`alpha` must be a finite number above 0 and below 1"
        ):
            test([[0, 0]], alpha=1)
    with pytest.raises(ValueError, match="missing entries"):
        baselines.mmd_test(circuit, num_resamples=9)([[0, -1]])
    with pytest.raises(
        ValueError, match="`rate` must be a finite number of at least 0 and below 1, found 1"
    ):
        baselines.dropout_test(circuit, rate=1)
    with pytest.raises(ValueError, match="`score` must be one of 'log_std', 'variation'"):
        baselines.dropout_test(circuit, score="entropy")
    with pytest.raises(ValueError, match="at least two rows"):
        baselines.median_bandwidth([[1, 2]])


def test_missing_entries_are_summed_out():
    circuit = CIRCUITS["hclt_like"]
    result = baselines.root_likelihood_test(circuit, num_resamples=19, rng=0)(np.full((4, 6), -1))
    reference, _ = baselines.root_likelihood_test(circuit, num_resamples=19, rng=0).drawn(4)
    assert result.statistic == pytest.approx(abs(reference.mean()), rel=1e-12)
