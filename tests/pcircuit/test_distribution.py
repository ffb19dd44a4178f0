"""The one check of what has to be a distribution."""
import pytest
import zoo

import pcircuit
from pcircuit import StructureError, check_distribution


def test_distributions_are_returned():
    for circuit in zoo.circuits().values():
        assert check_distribution(circuit) is circuit


@pytest.mark.parametrize("name", zoo.unnormalized_circuits())
def test_others_are_refused_by_name(name):
    circuit = zoo.unnormalized_circuits()[name]
    with pytest.raises(StructureError, match="`model` is not normalised, so it is not a distribution"):
        check_distribution(circuit, "model")
    for query in (pcircuit.exact_moments, pcircuit.sample, lambda c: pcircuit.fit_em(c, [[0] * c.num_variables])):
        with pytest.raises(StructureError, match="`circuit` is not normalised, so it is not a distribution"):
            query(circuit)


def test_what_is_no_circuit_is_named():
    with pytest.raises(TypeError, match=r"`circuit` must be a pcircuit\.Circuit, found list"):
        check_distribution([])
