"""Holes summed out: the distance is that of marginal likelihoods, and the holes are counted."""

import naive
import numpy as np
import pytest
import zoo
from binomial_bounds import SURE
from scipy.stats import chi2, norm

from hld import HLDTest
from hld.references.holes import HolePatterns
from pcircuit import mean_node_likelihoods, sample


def test_the_distance_is_that_of_marginal_likelihoods():
    circuit = zoo.circuits()["hclt_like"]
    rows = sample(circuit, 60, rng=0).astype(np.int64)
    rows[np.random.default_rng(1).random(rows.shape) < 0.2] = -1
    test = HLDTest(circuit, missing="exact", rng=0)
    found = test(rows)
    expected = HolePatterns(circuit, test.nodes).reference(rows).mean
    difference = mean_node_likelihoods(circuit, rows, nodes=test.nodes) - expected
    assert found.statistic == pytest.approx(np.linalg.norm(difference), rel=1e-12)
    assert (found.num_samples, found.num_missing) == (60, (rows < 0).sum())
    assert 0 < found.pvalue <= 1


def with_holes(circuit, T, seed, share=0.3):
    """Rows of a circuit, with holes at random."""
    rng = np.random.default_rng(seed)
    rows = sample(circuit, T, rng=rng).astype(np.int64)
    rows[rng.random(rows.shape) < share] = -1
    return rows


@pytest.mark.parametrize("metric", ["euclidean", "standardized"])
def test_standard_deviations_are_those_of_rows_with_these_holes(metric):
    circuit = zoo.circuits()["hclt_like"]
    rows, test = with_holes(circuit, 40, 0), HLDTest(circuit, metric=metric, missing="exact")
    states = naive.states(circuit)
    p = naive.likelihood(circuit, states)
    variances = np.zeros(len(test.nodes))
    for row in rows:
        values = naive.node_values(circuit, np.where(row < 0, -1, states))[:, test.nodes]
        variances += p @ (values - p @ values) ** 2 / len(rows)
    np.testing.assert_allclose(test(rows).stds, np.sqrt(variances) * test.shown_weights, rtol=1e-9)


def test_zscores_of_unshifted_rows_are_standard_normal_and_squared_effects_have_mean_zero():
    circuit = zoo.circuits()["hclt_like"]
    test, trials, T = HLDTest(circuit, missing="exact"), 100, 500
    found = [test(with_holes(circuit, T, seed)) for seed in range(trials)]
    z = np.array([np.sqrt(T) * one.deltas / one.stds for one in found])
    squares = (z**2).sum(axis=0)  # chi-square with `trials` degrees of freedom
    assert chi2.ppf(1e-7, trials) < squares.min()
    assert squares.max() < chi2.isf(1e-7, trials)
    squared = np.array(
        [T * (one.deltas @ one.deltas) / (one.stds @ one.stds) - 1 for one in found]
    )  # of the effect
    assert abs(squared.mean()) < norm.isf(SURE) * squared.std(ddof=1) / np.sqrt(trials)
