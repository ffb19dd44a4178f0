"""Batches by their sums: with holes each metric has its law, or says nothing where holes could widen it."""

from dataclasses import replace

import naive
import numpy as np
import pytest
import zoo

from hld import HLDTest
from hld.references.holes import HolePatterns
from hld.testing.summaries.summing import confirmed_by_spread
from hld.testing.verdict import all_shown, compared, judge_summary
from pcircuit import mean_node_likelihoods, rat_spn, sample

CIRCUIT = zoo.circuits()["hclt_like"]
ROWS = sample(CIRCUIT, 90, rng=1).astype(np.int64)
HOLED = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.1, -1, ROWS)


def against_rows(metric):
    return HLDTest(
        CIRCUIT,
        metric=metric,
        reference="training",
        missing="available",
        rng=0,
        training_data=sample(CIRCUIT, 200, rng=0),
    )


def test_the_distance_is_that_of_the_rows_that_show_a_node():
    test = against_rows("euclidean")
    found, seen = judge_summary(test, test.summarize(HOLED), 0.05), test.vectors.seen(HOLED)
    L, counts = (
        np.where(seen, naive.node_values(CIRCUIT, HOLED)[:, test.nodes], 0.0),
        seen.sum(axis=0),
    )
    g = np.sqrt((1 / 90 + 1 / 200) / (1 / counts + 1 / 200))
    assert found.statistic == pytest.approx(
        np.linalg.norm(g * (L.sum(axis=0) / counts - test.mean)), rel=1e-9
    )
    assert found.num_missing == (HOLED < 0).sum()


def test_small_pvalues_of_single_rows_with_holes_are_checked():
    """Nothing has ranked them, so none is smaller than what the pooled covariance allows."""
    circuit = rat_spn([6] * 6, num_units=3, depth=1, rng=4)
    test = HLDTest(
        circuit,
        metric="euclidean",
        null="auto",
        reference="training",
        missing="available",
        rng=0,
        training_data=sample(circuit, 200, rng=0),
    )
    parts, small, rows = test.calibration, 0, sample(circuit, 200, rng=1).astype(np.int64)
    rows[np.random.default_rng(2).random(rows.shape) < 0.2] = -1
    for row in rows[(rows < 0).any(axis=1)]:
        summary = test.summarize(row[None])
        found = judge_summary(test, summary, 0.05)
        one = compared(test, replace(all_shown(summary.means, 1), counts=summary.seen))
        squared, stretch = np.array([found.statistic**2]), one.factors.max()
        spread = parts.kept, parts.metrics, summary.arrays, one.deltas
        (allowed,) = confirmed_by_spread(*spread, squared, 1, stretch, held=parts.kept.num_rows)
        small += found.pvalue < 0.25
        assert found.pvalue >= min(allowed, 0.25) * (1 - 1e-9)
    assert small


def with_holes(circuit, T, seed, share=0.3):
    """Rows of a circuit, with holes at random."""
    rng = np.random.default_rng(seed)
    rows = sample(circuit, T, rng=rng).astype(np.int64)
    rows[rng.random(rows.shape) < share] = -1
    return rows


@pytest.mark.parametrize("metric", ["euclidean", "standardized"])
def test_distances_and_deviations_are_those_of_rows_with_these_holes(metric):
    circuit = zoo.circuits()["hclt_like"]
    rows, test = with_holes(circuit, 40, 0), HLDTest(circuit, metric=metric, missing="exact")
    found, mean = test(rows), HolePatterns(circuit, test.nodes).of_batch(rows)[0]
    difference = mean_node_likelihoods(circuit, rows, nodes=test.nodes) - mean
    distance = np.linalg.norm(difference * test.shown_weights)
    assert found.statistic == pytest.approx(distance, rel=1e-12)
    assert (found.num_samples, found.num_missing) == (40, (rows < 0).sum())
    assert 0 < found.pvalue <= 1
    states = naive.states(circuit)
    p = naive.likelihood(circuit, states)
    variances = np.zeros(len(test.nodes))
    for row in rows:
        values = naive.node_values(circuit, np.where(row < 0, -1, states))[:, test.nodes]
        variances += p @ (values - p @ values) ** 2 / len(rows)
    np.testing.assert_allclose(found.stds, np.sqrt(variances) * test.shown_weights, rtol=1e-9)
