"""The covariance by the dense recursion, against enumeration."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given, settings
from hypothesis import strategies as st

from pcircuit.moments.covariance import dense_covariance
from pcircuit.moments.covariance_parts import covariance_parts
from pcircuit.moments.plan import make_plan

CIRCUITS = zoo.circuits()


def found_and_expected(circuit, nodes, weights):
    plan = make_plan(circuit, nodes, weights)
    expected = weights[:, None] * naive.hlv_moments(circuit, nodes)[1] * weights
    return dense_covariance(plan, covariance_parts(plan, compress=False)), expected


@pytest.mark.parametrize("name", CIRCUITS)
def test_all_units_of_every_kind_of_circuit(name):
    circuit = CIRCUITS[name]
    found, expected = found_and_expected(
        circuit, np.arange(circuit.num_nodes), np.ones(circuit.num_nodes)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_array_equal(found, found.T)


@settings(max_examples=30)
@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2**32 - 1))
def test_selections_with_weights(circuit, seed):
    rng = np.random.default_rng(seed)
    nodes = np.sort(rng.permutation(circuit.num_nodes)[: rng.integers(1, circuit.num_nodes + 1)])
    found, expected = found_and_expected(circuit, nodes, rng.uniform(0.1, 3.0, len(nodes)))
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1e-2)
    )


@pytest.mark.parametrize("kind", ["input", "product", "sum"])
def test_covariances_of_some_units_are_a_block_of_those_of_all(kind):
    circuit = CIRCUITS["irregular_csr"]
    whole, _ = found_and_expected(circuit, np.arange(circuit.num_nodes), np.ones(circuit.num_nodes))
    nodes = np.flatnonzero(circuit.nodes.kind == kind)
    block, _ = found_and_expected(circuit, nodes, np.ones(len(nodes)))
    np.testing.assert_allclose(block, whole[np.ix_(nodes, nodes)], rtol=0, atol=1e-14)


def test_independent_variables_have_no_covariance_and_a_product_that_of_its_factors():
    """The first is constant, 1/2 wherever it is drawn, so the root is half of the second: cov(l, b) = var(b) / 2."""
    circuit = zoo.independent([np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.75])])
    found, _ = found_and_expected(circuit, np.arange(circuit.num_nodes), np.ones(circuit.num_nodes))
    a, b, root = 0, 1, circuit.num_nodes - 1
    variance = 0.25 * 0.75 * 0.5**2
    np.testing.assert_allclose(
        found[[a, b, b, root], [b, b, root, root]],
        [0, variance, variance / 2, variance / 4],
        atol=1e-16,
    )
    assert not found[a].any()
