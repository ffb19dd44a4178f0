"""Noise for privacy: the guarantee from its definition, the sensitivity by enumeration, and the level of the test."""

import math
from dataclasses import replace

import binomial_bounds as bounds
import naive
import numpy as np
import pytest
import zoo
from scipy import integrate, stats

import hld
import pcircuit
from hld.summaries.privacy import gaussian_factor, noise_deviations, sensitivity
from hld.summaries.summary import Privacy


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (1.0, 1e-6), (5.0, 1e-2), (0.01, 0.1)])
def test_normal_noise_gives_the_guarantee_and_no_more(epsilon, delta):
    tau = gaussian_factor(epsilon, delta)
    one, two = stats.norm(0, tau), stats.norm(1, tau)
    # delta is the largest of P(A) - exp(epsilon) P'(A), reached where the densities have the ratio exp(epsilon)
    edge = 0.5 + epsilon * tau**2
    lost, _ = integrate.quad(
        lambda y: two.pdf(y) - math.exp(epsilon) * one.pdf(y),
        edge,
        edge + 12 * tau,
        epsabs=0,
        epsrel=1e-9,
    )
    assert lost == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize(
    "name", ["hclt_like", "rat_like", "mixed_categories", "zero_rows", "two_coins"]
)
def test_no_exchange_of_a_row_moves_the_sums_further(name):
    circuit = zoo.circuits()[name]
    nodes = pcircuit.select_nodes(circuit)
    vectors = naive.node_values(circuit, naive.states(circuit))[:, nodes]
    units = np.random.default_rng(0).uniform(0.5, 2.0, len(nodes))
    farthest = max(np.linalg.norm((vectors - row) / units, axis=1).max() for row in vectors)
    assert farthest <= sensitivity(circuit, nodes, units)
    inputs = np.flatnonzero(circuit.nodes.kind[nodes] == "input")  # for which the bound is reached
    farthest = max(
        np.linalg.norm(((vectors - row) / units)[:, inputs], axis=1).max() for row in vectors
    )
    assert farthest == pytest.approx(sensitivity(circuit, nodes[inputs], units[inputs]), rel=1e-9)


@pytest.mark.parametrize(
    "probs",
    [
        [0.5, 0.5 + 2**-53],
        [1 / 3, 1 / 3, 1 / 3 + 2**-54],
        [0.5 - 1e-9, 0.5 + 1e-9],
        [0.4, 0.3 + 1e-12, 0.3 - 1e-12],
        [0.2, 0.8],
    ],
)
def test_noise_protects_categories_that_are_nearly_as_frequent_as_one_another(probs):
    """The difference of large squares had left none: no noise at all, or a sensitivity of 9e7 for 1.2."""
    circuit = pcircuit.Circuit(pcircuit.VTree([-1], [0]), [pcircuit.InputRegion(0, [probs])])
    reach = max(probs) - min(probs)
    assert sensitivity(circuit, np.array([0]), np.array([0.8 * reach])) == pytest.approx(
        1.25, rel=1e-9
    )
    expected = reach * gaussian_factor(1.0, 1e-6)
    assert noise_deviations(
        circuit, np.array([0]), np.array([0.5 * reach]), 1.0, 1e-6
    ) == pytest.approx(expected, 1e-9)


@pytest.mark.parametrize("T", [7, 100])
def test_sums_that_no_row_can_change_are_what_they_are(T):
    """Rounded to 2^-20 they differed from what is expected: p = 1e-300 for a circuit in which nothing varies."""
    circuit = pcircuit.Circuit(pcircuit.VTree([-1], [0]), [pcircuit.InputRegion(0, [[1 / 3] * 3])])
    test = hld.HLDTest(circuit)
    rows = pcircuit.sample(circuit, T, rng=0)
    found = test.summarize(rows, epsilon=1.0, rng=0)
    np.testing.assert_array_equal(found.sums, test.summarize(rows).sums)
    assert test(found).pvalue == 1


def test_noise_is_of_the_stated_size():
    circuit = zoo.circuits()["two_coins"]
    test, rows = hld.HLDTest(circuit), pcircuit.sample(circuit, 20, rng=0)
    plain, deviations = (
        test.summarize(rows).sums,
        noise_deviations(circuit, test.nodes, test.stds, 1.0, 1e-6),
    )
    rng = np.random.default_rng(1)
    noisy = [test.summarize(rows, epsilon=1.0, rng=rng) for _ in range(100)]
    np.testing.assert_allclose(noisy[0].privacy.variances, deviations**2)
    moved = deviations > 0
    squares = (
        ((np.array([one.sums for one in noisy]) - plain)[:, moved] / deviations[moved]) ** 2
    ).sum(axis=0)
    low, high = stats.chi2(100).ppf([bounds.SURE, 1 - bounds.SURE])
    assert (squares > low).all()
    assert (squares < high).all()
    assert test.summarize(rows, epsilon=1.0) != test.summarize(rows, epsilon=1.0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "metric", ["euclidean", ["euclidean", "whitened"]], ids=["one metric", "two"]
)
@pytest.mark.parametrize(("null", "T"), [("exact", 400), ("auto", 6)])
def test_level_with_noise(metric, null, T):
    circuit = zoo.circuits()["hclt_like"]
    test, rng = (
        hld.HLDTest(circuit, metric=metric, null=null, num_resamples=199, rng=0),
        np.random.default_rng(2),
    )
    trials = 200
    rejected = sum(
        test(
            test.summarize(pcircuit.sample(circuit, T, rng=rng), epsilon=3.0, delta=1e-3, rng=rng)
        ).reject
        for _ in range(trials)
    )
    law = bounds.drawn(trials, 0.05, 1999) if null == "auto" else stats.binom(trials, 0.05)
    assert law.ppf(bounds.SURE) <= rejected <= law.isf(bounds.SURE)


@pytest.mark.thorough
def test_level_with_noise_against_rows():
    circuit = zoo.circuits()["hclt_like"]
    trials, rejected, rng = 100, 0, np.random.default_rng(4)
    for _ in range(trials):
        rows = pcircuit.sample(circuit, 600, rng=rng)
        test = hld.HLDTest(
            circuit, metric="standardized", reference="training", training_data=rows[:400]
        )
        part = sum(
            test.summarize(site, epsilon=3.0, delta=1e-3, rng=rng)
            for site in (rows[400:500], rows[500:])
        )
        rejected += test(part).reject
    assert bounds.at_least(trials, 0.05) <= rejected <= bounds.at_most(trials, 0.05)


def test_a_large_shift_is_found_in_the_noise():
    circuit = zoo.circuits()["two_coins"]
    test = hld.HLDTest(circuit)
    assert test(test.summarize(np.zeros((3000, 2), int), epsilon=1.0, rng=0)).reject


def test_what_has_no_guarantee_is_refused():
    circuit = zoo.circuits()["two_coins"]
    test, rows = hld.HLDTest(circuit), pcircuit.sample(circuit, 50, rng=0)
    with pytest.raises(
        ValueError, match="`rows` has 1 missing entries, expected none with `epsilon`"
    ):
        test.summarize([[0, -1]], epsilon=1.0)
    for bad in (0, -1, "a", math.nan):
        with pytest.raises((TypeError, ValueError), match="`epsilon` must be"):
            test.summarize(rows, epsilon=bad)
        with pytest.raises((TypeError, ValueError), match="`delta` must be"):
            test.summarize(rows, epsilon=1.0, delta=bad)
    holed = hld.HLDTest(
        circuit,
        null="exact",
        reference="training",
        training_data=np.append(rows, [[0, -1]], axis=0),
    )
    with pytest.raises(
        ValueError, match=r"`epsilon` asks for noise, .* without holes, found one with holes"
    ):
        holed.summarize(rows, epsilon=1.0)  # before the budget is spent
    noisy = replace(
        holed.summarize(rows), spread=None, privacy=Privacy(1.0, 1e-6, np.ones(len(holed.nodes)))
    )
    with pytest.raises(ValueError, match=r"`summary` has noise, .* a reference without holes"):
        holed(noisy)


def test_features_of_the_score_are_left_out():
    circuit = zoo.circuits()["hclt_like"]
    rows = pcircuit.sample(circuit, 300, rng=0)
    test = hld.HLDTest(
        circuit, metric=["score", "euclidean"], reference="training", training_data=rows[:200]
    )
    m = len(test.nodes)
    one, two = (test.summarize(part, epsilon=1.0, rng=1) for part in (rows[:50], rows[50:100]))
    np.testing.assert_array_equal(one.sums[m:], two.sums[m:])
    assert test(one).pvalues[0] == 1.0


def test_sums_with_and_without_noise_do_not_add_up_and_the_error_names_the_noise():
    circuit = zoo.circuits()["two_coins"]
    test, rows = hld.HLDTest(circuit), pcircuit.sample(circuit, 50, rng=0)
    plain, noisy = test.summarize(rows), test.summarize(rows, epsilon=1.0, rng=0)
    with pytest.raises(ValueError, match=r"`other` has noise for privacy.*`epsilon`"):
        plain + noisy
    with pytest.raises(ValueError, match="`other` has no noise for privacy"):
        noisy + plain


@pytest.mark.parametrize("moved", [0.0, 0.9])
def test_effects_and_nodes_allow_for_the_noise(moved):
    circuit = zoo.circuits()["hclt_like"]
    states = naive.states(circuit)
    kept = np.where(
        states[:, 0] > 0, 1.0, 1 - moved
    )  # rows with the first category are less frequent
    chances = np.exp(naive.log_likelihood(circuit, states)) * kept
    test, rng = hld.HLDTest(circuit, metric="euclidean"), np.random.default_rng(3)
    values = naive.node_values(circuit, states)[:, test.nodes]
    shift = chances @ values / chances.sum() - test.mean
    truth = np.sqrt(shift @ shift / (test.stds @ test.stds))
    results = []
    for _ in range(80):
        rows = states[rng.choice(len(states), 900, p=chances / chances.sum())]
        results.append(test(test.summarize(rows, epsilon=1.0, rng=rng)))
    missed = sum(not low <= truth <= high for low, high in (one.effect_interval for one in results))
    assert missed <= bounds.at_most(80, 0.05)
    if moved == 0:
        assert sum(one.node_pvalues.min() <= 0.05 for one in results) <= bounds.at_most(80, 0.05)
        assert sum(one.effect > 0 for one in results) <= bounds.at_most(
            80, 0.5
        )  # the law leans to the left
        nodes = [one.localize(top=None).nodes for one in results]
        zscores = np.array(
            [[one.zscore for one in sorted(each, key=lambda one: one.node)] for each in nodes]
        )
        low, high = stats.chi2(80).ppf([bounds.SURE, 1 - bounds.SURE])
        assert (low < (zscores**2).sum(axis=0)).all()
        assert ((zscores**2).sum(axis=0) < high).all()
        assert np.isnan([one.own_zscore for one in nodes[0]]).any()
