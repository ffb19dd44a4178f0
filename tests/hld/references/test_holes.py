"""Batches with holes: exact moments of marginal likelihoods, calibration without filling, and power."""
import naive
import numpy as np
import pytest
import zoo
from scipy.stats import binom

from hld import HLDTest, select_nodes
from hld.metrics.metric import build_metric
from hld.nulls.limit_law import law_in_metric
from hld.references.holes import PatternMoments
from pcircuit import rat_spn, sample
from pcircuit.moments.moments import exact_moments

SURE = 5e-7


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
        mean, covariance = PatternMoments(circuit, nodes).of_pattern(pattern)
        np.testing.assert_allclose(mean, p @ L, rtol=1e-11)
        np.testing.assert_allclose(covariance, (L - p @ L).T * p @ (L - p @ L), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("metric", ["euclidean", "standardized", "whitened"])
def test_a_complete_covariance_gives_the_metrics_own_law(metric):
    moments = exact_moments(zoo.circuits()["hclt_like"])
    form, values = build_metric(
        metric, lambda w: moments if w is None else exact_moments(moments.circuit, node_weights=w)
    )
    law = law_in_metric(form, moments.covariance())
    np.testing.assert_allclose(law.eigenvalues, np.sort(values[0])[::-1], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", ("euclidean", "whitened")])
def test_level_and_power_with_holes(metric):
    circuit = rat_spn([2, 3, 2, 4, 2, 2, 3, 2], num_units=4, depth=2, rng=7)
    test, trials, T = HLDTest(circuit, metric=metric, missing="exact", num_train=10 ** 9, rng=0), 300, 400
    rng = np.random.default_rng(0)
    kinds = rng.random((6, 8)) < 0.4  # six patterns
    rejected = 0
    for seed in range(trials):
        batch = np.where(kinds[rng.integers(0, 6, T)], -1, sample(circuit, T, rng=seed).astype(np.int64))
        result = test(batch)
        rejected += result.reject
    assert rejected <= binom.isf(SURE, trials, 0.05)
    if metric == "euclidean":  # several metrics are combined by a bound here
        assert rejected >= binom.ppf(SURE, trials, 0.05)
    assert result.num_missing == (batch < 0).sum()
    shifted = np.where(kinds[rng.integers(0, 6, T)], -1, np.zeros((T, 8), dtype=np.int64))
    assert test(shifted).reject
    full = sample(circuit, T, rng=1)  # without holes it is the plain test
    assert test(full).pvalue == HLDTest(circuit, metric=metric, num_train=10 ** 9, rng=0)(full).pvalue


def test_options_that_do_not_go_together():
    circuit = zoo.circuits()["two_coins"]
    for options in (
        {"null": "monte-carlo"},
        {"null": "normal"},
        {"reference": "training", "training_data": [[0, 0]] * 3},
    ):
        with pytest.raises(ValueError, match="`missing` must be 'complete', or 'exact' with"):
            HLDTest(circuit, missing="exact", **options)
    with pytest.raises(ValueError, match="`missing` must be"):
        HLDTest(circuit, missing="ignore")
