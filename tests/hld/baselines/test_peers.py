"""Tests by the statistics of the baselines: their parts, their level and power, and what they refuse."""

import itertools

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from scipy.stats import binom

import pcircuit
from hld import baselines
from hld.baselines.peers import dropout_moments
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree

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
    assert (result.num_samples, result.alpha, result.num_missing) == (12, 0.1, 0)
    assert result.to_dict()["pvalue"] == result.pvalue
    assert (
        TESTS[name](circuit, num_resamples=39, rng=3)(batch, alpha=0.1) == result
    )  # the seed says it all
    assert np.all(np.diff(null) >= 0)


@pytest.mark.slow
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


def test_impossible_batches_are_rejected():
    circuit = CIRCUITS["deterministic"]
    rows = naive.states(circuit)
    impossible = rows[naive.likelihood(circuit, rows) == 0][:5]
    for name in ("root", "typicality", "dropout"):
        result = TESTS[name](circuit, num_resamples=39, rng=0)(impossible)
        assert result.statistic == np.inf
        assert result.reject


@pytest.mark.parametrize("make", TESTS.values(), ids=TESTS)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda make: make(zoo.unnormalized_circuits()["dense"], num_resamples=9),
            "not normalised",
        ),
        (lambda make: make(CIRCUITS["two_coins"], num_resamples=0), "`num_resamples` must be"),
        (
            lambda make: make(CIRCUITS["two_coins"], num_resamples=9)(np.zeros((0, 2), int)),
            "`batch` has no rows",
        ),
        (
            lambda make: make(CIRCUITS["two_coins"], num_resamples=9)([[0, 0]], alpha=1),
            "`alpha` must be a finite number above 0 and below 1",
        ),
    ],
)
def test_refusals_of_all(make, call, message):
    with pytest.raises((TypeError, ValueError, StructureError), match=message):
        call(make)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: baselines.mmd_test(c, num_resamples=9)([[0, -1]]), "missing entries"),
        (lambda c: baselines.dropout_test(c, rate=1), "`rate` must be a finite number of at least"),
        (lambda c: baselines.dropout_test(c, score="entropy"), "`score` must be one of 'log_std'"),
        (lambda c: baselines.median_bandwidth([[1, 2]]), "at least two rows"),
        (
            lambda c: baselines.mmd_squared([[1.0]], [[1.0, 2.0]], 1.0),
            "`second` must have 1 columns",
        ),
        (lambda c: baselines.mmd_squared([[np.inf]], [[1.0]], 1.0), "`first` must be"),
        (lambda c: baselines.mmd_squared([[1.0]], [[1.0]], 0), "`bandwidth` must be"),
    ],
)
def test_refusals_of_some(call, message):
    with pytest.raises(ValueError, match=message):
        call(CIRCUITS["two_coins"])


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


def test_infinities_of_both_signs_have_an_infinite_mean():
    """The variation of an impossible row is +inf, that of one without uncertainty -inf: both had no verdict."""
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


def rows_of(circuit, count=5, rng=0):
    """Some complete rows that are possible, and one with a missing entry."""
    rows = pcircuit.sample(circuit, count, rng=rng).astype(np.int64)
    rows[-1, 0] = -1
    return rows


def masked_values(circuit, row, masks):
    """(B,) root values of a row under B masks; masks[r] is (B, K, P), divided by q already, None at the root."""
    values = []
    B = next(len(mask) for mask in masks if mask is not None)
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            x = row[region.variable]
            values.append(
                np.tile(np.ones(region.num_units) if x < 0 else region.probs[:, x], (B, 1))
            )
            continue
        products = np.ones((B, len(region.products)))
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            products = products * values[c][:, region.products[:, a]]
        weights = np.broadcast_to(region.dense_weights(), (B, *region.weights.shape))
        values.append(
            np.einsum("bkp,bp->bk", weights if masks[r] is None else weights * masks[r], products)
        )
    return values[-1][:, 0]


def edges_below_root(circuit):
    """Shapes (K, P) of the masked regions, None for the others."""
    return [
        None
        if isinstance(region, InputRegion) or r == len(circuit.regions) - 1
        else region.weights.shape
        for r, region in enumerate(circuit.regions)
    ]


def small_tree():
    """A circuit in which every unit has one parent, as weights of zero are no edges."""
    rng = np.random.default_rng(4)

    def inputs(v, K):
        return InputRegion(v, rng.dirichlet(np.ones(3), K))

    return Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            inputs(0, 4),
            inputs(1, 4),
            InnerRegion([[i, i] for i in range(4)], [[0.3, 0.7, 0, 0], [0, 0, 0.6, 0.4]]),
            inputs(2, 2),
            InnerRegion([[0, 0], [1, 1]], [[0.45, 0.55]]),
        ],
    )


def all_mask_moments(circuit, row, rate):
    """E S and Var S by summing over every mask."""
    shapes = edges_below_root(circuit)
    bits = [np.prod(shape) if shape else 0 for shape in shapes]
    kept = np.array(list(itertools.product([0, 1], repeat=int(sum(bits)))), float)
    probability = np.prod(np.where(kept == 1, 1 - rate, rate), axis=1)
    ends = np.cumsum(bits)
    masks = [
        kept[:, end - size : end].reshape(-1, *shape) / (1 - rate) if shape else None
        for shape, size, end in zip(shapes, bits, ends, strict=True)
    ]
    values = masked_values(circuit, row, masks)
    mean = probability @ values
    return mean, probability @ (values - mean) ** 2


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5])
def test_dropout_of_trees_is_the_sum_over_all_masks(rate):
    circuit = small_tree()
    rows = rows_of(circuit)
    log_mean, log_spread = dropout_moments(circuit, rows, rate=rate)
    for row, one_mean, one_spread in zip(rows, log_mean, log_spread, strict=True):
        mean, variance = all_mask_moments(circuit, row, rate)
        assert np.exp(one_mean) == pytest.approx(mean, rel=1e-12)
        assert np.expm1(one_spread) == pytest.approx(variance / mean**2, rel=1e-11)


@given(zoo.circuit_strategy(), st.floats(0, 0.9))
def test_mean_under_dropout_is_the_likelihood(circuit, rate):
    rows = naive.states(circuit)[:20]
    log_mean, log_spread = dropout_moments(circuit, rows, rate=rate)
    np.testing.assert_allclose(np.exp(log_mean), naive.likelihood(circuit, rows), rtol=1e-12)
    assert (log_spread >= 0).all()
    assert np.isfinite(log_spread).all()
    if rate == 0:
        np.testing.assert_allclose(log_spread, 0, atol=1e-15)


@pytest.mark.thorough
def test_dropout_of_impossible_rows_and_of_large_circuits():
    circuit = CIRCUITS["deterministic"]
    rows = naive.states(circuit)
    impossible = naive.likelihood(circuit, rows) == 0
    assert impossible.any()
    log_mean, log_spread = dropout_moments(circuit, rows)
    np.testing.assert_array_equal(np.isneginf(log_mean), impossible)
    assert np.isfinite(log_spread).all()
    assert np.isposinf(baselines.dropout_scores(circuit, rows, score="variation")[impossible]).all()
    large = pcircuit.rat_spn(
        [2] * 2000, num_units=2, depth=20, rng=0
    )  # the spread is beyond the range of exp
    row = np.zeros((1, 2000), np.int64)
    log_mean, log_spread = dropout_moments(large, row, rate=0.7)
    assert log_mean == pytest.approx(pcircuit.log_likelihood(large, row), rel=1e-12)
    assert np.isfinite(log_spread).all()
    assert log_spread[0] > 710
    assert np.isfinite(baselines.dropout_scores(large, row, rate=0.7)).all()
