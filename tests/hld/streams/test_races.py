"""Races: bets are fair, p-values uniform by enumeration, both texts agree."""
import numpy as np
import pytest
from engines import HAS_NUMBA

from hld.streams.races import BINS, FACTORS, FIRST, NUM_BETS, SHARE, THRESHOLDS, advance, bin_edges, no_races, start


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
            advance(scores[last].reshape(1, 1), np.array([u]), races, evidence, np.empty(1, np.int64))
            paid = FIRST * FACTORS / (FACTORS @ FIRST)[:, None]
            found[np.abs(races.money[0] - (paid + FIRST) / 2).sum(axis=1).argmin()] += 1  # half is given out again
    widths = np.diff(np.concatenate([[0.0], THRESHOLDS, [1.0]]))
    np.testing.assert_allclose(found / found.sum(), widths, atol=2 / 200)


def test_bins_tell_few_values_apart_and_many_by_quantiles():
    few = np.array([0.1, 0.1, 0.4, 0.9])
    np.testing.assert_allclose(bin_edges(few), [0.1, 0.25, 0.65, 0.9])
    many = bin_edges(np.random.default_rng(0).normal(size=5000))
    assert len(many) == BINS - 1
    counts = np.bincount(np.searchsorted(many, np.random.default_rng(1).normal(size=64_000)), minlength=BINS)
    assert counts[2:-2].min() > 500


def test_what_no_row_showed_is_in_bins_of_its_own():
    """It was in those of the smallest and of the largest score: a missing cell was like the most frequent level."""
    for scores in (np.array([0.1, 0.1, 0.4, 0.9]), np.full(9, 0.3), np.random.default_rng(0).normal(size=500)):
        edges = bin_edges(scores)
        found = np.searchsorted(edges, [*scores, scores.min() - 1e-6, scores.max() + 1e-6], side="right")
        assert found[-2:].tolist() == [0, len(edges)]
        assert set(found[:-2].tolist()) <= set(range(1, len(edges)))


@pytest.mark.skipif(not HAS_NUMBA, reason="Numba is not installed")
def test_the_compiled_text_does_the_same():
    from hld.streams.kernel import advance as compiled
    rng = np.random.default_rng(2)
    both = [no_races(5), no_races(5)]
    trained, reference = rng.normal(size=(4, 80)).round(1), rng.normal(size=(4, 200)).round(1)
    scores, uniforms = rng.normal(size=(300, 5)).round(1) + 0.3, rng.random(300)
    for races in both:
        for k in range(4):  # the fifth is not run
            start(races, k, trained[k], reference[k], -1.0 - k)
    out = [(np.empty(300), np.empty(300, np.int64)) for _ in both]
    advance(scores, uniforms, both[0], *out[0])
    compiled(scores, uniforms, both[1], THRESHOLDS, FACTORS, FIRST, SHARE, *out[1])
    np.testing.assert_allclose(out[0][0], out[1][0], atol=1e-10)
    assert (out[0][1] == out[1][1]).all()
    for name in ("counts", "money", "log", "ages"):
        np.testing.assert_allclose(getattr(both[0], name)[:4], getattr(both[1], name)[:4], atol=1e-10)
