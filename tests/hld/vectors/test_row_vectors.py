"""Vectors of rows: what rounding may do to them, with features of the score and without."""

import numpy as np
import pytest
import zoo

import pcircuit
from hld.vectors import row_vectors
from hld.vectors.row_vectors import (
    RowVectors,
    bounded_array,
    circuit_depth,
    column_units,
    largest_factors,
    some_rows,
)
from hld.vectors.score_features import FLOOR, score_features
from pcircuit import select_nodes
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


@pytest.mark.parametrize("name", zoo.circuits())
def test_no_row_exceeds_the_bounds(name):
    circuit = zoo.circuits()[name]
    features = score_features(circuit, most=6)
    assert np.abs(features.factors).max() <= FLOOR**-0.5 * (1 + 1e-12)
    vectors = RowVectors(circuit, select_nodes(circuit), features)
    found = vectors.rows(zoo.rows_with_holes(circuit, np.random.default_rng(0)))
    assert (np.abs(found) <= vectors.bounds * (1 + 1e-12)).all()


def test_the_bounds_themselves_are_read_and_nothing_beyond_them():
    bounds = np.array([1.0, 30.0])
    assert bounded_array({"mean": bounds}, "mean", (2,), bounds) is bounds
    for wrong, message in [
        ([1.1, 0], "more than the 1 that"),
        ([0, -31], "holds -31, more"),
        ([0, np.nan], "must hold"),
    ]:
        with pytest.raises(ValueError, match=message):
            bounded_array({"mean": np.array(wrong, dtype=float)}, "mean", (2,), bounds)


@pytest.mark.parametrize("name", zoo.circuits())
@pytest.mark.parametrize("kinds", [("input", "sum"), ("sum",), ("input", "product", "sum")])
def test_units_of_a_column_are_the_inputs_with_its_scope(name, kinds):
    circuit = zoo.circuits()[name]
    nodes = np.random.default_rng(0).permutation(
        np.flatnonzero(np.isin(circuit.nodes.kind, kinds))
    )  # any order
    found = column_units(circuit, nodes)
    assert len(found) == circuit.num_variables
    for v, places in enumerate(found):
        own = [
            j
            for j, node in enumerate(nodes.tolist())
            if circuit.nodes.kind[node] == "input" and list(circuit.scope(node)) == [v]
        ]
        assert places.tolist() == own
        assert bool(own) == ("input" in kinds)


def test_without_a_unit_of_a_column_its_places_are_empty_integers():
    circuit = zoo.circuits()["two_coins"]
    for places in column_units(circuit, np.zeros(0, dtype=np.int64)):
        assert (places.tolist(), places.dtype.kind) == ([], "i")
