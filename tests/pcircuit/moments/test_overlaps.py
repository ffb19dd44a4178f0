"""Overlaps of inputs against their definitions, the choice between two ways of computing, and tables with exponents."""

import numpy as np
import pytest

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, exact_moments
from pcircuit.moments.overlaps import (
    input_columns,
    input_overlaps,
)
from pcircuit.moments.unit_pairs import as_pairs

ROUNDING = 1e-15


@pytest.mark.parametrize(("K", "C"), [(1, 2), (3, 1), (3, 4), (5, 2)])
def test_tables_of_an_input_region_are_their_definitions(K, C, rng):
    probs, q = rng.dirichlet(np.ones(C), size=K), rng.dirichlet(np.ones(K))
    found = input_overlaps(probs, q, ROUNDING)
    mean = probs @ (q @ probs)
    second, third = probs @ probs.T, np.einsum("ax,bx,cx->abc", probs, probs, probs)
    np.testing.assert_allclose(np.ldexp(found.second, found.exp2), second, rtol=1e-13)
    np.testing.assert_allclose(np.ldexp(found.mean, found.exp2), mean, rtol=1e-13)
    np.testing.assert_allclose(np.ldexp(found.third, found.exp3), as_pairs(third), rtol=1e-13)
    np.testing.assert_allclose(np.ldexp(found.second_c, found.exp2), second - mean, atol=1e-15)
    np.testing.assert_allclose(
        np.ldexp(found.third_c, found.exp3), as_pairs(third - second[:, :, None] * mean), atol=1e-15
    )
    for table in (found.second, found.third):
        assert 0.5 <= table.max() < 1


def test_selected_inputs_are_columns_of_the_tables_whether_or_not_these_are_at_hand(rng):
    probs, q = rng.dirichlet(np.ones(4), size=5), rng.dirichlet(np.ones(5))
    own, weights = np.array([4, 0]), np.array([0.5, 2.0])
    tables = input_overlaps(probs, q, ROUNDING)
    with_tables, without = (
        input_columns(probs, q, ROUNDING, own, weights, given, compress=False)
        for given in (tables, None)
    )
    marginal = q @ probs
    centred = weights[:, None] * (probs[own] - (probs[own] @ marginal)[:, None])
    np.testing.assert_allclose(with_tables.mean, weights * (probs[own] @ marginal), rtol=1e-14)
    np.testing.assert_allclose(with_tables.covariance, (centred * marginal) @ centred.T, atol=1e-16)
    np.testing.assert_allclose(with_tables.d, probs @ centred.T, atol=1e-15)
    expected = as_pairs(np.einsum("ax,bx,jx->abj", probs, probs, centred))
    np.testing.assert_allclose(np.ldexp(with_tables.v, tables.exp2), expected, atol=1e-15)
    np.testing.assert_allclose(without.d, with_tables.d, atol=1e-15)
    assert without.v.shape == (0, 2)


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
