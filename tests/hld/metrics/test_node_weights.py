"""Metrics that weigh nodes: against deviations by enumeration, and where a node does not vary."""

import naive
import numpy as np
import pytest
import zoo

import hld
import pcircuit
from hld.features.score_features import FLOOR, score_variances
from hld.references.circuit import CircuitReference
from hld.references.rows import row_reference
from hld.witnesses.metrics.maps import LEAST, euclidean, standardized
from hld.witnesses.metrics.named import build_metric
from pcircuit import Circuit, InputRegion, VTree


def deviations(circuit, nodes):
    return np.sqrt(np.diagonal(naive.hlv_moments(circuit, nodes)[1]))


@pytest.mark.parametrize("name", ["hclt_like", "rat_like", "nary", "zero_rows"])
def test_weights_are_one_and_one_by_the_deviation_of_the_circuit(name, rng):
    circuit = zoo.circuits()[name]
    nodes = pcircuit.select_nodes(circuit)
    reference, stds = CircuitReference(circuit, nodes), deviations(circuit, nodes)
    np.testing.assert_array_equal(euclidean(reference).weights, np.ones(len(nodes)))
    expected = 1 / np.maximum(stds, LEAST * stds.max())
    np.testing.assert_allclose(standardized(reference).weights, expected, rtol=1e-6)
    differences = rng.normal(size=(4, len(nodes)))
    np.testing.assert_allclose(
        euclidean(reference).squared(differences), (differences**2).sum(axis=1), rtol=1e-13
    )
    found = standardized(reference).squared(differences)
    np.testing.assert_allclose(found, differences**2 @ expected**2, rtol=1e-6)


def test_the_deviation_is_that_of_the_circuit_also_where_rows_are_the_reference():
    """Three rows that are alike have none."""
    circuit = zoo.circuits()["hclt_like"]
    nodes = pcircuit.select_nodes(circuit)
    reference = row_reference(circuit, nodes, np.zeros((3, circuit.num_variables), dtype=int))
    np.testing.assert_allclose(
        standardized(reference).weights, 1 / deviations(circuit, nodes), rtol=1e-6
    )


def test_nodes_that_do_not_vary_have_the_least_deviation_or_weight_one():
    circuit, constant = zoo.with_constants(3)
    nodes = np.flatnonzero(constant)[:1].tolist() + pcircuit.select_nodes(circuit, "input").tolist()
    weights = standardized(CircuitReference(circuit, np.sort(nodes))).weights
    assert weights.max() == pytest.approx(
        1 / (LEAST * deviations(circuit, np.sort(nodes)).max()), rel=1e-6
    )
    sure = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5]])])
    np.testing.assert_array_equal(
        standardized(CircuitReference(sure, np.array([0]))).weights, [1.0]
    )


CIRCUIT = pcircuit.rat_spn([2, 3, 2, 3, 2, 2], num_units=3, depth=2, rng=3)


def against_rows(n, seed=0, metric="score"):
    """A test against n rows of the circuit."""
    rows = pcircuit.sample(CIRCUIT, n, rng=[seed, 1])
    return hld.HLDTest(
        CIRCUIT,
        metric=metric,
        null="auto",
        reference="training",
        training_data=rows,
        rng=seed,
        num_resamples=99,
    ), rows


def test_the_distance_is_that_of_standardised_mean_scores():
    test, rows = against_rows(200)
    batch = pcircuit.sample(CIRCUIT, 40, rng=5)
    shift = pcircuit.mean_score(CIRCUIT, batch) - pcircuit.mean_score(CIRCUIT, rows)
    expected = (shift**2 / (score_variances(CIRCUIT) + FLOOR)).sum()
    found = test(batch)
    assert found.statistic == pytest.approx(np.sqrt(expected), rel=1e-9)
    assert (
        found.pvalue == pytest.approx(test.judge(test.vectors.mean(batch), 40).pvalue)
        or found.pvalue < 0.25
    )
    assert len(found.deltas) == len(test.nodes) < len(test.mean)


@pytest.mark.parametrize(
    ("n", "T", "metric", "seeds"),
    [
        (40, 6, "score", 8),
        (200, 30, "score", 8),
        *(
            pytest.param(n, T, metric, 30, marks=pytest.mark.slow)
            for n, T in ((40, 1), (40, 8), (300, 20), (300, 300))
            for metric in ("score", ("euclidean", "marginals", "score"))
        ),
    ],
)
def test_the_level_holds(n, T, metric, seeds):
    """Splits of 12 batches each: rejections of one split go together, so a split counts as one trial."""
    rates = [rejections(n, T, seed, metric, 12) for seed in range(seeds)]
    error = max(np.std(rates) / np.sqrt(seeds), np.sqrt(0.1 * 0.9 / (12 * seeds)))
    assert np.mean(rates) <= 0.1 + 3.3 * error


def rejections(n, T, seed, metric, count):
    """Share of unshifted batches that one test rejects at 0.1."""
    test, _ = against_rows(n, seed, metric)
    batches = pcircuit.sample(CIRCUIT, count * T, rng=[seed, 2]).reshape(count, T, -1)
    return np.mean([test(batch).pvalue <= 0.1 for batch in batches])


def test_lost_dependence_is_found():
    rng = np.random.default_rng(0)
    table = np.repeat(
        rng.integers(0, 2, (3000, 4)), 2, axis=1
    )  # columns 0, 1 alike, 2, 3 alike, ...
    table = np.where(rng.random(table.shape) < 0.05, 1 - table, table)
    detector = hld.HLDDetector(metric="score", num_epochs=30, num_resamples=99).fit(table[:2000])
    found = []
    for trial in range(10):
        batch = table[2000 + 100 * trial : 2100 + 100 * trial].copy()
        assert detector.test(batch).pvalue > 1e-4
        batch[:, 5] = table[rng.integers(0, 2000, 100), 5]
        found.append(detector.test(batch).reject)
    assert sum(found) >= 9


def test_rows_with_holes_say_nothing_and_the_others_still_count():
    test, _ = against_rows(300)
    batch = pcircuit.sample(CIRCUIT, 60, rng=5).astype(int)
    batch[:20, 2] = -1
    assert 0 < test(batch).pvalue <= 1
    batch[:, 2] = -1
    assert test(batch).pvalue == 1.0


def test_the_circuit_as_reference_is_refused():
    for make in (
        lambda: hld.HLDTest(CIRCUIT, metric="score"),
        lambda: build_metric("score", CircuitReference(CIRCUIT, hld.select_nodes(CIRCUIT))),
    ):
        with pytest.raises(ValueError, match="'score' compares rows with rows: use reference="):
            make()
