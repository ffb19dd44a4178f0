"""Overlaps beyond the range of doubles: tables keep their exponents."""
import numpy as np
import pytest

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, exact_moments


@pytest.mark.parametrize("V", [530, 1040])
def test_units_whose_overlap_is_hardly_a_double_keep_their_exponents(V, engine):
    """Above, only the unit is used whose overlap is 2**-V of that of the other: its power of two is no double."""
    coin = np.array([[0.5, 0.5], [1.0, 0.0]])
    circuit = Circuit(VTree.from_nested([list(range(V)), V]), [
        *(InputRegion(v, coin) for v in range(V)), InnerRegion([[0] * V, [1] * V], np.eye(2)),
        InputRegion(V, coin), InnerRegion([[0, 0], [0, 1]], [[1.0, 0.0]])])
    moments = exact_moments(circuit, np.arange(circuit.num_nodes))
    is_fixed = (circuit.nodes.kind == "input") & (circuit.nodes.unit == 1)
    np.testing.assert_allclose(moments.diagonal(), 0.25 * is_fixed, atol=2.0 ** (1 - V))
    assert moments.trace == pytest.approx(0.25 * (V + 1), rel=1e-12)
    assert moments.trace_sq == pytest.approx((V + 1) / 16, rel=1e-12)
