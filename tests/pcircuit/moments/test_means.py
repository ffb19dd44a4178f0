"""Means alone: those of enumeration, and of the moments."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given, settings

from pcircuit import exact_moments
from pcircuit.moments import means
from pcircuit.moments.means import unit_means


@pytest.mark.parametrize("name", zoo.circuits())
@pytest.mark.parametrize("block", [1, 2**22])
def test_means_are_those_of_enumeration(name, block, monkeypatch):
    monkeypatch.setattr(means, "BLOCK", block)
    circuit = zoo.circuits()[name]
    expected, _ = naive.hlv_moments(circuit, np.arange(circuit.num_nodes))
    np.testing.assert_allclose(unit_means(circuit), expected, rtol=1e-12)


@settings(max_examples=50)
@given(zoo.circuit_strategy())
def test_means_of_random_circuits(circuit):
    nodes = np.arange(circuit.num_nodes)
    np.testing.assert_allclose(
        unit_means(circuit), exact_moments(circuit, nodes).mean, rtol=1e-12, atol=1e-300
    )
