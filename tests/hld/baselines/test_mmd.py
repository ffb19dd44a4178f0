"""MMD against a circuit: exact by enumeration, calibrated nulls, power, large scopes, and misuse."""

import json

import naive
import numpy as np
import pytest
import zoo
from binomial_bounds import SURE, drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from hld.baselines.mmd import MMDTest, one_sample_mmd_squared
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree, rat_spn, sample

TRIALS, SPECTRAL_TRIALS = 500, 200
CIRCUITS = zoo.circuits()


@pytest.fixture(scope="module")
def circuit():
    return rat_spn([2, 3, 2, 2, 4, 2], num_units=3, depth=2, rng=5)


def kernel_matrix(bandwidth, left, right):
    """k by its definition, one row of pairs at a time."""
    return np.array([np.exp(-(x != right).sum(axis=1) / bandwidth) for x in left])


def independent(tables):
    """Independent variables with the given probabilities."""
    vtree = VTree.balanced(len(tables))
    regions = [
        InputRegion(v, [tables[v]])
        if v >= 0
        else InnerRegion([[0] * len(vtree.children(r))], [[1.0]])
        for r, v in enumerate(vtree.variables.tolist())
    ]
    return Circuit(vtree, regions)


# -- exactness -----------------------------------------------------------------------------------------------


def by_enumeration(circuit, rows, bandwidth):
    """M, with expectations as sums over all states."""
    states = naive.states(circuit)
    p = naive.likelihood(circuit, states)
    between = kernel_matrix(bandwidth, rows, states) @ p
    within = kernel_matrix(bandwidth, rows, rows)
    return within.mean() - 2 * between.mean() + p @ kernel_matrix(bandwidth, states, states) @ p


@pytest.mark.parametrize(
    "name", [name for name in CIRCUITS if len(naive.states(CIRCUITS[name])) <= 300]
)
def test_mmd_is_exact(name):
    circuit = CIRCUITS[name]
    states = naive.states(circuit)
    rows = states[np.random.default_rng(0).integers(len(states), size=9)]
    found = one_sample_mmd_squared(circuit, rows, bandwidth=1.3)
    assert found == pytest.approx(by_enumeration(circuit, rows, 1.3), abs=1e-13)


@settings(max_examples=25)
@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2**32), st.floats(0.2, 20))
def test_mmd_is_exact_on_random_circuits(circuit, seed, bandwidth):
    states = naive.states(circuit)
    rows = states[np.random.default_rng(seed).integers(len(states), size=5)]
    found = one_sample_mmd_squared(circuit, rows, bandwidth=bandwidth)
    assert found == pytest.approx(by_enumeration(circuit, rows, bandwidth), abs=1e-13)
    assert found >= 0


def test_expectation_over_all_batches_of_two():
    """Under P, by enumeration of all pairs: (1 - E k(Y, Y')) / T."""
    circuit = CIRCUITS["two_coins"]
    states = naive.states(circuit)
    p = naive.likelihood(circuit, states)
    mean = sum(
        p[i] * p[j] * one_sample_mmd_squared(circuit, states[[i, j]], bandwidth=1.0)
        for i in range(len(states))
        for j in range(len(states))
    )
    assert mean == pytest.approx(
        (1 - MMDTest(circuit, bandwidth=1.0, rng=0).expected_kernel) / 2, rel=1e-12
    )


def test_mmd_between_circuits(circuit):
    other = Circuit(
        circuit.vtree,
        [
            InputRegion(r.variable, r.probs[:, ::-1]) if isinstance(r, InputRegion) else r
            for r in circuit.regions
        ],
    )
    states = naive.states(circuit)
    difference = naive.likelihood(circuit, states) - naive.likelihood(other, states)
    expected = difference @ kernel_matrix(2.0, states, states) @ difference
    assert one_sample_mmd_squared(circuit, other, bandwidth=2.0) == pytest.approx(
        expected, rel=1e-10
    )
    assert one_sample_mmd_squared(circuit, circuit, bandwidth=2.0) == pytest.approx(0, abs=1e-15)
    rows = sample(other, 5000, rng=0)
    # the mean of T values in [-2, 2] is off by more than 2 sqrt(2 ln(2e6) / T) in one of 1e6 cases (Hoeffding)
    tolerance = 2 * np.sqrt(2 * np.log(2e6) / 5e3)
    assert one_sample_mmd_squared(circuit, rows, bandwidth=2.0) == pytest.approx(
        expected, abs=tolerance
    )


def test_the_default_bandwidth_is_that_of_the_seed():
    """Distances of three fair coins are 1 or 2 equally often: which of them is the median depends on the rows drawn."""
    coins = independent([[0.5, 0.5]] * 3)
    found = {seed: one_sample_mmd_squared(coins, [[0, 1, 0]], rng=seed) for seed in range(8)}
    by_bandwidth = [
        one_sample_mmd_squared(coins, [[0, 1, 0]], bandwidth=width) for width in (1.0, 2.0)
    ]
    assert set(found.values()) == set(by_bandwidth)
    assert one_sample_mmd_squared(coins, [[0, 1, 0]]) == found[0] != found[1]


@pytest.mark.thorough
@pytest.mark.parametrize("bandwidth", [None, 0.5])
def test_many_variables(bandwidth):
    """784 independent variables: the expectations are products, far below the smallest double for s = 0.5."""
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(4), size=784)
    circuit = independent(tables)
    test = MMDTest(circuit, bandwidth=bandwidth, rng=0, num_resamples=19)
    codes = np.arange(4.0)[:, None]
    one = kernel_matrix(test.bandwidth, codes, codes)
    log_expected = np.log(np.einsum("va,ab,vb->v", tables, one, tables)).sum()
    np.testing.assert_allclose(test.expected_kernel, np.exp(log_expected), rtol=1e-10)
    batch = sample(circuit, 10, rng=1)
    witness = np.exp(sum(np.log(one @ tables[v])[batch[:, v]] for v in range(784)))
    M = (
        kernel_matrix(test.bandwidth, batch, batch).mean()
        - 2 * witness.mean()
        + np.exp(log_expected)
    )
    assert test(batch).statistic == pytest.approx(M, rel=1e-10)
    assert test(batch).pvalue > 0.05


# -- the test ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [1, 2, 12])
def test_monte_carlo_null_keeps_its_level_at_every_T(circuit, T):
    """Given B drawn batches the level is Beta(k, B + 1 - k), k = alpha (B + 1), so rejections are beta-binomial; ties
    (few states at small T) only lower it."""
    B = 999
    test = MMDTest(circuit, rng=1, num_resamples=B)
    rows = sample(circuit, TRIALS * T, rng=2).reshape(TRIALS, T, -1)
    pvalues = np.array([test(batch).pvalue for batch in rows])
    for alpha in (0.1, 0.05):
        law = drawn(TRIALS, alpha, B)
        assert (pvalues <= alpha).sum() <= law.isf(SURE)
        if T == 12:  # hardly any ties
            assert (pvalues <= alpha).sum() >= law.ppf(SURE)


def test_spectral_null_keeps_its_level_at_large_T(circuit):
    test = MMDTest(circuit, null="spectral", rng=1)
    rows = sample(circuit, SPECTRAL_TRIALS * 100, rng=2).reshape(SPECTRAL_TRIALS, 100, -1)
    pvalues = np.array([test(batch).pvalue for batch in rows])
    for alpha in (0.1, 0.05):
        law = binom(SPECTRAL_TRIALS, alpha)
        assert law.ppf(SURE) <= (pvalues <= alpha).sum() <= law.isf(SURE)


@pytest.mark.parametrize("name", ["two_coins", "hclt_like", "nary"])
def test_spectrum_has_the_exact_sums(name):
    """Sums of eigenvalues and of their squares, against h on all states."""
    circuit = CIRCUITS[name]
    test = MMDTest(circuit, bandwidth=1.5, null="spectral", rng=0)
    states = naive.states(circuit)
    p = naive.likelihood(circuit, states)
    k = kernel_matrix(1.5, states, states)
    h = k - (k @ p)[:, None] - k @ p + p @ k @ p
    values, counts = test._spectrum.ratios * test._spectrum.scale, test._spectrum.counts
    assert values @ counts == pytest.approx(p @ np.diag(h), rel=1e-9)
    assert values**2 @ counts == pytest.approx(p @ h**2 @ p, rel=1e-9)
    assert len(values) > 1  # leading eigenvalues by themselves, not all as one gamma term
    assert (counts == 1).any()


@pytest.mark.parametrize("null", ["monte-carlo", "spectral"])
def test_a_clear_shift_is_seen_and_a_typical_batch_passes(circuit, null):
    test = MMDTest(circuit, null=null, rng=0)
    shift, typical = (
        test([[1, 2, 1, 1, 3, 1]] * 60, alpha=0.01),
        test(sample(circuit, 60, rng=4), alpha=0.01),
    )
    assert shift.reject
    assert not typical.reject
    for result in (shift, typical):
        assert result.reject == (result.statistic > result.threshold) == (result.pvalue <= 0.01)
        assert result.num_samples == 60
        assert result.null == null
        assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    assert str(shift).startswith("shift: MMD^2")
    assert str(typical).startswith("no shift")
    assert "\n" not in str(shift)
    expected = one_sample_mmd_squared(circuit, [[1, 2, 1, 1, 3, 1]] * 60, bandwidth=test.bandwidth)
    assert shift.statistic == pytest.approx(expected)


def test_equal_batches_count_as_ties():
    """A circuit with two equally likely states and T = 1: every batch has the same statistic, so p = 1."""
    test = MMDTest(independent([[0.5, 0.5]]), bandwidth=1.0, rng=0, num_resamples=99)
    assert test([[0]]).pvalue == test([[1]]).pvalue == 1.0
    sure = MMDTest(independent([[1.0, 0.0]]), null="spectral", rng=0)
    assert sure([[0], [0]]).pvalue == 1.0
    assert sure([[1]]).pvalue == 0.0


def test_too_few_resamples_to_reject(circuit):
    result = MMDTest(circuit, rng=0, num_resamples=9)([[1, 2, 1, 1, 3, 1]] * 60)
    assert result.threshold == float("inf")
    assert not result.reject
    assert result.pvalue == 0.1


def test_missing_entries_are_completed(circuit):
    batch = sample(circuit, 40, rng=3).astype(int)
    batch[::2, 1] = -1
    test = MMDTest(circuit, rng=0)
    first = test(batch)
    assert first.num_missing == 20
    assert first == test(batch) == MMDTest(circuit, rng=0)(batch)
    assert test(np.full((30, 6), -1)).pvalue > 0.001


def test_misuse_is_refused(circuit):
    with pytest.raises(ValueError, match="`kernel` must be one of 'hamming', found 'linear'"):
        MMDTest(circuit, "linear")
    with pytest.raises(ValueError, match="`null` must be one of"):
        MMDTest(circuit, null="exact")
    for bandwidth in (0, -1.0, float("nan"), float("inf"), "wide", [1.0]):
        with pytest.raises(
            (TypeError, ValueError), match="`bandwidth` must be a finite number above 0"
        ):
            one_sample_mmd_squared(circuit, [[0] * 6], bandwidth=bandwidth)
    for count, error in ((0, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="`num_resamples` must be a whole number of at least 1"):
            MMDTest(circuit, num_resamples=count)
    test = MMDTest(circuit, rng=0, num_resamples=9)
    with pytest.raises(
        ValueError, match="`alpha` must be a finite number above 0 and below 1, found 1"
    ):
        test([[0] * 6], alpha=1)
    with pytest.raises(ValueError, match="`batch` has no rows"):
        test(np.empty((0, 6), dtype=int))
    with pytest.raises(ValueError, match="`batch`"):
        test([[7] * 6])
    with pytest.raises(ValueError, match="`data` has missing entries"):
        one_sample_mmd_squared(circuit, [[-1] * 6])
    with pytest.raises(ValueError, match="`data` has no rows"):
        one_sample_mmd_squared(circuit, np.empty((0, 6), dtype=int))
    with pytest.raises(TypeError, match=r"`circuit` must be a pcircuit\.Circuit, found list"):
        one_sample_mmd_squared([], [[0]])
    unnormalized = next(iter(zoo.unnormalized_circuits().values()))
    with pytest.raises(StructureError, match="`circuit` is not normalised"):
        MMDTest(unnormalized)
    with pytest.raises(StructureError, match="`data` is not normalised"):
        one_sample_mmd_squared(circuit, unnormalized)
