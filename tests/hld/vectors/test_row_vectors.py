"""Vectors of rows: what rounding may do to them, with features of the score and without."""
import numpy as np
import zoo

import pcircuit
from hld.vectors import row_vectors
from hld.vectors.row_vectors import RowVectors, circuit_depth, largest_factors
from hld.vectors.score_features import score_features


def test_errors_of_rounding_have_an_entry_for_each_number():
    circuit = zoo.circuits()["hclt_like"]
    nodes, features = pcircuit.select_nodes(circuit), score_features(circuit)
    rows, m, eps = pcircuit.sample(circuit, 100, rng=0), len(nodes), np.finfo(float).eps
    plain, with_features = RowVectors(circuit, nodes), RowVectors(circuit, nodes, features)
    mean = with_features.mean(rows)
    assert len(mean) == with_features.size == m + features.num_features
    errors, likelihoods = with_features.rounding(mean, 100), plain.rounding(mean[:m], 100)
    np.testing.assert_array_equal(errors[:m], likelihoods)
    np.testing.assert_allclose(likelihoods, (pcircuit.rounding_errors(circuit, nodes) + 100 * eps) * mean[:m])
    np.testing.assert_allclose(errors[m:], (circuit_depth(circuit) + 100) * eps * largest_factors(features))
    reversed_mean = with_features.mean(rows[::-1])
    assert (abs(reversed_mean - mean) <= errors).all()  # another order of the same sums


def test_vectors_are_likelihoods_and_features_however_many_rows_are_held_at_a_time(monkeypatch):
    circuit = zoo.circuits()["hclt_like"]
    nodes, features = pcircuit.select_nodes(circuit), score_features(circuit)
    rows = pcircuit.sample(circuit, 53, rng=0)
    expected = np.hstack([pcircuit.node_likelihoods(circuit, rows, nodes=nodes),
                          pcircuit.scores(circuit, rows) @ features.matrix.toarray()])
    monkeypatch.setattr(row_vectors, "BLOCK_ROWS", 10)
    np.testing.assert_allclose(RowVectors(circuit, nodes, features).rows(rows), expected, rtol=1e-12, atol=1e-12)
