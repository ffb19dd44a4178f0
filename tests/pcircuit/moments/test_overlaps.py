"""Overlaps of inputs against their definitions, the choice between two ways of computing, and tables with exponents."""

import numpy as np
import pytest

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, exact_moments
from pcircuit.moments.overlaps import Overlaps, input_columns, input_overlaps
from pcircuit.moments.unit_pairs import as_pairs

ROUNDING = 1e-15


@pytest.mark.parametrize(("K", "C"), [(1, 2), (3, 1), (3, 4), (5, 2)])
def test_tables_of_input_regions_are_their_definitions(K, C, rng):
    probs, q = rng.dirichlet(np.ones(C), size=(2, K)), rng.dirichlet(np.ones(K), size=2)
    tables = input_overlaps(probs, q, np.full(2, ROUNDING))
    for b in range(2):
        found, mean = Overlaps(*(table[b] for table in tables)), probs[b] @ (q[b] @ probs[b])
        second, third = probs[b] @ probs[b].T, np.einsum("ax,bx,cx->abc", *[probs[b]] * 3)
        third_c = third - second[:, :, None] * mean
        np.testing.assert_allclose(np.ldexp(found.second, found.exp2), second, rtol=1e-13)
        np.testing.assert_allclose(np.ldexp(found.mean, found.exp2), mean, rtol=1e-13)
        np.testing.assert_allclose(np.ldexp(found.third, found.exp3), as_pairs(third), rtol=1e-13)
        np.testing.assert_allclose(np.ldexp(found.second_c, found.exp2), second - mean, atol=1e-15)
        np.testing.assert_allclose(
            np.ldexp(found.third_c, found.exp3), as_pairs(third_c), atol=1e-15
        )
        for table in (found.second, found.third):
            assert 0.5 <= table.max() < 1


def test_columns_of_selected_inputs_are_their_definitions(rng):
    probs, q = rng.dirichlet(np.ones(4), size=5), rng.dirichlet(np.ones(5))
    own, weights = np.array([4, 0]), np.array([0.5, 2.0])
    marginal = q @ probs
    centred = weights[:, None] * (probs[own] - (probs[own] @ marginal)[:, None])
    expected = as_pairs(np.einsum("ax,bx,jx->abj", probs, probs, centred))
    for exp2, pairs in ((3, expected / 8), (None, np.zeros((0, 2)))):
        d, v = input_columns(probs, q, ROUNDING, own, weights, exp2, compress=False)
        np.testing.assert_allclose(d, probs @ centred.T, atol=1e-15)
        np.testing.assert_allclose(v, pairs, atol=1e-15)


@pytest.mark.parametrize("V", [530, 1040])
def test_units_whose_overlap_is_hardly_a_double_keep_their_exponents(V):
    """Above, only the unit is used whose overlap is 2**-V of that of the other: its power of two is no double."""
    coin = np.array([[0.5, 0.5], [1.0, 0.0]])
    circuit = Circuit(
        VTree.from_nested([list(range(V)), V]),
        [
            *(InputRegion(v, coin) for v in range(V)),
            InnerRegion([[0] * V, [1] * V], np.eye(2)),
            InputRegion(V, coin),
            InnerRegion([[0, 0], [0, 1]], [[1.0, 0.0]]),
        ],
    )
    moments = exact_moments(circuit, np.arange(circuit.num_nodes))
    is_fixed = (circuit.nodes.kind == "input") & (circuit.nodes.unit == 1)
    np.testing.assert_allclose(moments.diagonal(), 0.25 * is_fixed, atol=2.0 ** (1 - V))
    assert moments.trace == pytest.approx(0.25 * (V + 1), rel=1e-12)
    assert moments.trace_sq == pytest.approx((V + 1) / 16, rel=1e-12)
