"""The compiled operator, for several vectors at a time, against the twin of whole arrays."""

import kernel_circuits
import numpy as np
import pytest

from pcircuit.moments import operator as twin
from pcircuit.moments.covariance_parts import covariance_parts
from pcircuit.moments.kernels.arrays import moment_arrays
from pcircuit.moments.kernels.masses import fill_masses
from pcircuit.moments.kernels.operator import apply_covariance
from pcircuit.moments.kernels.stored_parts import empty_parts
from pcircuit.moments.kernels.traces import linear_moments
from pcircuit.moments.plan import make_plan

CIRCUITS = {
    name: circuit for name, circuit in kernel_circuits.CIRCUITS.items() if circuit.is_normalized
}


def planned(circuit, nodes):
    """Plan, arrays and stored parts of some units."""
    plan = make_plan(circuit, nodes, np.linspace(1.0, 2.0, len(nodes)))
    arrays = moment_arrays(plan)
    fill_masses(arrays)
    stored = empty_parts(plan, arrays)
    linear_moments(arrays, False, stored, *np.empty((2, len(arrays.local))))
    return plan, arrays, stored


def applied(arrays, stored, vectors):
    result = np.full(vectors.shape, np.nan)
    apply_covariance(arrays, stored, vectors, result)
    return result


def assert_is_the_twin(circuit, nodes, rng):
    plan, arrays, stored = planned(circuit, nodes)
    vectors = rng.standard_normal((len(nodes), 3))
    expected = twin.apply_covariance(plan, list(covariance_parts(plan, compress=False)), vectors)
    found = applied(arrays, stored, vectors)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", CIRCUITS)
def test_all_units_of_circuits_that_take_every_branch(name, rng):
    assert_is_the_twin(CIRCUITS[name], np.arange(CIRCUITS[name].num_nodes), rng)


@pytest.mark.parametrize("kind", ["input", "product", "sum"])
@pytest.mark.parametrize("name", ["irregular_csr", "nary", "mixed_categories"])
def test_some_units(name, kind, rng):
    assert_is_the_twin(CIRCUITS[name], np.flatnonzero(CIRCUITS[name].nodes.kind == kind)[::3], rng)


def test_vectors_beside_one_another_do_not_mix(rng):
    _, arrays, stored = planned(CIRCUITS["nary"], np.arange(CIRCUITS["nary"].num_nodes))
    vectors = rng.standard_normal((CIRCUITS["nary"].num_nodes, 4))
    together, before = applied(arrays, stored, vectors), stored.numbers.copy()
    for t in range(4):
        alone = applied(arrays, stored, np.ascontiguousarray(vectors[:, [t]]))
        np.testing.assert_allclose(together[:, [t]], alone, rtol=1e-12, atol=1e-16)
    np.testing.assert_array_equal(stored.numbers, before)
    assert applied(arrays, stored, np.empty((len(vectors), 0))).shape == (len(vectors), 0)
