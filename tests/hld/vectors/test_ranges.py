"""Ranges of likelihoods: over all rows of small circuits, exact at inputs and products of inputs."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given, settings

from hld.vectors.ranges import unit_ranges
from pcircuit import InputRegion

ROUNDING = 1 + 1e-12


def assert_bounds(circuit):
    """Raise unless every value lies in its range; those of inputs and products of inputs reach both ends."""
    values, ranges = naive.node_values(circuit, naive.states(circuit)), unit_ranges(circuit)
    assert ranges.shape == (circuit.num_nodes, 2)
    lowest, highest = values.min(axis=0), values.max(axis=0)
    assert (ranges[:, 0] <= lowest * ROUNDING).all()
    assert (highest <= ranges[:, 1] * ROUNDING).all()
    kind, region = circuit.nodes.kind, circuit.nodes.region
    of_inputs = [
        isinstance(one, InputRegion)
        or all(
            isinstance(circuit.regions[child], InputRegion)
            for child in circuit.vtree.children(r).tolist()
        )
        for r, one in enumerate(circuit.regions)
    ]
    exact = np.array([of_inputs[r] for r in region]) & (kind != "sum")
    np.testing.assert_allclose(
        ranges[exact], np.stack([lowest, highest], axis=1)[exact], rtol=1e-12
    )


@pytest.mark.parametrize("name", [*zoo.circuits(), *zoo.unnormalized_circuits()])
def test_every_value_lies_in_its_range(name):
    assert_bounds({**zoo.circuits(), **zoo.unnormalized_circuits()}[name])


@given(zoo.circuit_strategy())
@settings(max_examples=20)
def test_ranges_hold_for_any_circuit(circuit):
    assert_bounds(circuit)


def test_a_sum_has_the_average_of_its_products_ranges():
    """Two components over two coins: 0.5 (0.1 or 0.9)(0.2 or 0.8) + 0.5 (0.3 or 0.7)(0.4 or 0.6)."""
    circuit = zoo.mixture_of_two([[0.1, 0.9], [0.2, 0.8]], [[0.3, 0.7], [0.4, 0.6]])
    np.testing.assert_allclose(
        unit_ranges(circuit)[-1], [(0.02 + 0.12) / 2, (0.72 + 0.42) / 2], rtol=1e-14
    )
