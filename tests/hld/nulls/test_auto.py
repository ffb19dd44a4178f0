"""Where drawn batches end and the law begins: where the tails agree."""

import numpy as np
import pytest
import zoo
from binomial_bounds import at_most

from hld import HLDTest
from hld.features.linear_maps import Scaled
from hld.laws.auto import law_holds, settle
from hld.laws.drawn import scores_of
from hld.laws.limit_law import law_of_values
from hld.laws.null import NullOptions
from pcircuit import rat_spn


def test_draws_judge_small_batches_and_the_law_large_ones():
    test = HLDTest(
        zoo.circuits()["hclt_like"], null="auto", metric="whitened", rng=0, num_resamples=99
    )
    switch = test.calibration.null.switch
    assert switch > 1
    rows = np.zeros((switch + 1, 6), dtype=int)
    assert test(rows[: switch - 1]).null == "monte-carlo"
    assert test(rows[:switch]).null == "exact"
    assert f"T < {switch}" in test.describe()


def settled(pilot, *, B=999):
    metric = Scaled("euclidean", np.ones(pilot.shape[1]))
    law = law_of_values(np.linalg.eigvalsh(np.cov(pilot.T).reshape(pilot.shape[1], -1))[::-1])
    law = law.with_excess(float(np.var((pilot**2).sum(axis=1))))
    options = NullOptions(B, 0, np.random.default_rng(0))
    return settle(pilot - pilot.mean(axis=0), (metric,), law, options, 2000)


@pytest.mark.thorough
def test_the_law_takes_over_where_its_tails_are_those_of_draws(rng):
    """Normal rows have the law's distances at every size; rare rows of one in 500 need some hundred rows."""
    assert settled(rng.normal(size=(4000, 5)))[1] <= 8
    rare = (rng.random((4000, 1)) < 0.002) * 1.0
    drawn, switch = settled(rare - rare.mean())
    assert switch >= 200
    assert (
        switch in drawn or switch == max(drawn) + 1
    )  # the first of those that agree, or beyond all


@pytest.mark.thorough
def test_the_lattice_of_a_small_circuit_is_left_to_draws():
    """Six columns: the law rejects one in seven batches of ten rows at 0.1, though its variance is right."""
    circuit = rat_spn([2] * 6, num_units=4, depth=1, rng=3)
    test = HLDTest(
        circuit, metric=("euclidean", "standardized", "marginals", "whitened"), null="auto", rng=0
    )
    null, trials = test.calibration.null, 4000
    means = test.calibration.null.tails.reference.batch_means(10, trials, np.random.default_rng(5))
    squared = np.stack([metric.squared(means) for metric in test.calibration.metrics], axis=1)
    by_test = np.array([null.pvalue(one, 10).value for one in squared])
    by_law = null.large.law.tail(scores_of(null.laws, squared, 10)[:, -1])
    for alpha in (0.1, 0.05, 0.01):
        # the draws of the test are fixed: its level at alpha varies with them as alpha does with 999 draws
        spread = alpha + 5 * np.sqrt(alpha * (1 - alpha) / 999)
        assert (by_test <= alpha).sum() <= at_most(trials, spread)
    assert null.drawn(10) or (by_law <= 0.1).sum() <= at_most(trials, 0.1)


def test_a_law_holds_if_it_rejects_no_more_than_it_should(rng):
    law = law_of_values(np.array([1.0]))
    assert law_holds(law, rng.random(9999))
    assert law_holds(law, rng.random(9999) ** 0.5)  # too large p-values are no harm
    assert not law_holds(law, rng.random(9999) ** 1.3)
    assert not law_holds(law, np.where(rng.random(9999) < 0.01, 1e-4, rng.random(9999)))


@pytest.mark.parametrize(
    ("B", "T", "metric"),
    [
        (100_000, 2, "whitened"),
        *(
            pytest.param(1_000_000, T, metric, marks=pytest.mark.slow)
            for T in (1, 2, 5)
            for metric in ("euclidean", "whitened")
        ),
    ],
)
def test_levels_of_small_p_values(B, T, metric):
    """Levels 0.01, 0.001 and 1e-4 of the circuit's own test, by the scores of up to a million batches."""
    test = HLDTest(zoo.circuits()["hclt_like"], null="auto", metric=metric, rng=0)
    tails = test.calibration.null.tails
    means = tails.reference.batch_means(T, B, np.random.default_rng(11))
    scores = tails.laws[0].score(test.calibration.metrics[0].squared(means), T)
    found = dict.fromkeys((0.01, 0.001, 0.0001), 0)
    for score in scores[scores <= np.quantile(scores, 0.02)]:
        value = tails.pvalue(np.array([score]), T).value
        for alpha in found:
            found[alpha] += value <= alpha
    for alpha, count in found.items():
        draws = min(B for B in tails.stages(T) if alpha * (1 + B) >= 10)
        most = alpha + 5 * np.sqrt(alpha / draws)  # of the drawn tail, five standard errors
        assert count <= at_most(B, most)
    assert tails.least(T) <= 1e-5
