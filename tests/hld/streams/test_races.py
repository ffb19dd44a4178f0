"""Races: bets are fair, p-values uniform by enumeration, bins tell scores apart."""

import numpy as np
import pytest

from hld.streams.races import (
    BINS,
    FACTORS,
    FIRST,
    NUM_BETS,
    THRESHOLDS,
    advance,
    bin_edges,
    no_races,
    start,
)


def test_every_bet_is_fair_under_a_uniform_p_value():
    widths = np.diff(np.concatenate([[0.0], THRESHOLDS, [1.0]]))
    np.testing.assert_allclose(widths @ FACTORS, np.ones(NUM_BETS), rtol=1e-14)
    assert FACTORS.min() > 0
    assert FIRST.sum() == pytest.approx(1)


def test_ranks_among_exchangeable_scores_are_uniform_whatever_the_ties_are():
    """Each of six scores the last one, over a grid of uniform numbers: how often the bets of each interval pay."""
    scores, grid = np.array([1.0, 1.0, 2.0, 5.0, 5.0, 5.0]), (np.arange(200) + 0.5) / 200
    found = np.zeros(len(FACTORS))
    for last in range(len(scores)):
        for u in grid:
            races, evidence = no_races(1), np.empty(1)
            start(races, 0, scores, np.delete(scores, last), 0.0)
            advance(
                scores[last].reshape(1, 1), np.array([u]), races, evidence, np.empty(1, np.int64)
            )
            paid = FIRST * FACTORS / (FACTORS @ FIRST)[:, None]
            found[np.abs(races.money[0] - (paid + FIRST) / 2).sum(axis=1).argmin()] += (
                1  # half is given out again
            )
    widths = np.diff(np.concatenate([[0.0], THRESHOLDS, [1.0]]))
    np.testing.assert_allclose(found / found.sum(), widths, atol=2 / 200)


def test_bins_tell_few_values_apart_and_many_by_quantiles():
    few = np.array([0.1, 0.1, 0.4, 0.9])
    np.testing.assert_allclose(bin_edges(few), [0.1, 0.25, 0.65, 0.9])
    many = bin_edges(np.random.default_rng(0).normal(size=5000))
    assert len(many) == BINS - 1
    counts = np.bincount(
        np.searchsorted(many, np.random.default_rng(1).normal(size=64_000)), minlength=BINS
    )
    assert counts[2:-2].min() > 500


def test_what_no_row_showed_is_in_bins_of_its_own():
    """It was in those of the smallest and of the largest score: a missing cell was like the most frequent level."""
    for scores in (
        np.array([0.1, 0.1, 0.4, 0.9]),
        np.full(9, 0.3),
        np.random.default_rng(0).normal(size=500),
    ):
        edges = bin_edges(scores)
        found = np.searchsorted(
            edges, [*scores, scores.min() - 1e-6, scores.max() + 1e-6], side="right"
        )
        assert found[-2:].tolist() == [0, len(edges)]
        assert set(found[:-2].tolist()) <= set(range(1, len(edges)))
