"""The covariance as an operator, against the matrix itself."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given, settings
from hypothesis import strategies as st

from pcircuit.moments.covariance_parts import covariance_parts
from pcircuit.moments.operator import apply_covariance
from pcircuit.moments.plan import make_plan

CIRCUITS = zoo.circuits()


def applied_to(circuit, nodes, weights, vectors):
    plan = make_plan(circuit, nodes, weights)
    return apply_covariance(plan, list(covariance_parts(plan, compress=False)), vectors)


@pytest.mark.parametrize("name", CIRCUITS)
def test_applied_to_unit_vectors_it_is_the_covariance(name):
    circuit = CIRCUITS[name]
    m = circuit.num_nodes
    _, expected = naive.hlv_moments(circuit, np.arange(m))
    found = applied_to(circuit, np.arange(m), np.ones(m), np.eye(m))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@settings(max_examples=30)
@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2**32 - 1))
def test_selections_with_weights(circuit, seed):
    rng = np.random.default_rng(seed)
    nodes = np.sort(rng.permutation(circuit.num_nodes)[: rng.integers(1, circuit.num_nodes + 1)])
    weights, vectors = rng.uniform(0.1, 3.0, len(nodes)), rng.standard_normal((len(nodes), 3))
    covariance = weights[:, None] * naive.hlv_moments(circuit, nodes)[1] * weights
    np.testing.assert_allclose(
        applied_to(circuit, nodes, weights, vectors),
        covariance @ vectors,
        rtol=0,
        atol=1e-11 * max(np.abs(covariance).max(), 1e-2),
    )


def test_vectors_are_left_as_they_are_and_may_be_none(rng):
    circuit = CIRCUITS["nary"]
    m = circuit.num_nodes
    vectors = rng.standard_normal((m, 2))
    before = vectors.copy()
    applied_to(circuit, np.arange(m), np.ones(m), vectors)
    np.testing.assert_array_equal(vectors, before)
    assert applied_to(circuit, np.arange(m), np.ones(m), np.empty((m, 0))).shape == (m, 0)
