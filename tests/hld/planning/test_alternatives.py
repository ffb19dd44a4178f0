"""Alternatives of a test: moments of rows, circuits and edits, and rows of the edited circuit."""

import binomial_bounds as bounds
import naive
import numpy as np
import pytest
import zoo

import hld
import pcircuit
from hld.testing.planning.alternatives import (
    NUM_DRAWN,
    NUM_SINGLE,
    Alternative,
    Edit,
    compared,
    edited_rows,
    own_mean,
    read_edits,
    share_after,
)
from hld.testing.planning.power import Planner

CIRCUIT = zoo.circuits()["hclt_like"]
ROWS = pcircuit.sample(CIRCUIT, 300, rng=0).astype(int)


def alternative_of(test, what):
    return Planner(test).alternative(what)


def level_shares(circuit, variable):
    """Exact probabilities of the levels of a variable."""
    states = naive.states(circuit)
    return np.bincount(states[:, variable], naive.likelihood(circuit, states))


def test_rows_and_circuits_have_their_sample_moments():
    test = hld.HLDTest(CIRCUIT)
    drawn = pcircuit.sample(zoo.learned_tree(3, V=CIRCUIT.num_variables, C=2), 5, rng=0)
    L = naive.node_values(CIRCUIT, drawn)[:, test.nodes]
    found = alternative_of(test, drawn.tolist())
    np.testing.assert_allclose(found.delta, L.mean(axis=0) - test.mean, atol=1e-14)
    np.testing.assert_allclose(found.covariance, np.cov(L.T), atol=1e-14)
    assert (found.num_rows, found.is_relative, found.together) == (5, False, None)
    np.testing.assert_array_equal(found.rows, drawn)
    same = alternative_of(test, CIRCUIT)  # itself: no difference but that of many drawn rows
    assert (same.num_rows, len(same.rows)) == (NUM_DRAWN, NUM_SINGLE)
    assert (np.abs(same.delta) <= 6 * test.stds / np.sqrt(NUM_DRAWN) + 1e-14).all()
    assert alternative_of(test, same) is same
    assert isinstance(same, Alternative)


@pytest.mark.parametrize("name", ["hclt_like", "rat_like", "single_units"])
def test_moments_of_an_edit_are_those_of_its_distribution(name):
    circuit = zoo.circuits()[name]
    test, edit = hld.HLDTest(circuit), Edit(1, 0, 0.1)
    states = naive.states(circuit)
    probs, vectors = (
        naive.likelihood(circuit, states),
        naive.node_values(circuit, states)[:, test.nodes],
    )
    own = states[:, 1] == 0
    p = probs[own].sum()
    weights = probs * np.where(own, (p + 0.1) / p, (0.9 - p) / (1 - p))
    mean = weights @ vectors
    covariance = (vectors - mean).T @ ((vectors - mean) * weights[:, None])
    found = alternative_of(test, edit)
    scale = test.stds.max()
    np.testing.assert_allclose(
        found.delta, mean - test.mean, atol=6 * 0.1 / (1 - p) * scale / np.sqrt(20_000)
    )
    np.testing.assert_allclose(found.covariance, covariance, atol=0.1 * scale**2)


@pytest.mark.parametrize("reference", ["circuit", "training"])
def test_an_edit_is_relative_to_the_truth_behind_reference_rows(reference):
    known = {} if reference == "circuit" else {"training_data": ROWS}
    test, edit = hld.HLDTest(CIRCUIT, reference=reference, rng=0, **known), Edit(0, 0, 0.1)
    found, plain = alternative_of(test, edit), alternative_of(hld.HLDTest(CIRCUIT), edit)
    np.testing.assert_allclose(found.delta, plain.delta, atol=1e-12)  # of the circuit, in both
    assert found.is_relative == (reference == "training")
    assert found.num_rows is None
    np.testing.assert_array_equal(found.rows, edited_rows(CIRCUIT, edit, NUM_SINGLE))
    tiny = alternative_of(test, Edit(0, 0, 1e-12))
    before = (
        test.calibration.kept.covariance
        if reference == "training"
        else naive.hlv_moments(CIRCUIT, test.nodes)[1]
    )
    np.testing.assert_allclose(tiny.covariance, before, atol=1e-9)


@pytest.mark.parametrize("by", [0.15, -0.1])
def test_rows_of_an_edit_have_the_level_as_often_and_all_else_given_it_as_before(by):
    variable, level, n = 2, 1, 4000
    p, rows = level_shares(CIRCUIT, variable), edited_rows(CIRCUIT, Edit(variable, level, by), n)
    wanted = np.where(np.arange(len(p)) == level, p + by, p * (1 - p[level] - by) / (1 - p[level]))
    for a, share in enumerate(wanted):
        own = rows[rows[:, variable] == a]
        assert bounds.at_least(n, share) <= len(own) <= bounds.at_most(n, share)
        states = naive.states(CIRCUIT)
        states = states[states[:, variable] == a]
        given = (
            naive.likelihood(CIRCUIT, states)[states[:, 0] == 0].sum()
            / naive.likelihood(CIRCUIT, states).sum()
        )
        assert (
            bounds.at_least(len(own), given)
            <= (own[:, 0] == 0).sum()
            <= bounds.at_most(len(own), given)
        )
    np.testing.assert_array_equal(rows, edited_rows(CIRCUIT, Edit(variable, level, by), n))


@pytest.mark.parametrize("p", [0.05, 0.1, 0.35, 0.5, 0.7, 0.9])
def test_a_level_may_go_to_no_rows_or_to_all_whatever_rounding_says(p):
    """The probability 0.35 comes out of the circuit as a little less, of which 0.35 could not be taken."""
    test = hld.HLDTest(zoo.independent([[p, 1 - p], [0.3, 0.7]]))
    for by in (-p, 1 - p):
        found = alternative_of(test, Edit(0, 0, by))
        varies = found.covariance.diagonal() > 1e-10  # the column's own node no longer does
        assert varies.tolist() == [
            list(test.circuit.scope(int(node))) != [0] for node in test.nodes
        ]
        assert set(found.rows[:, 0].tolist()) == {0 if by > 0 else 1}
    assert share_after(p, 1.0001 - p) is None
    assert share_after(p, -p - 1e-4) is None
    assert share_after(p, 0.01) == p + 0.01


def test_numbers_that_no_row_of_the_reference_shows_are_not_compared():
    rows = ROWS.copy()
    rows[:, 3] = -1
    test = hld.HLDTest(CIRCUIT, reference="training", training_data=rows, rng=0)
    hidden = np.array([3 in CIRCUIT.scope(int(node)) for node in test.nodes])
    assert 0 < hidden.sum() < len(hidden)
    vectors = np.ones((2, len(test.mean)))
    np.testing.assert_array_equal(compared(test, vectors) == 0, np.tile(hidden, (2, 1)))
    whole = hld.HLDTest(CIRCUIT, reference="training", training_data=ROWS, rng=0)
    assert compared(whole, vectors) is vectors
    assert not alternative_of(test, Edit(3, 0, 0.1)).delta[hidden].any()
    exact = naive.hlv_moments(CIRCUIT, test.nodes)[0]
    np.testing.assert_allclose(own_mean(test), np.where(hidden, 0, exact), rtol=1e-10)
    np.testing.assert_allclose(own_mean(whole), exact, rtol=1e-10)


def test_the_mean_score_of_the_circuit_is_zero():
    test = hld.HLDTest(
        CIRCUIT, metric=("euclidean", "score"), reference="training", training_data=ROWS, rng=0
    )
    found, m = own_mean(test), len(test.nodes)
    assert len(found) == len(test.mean) > m
    assert not found[m:].any()


def test_edits_in_texts_and_as_they_are():
    written = [
        "sex=F:+0.05",
        "when=12:30:-0.2",
        "share==1:0.5",
        Edit("a", 1, -0.5),
    ]
    found = read_edits(written)
    assert found == [
        Edit("sex", "F", 0.05),
        Edit("when", "12:30", -0.2),
        Edit("share", "=1", 0.5),
        Edit("a", 1, -0.5),
    ]
    assert list(map(str, found[:2])) == ["sex = F: +5 % of cells", "when = 12:30: -20 % of cells"]
    assert read_edits(()) == []
    assert Edit(0, 0, np.float32(0.25)) == Edit(0, 0, 0.25)  # of any precision
    for bad, error, said in (
        ("sex=F:+0.05", TypeError, "must be a list of edits"),
        ([3], TypeError, "found 3 in it"),
        (["sex"], ValueError, r"`edits` has 'sex': an edit is written column=level:change"),
        (["sex=F:2"], ValueError, r"`edits` has 'sex=F:2': `by` of an edit must be"),
    ):
        with pytest.raises(error, match=said):
            read_edits(bad)
