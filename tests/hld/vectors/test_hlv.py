"""Hierarchical likelihood vectors against enumeration over the scopes of their nodes."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from hld import likelihood_vectors


@pytest.mark.parametrize("name", zoo.circuits())
def test_entries_are_the_likelihoods_of_the_selected_units(name, engine):
    circuit = zoo.circuits()[name]
    rows = zoo.rows_with_holes(circuit, np.random.default_rng(0), N=12)
    values = naive.node_values(circuit, rows)
    np.testing.assert_allclose(
        likelihood_vectors(circuit, rows), values[:, pcircuit.select_nodes(circuit)], rtol=1e-12
    )
    some = np.array([circuit.num_nodes - 1, 0])  # in the order that is asked for
    found = likelihood_vectors(circuit, rows, some, n_jobs=1)
    np.testing.assert_allclose(found, values[:, some], rtol=1e-12)
    np.testing.assert_allclose(
        found[:, 0], np.exp(pcircuit.log_likelihood(circuit, rows)), rtol=1e-12
    )
    assert (found >= 0).all()
    assert (found <= 1 + 1e-12).all()


def test_a_vector_looks_at_each_unit_s_own_scope_and_no_further():
    circuit = zoo.circuits()["hclt_like"]
    nodes = pcircuit.select_nodes(circuit)
    row = np.zeros((1, circuit.num_variables), dtype=int)
    moved = row.copy()
    moved[0, 2] = 1
    changed = likelihood_vectors(circuit, row)[0] != likelihood_vectors(circuit, moved)[0]
    assert changed.any()
    assert all(2 in circuit.scope(int(node)) for node in nodes[changed])


def test_what_is_no_evidence_and_what_is_no_node_is_named():
    circuit = zoo.circuits()["two_coins"]
    with pytest.raises((TypeError, ValueError), match="`data`"):
        likelihood_vectors(circuit, [[0, 7]])
    with pytest.raises((TypeError, ValueError), match="`nodes`"):
        likelihood_vectors(circuit, [[0, 1]], [99])
    assert likelihood_vectors(circuit, [[0, 1]] * 3, []).shape == (3, 0)
