"""What is constant to working precision has variance zero; bounds on rounding hold against exact arithmetic."""

from fractions import Fraction

import naive
import numpy as np
import precise
import pytest
import zoo
from engines import ENGINES
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, exact_moments, node_likelihoods
from pcircuit.moments.rounding import rounding_errors


@pytest.mark.thorough
@given(circuit=zoo.circuit_strategy(max_variables=4), name=st.sampled_from(ENGINES))
def test_likelihoods_and_means_keep_their_bounds(circuit, name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PCIRCUIT_ENGINE", name)
        states = naive.states(circuit)
        found, means = (
            node_likelihoods(circuit, states),
            exact_moments(circuit, np.arange(circuit.num_nodes)).mean,
        )
    exact = precise.in_node_order(*precise.unit_values(circuit, states))
    expected = precise.precisely(lambda: exact @ exact[-1] / exact[-1].sum())()
    errors = rounding_errors(circuit)
    assert (precise.relative_errors(found.T, exact) <= errors[:, None]).all()
    assert (precise.relative_errors(means, expected) <= errors).all()


def test_bounds_grow_with_the_circuit_and_with_sums_that_are_off():
    circuit, off = zoo.two_coins(), 2.0**-31
    bounds = rounding_errors(circuit)
    assert (bounds > 0).all()
    assert bounds[-1] == bounds.max() < 100 * np.finfo(float).eps
    assert rounding_errors(circuit, [6, 0]).tolist() == [bounds[6], bounds[0]]
    first, *others = circuit.regions
    changed = Circuit(circuit.vtree, [InputRegion(0, first.probs + [[0, off], [0, 0]]), *others])
    more = rounding_errors(changed) - bounds
    np.testing.assert_allclose(more[[0, 1, 4, 5, 6]], off, rtol=1e-6)
    np.testing.assert_allclose(more[[2, 3]], 0, atol=1e-15)


@pytest.mark.parametrize(
    ("nodes", "error"),
    [
        (5, ValueError),
        ([[]], (TypeError, ValueError)),
        ([], ValueError),
        ([3, 3], ValueError),
        ([7], ValueError),
        ([0.0], TypeError),
    ],
)
def test_nodes_are_a_selection(nodes, error):
    with pytest.raises(error, match="`nodes`"):
        rounding_errors(zoo.two_coins(), nodes)


# -- constants -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_units_that_are_constant_have_no_variance_and_no_covariances(seed):
    """Mixed to uniform, products of such, mixtures of these: at every level, and nothing else is cleared."""
    circuit, constant = zoo.with_constants(seed)
    moments = exact_moments(circuit, np.arange(circuit.num_nodes))
    assert constant.any()
    np.testing.assert_array_equal(moments.diagonal() == 0, constant)
    assert (moments.mean > 0).all()
    covariance = moments.covariance()
    assert not covariance[constant].any()
    assert not covariance[:, constant].any()
    assert not (moments.operator() @ np.eye(circuit.num_nodes))[constant].any()
    assert (moments.eigenvalues() == 0).sum() >= constant.sum()
    assert moments.trace_sq == pytest.approx(np.sum(covariance**2), rel=1e-12)


@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9, 1e-12])
def test_units_that_vary_a_little_keep_their_variance(step):
    """An input that varies by a relative 1e-12 is not constant: its variance is right to 1e-3 and better."""
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[0.5 + step, 0.5 - step]]),
            InputRegion(1, [[0.2, 0.8]]),
            InnerRegion([[0, 0]], [[1.0]]),
        ],
    )
    p = Fraction(float(circuit.regions[0].probs[0, 0]))
    exact = p * (1 - p) * (2 * p - 1) ** 2
    assert exact_moments(circuit, [0]).trace == pytest.approx(
        float(exact), rel=max(1e-15 / step, 1e-12)
    )
