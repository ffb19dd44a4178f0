"""Compiled traces of the covariance, against the twin; and the stack that they work on."""

import kernel_circuits
import numpy as np
import pytest
import zoo
from engines import door

from pcircuit.moments import traces as twin
from pcircuit.moments.kernels.arrays import moment_arrays
from pcircuit.moments.kernels.masses import fill_masses
from pcircuit.moments.kernels.stored_parts import no_parts
from pcircuit.moments.kernels.traces import _squares, linear_moments, push
from pcircuit.moments.plan import make_plan

CIRCUITS = {
    name: circuit for name, circuit in kernel_circuits.CIRCUITS.items() if circuit.is_normalized
}


def by_both(circuit, nodes, *, squares=True):
    """Mean, variances and trace of the square by the kernel and by its twin."""
    plan = make_plan(circuit, nodes, np.linspace(1.0, 2.0, len(nodes)))
    arrays = moment_arrays(plan)
    fill_masses(arrays)
    mean, variances = np.full((2, len(nodes)), np.nan)
    trace_sq = linear_moments(arrays, squares, no_parts(arrays), mean, variances)
    return (mean, variances, trace_sq), twin.means_and_traces(plan, squares=squares)


def assert_same(found, expected):
    for one, other in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13 * np.abs(other).max())
    assert found[2] == pytest.approx(expected[2], rel=1e-10)


@pytest.mark.parametrize("name", CIRCUITS)
def test_all_units_of_circuits_that_take_every_branch(name):
    assert_same(*by_both(CIRCUITS[name], np.arange(CIRCUITS[name].num_nodes)))


@pytest.mark.parametrize("kind", ["input", "product", "sum"])
@pytest.mark.parametrize("name", ["irregular_csr", "nary", "mixed_categories"])
def test_some_units_so_that_there_are_regions_with_nothing_below(name, kind):
    circuit = CIRCUITS[name]
    assert_same(*by_both(circuit, np.flatnonzero(circuit.nodes.kind == kind)[::3]))


@pytest.mark.parametrize("seed", range(4))
def test_columns_become_gram_tensors_and_these_columns_again(seed):
    """Regions of one to six units over one another, with more columns below them than pairs of units and fewer."""
    circuit = zoo.random_circuit(seed, num_variables=9, max_units=6, max_categories=5, nary=True)
    assert_same(*by_both(circuit, np.arange(circuit.num_nodes)))


def test_without_squares_there_is_mean_and_variance_only():
    found, expected = by_both(
        CIRCUITS["nary"], np.arange(CIRCUITS["nary"].num_nodes), squares=False
    )
    assert_same((*found[:2], 1.0), (*expected[:2], 1.0))
    assert found[2] == 0
    assert expected[2] is None


@pytest.mark.parametrize("room", [9, 10, 40])
def test_the_stack_of_the_kernel_grows_when_it_is_full(room):
    buffer, top = door(push)(
        np.concatenate([[7.0, 8.0], np.zeros(room)]),
        2,
        np.arange(6.0),
        np.arange(1.0),
        np.arange(3.0),
    )
    assert (top, len(buffer) >= top) == (12, True)
    np.testing.assert_array_equal(buffer[:top], [7, 8, 0, 1, 2, 3, 4, 5, 0, 0, 1, 2])


def test_coefficients_whose_product_overflows_leave_what_is_zero_zero():
    """Of a constant with a weight of 1e160: infinity times a covariance of zero was NaN."""
    coefficients = np.array([1e160, 1e160])
    assert door(_squares)(np.array([0, 1]), coefficients, np.zeros((3, 3)), True) == 0.0
    small = np.array([[1e-160, 2e-160], [2e-160, 4e-160]])
    assert door(_squares)(np.array([0, 1]), coefficients, small, True) == pytest.approx(
        9e160, rel=1e-14
    )
