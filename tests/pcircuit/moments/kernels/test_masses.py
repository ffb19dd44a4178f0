"""Compiled masses against their NumPy twin, and views of the parts of a region."""

import numpy as np
import odd_circuits
import pytest
import zoo
from kernel_circuits import CIRCUITS

from pcircuit import InputRegion, VTree
from pcircuit.inference.masses import unit_masses
from pcircuit.moments.kernels.arrays import moment_arrays
from pcircuit.moments.kernels.masses import (
    children_of,
    fill_masses,
    inside_mass,
    probs_of,
    shown_mass,
    units_of,
    weights_of,
)
from pcircuit.moments.plan import make_plan

NORMALIZED = [name for name, circuit in CIRCUITS.items() if circuit.is_normalized]


def plain(kernel):
    """A kernel that is copied into others, as Python runs it."""
    return getattr(kernel, "py_func", kernel)


def filled(circuit):
    """The arrays of a circuit with its masses."""
    arrays = moment_arrays(make_plan(circuit, np.array([0]), np.ones(1)))
    fill_masses(arrays)
    return arrays


@pytest.mark.parametrize("name", NORMALIZED)
def test_masses_are_those_of_the_twin(name):
    circuit = CIRCUITS[name]
    found, expected = filled(circuit).mass, []
    for q, qp in unit_masses(circuit):
        expected += [q] if qp is None else [q, qp]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("name", ["irregular_csr", "nary", "unary", "mixed_categories"])
def test_views_are_the_parts_of_the_region(name):
    circuit = zoo.circuits()[name]
    arrays, masses = filled(circuit), unit_masses(circuit)
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            probs = plain(probs_of)(arrays, r)
            np.testing.assert_array_equal(probs, region.probs)
            assert probs.flags.c_contiguous
        else:
            np.testing.assert_array_equal(plain(units_of)(arrays, r), region.products.T)
            np.testing.assert_allclose(plain(inside_mass)(arrays, r), masses[r][1], rtol=1e-13)
            pointer, column, value = plain(weights_of)(arrays, r)
            dense = np.zeros(region.weights.shape)
            dense[np.repeat(np.arange(region.num_units), np.diff(pointer)), column] = value
            np.testing.assert_array_equal(dense, region.dense_weights())
        assert plain(children_of)(arrays, r).tolist() == circuit.vtree.children(r).tolist()
        np.testing.assert_allclose(plain(shown_mass)(arrays, r), masses[r][0], rtol=1e-13)


def test_masses_far_below_the_root_still_sum_to_one():
    """Each region divides by its own sum, so the rounding errors of the 2,000 regions above do not add up."""
    circuit = odd_circuits.many_variables(np.random.default_rng(1), V=2000)
    np.testing.assert_array_equal(
        circuit.vtree.parents, VTree.right_linear(2000).parents
    )  # as deep as it can be
    arrays = filled(circuit)
    sums = [plain(shown_mass)(arrays, r).sum() for r in range(len(arrays.region))]
    np.testing.assert_allclose(sums, 1, rtol=1e-15)
