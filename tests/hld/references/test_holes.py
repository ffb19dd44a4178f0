"""Batches with holes: exact moments of marginal likelihoods, calibration without filling, and power."""

import naive
import numpy as np
import pytest
import zoo
from binomial_bounds import at_least, at_most

from hld import HLDTest, select_nodes
from hld.references.holes import HolePatterns
from pcircuit import rat_spn, sample


@pytest.mark.parametrize(
    "name", ["hclt_like", "rat_like", "irregular_csr", "mixed_categories", "deterministic", "unary"]
)
def test_moments_of_a_pattern_equal_enumeration(name, rng):
    circuit = zoo.circuits()[name]
    nodes = select_nodes(circuit)
    states = naive.states(circuit)
    p = naive.likelihood(circuit, states)
    for _ in range(3):
        pattern = rng.random(circuit.num_variables) < 0.4
        holes = np.where(pattern, -1, states)
        L = naive.node_values(circuit, holes)[:, nodes]
        mean, covariance = HolePatterns(circuit, nodes).moments(pattern)
        np.testing.assert_allclose(mean, p @ L, rtol=1e-11)
        np.testing.assert_allclose(
            covariance, (L - p @ L).T * p @ (L - p @ L), rtol=1e-9, atol=1e-14
        )


def test_the_reference_of_a_batch_averages_over_its_patterns(rng):
    circuit = zoo.circuits()["hclt_like"]
    patterns = HolePatterns(circuit, select_nodes(circuit))
    kinds = rng.random((3, circuit.num_variables)) < 0.4
    which = np.array([0, 1, 0, 2, 0])
    mean, covariance = patterns.of_batch(np.where(kinds[which], -1, 0))
    parts = [patterns.moments(kinds[i]) for i in which]
    np.testing.assert_allclose(mean, np.mean([mean for mean, _ in parts], axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        covariance, np.mean([S for _, S in parts], axis=0), rtol=1e-12, atol=1e-16
    )


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["euclidean", ("euclidean", "whitened")])
def test_level_and_power_with_holes(metric):
    circuit = rat_spn([2, 3, 2, 4, 2, 2, 3, 2], num_units=4, depth=2, rng=7)
    test, trials, T = (
        HLDTest(circuit, metric=metric, missing="exact", num_train=10**9, rng=0),
        300,
        400,
    )
    trials = (
        trials if metric == "euclidean" else 60
    )  # each takes the eigenvalues of its own pattern
    rng = np.random.default_rng(0)
    kinds = rng.random((6, 8)) < 0.4  # six patterns
    rejected = 0
    for seed in range(trials):
        batch = np.where(
            kinds[rng.integers(0, 6, T)], -1, sample(circuit, T, rng=seed).astype(np.int64)
        )
        result = test(batch)
        rejected += result.reject
    assert rejected <= at_most(trials, 0.05)
    if metric == "euclidean":  # several metrics are combined by a bound here
        assert rejected >= at_least(trials, 0.05)
    assert result.num_missing == (batch < 0).sum()
    shifted = np.where(kinds[rng.integers(0, 6, T)], -1, np.zeros((T, 8), dtype=np.int64))
    assert test(shifted).reject
    full = sample(circuit, T, rng=1)  # without holes it is the plain test
    assert test(full).pvalue == HLDTest(circuit, metric=metric, num_train=10**9, rng=0)(full).pvalue
