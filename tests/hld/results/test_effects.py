"""The effect is the share of rows that are others: its bound holds, and is above 0 just where a batch is rejected."""

import binomial_bounds as bounds
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hld
import pcircuit
from hld.witnesses.effects import effect_of, least_rows

SHARES = (0.0, 0.03, 0.1, 0.5)


def table(rng, n):
    """A number, one that depends on it, and a level."""
    a = rng.normal(size=n)
    level = rng.choice(list("wxyz"), p=[0.5, 0.3, 0.15, 0.05], size=n)
    return pd.DataFrame({"a": a, "b": a + rng.normal(size=n) / 2, "level": level})


def new_level(rng, rows, others):
    return rows.assign(level=rows.level.mask(others, "new"))


def far_out(rng, rows, others):
    return rows.assign(b=rows.b.mask(others, 1000 + rows.b))


def missing(rng, rows, others):
    return rows.assign(a=rows.a.mask(others))


def independent(rng, rows, others):
    """Rows whose b has another a: no more of them are others than are drawn."""
    return rows.assign(b=rows.b.mask(others, rng.permutation(rows.b.to_numpy())))


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_epochs=10, num_resamples=99, rng=0).fit(
        table(np.random.default_rng(0), 1500)
    )


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("change", [new_level, far_out, missing, independent])
@pytest.mark.parametrize("share", SHARES)
def test_no_smaller_share_is_claimed_than_is_there(detector, change, share):
    rng, trials, T = np.random.default_rng(7), 60, 200
    right, sizes = 0, []
    for _ in range(trials):
        rows = table(rng, T)
        result = detector.test(change(rng, rows, rng.random(T) < share))
        right += result.effect_interval[0] <= share
        sizes.append(result.effect)
        assert (result.effect_interval[0] > 0) == result.reject
        assert 0 <= result.effect_interval[0] <= result.effect <= 1
    assert right >= bounds.at_least(trials, 0.95)
    if change is not independent and share >= 0.1:  # where the witness knows the others one by one
        error = np.std(sizes) / trials**0.5
        assert abs(np.mean(sizes) - share) < 4 * error + 0.02


def test_the_bound_is_that_of_clopper_and_pearson():
    """Of 100 rows, 20 have to be others: the share that gives so many with probability a hundredth."""
    effect = effect_of([lambda r: float(r >= 20)], 1e-9, 0.05, 100)
    assert effect.size == 0.2
    assert stats.binom.sf(19, 100, effect.low) == pytest.approx(0.01)
    barely = effect_of([lambda r: 0.045 + r], 0.045, 0.05, 100)
    assert stats.binom.sf(0, 100, barely.low) == pytest.approx(0.005)
    assert effect_of([lambda r: 1.0], 0.06, 0.05, 100) == (0.0, 0.0)


def test_the_least_number_of_rows_is_that_of_the_slowest_witness():
    for needed in ([0, 0], [3, 17], [64, 5], [200, 1]):
        lefts = [lambda r, least=least: float(r >= least) for least in needed]
        assert least_rows(lefts, 0.5, 100) == min(max(needed), 100)


def test_counts_and_dependences_leave_what_their_tests_say_of_the_changed_batch(detector):
    """Each bound is no smaller than the p-value of a batch in which so many rows are others."""
    rng = np.random.default_rng(3)
    rows = table(rng, 150)
    moved = independent(rng, new_level(rng, rows, rng.random(150) < 0.2), np.ones(150, bool))
    found = detector.test(moved)
    for rows_back in (1, 10, 40):
        back = moved.copy()
        back.iloc[:rows_back] = rows.iloc[:rows_back]
        other = detector.test(back)
        for name in ("largest_count", "largest_dependence"):
            assert getattr(found, name).after(rows_back) >= getattr(other, name).pvalue * (1 - 1e-9)


def test_a_test_of_a_circuit_has_an_effect_by_its_distance():
    circuit = pcircuit.rat_spn([2] * 6, num_units=3, depth=2, rng=0)
    test = hld.HLDTest(circuit)
    assert test(pcircuit.sample(circuit, 100, rng=1)).effect_interval == (0.0, 1.0)
    found = test([[0, 1] * 3] * 100)
    assert found.reject
    assert 0 < found.effect_interval[0] < found.effect <= 1


def test_numbers_of_two_rows_differ_by_no_more_than_their_ranges():
    circuit = pcircuit.rat_spn([2, 3, 2, 3], num_units=3, depth=2, rng=1)
    vectors = hld.HLDTest(circuit).vectors
    rows = np.stack(np.meshgrid(*(range(c) for c in (2, 3, 2, 3)), indexing="ij"), -1).reshape(
        -1, 4
    )
    spread = np.ptp(vectors.rows(rows), axis=0)
    assert (spread <= vectors.ranges * (1 + 1e-12)).all()
    assert (vectors.ranges <= 1).all()
