"""The paper's two algorithms give what `HLDTest` gives, and what sums over all states give."""

import naive
import numpy as np
import pytest
import zoo

import hld
import pcircuit
from hld.testing.plain import decide, precompute


@pytest.mark.parametrize("name", ["hclt_like", "rat_like"])
def test_the_plain_test_is_that_of_the_closed_form(name):
    circuit = zoo.circuits()[name]
    known = precompute(circuit, hld.select_nodes(circuit))
    mean, covariance = naive.hlv_moments(circuit, known.nodes)
    np.testing.assert_allclose(known.mean, mean, rtol=1e-9)
    traces = np.trace(covariance), (covariance**2).sum()
    assert (known.trace, known.trace_sq) == pytest.approx(traces, rel=1e-9)
    test = hld.HLDTest(circuit, null="normal")
    for T, alpha, seed in ((1, 0.05, 0), (20, 0.05, 1), (20, 0.01, 2), (300, 0.3, 3)):
        batch = pcircuit.sample(circuit, T, rng=seed)
        one, other = decide(known, batch, alpha), test(batch, alpha)
        assert one.distance == pytest.approx(other.statistic, rel=1e-9)
        assert one.threshold == pytest.approx(other.threshold, rel=1e-9)
        assert one.is_ood == other.reject
    assert decide(known, np.zeros((50, circuit.num_variables), int), 0.05).is_ood
