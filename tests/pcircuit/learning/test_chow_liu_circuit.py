"""Chow-Liu circuits against enumeration of all states."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_tables import random_table

import pcircuit
from pcircuit import InputRegion, VTree, chow_liu_circuit, chow_liu_tree
from pcircuit.learning.pair_information import mutual_information

seeds = st.integers(0, 2**32 - 1)
# Mean test log-likelihood of the Chow-Liu tree in nats per row, computed with plug-in counts + alpha per
# joint cell for alpha = 0.01, 0.1, 1 on the standard splits (Lowd and Davis 2010, Van Haaren and Davis 2012).
REFERENCE = {
    "nltcs": (-6.75907, -6.75907, -6.75904),
    "msnbc": (-6.54013, -6.54013, -6.54013),
    "kdd": (-2.29491, -2.29491, -2.29489),
    "plants": (-16.52406, -16.52406, -16.52402),
    "audio": (-44.37493, -44.37493, -44.37490),
    "jester": (-58.22966, -58.22966, -58.22653),
    "netflix": (-60.25038, -60.25038, -60.25035),
    "accidents": (-33.18526, -33.18552, -33.18811),
    "dna": (-87.66215, -87.66874, -87.73478),
    "book": (-37.82778, -37.83257, -37.83148),
}


def total_information(parent, information):
    return sum(information[v, p] for v, p in enumerate(parent) if p >= 0)


def look_up(tree, train, rows, pseudocount, categories):
    """(N,) log-likelihood of the Chow-Liu distribution, rows looked up in its tables, without a circuit."""
    total = np.zeros(len(rows))
    for v, p in enumerate(tree):
        own, C = train[:, v].astype(np.int64), categories[v]
        if p < 0:
            table = np.bincount(own, minlength=C) + pseudocount / C
            total += np.log(table / table.sum())[rows[:, v]]
            continue
        codes = train[:, p].astype(np.int64) * C + own
        table = np.bincount(codes, minlength=categories[p] * C).reshape(-1, C)
        table = table + pseudocount / (C * categories[p])
        total += np.log(table / table.sum(axis=1, keepdims=True))[rows[:, p], rows[:, v]]
    return total


@given(seeds, st.sampled_from([0.1, 2.0]))
def test_circuit_is_the_chow_liu_distribution(seed, pseudocount):
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng, num_variables=int(rng.integers(1, 6)))
    options = {"num_categories": categories, "pseudocount": pseudocount}
    circuit = chow_liu_circuit(data, **options)
    tree = chow_liu_tree(data, **options)
    states = naive.states(circuit)
    expected = look_up(tree, data, states, pseudocount, categories)
    assert circuit.is_normalized
    np.testing.assert_allclose(
        naive.log_likelihood(circuit, states), expected, rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(
        pcircuit.log_likelihood(circuit, states), expected, rtol=1e-12, atol=1e-13
    )
    assert np.exp(expected).sum() == pytest.approx(1, rel=1e-12)


@given(seeds)
def test_circuit_is_deterministic_and_laid_out_along_the_tree(seed):
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng, num_variables=int(rng.integers(2, 6)))
    circuit = chow_liu_circuit(data, num_categories=categories)
    parent = chow_liu_tree(data, num_categories=categories)
    assert circuit.vtree == VTree.from_tree(parent)
    values = naive.node_values(circuit, naive.states(circuit))
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            continue
        v = circuit.vtree.variables[r - 1]
        C = categories[v]
        num_children = len(circuit.vtree.children(r))
        assert np.array_equal(region.products, np.arange(C)[:, None].repeat(num_children, axis=1))
        assert region.weights.shape == (1 if parent[v] < 0 else categories[parent[v]], C)
        assert np.array_equal(circuit.regions[r - 1].probs, np.eye(C))
        products = values[:, circuit.offsets[r] : circuit.offsets[r] + C]
        assert np.count_nonzero(products, axis=1).max() <= 1


@given(seeds)
def test_marginals_agree_in_all_pairs(seed):
    """The marginal of every variable under the circuit is its own smoothed frequency."""
    rng = np.random.default_rng(seed)
    data, categories = random_table(rng)
    circuit = chow_liu_circuit(data, num_categories=categories, pseudocount=0.7)
    for v, C in enumerate(categories):
        evidence = np.full((C, len(categories)), -1)
        evidence[:, v] = np.arange(C)
        expected = (np.bincount(data[:, v], minlength=C) + 0.7 / C) / (len(data) + 0.7)
        np.testing.assert_allclose(naive.likelihood(circuit, evidence), expected, rtol=1e-12)


def test_likelihood_of_the_training_rows_is_the_sum_of_informations(rng):
    """Chow and Liu (1968): mean log-likelihood = information of the tree - sum of the entropies."""
    data, categories = random_table(rng, num_rows=200, num_variables=5)
    circuit = chow_liu_circuit(data, num_categories=categories, pseudocount=0)
    information = mutual_information(data, categories, 0.0, None)
    tree = chow_liu_tree(data, num_categories=categories, pseudocount=0)
    expected = total_information(tree, information) - information.diagonal().sum()
    assert naive.log_likelihood(circuit, data).mean() == pytest.approx(expected, rel=1e-12)


def test_parent_category_that_never_occurs_has_a_uniform_row():
    data = [[0, 0], [0, 1], [2, 1]]
    circuit = chow_liu_circuit(data, pseudocount=0, num_categories=[3, 2], tree=[-1, 0])
    assert np.array_equal(circuit.regions[0].probs, [[0.5, 0.5], [0.5, 0.5], [0, 1]])
    np.testing.assert_allclose(circuit.regions[-1].weights, [[2 / 3, 0, 1 / 3]])


def test_given_tree_is_followed(rng):
    data, categories = random_table(rng, num_rows=30, num_variables=4)
    tree = np.array([1, 2, 3, -1])
    circuit = chow_liu_circuit(data, num_categories=categories, tree=tree)
    states = naive.states(circuit)
    expected = look_up(tree, data, states, 0.1, categories)
    np.testing.assert_allclose(naive.log_likelihood(circuit, states), expected, rtol=1e-12)


def test_tables_of_missing_data_come_from_the_rows_where_both_are_present():
    data = np.array([[0, 0], [0, 1], [0, -1], [1, 1], [-1, 0]])
    circuit = chow_liu_circuit(data, pseudocount=0, tree=[-1, 0])
    assert np.array_equal(circuit.regions[0].probs, [[0.5, 0.5], [0, 1]])
    assert np.array_equal(circuit.regions[-1].weights, [[0.75, 0.25]])


def test_data_and_weights_are_left_alone(rng):
    data, _ = random_table(rng, num_rows=30, num_variables=4, missing=0.2)
    weights = rng.random(30)
    copies = data.copy(), weights.copy()
    chow_liu_tree(data, weights=weights)
    chow_liu_circuit(data)
    assert np.array_equal(data, copies[0])
    assert np.array_equal(weights, copies[1])


@pytest.mark.thorough
@pytest.mark.parametrize("name", REFERENCE)
def test_log_likelihood_of_the_binary_sets(data_folder, name):
    with np.load(data_folder / "binary" / f"{name}.npz", allow_pickle=False) as file:
        train, test = file["train"], file["test"]
    for alpha, expected in zip((0.01, 0.1, 1), REFERENCE[name], strict=True):
        options = {"num_categories": 2, "pseudocount": 4 * alpha}
        tree = chow_liu_tree(train, **options)
        by_table = look_up(tree, train, test, 4 * alpha, [2] * train.shape[1])
        by_circuit = pcircuit.log_likelihood(chow_liu_circuit(train, tree=tree, **options), test)
        assert round(by_table.mean(), 5) == expected
        np.testing.assert_allclose(by_circuit, by_table, rtol=1e-12)
