"""Metrics that weigh nodes: against deviations by enumeration, and where a node does not vary."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from hld.metrics.node_weights import LEAST, euclidean, standardized, weighted
from hld.references.circuit import CircuitReference
from hld.references.rows import row_reference
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


def test_weights_of_its_own_are_a_copy_and_positive():
    given = np.array([1, 2, 4])
    metric = weighted(given)
    given[0] = 9
    assert metric.weights.tolist() == [1.0, 2.0, 4.0]
    assert metric.squared(np.array([1.0, 1.0, 0.5])) == 1 + 4 + 4
    for wrong in ([1.0, 0.0], [1.0, -1.0], [1.0, np.inf], [[1.0]]):
        with pytest.raises(
            ValueError, match="metric 'weights' is not a norm: node weights must be positive"
        ):
            weighted(np.array(wrong))
