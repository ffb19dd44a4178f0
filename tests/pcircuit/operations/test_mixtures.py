"""Weighted sums and powers of circuits, state by state."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import Circuit, InputRegion

ZOO = zoo.circuits()
ALL = zoo.all_circuits()


@pytest.mark.parametrize("name", ALL)
def test_mixtures_and_powers_are_what_they_say(name):
    circuit = ALL[name]
    other = Circuit(
        circuit.vtree,
        [
            InputRegion(r.variable, r.probs[:, ::-1]) if isinstance(r, InputRegion) else r
            for r in circuit.regions
        ],
    )
    f, g = naive.values(circuit), naive.values(other)
    mixed = pcircuit.mixture([circuit, other], [0.3, 2.0])
    np.testing.assert_allclose(naive.values(mixed), 0.3 * f + 2 * g, rtol=1e-12)
    np.testing.assert_allclose(naive.values(pcircuit.mixture([circuit])), f, rtol=1e-13)
    np.testing.assert_allclose(
        naive.values(pcircuit.power(circuit, 2)), f**2, rtol=1e-12, atol=1e-300
    )
    np.testing.assert_allclose(
        naive.values(pcircuit.power(circuit, 3)), f**3, rtol=1e-12, atol=1e-300
    )


def test_bad_mixtures_and_powers_get_one_sentence():
    circuit = ZOO["two_coins"]
    with pytest.raises(ValueError, match="needs at least one"):
        pcircuit.mixture([])
    for function in (pcircuit.mixture, pcircuit.Mixture):
        with pytest.raises(
            TypeError, match="`circuits` must be a sequence of circuits, found ndarray"
        ):
            function(np.array(circuit))
    with pytest.raises(ValueError, match="2 finite numbers of at least 0"):
        pcircuit.mixture([circuit, circuit], [1.0, -1.0])
    with pytest.raises(ValueError, match="whole number of at least 1, found 0"):
        pcircuit.power(circuit, 0)
