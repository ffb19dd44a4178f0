"""MMD against a circuit: exact by enumeration, calibrated nulls, power, large scopes, and misuse."""

import json

import naive
import numpy as np
import pytest
import zoo
from binomial_bounds import SURE, drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from hld.baselines.mmd import MMDTest, mmd_squared
from pcircuit import Circuit, InputRegion, StructureError, rat_spn, sample

TRIALS = 500
CIRCUITS = zoo.circuits()


@pytest.fixture(scope="module")
def circuit():
    return rat_spn([2, 3, 2, 2, 4, 2], num_units=3, depth=2, rng=5)


def kernel_matrix(bandwidth, left, right):
    """k by its definition, one row of pairs at a time."""
    return np.array([np.exp(-(x != right).sum(axis=1) / bandwidth) for x in left])


# -- exactness -----------------------------------------------------------------------------------------------


def by_enumeration(circuit, rows, bandwidth):
    """M, with expectations as sums over all states."""
    states = naive.states(circuit)
    p = naive.likelihood(circuit, states)
    between = kernel_matrix(bandwidth, rows, states) @ p
    within = kernel_matrix(bandwidth, rows, rows)
    return within.mean() - 2 * between.mean() + p @ kernel_matrix(bandwidth, states, states) @ p


@settings(max_examples=25)
@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2**32), st.floats(0.2, 20))
def test_mmd_is_exact_on_random_circuits(circuit, seed, bandwidth):
    states = naive.states(circuit)
    rows = states[np.random.default_rng(seed).integers(len(states), size=5)]
    found = mmd_squared(circuit, rows, bandwidth=bandwidth)
    assert found == pytest.approx(by_enumeration(circuit, rows, bandwidth), abs=1e-13)
    assert found >= 0


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
    assert mmd_squared(circuit, other, bandwidth=2.0) == pytest.approx(expected, rel=1e-10)
    assert mmd_squared(circuit, circuit, bandwidth=2.0) == pytest.approx(0, abs=1e-15)
    rows = sample(other, 5000, rng=0)
    # the mean of T values in [-2, 2] is off by more than 2 sqrt(2 ln(2e6) / T) in one of 1e6 cases (Hoeffding)
    tolerance = 2 * np.sqrt(2 * np.log(2e6) / 5e3)
    assert mmd_squared(circuit, rows, bandwidth=2.0) == pytest.approx(expected, abs=tolerance)


@pytest.mark.thorough
@pytest.mark.parametrize("bandwidth", [None, 0.5])
def test_many_variables(bandwidth):
    """784 independent variables: the expectations are products, far below the smallest double for s = 0.5."""
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(4), size=784)
    circuit = zoo.independent(tables)
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


def test_a_clear_shift_is_seen_and_a_typical_batch_passes(circuit):
    test = MMDTest(circuit, rng=0)
    shift, typical = (
        test([[1, 2, 1, 1, 3, 1]] * 60, alpha=0.01),
        test(sample(circuit, 60, rng=4), alpha=0.01),
    )
    assert shift.reject
    assert not typical.reject
    for result in (shift, typical):
        assert result.reject == (result.statistic > result.threshold) == (result.pvalue <= 0.01)
        assert result.num_samples == 60
        assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    expected = mmd_squared(circuit, [[1, 2, 1, 1, 3, 1]] * 60, bandwidth=test.bandwidth)
    assert shift.statistic == pytest.approx(expected)


def test_equal_batches_count_as_ties():
    """A circuit with two equally likely states and T = 1: every batch has the same statistic, so p = 1."""
    test = MMDTest(zoo.independent([[0.5, 0.5]]), bandwidth=1.0, rng=0, num_resamples=99)
    assert test([[0]]).pvalue == test([[1]]).pvalue == 1.0
    sure = MMDTest(zoo.independent([[1.0, 0.0]]), rng=0, num_resamples=99)
    assert sure([[0], [0]]).pvalue == 1.0
    assert sure([[1]]).pvalue == 0.01


def test_missing_entries_are_completed(circuit):
    batch = sample(circuit, 40, rng=3).astype(int)
    batch[::2, 1] = -1
    test = MMDTest(circuit, rng=0)
    first = test(batch)
    assert first.num_missing == 20
    assert first == test(batch) == MMDTest(circuit, rng=0)(batch)
    assert test(np.full((30, 6), -1)).pvalue > 0.001


UNNORMALIZED = next(iter(zoo.unnormalized_circuits().values()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (
                lambda c, width=width: mmd_squared(c, [[0] * 6], bandwidth=width),
                "`bandwidth` must be a finite number above 0",
            )
            for width in (0, -1.0, float("nan"), float("inf"), "wide", [1.0])
        ),
        *(
            (
                lambda c, count=count: MMDTest(c, num_resamples=count),
                "`num_resamples` must be a whole number of at least 1",
            )
            for count in (0, 1.5, True)
        ),
        (
            lambda c: MMDTest(c, rng=0, num_resamples=9)([[0] * 6], alpha=1),
            "`alpha` must be a finite number above 0 and below 1, found 1",
        ),
        (lambda c: MMDTest(c)(np.empty((0, 6), dtype=int)), "`batch` has no rows"),
        (lambda c: MMDTest(c)([[7] * 6]), "`batch`"),
        (lambda c: mmd_squared(c, [[-1] * 6]), "`data` has missing entries"),
        (lambda c: mmd_squared(c, np.empty((0, 6), dtype=int)), "`data` has no rows"),
        (lambda c: mmd_squared([], [[0]]), r"`circuit` must be a pcircuit\.Circuit, found list"),
        (lambda c: MMDTest(UNNORMALIZED), "`circuit` is not normalised"),
        (lambda c: mmd_squared(c, UNNORMALIZED), "`data` is not normalised"),
    ],
)
def test_misuse_is_refused(circuit, call, message):
    with pytest.raises((TypeError, ValueError, StructureError), match=message):
        call(circuit)
