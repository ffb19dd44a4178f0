"""The whitened metric: against the definition in linear algebra, its two ridges, and circuits without variance."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from hld.references.circuit import CircuitReference
from hld.references.rows import row_reference
from hld.witnesses.metrics import maps as module
from hld.witnesses.metrics.maps import FINER, NEGLIGIBLE, RIDGE, whitened, whitened_fine
from pcircuit import Circuit, InputRegion, VTree


@pytest.fixture(scope="module")
def circuit():
    return zoo.circuits()["hclt_like"]


def by_definition(circuit, nodes, differences, ridge):
    """Z^t (S + c I)^-1 Z with S by enumeration."""
    covariance = naive.hlv_moments(circuit, nodes)[1]
    inner = covariance + ridge * np.linalg.eigvalsh(covariance)[-1] * np.eye(len(nodes))
    return (differences * np.linalg.solve(inner, differences.T).T).sum(axis=1)


@pytest.mark.parametrize("name", ["hclt_like", "rat_like", "irregular_csr"])
@pytest.mark.parametrize("ridge", [RIDGE, 0.3, 1e-6])
def test_it_is_the_distance_in_the_inverse_covariance_with_a_ridge(name, ridge, rng):
    """Directions of less variance than a hundredth of the ridge have a factor that is theirs to half of that."""
    circuit = zoo.circuits()[name]
    nodes = pcircuit.select_nodes(circuit)
    reference, differences = CircuitReference(circuit, nodes), rng.normal(size=(20, len(nodes)))
    for make, own in ((whitened, ridge), (whitened_fine, ridge / FINER)):
        metric, expected = (
            make(reference, ridge=ridge),
            by_definition(circuit, nodes, differences, own),
        )
        np.testing.assert_allclose(metric.squared(differences), expected, rtol=1.01 * NEGLIGIBLE)
        assert (
            metric.squared(differences) >= expected * (1 - 1e-6)
        ).all()  # as if they had no variance
        metric.check_stored()


def test_the_covariance_is_that_of_the_circuit_also_where_rows_are_the_reference(circuit, rng):
    nodes = pcircuit.select_nodes(circuit)
    rows = row_reference(circuit, nodes, np.zeros((3, circuit.num_variables), dtype=int))
    differences = rng.normal(size=(5, len(nodes)))
    np.testing.assert_allclose(
        whitened(rows).squared(differences),
        whitened(CircuitReference(circuit, nodes)).squared(differences),
        rtol=1e-9,
    )


def test_many_nodes_have_leading_directions(circuit, rng, monkeypatch):
    nodes = pcircuit.select_nodes(circuit)
    expected = whitened(CircuitReference(circuit, nodes))
    monkeypatch.setattr(module, "MAX_FULL_SPECTRUM", len(nodes) - 1)
    monkeypatch.setattr(module, "LEADING_DIRECTIONS", len(nodes) - 1)
    found = whitened(CircuitReference(circuit, nodes))
    differences = rng.normal(size=(5, len(nodes)))
    np.testing.assert_allclose(found.squared(differences), expected.squared(differences), rtol=0.05)
    monkeypatch.setattr(module, "LEADING_DIRECTIONS", 2)
    assert whitened(CircuitReference(circuit, nodes)).vectors.shape == (len(nodes), 2)


def test_without_variance_it_is_the_plain_norm():
    sure = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.5, 0.5]])])
    for make in (whitened, whitened_fine):
        metric = make(CircuitReference(sure, np.array([0])))
        assert float(metric.squared(np.array([3.0]))) == 9.0
