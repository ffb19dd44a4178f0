"""Features of the score: norms kept, two-valued units halved, and what a vector of a row holds."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from hld.vectors.row_vectors import RowVectors
from hld.vectors.score_features import FLOOR, score_features, score_variances


@pytest.mark.parametrize("name", zoo.circuits())
def test_with_a_place_for_each_the_norm_is_that_of_all_standardised_scores(name):
    circuit = zoo.circuits()[name]
    features, rows = score_features(circuit, most=10**6), naive.states(circuit)[:20]
    scores = pcircuit.scores(circuit, rows)
    expected = (scores**2 / (score_variances(circuit) + FLOOR)).sum(axis=1)
    found = features.of_rows(circuit, rows)
    np.testing.assert_allclose((found**2).sum(axis=1), expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found, features.of_scores(scores), atol=1e-12)
    assert sorted(set(features.places.tolist())) == list(range(features.num_features))


def test_variances_are_those_of_the_circuit():
    circuit = zoo.circuits()["hclt_like"]
    states = naive.states(circuit)
    exact = naive.likelihood(circuit, states) @ pcircuit.scores(circuit, states) ** 2
    fourth = naive.likelihood(circuit, states) @ pcircuit.scores(circuit, states) ** 4
    error = np.sqrt(np.maximum(fourth - exact**2, 0) / 2000)  # of 2,000 drawn rows
    assert (np.abs(score_variances(circuit) - exact) <= 5 * error + 1e-15).all()


@pytest.mark.thorough
def test_shared_places_keep_the_sum_of_squares_in_the_mean_over_signs(monkeypatch, rng):
    circuit = pcircuit.rat_spn([3] * 8, num_units=4, depth=2, rng=1)
    rows = pcircuit.sample(circuit, 200, rng=2)
    whole = score_features(circuit, most=10**6).of_rows(circuit, rows).mean(axis=0)
    few, score = [], pcircuit.mean_score(circuit, rows)
    for seed in range(200):
        monkeypatch.setattr("hld.vectors.score_features.SEED", seed)
        features = score_features(circuit, most=64)
        assert features.num_features == 64
        few.append(float((features.of_scores(score) ** 2).sum()))
    # variances are drawn anew with each seed, which moves a floor of 1e-3 by less than a tenth
    assert (
        abs(np.mean(few) / (whole @ whole) - 1)
        < 5 * np.std(few) / np.sqrt(200) / (whole @ whole) + 0.1
    )


def test_vectors_hold_likelihoods_and_features_and_only_complete_rows_show_these(rng):
    circuit = zoo.circuits()["mixed_categories"]
    nodes = pcircuit.select_nodes(circuit)
    vectors = RowVectors(circuit, nodes, score_features(circuit))
    rows = pcircuit.sample(circuit, 30, rng=0).astype(int)
    table, m = vectors.rows(rows), len(nodes)
    np.testing.assert_allclose(table[:, :m], pcircuit.node_likelihoods(circuit, rows, nodes=nodes))
    np.testing.assert_allclose(vectors.mean(rows), table.mean(axis=0), atol=1e-12)
    assert vectors.size == table.shape[1] == m + vectors.features.num_features
    rows[3, 0] = -1
    assert not vectors.seen(rows)[3, m:].any()
    assert np.delete(vectors.seen(rows), 3, axis=0).all()
