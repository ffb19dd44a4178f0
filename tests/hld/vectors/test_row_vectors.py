"""Vectors of rows: what rounding may do to them, with features of the score and without."""

import naive
import numpy as np
import pytest
import zoo
from binomial_bounds import SURE
from scipy.stats import binom

import pcircuit
from hld.features import row_vectors
from hld.features.row_vectors import (
    RowVectors,
    bounded_array,
    circuit_depth,
    column_units,
    complete,
    largest_factors,
    some_rows,
)
from hld.features.score_features import FLOOR, score_features, score_variances
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, select_nodes
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


@pytest.fixture(scope="module")
def twins():
    """Two fair coins that show the same side."""
    return Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, np.eye(2)),
            InputRegion(1, np.eye(2)),
            InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
        ],
    )


def test_a_hole_is_filled_with_what_the_rest_of_its_row_says(twins):
    rows = np.array([[0, -1], [1, -1], [-1, 0], [-1, 1], [1, 1]] * 20)
    filled, num_missing = complete(twins, rows, seed=0)
    assert num_missing == 80
    np.testing.assert_array_equal(filled[rows >= 0], rows[rows >= 0])
    np.testing.assert_array_equal(filled[:, 0], filled[:, 1])


def test_rows_of_holes_are_draws_from_the_circuit(twins):
    filled, _ = complete(twins, np.full((1000, 2), -1), seed=1)
    np.testing.assert_array_equal(filled[:, 0], filled[:, 1])
    assert binom(1000, 0.5).ppf(SURE) <= filled[:, 0].sum() <= binom(1000, 0.5).isf(SURE)
    np.testing.assert_array_equal(filled, complete(twins, np.full((1000, 2), -1), seed=1)[0])
    assert (filled != complete(twins, np.full((1000, 2), -1), seed=2)[0]).any()


def test_whole_rows_are_returned_as_they_are():
    circuit = zoo.circuits()["two_coins"]
    for rows in (np.array([[0, 1], [1, 1]]), np.array([[0, 1]], dtype=np.uint8)):
        assert complete(circuit, rows, seed=0)[0] is rows
    with pytest.raises(ValueError, match="`batch` has no rows"):
        complete(circuit, np.zeros((0, 2), dtype=int), seed=0)


@pytest.mark.parametrize("name", zoo.circuits())
def test_with_a_place_for_each_the_norm_is_that_of_all_standardised_scores(name):
    circuit = zoo.circuits()[name]
    features, rows = score_features(circuit, most=10**6), naive.states(circuit)[:20]
    scores = pcircuit.scores(circuit, rows)
    expected = (scores**2 / (score_variances(circuit) + FLOOR)).sum(axis=1)
    found = features.of_rows(circuit, rows)
    np.testing.assert_allclose((found**2).sum(axis=1), expected, rtol=1e-9, atol=1e-15)
    of_many = pcircuit.scores(circuit, rows, directions=features.matrix)
    np.testing.assert_allclose(found, of_many, atol=1e-12)
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
        monkeypatch.setattr("hld.features.score_features.SEED", seed)
        features = score_features(circuit, most=64)
        assert features.num_features == 64
        few.append(float((features.of_scores(score) ** 2).sum()))
    # variances are drawn anew with each seed, which moves a floor of 1e-3 by less than a tenth
    assert (
        abs(np.mean(few) / (whole @ whole) - 1)
        < 5 * np.std(few) / np.sqrt(200) / (whole @ whole) + 0.1
    )


@pytest.mark.parametrize("holes", ["none", "few", "everywhere"])
@pytest.mark.parametrize("name", ["hclt_like", "rat_like", "many categories"])
def test_sums_are_over_the_rows_that_show_a_number(name, holes, rng):
    """The category that stands for a hole is beyond the dtype of the codes where a column has 127 others."""
    circuit = zoo.circuits().get(name) or pcircuit.chow_liu_circuit(
        np.stack([np.arange(256) % 128, np.arange(256) % 3], axis=1)
    )
    vectors = RowVectors(circuit, pcircuit.select_nodes(circuit), score_features(circuit))
    rows = pcircuit.sample(circuit, 60, rng=0).astype(np.int8)
    rows[rng.random(rows.shape) < {"none": 0.0, "few": 0.05, "everywhere": 0.4}[holes]] = -1
    rows[0, -1] = -1 if holes == "everywhere" else rows[0, -1]
    rows = rows if holes != "everywhere" else rows[(rows < 0).any(axis=1)]
    found, counts = vectors.sums(rows)
    seen = vectors.seen(rows)
    np.testing.assert_array_equal(counts, seen.sum(axis=0))
    np.testing.assert_allclose(
        found, np.where(seen, vectors.rows(rows), 0.0).sum(axis=0), rtol=1e-11, atol=1e-12
    )
