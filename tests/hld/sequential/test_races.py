"""Races: the rank of a row, fair bets on it, and the level of many races together."""

import math

import numpy as np
import pytest
from binomial_bounds import at_most

from hld.testing import sequential as races
from hld.testing.sequential import CUTS, FIXED, KAPPA, RATE_OF, RATES, WIDTHS


def test_fixed_bets_are_densities():
    np.testing.assert_allclose(WIDTHS @ FIXED, 1.0, rtol=1e-12)
    assert (FIXED > 0).all()


def naive(bins, uniforms, counts, log_weights):
    """log w W of each race after each row, race by race and bet by bet, as the module defines them."""
    found = np.zeros(bins.shape)
    for k in range(bins.shape[1]):
        bag = [b for b, n in enumerate(counts[k]) for _ in range(n)]
        seen, wealth, log = [], races.FIRST.copy(), 0.0
        for t, b in enumerate(bins[:, k]):
            bag.append(b)
            p = (sum(one > b for one in bag) + uniforms[t] * bag.count(b)) / len(bag)
            cell = int(np.searchsorted(CUTS, p))
            factors = [1.0, *FIXED[cell]]
            for kappa, rate in zip(KAPPA, RATES[RATE_OF], strict=True):
                weights = [(1 - rate) ** (t - 1 - s) for s in range(t)]
                own = sum(w for w, c in zip(weights, seen, strict=True) if c == cell)
                factors.append((own + kappa * WIDTHS[cell]) / (sum(weights) + kappa) / WIDTHS[cell])
            seen.append(cell)
            wealth = wealth * factors
            log += math.log(wealth.sum())
            wealth = wealth / wealth.sum()
            wealth = wealth * (1 - 0.5 / (t + 1)) + races.FIRST * 0.5 / (t + 1)
            found[t, k] = log + log_weights[k]
    return found


def test_wealth_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    bins, counts = rng.integers(0, 5, (40, 3)), rng.integers(0, 6, (3, 66)) * (np.arange(66) < 6)
    uniforms, log_weights = rng.random(40), np.log([0.5, 0.3, 0.2])
    state = races.first_races(counts)
    evidence, leaders = races.advance(bins[:25], uniforms[:25], state, log_weights, 0)
    more, last = races.advance(bins[25:], uniforms[25:], state, log_weights, 25)
    expected = naive(bins, uniforms, counts, log_weights)
    np.testing.assert_allclose(np.append(evidence, more), expected.max(axis=1), rtol=1e-9)
    assert np.array_equal(np.append(leaders, last), expected.argmax(axis=1))
    assert np.array_equal(state.counts.sum(axis=1), counts.sum(axis=1) + 40)
    np.testing.assert_allclose(state.money.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("num_reference", [10, 200])
def test_false_alarms_are_bounded_for_any_law_with_ties(num_reference):
    rng, alarms, streams = np.random.default_rng(1), 0, 100
    laws = [rng.dirichlet(np.full(66, 0.1)), np.full(66, 1 / 66), np.eye(66)[3] * 0.9 + 0.1 / 66]
    for _ in range(streams):
        drawn = np.stack([rng.choice(66, num_reference + 150, p=law) for law in laws], axis=1)
        counts = np.stack([np.bincount(one, minlength=66) for one in drawn[:num_reference].T])
        state = races.first_races(counts)
        evidence, _ = races.advance(
            drawn[num_reference:], rng.random(150), state, np.log(np.full(3, 1 / 3)), 0
        )
        alarms += evidence.max() >= math.log(1 / 0.1)
    assert alarms <= at_most(streams, 0.1)


def test_uniform_numbers_do_not_depend_on_how_they_are_asked_for():
    whole = races.uniform_numbers(3, 0, 3000)
    parts = [races.uniform_numbers(3, 0, 1000), races.uniform_numbers(3, 1000, 2000)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert len(races.uniform_numbers(3, 5, 0)) == 0
