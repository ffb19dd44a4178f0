"""The reference recursions in Decimals, against enumeration in doubles."""

import naive
import numpy as np
import precise
import pytest
import zoo
from precise import doubles

CIRCUITS = zoo.circuits()


@pytest.mark.parametrize("name", CIRCUITS)
def test_queries_are_those_of_enumeration(name, rng):
    circuit = CIRCUITS[name]
    data, weights = zoo.rows_with_holes(circuit, rng, 20), rng.uniform(size=20)

    def close(found, expected):
        np.testing.assert_allclose(doubles(found), expected, rtol=1e-12, atol=1e-15)

    close(
        precise.in_node_order(*precise.unit_values(circuit, data)).T,
        naive.node_values(circuit, data),
    )
    expected = naive.flows(circuit, data, weights)
    for found, flow in zip(precise.flows(circuit, data, weights), expected, strict=True):
        close(found, flow)
    for found, flow, old in zip(
        precise.em_step(circuit, data, weights, 0.5),
        expected,
        precise.tables_of(circuit),
        strict=True,
    ):
        total = flow.sum(axis=1, keepdims=True) + 0.5
        close(found, (flow + 0.5 / flow.shape[1]) / total)
        assert found.shape == old.shape
    shown, products = precise.unit_masses(circuit, normalized=False)
    close(precise.in_node_order(shown, products), naive.topdown_mass(circuit))
    for times in (2, 3):
        close(precise.overlap(*[circuit] * times), naive.overlap(*[circuit] * times))
    mean, covariance = naive.hlv_moments(circuit, np.arange(circuit.num_nodes))
    found, S, second = precise.moments(circuit, np.arange(circuit.num_nodes))
    close(found, mean)
    close(S, covariance)
    close(second, np.diag(covariance) + mean**2)
    close(precise.unit_means(circuit, circuit), mean)


def test_numbers_beyond_doubles_and_divisions_by_zero():
    values = precise.precisely(lambda: precise.exact([2.0, 0.5, 1.0]) ** 5000)()
    np.testing.assert_array_equal(doubles(values), [np.inf, 0.0, 1.0])
    np.testing.assert_allclose(
        doubles(precise.logs(values)), np.log(2) * np.array([5000, -5000, 0]), rtol=1e-15
    )
    errors = precise.relative_errors([0.0, 1.0, 2.0 + 2.0**-51], precise.exact([0.0, 0.0, 2.0]))
    assert errors.tolist() == [0.0, np.inf, 2.0**-52]
