"""The statistics of the baseline tests against loops and worked values."""

import hypothesis.strategies as st
import numpy as np
import pytest
import zoo
from hypothesis import given

import pcircuit
from hld import baselines
from hld.baselines.dropout import dropout_moments


def test_dropout_scores_are_what_they_say():
    circuit = zoo.hclt_like()
    rows = pcircuit.sample(circuit, 5, rng=0).astype(np.int64)
    rows[-1, 0] = -1
    log_mean, log_spread = dropout_moments(circuit, rows, rate=0.2)
    variation = np.sqrt(np.expm1(log_spread))
    np.testing.assert_allclose(
        baselines.dropout_scores(circuit, rows, rate=0.2),
        np.log(np.exp(log_mean) * variation),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        baselines.dropout_scores(circuit, rows, rate=0.2, score="variation"),
        np.log(variation),
        rtol=1e-12,
    )


def test_mmd_and_median_against_loops(rng):
    first, second = rng.integers(0, 4, (7, 3)), rng.integers(0, 5, (9, 3))

    def kernel(a, b):
        return np.exp(
            -sum((int(s) - int(t)) ** 2 for s, t in zip(a, b, strict=True)) / (2 * 1.3**2)
        )

    def mean(left, right):
        return sum(kernel(a, b) for a in left for b in right) / (len(left) * len(right))

    expected = mean(first, first) + mean(second, second) - 2 * mean(first, second)
    assert baselines.mmd_squared(first, second, 1.3) == pytest.approx(expected, rel=1e-12)
    distances = sorted(
        np.sqrt(np.sum((first[i] - first[j]) ** 2.0)) for i in range(7) for j in range(i)
    )
    assert baselines.median_bandwidth(first) == pytest.approx(
        distances[10], rel=1e-12
    )  # the middle one of 21
    assert baselines.median_bandwidth(np.zeros((5, 2))) == 1.0


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12), st.floats(0.1, 10))
def test_mmd_is_zero_for_equal_batches_and_not_negative(seed, n, m, bandwidth):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 6, (n, 4)), rng.integers(0, 6, (m, 4))
    assert baselines.mmd_squared(first, first, bandwidth) == pytest.approx(0, abs=1e-14)
    assert baselines.mmd_squared(first, second, bandwidth) >= -1e-14


def test_scalar_statistics():
    assert baselines.mean_difference([1.0, 2.0], [4.0, 5.0, 6.0]) == 3.5
    assert baselines.mean_difference([1.0], [-np.inf, 0.0]) == np.inf
    assert baselines.mean_difference([-np.inf], [-np.inf]) == 0.0
    assert baselines.typicality([-2.0, -4.0], 2.5) == 0.5


def test_infinities_of_both_signs_have_an_infinite_mean():
    """The variation of an impossible row is +inf, that of one without uncertainty -inf: both had no verdict."""
    assert baselines.mean_difference([np.inf, -np.inf], [1.0]) == np.inf
    assert baselines.mean_difference([-np.inf, 1.0], [-np.inf, np.inf]) == np.inf
    assert baselines.mean_difference([-np.inf, 1.0], [-np.inf]) == 0.0
    circuit = zoo.independent([[0.5, 0.5, 0.0]])
    test = baselines.dropout_test(circuit, score="variation", num_resamples=39, rng=0)
    result = test([[0], [2]])
    assert (result.statistic, result.reject) == (np.inf, True)
    assert test([[0], [1]]).pvalue == 1.0


@pytest.mark.parametrize("far", [0.0, 1e9, -(2.0**52)])
@pytest.mark.parametrize(
    ("bandwidth", "expected"),
    [(1.0, 2 - 2 * np.exp(-0.5)), (1e-200, 2.0), (1e200, 0.0), (5e-324, 2.0), (1e-3, 2.0)],
)
def test_distances_count_and_not_where_the_rows_are(far, bandwidth, expected):
    """Rows that are 1 apart at 1e9 had distance 0; a tiny bandwidth gave NaN, a large one an overflow."""
    first, second = [[far, 0.0], [far, 0.0]], [[far + 1.0, 0.0]]
    assert baselines.mmd_squared(first, second, bandwidth) == pytest.approx(expected, rel=1e-12)
    assert baselines.median_bandwidth([[far, 0.0], [far + 3.0, 4.0], [far + 6.0, 8.0]]) == 5.0


def test_what_no_statistic_can_be_made_of_is_refused():
    for call, name in (
        (lambda: baselines.mean_difference([], [1.0]), "reference"),
        (lambda: baselines.mean_difference([1.0], [np.nan]), "batch"),
        (lambda: baselines.typicality([[1.0]], 1.0), "log_likelihoods"),
        (lambda: baselines.typicality([1.0], np.inf), "entropy"),
        (lambda: baselines.mmd_squared([[1.0]], [[1.0, 2.0]], 1.0), "second"),
        (lambda: baselines.mmd_squared([[np.inf]], [[1.0]], 1.0), "first"),
        (lambda: baselines.mmd_squared([[1.0]], [[1.0]], 0), "bandwidth"),
        (lambda: baselines.median_bandwidth([[1.0]]), "rows"),
        (lambda: baselines.dropout_scores(zoo.two_coins(), [[0, 0]], score="std"), "score"),
    ):
        with pytest.raises(ValueError, match=f"`{name}` must "):
            call()
