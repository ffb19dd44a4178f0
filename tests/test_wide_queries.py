"""The reference recursions in wide numbers, against enumeration in doubles and against rational arithmetic."""

from fractions import Fraction

import naive
import numpy as np
import pytest
import wide_queries
import zoo
from rationals import exact_moments, fraction
from wide import Wide, relative_errors

CIRCUITS = zoo.circuits()


@pytest.mark.parametrize("name", CIRCUITS)
def test_values_flows_and_masses(name, rng):
    circuit = CIRCUITS[name]
    data, weights = zoo.rows_with_holes(circuit, rng, 20), rng.uniform(size=20)
    values = wide_queries.in_node_order(*wide_queries.unit_values(circuit, data))
    np.testing.assert_allclose(values.to_double().T, naive.node_values(circuit, data), rtol=1e-13)
    for found, expected in zip(
        wide_queries.flows(circuit, data, weights), naive.flows(circuit, data, weights), strict=True
    ):
        np.testing.assert_allclose(found.to_double(), expected, rtol=1e-12, atol=1e-15)
    masses = wide_queries.unit_masses(circuit, wide_queries.tables_of(circuit))
    found = [part.to_double() for q, qp in masses for part in (qp, q) if part is not None]
    np.testing.assert_allclose(
        np.concatenate(found), naive.topdown_mass(circuit), rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("name", CIRCUITS)
def test_overlaps_and_means(name):
    circuit = CIRCUITS[name]
    assert wide_queries.overlap(circuit, circuit).to_double()[0] == pytest.approx(
        naive.overlap(circuit, circuit)
    )
    assert wide_queries.overlap(circuit, circuit, circuit).to_double()[0] == pytest.approx(
        naive.overlap(circuit, circuit, circuit)
    )
    p = naive.likelihood(circuit, naive.states(circuit))
    expected = p @ naive.node_values(circuit, naive.states(circuit))
    np.testing.assert_allclose(
        wide_queries.mean_vector(circuit, circuit).to_double(), expected, rtol=1e-12, atol=1e-16
    )


@pytest.mark.parametrize("name", CIRCUITS)
def test_moments_by_states_and_by_regions(name):
    circuit = CIRCUITS[name]
    nodes = np.arange(circuit.num_nodes)
    by_states, by_regions = (
        function(circuit, nodes)
        for function in (wide_queries.moments_by_states, wide_queries.moments_by_regions)
    )
    mean, covariance = naive.hlv_moments(circuit, nodes)
    np.testing.assert_allclose(by_states[0].to_double(), mean, rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(by_states[1].to_double(), covariance, rtol=1e-10, atol=1e-15)
    for first, second in zip(by_states, by_regions, strict=True):
        scale = Wide.of(np.maximum(np.abs(first.to_double()), 1e-3))
        assert relative_errors(first.to_double(), first).max() < 2.0**-52
        assert np.abs(((first - second) / scale).to_double()).max() < 1e-26


@pytest.mark.parametrize("seed", range(6))
def test_moments_against_rational_numbers(seed):
    circuit = zoo.random_circuit(
        seed, num_variables=3, max_units=2, sparse=seed % 2 == 1, nary=seed > 2
    )
    nodes = np.arange(circuit.num_nodes)
    mean, covariance = exact_moments(circuit, nodes)
    for function in (wide_queries.moments_by_states, wide_queries.moments_by_regions):
        found_mean, found_covariance, _ = function(circuit, nodes)
        for i in nodes:
            assert abs(fraction(found_mean[i]) - mean[i]) <= Fraction(2) ** -96 * mean[i]
            for j in nodes:
                assert (
                    abs(fraction(found_covariance[i, j]) - covariance[i][j]) <= Fraction(2) ** -92
                )
