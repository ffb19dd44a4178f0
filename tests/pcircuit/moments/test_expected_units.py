"""E[l_j(x, Y) | X = x] against enumeration over all completions, with holes, on every circuit of the zoo."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    VTree,
    expected_node_likelihoods,
    node_likelihoods,
)
from pcircuit.moments import expected_units as module
from pcircuit.moments.means import unit_means

CIRCUITS = zoo.circuits()


def masks(V):
    rng = np.random.default_rng(V)
    return [np.arange(V) < 1, rng.random(V) < 0.5, np.zeros(V, bool), np.ones(V, bool)]


@pytest.mark.parametrize("name", CIRCUITS)
def test_every_mask_gives_what_enumeration_gives(name, rng):
    circuit = CIRCUITS[name]
    data = np.concatenate([naive.states(circuit)[-4:], zoo.rows_with_holes(circuit, rng, 6)])
    for mask in masks(circuit.num_variables):
        expected = [naive.expected_node_values(circuit, row, mask) for row in data]
        np.testing.assert_allclose(
            expected_node_likelihoods(circuit, data, mask), expected, rtol=1e-12, atol=1e-14
        )


@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2**32))
def test_random_circuits_equal_enumeration(circuit, seed):
    rng = np.random.default_rng(seed)
    data, mask = zoo.rows_with_holes(circuit, rng, 5), rng.random(circuit.num_variables) < 0.5
    expected = [naive.expected_node_values(circuit, row, mask) for row in data]
    np.testing.assert_allclose(
        expected_node_likelihoods(circuit, data, mask), expected, rtol=1e-11, atol=1e-13
    )


def test_all_given_is_the_likelihood_and_nothing_given_the_mean_of_all_rows():
    circuit = zoo.hclt_like()
    data, V = naive.states(circuit), circuit.num_variables
    np.testing.assert_allclose(
        expected_node_likelihoods(circuit, data, np.ones(V, bool)),
        node_likelihoods(circuit, data),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        expected_node_likelihoods(circuit, data[:1], np.zeros(V, bool))[0],
        unit_means(circuit),
        rtol=1e-12,
    )


def test_nodes_come_in_the_order_asked_for_also_twice():
    circuit = zoo.rat_like()
    data, mask = naive.states(circuit)[:5], np.arange(circuit.num_variables) < 2
    nodes = [circuit.num_nodes - 1, 0, 3, 0]
    np.testing.assert_array_equal(
        expected_node_likelihoods(circuit, data, mask, nodes=nodes),
        expected_node_likelihoods(circuit, data, mask)[:, nodes],
    )


def test_no_row_depends_on_others_nor_on_the_number_of_threads(rng, monkeypatch):
    circuit = zoo.hclt_like()
    data, mask = zoo.rows_with_holes(circuit, rng, 50), np.arange(circuit.num_variables) < 2
    found = expected_node_likelihoods(circuit, data, mask)
    alone = [expected_node_likelihoods(circuit, data[n : n + 1], mask)[0] for n in range(len(data))]
    np.testing.assert_allclose(found, alone, rtol=1e-14)
    monkeypatch.setattr(module, "BLOCK_VALUES", 1)
    one, two = (expected_node_likelihoods(circuit, data, mask, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, found, rtol=1e-14)


def test_what_is_rare_counts_where_nothing_else_is_left():
    """Component 0 has 1e-400 times the likelihood of component 1 until the last variable excludes the latter."""
    V, rare = 5, 1e-100
    inputs = [InputRegion(v, [[rare, 1 - rare], [1 - rare, rare]]) for v in range(V - 1)]
    inputs += [
        InputRegion(V - 1, [[1.0, 0.0], [0.0, 1.0]]),
        InputRegion(V, [[0.3, 0.7], [0.6, 0.4]]),
    ]
    circuit = Circuit(
        VTree.from_nested([list(range(V - 1)), V - 1, V]),
        [
            *inputs[:-2],
            InnerRegion([[0] * (V - 1), [1] * (V - 1)], [[1.0, 0.0], [0.0, 1.0]]),
            *inputs[-2:],
            InnerRegion([[0, 0, 0], [1, 1, 1]], [[0.5, 0.5]]),
        ],
    )
    given, drawn = (
        np.arange(V + 1) < V,
        np.array([j for j in range(circuit.num_nodes) if set(circuit.scope(j)) == {V}]),
    )
    usual = [[0] * (V - 1) + [1, 0]]  # a row beside it that needs no logarithms
    rows = np.concatenate([usual, [[0] * (V + 1)], usual])
    found = expected_node_likelihoods(circuit, rows, given, nodes=drawn)
    one, other = [0.3**2 + 0.7**2, 0.3 * 0.6 + 0.7 * 0.4], [0.3 * 0.6 + 0.7 * 0.4, 0.6**2 + 0.4**2]
    np.testing.assert_allclose(found, [other, one, other], rtol=1e-12)


def test_rows_that_are_impossible_are_nan_and_only_these():
    circuit = zoo.zero_rows()
    data = naive.states(circuit)
    mask = np.ones(circuit.num_variables, bool)
    impossible = naive.likelihood(circuit, data) == 0
    assert 0 < impossible.sum() < len(data)
    found = np.isnan(expected_node_likelihoods(circuit, data, mask))
    np.testing.assert_array_equal(found, np.broadcast_to(impossible[:, None], found.shape))
