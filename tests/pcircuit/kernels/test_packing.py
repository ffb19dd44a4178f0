"""Circuits from changed parameters of the packed form: the same as if they were built anew."""

import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import Circuit
from pcircuit.kernels.packing import pack, with_parameters


@given(zoo.circuit_strategy(max_variables=5))
def test_the_same_parameters_give_the_same_circuit(circuit):
    found = with_parameters(circuit, pack(circuit))
    assert found == circuit
    assert found.is_normalized == circuit.is_normalized


@pytest.mark.parametrize("part", ["weights", "tables"])
@given(
    circuit=zoo.circuit_strategy(max_variables=5),
    seed=st.integers(0, 2**32),
    error=st.sampled_from([1e-12, 1e-6]),
)
def test_whether_sums_are_one_is_what_the_regions_say(part, circuit, seed, error):
    """One parameter that is too large by 1e-12 is within the tolerance of 1e-9, one by 1e-6 is not."""
    packed = pack(circuit)
    values = getattr(packed, part).copy()
    if len(values):
        values[np.random.default_rng(seed).integers(len(values))] += error
    found = with_parameters(circuit, packed._replace(**{part: values}))
    assert found.is_normalized == Circuit(found.vtree, found.regions).is_normalized
