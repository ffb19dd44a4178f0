"""Batches drawn when one is tested: stages, their p-values and thresholds."""

import numpy as np
import pytest
import zoo
from binomial_bounds import SURE, at_least, at_most
from scipy.stats import binom

from hld import exact_moments
from hld.features.linear_maps import Scaled
from hld.laws import drawn as staged
from hld.laws.drawn import STOP, StagedTails, scores_of
from hld.laws.limit_law import limit_laws
from hld.references.circuit import CircuitReference


def tails(num_resamples=99, seed=0, *, metrics=1):
    circuit = zoo.circuits()["two_coins"]
    reference = CircuitReference(circuit, exact_moments(circuit).nodes)
    maps = tuple(Scaled(str(i), np.arange(1.0, 6.0) ** i) for i in range(metrics))
    return StagedTails(limit_laws(reference, maps), reference, maps, num_resamples, seed)


class Uniform:
    """Scores that are drawn uniformly, so that their p-values are known."""

    def __init__(self, num_resamples=99, seed=0):
        self.tails = StagedTails((self,), self, (self,), num_resamples, seed)
        self.nodes = np.zeros(1)

    def batch_means(self, T, B, rng):
        return rng.random((B, 1))

    def squared(self, means):
        return means[:, 0]

    def score(self, squared, T):
        return squared


def test_stages_grow_tenfold_up_to_what_rows_and_values_allow(monkeypatch):
    null = tails(999)
    assert null.stages(1) == [999, 9_999, 99_999, 999_999]
    assert null.stages(10) == [999, 9_999, 99_999]
    assert null.stages(3) == [999, 9_999, 99_999, 333_333]
    assert null.stages(400) == [999, 2_500]  # less than ten times as many, if it is more than twice
    assert null.stages(510) == null.stages(3_000) == [999]
    monkeypatch.setattr(staged, "MOST_VALUES", 5 * 1_500 * 10)
    assert null.stages(10) == [999]
    assert null.least(10) == 0.001


def test_most_batches_are_judged_by_the_first_stage_and_odd_ones_by_more():
    null = Uniform().tails
    for score, draws in ((0.5, 99), (0.02, 999), (2e-4, 99_999), (0.0, 999_999)):
        found = null.pvalue(np.array([score]), 1)
        assert found.draws == draws
        low, high = (law(SURE, draws, score) for law in (binom.ppf, binom.isf))
        assert (1 + low) / (1 + draws) <= found.value <= 1.02 * (1 + high) / (1 + draws)
    assert null.pvalue(np.array([0.0]), 1).value == 1e-6 == null.least(1)


def test_staged_p_values_are_valid_at_every_level(monkeypatch):
    """Uniform scores, each with draws of its own: p <= a at most with probability a, for levels between the stages."""
    monkeypatch.setattr(staged, "MOST_ROWS", 1999)
    trials, rng = 4000, np.random.default_rng(0)
    values = []
    for seed in range(trials):
        null = Uniform(19, seed).tails
        values.append(null.pvalue(rng.random(1), 1).value)
    values = np.array(values)
    for alpha in (0.002, 0.005, 0.01, 0.03, 0.05, 0.055, 0.06, 0.1, 0.3, 0.5, 0.55, 0.7):
        assert (values <= alpha * (1 + 1e-12)).sum() <= at_most(trials, alpha)
    assert (values <= 0.05).sum() >= at_least(trials, 0.045)


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.01, 1e-3, 1e-4])
def test_thresholds_part_what_is_rejected_by_the_stage_that_judges(alpha):
    null = Uniform().tails
    for score in [*np.random.default_rng(1).random(60), *10.0 ** -np.linspace(0, 5, 60)]:
        found = null.pvalue(np.array([score]), 1)
        threshold = null.threshold(alpha, 1, found.draws)
        if abs(score - threshold) > 1e-8 * threshold:
            assert (found.value <= alpha) == (score < threshold)


def test_what_is_drawn_depends_on_seed_size_and_stage_only():
    null, again = tails(), tails()
    again.tails(7, 0)
    again.tails(3, 1)
    for stage in (0, 1):
        np.testing.assert_array_equal(
            null.tails(3, stage)[0].values, again.tails(3, stage)[0].values
        )
    assert not np.array_equal(null.tails(3, 0)[0].values, tails(seed=1).tails(3, 0)[0].values)
    assert not np.array_equal(null.tails(3, 0)[0].values, null.tails(4, 0)[0].values)


def test_several_metrics_are_judged_together():
    null = tails(199, metrics=3)
    scores = scores_of(null.laws, np.array([[0.5, 1.0, 9.0]]), 4)[0]
    found = null.pvalue(scores, 4)
    assert len(found.each) == 3
    assert min(scores[:3]) <= scores[3] <= 3 * min(scores[:3])  # a harmonic mean
    judged = null.tails(4, null.stages(4).index(found.draws))
    assert (*found.each, found.value) == tuple(
        tail.pvalue(one) for tail, one in zip(judged, scores, strict=True)
    )
    assert found.draws == 199 or null.tails(4, 0)[-1].count(scores[-1]) < STOP
