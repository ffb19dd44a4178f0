"""Vectors of rows: what rounding may do to them, with features of the score and without."""

import numpy as np
import pytest
import zoo

import pcircuit
from hld.vectors import row_vectors
from hld.vectors.row_vectors import RowVectors, circuit_depth, largest_factors, some_rows
from hld.vectors.score_features import score_features
from pcircuit.moments.rounding import rounding_errors


def test_errors_of_rounding_have_an_entry_for_each_number():
    circuit = zoo.circuits()["hclt_like"]
    nodes, features = pcircuit.select_nodes(circuit), score_features(circuit)
    rows, m, eps = pcircuit.sample(circuit, 100, rng=0), len(nodes), np.finfo(float).eps
    plain, with_features = RowVectors(circuit, nodes), RowVectors(circuit, nodes, features)
    mean = with_features.mean(rows)
    assert len(mean) == with_features.size == m + features.num_features
    errors, likelihoods = with_features.rounding(mean, 100), plain.rounding(mean[:m], 100)
    np.testing.assert_array_equal(errors[:m], likelihoods)
    np.testing.assert_allclose(
        likelihoods, (rounding_errors(circuit, nodes) + 100 * eps) * mean[:m]
    )
    np.testing.assert_allclose(
        errors[m:], (circuit_depth(circuit) + 100) * eps * largest_factors(features)
    )
    reversed_mean = with_features.mean(rows[::-1])
    assert (abs(reversed_mean - mean) <= errors).all()  # another order of the same sums


def test_vectors_are_likelihoods_and_features_however_many_rows_are_held_at_a_time(monkeypatch):
    circuit = zoo.circuits()["hclt_like"]
    nodes, features = pcircuit.select_nodes(circuit), score_features(circuit)
    rows = pcircuit.sample(circuit, 53, rng=0)
    expected = np.hstack(
        [
            pcircuit.node_likelihoods(circuit, rows, nodes=nodes),
            pcircuit.scores(circuit, rows) @ features.matrix.toarray(),
        ]
    )
    monkeypatch.setattr(row_vectors, "BLOCK_ROWS", 10)
    np.testing.assert_allclose(
        RowVectors(circuit, nodes, features).rows(rows), expected, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("num_rows", [501, 777, 1000, 12_000])
def test_rows_that_stand_for_all_are_of_each_stretch_and_of_each_of_several_sorts_that_take_turns(
    num_rows,
):
    places = some_rows(num_rows, 500)
    assert len(places) == 500
    assert (np.diff(places) >= 0).all()
    assert abs(places - np.arange(500) * num_rows / 500).max() <= num_rows / 500
    for turn in (2, 3, 7, 24):
        counts = np.bincount(places % turn, minlength=turn)
        assert abs(counts - 500 / turn).max() < 6 * np.sqrt(500 / turn)
