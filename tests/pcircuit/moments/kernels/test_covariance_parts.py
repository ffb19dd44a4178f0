"""Compiled parts of the covariance of each region, against the twin of whole arrays."""

import kernel_circuits
import numpy as np
import pytest
from engines import door, doors

from pcircuit import Circuit, InputRegion
from pcircuit.moments import covariance_parts as twin
from pcircuit.moments.kernels import covariance_parts
from pcircuit.moments.kernels.arrays import moment_arrays
from pcircuit.moments.kernels.masses import fill_masses
from pcircuit.moments.kernels.traces import push
from pcircuit.moments.plan import make_plan

kernels = doors(covariance_parts)

CIRCUITS = {
    name: circuit for name, circuit in kernel_circuits.CIRCUITS.items() if circuit.is_normalized
}
FEW = ("irregular_csr", "nary", "mixed_categories", "zero_rows")


def planned(circuit, nodes):
    """Plan and arrays of some units, with weights from 1 to 2."""
    plan = make_plan(circuit, nodes, np.linspace(1.0, 2.0, len(nodes)))
    arrays = moment_arrays(plan)
    fill_masses(arrays)
    return plan, arrays


def all_parts(plan, arrays, compress):
    """Region -> covariance, d, v and factors, and the means (m,), as the kernels call one region after the other."""
    R = len(arrays.region)
    at, exp2, exp3 = (np.zeros(R, dtype=np.int64) for _ in range(3))
    mean, buffer, top, found, nothing = (
        np.full(len(arrays.local), np.nan),
        np.empty(1 << 12),
        0,
        {},
        np.empty(0),
    )
    for r in plan.order.tolist():
        at[r] = top
        if plan.below[r] or plan.needed[r]:
            tables, *found[r] = kernels.region_parts(
                arrays, r, compress, (buffer, at, exp2, exp3), mean
            )
            at[r] = min([at[r], *at[plan.circuit.vtree.children(r)]])
            buffer, top = door(push)(buffer, at[r], tables, nothing, nothing)
    return found, mean


def assert_same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    np.testing.assert_allclose(
        found, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max(initial=0.0)
    )


@pytest.mark.parametrize("name", CIRCUITS)
def test_uncompressed_parts_are_those_of_the_twin(name):
    plan, arrays = planned(CIRCUITS[name], np.arange(CIRCUITS[name].num_nodes))
    found, mean = all_parts(plan, arrays, False)
    means = []
    for r, parts in twin.covariance_parts(plan, compress=False):
        covariance, d, v, factors = found.pop(r)
        means.append((plan.start[r], parts.own.mean))
        assert_same(covariance, parts.own.covariance)
        assert_same(d, parts.own.d)
        assert_same(v, parts.own.v.reshape(v.shape))
        assert len(factors) == len(parts.factors)
        for one, other in zip(factors, parts.factors, strict=True):
            assert_same(one, other)
    assert not found
    assert_same(mean, np.concatenate([part for _, part in sorted(means, key=lambda pair: pair[0])]))


@pytest.mark.parametrize("name", FEW)
def test_compressed_columns_have_the_gram_matrices_of_the_twin(name):
    plan, arrays = planned(CIRCUITS[name], np.arange(CIRCUITS[name].num_nodes))
    found, _ = all_parts(plan, arrays, True)
    for r, parts in twin.covariance_parts(plan, compress=True):
        _, d, v, _ = found[r]
        assert d.shape == parts.own.d.shape
        assert_same(d @ d.T, parts.own.d @ parts.own.d.T)
        assert_same(v @ v.T, parts.own.v @ parts.own.v.T)


@pytest.mark.parametrize("kind", ["input", "product", "sum"])
@pytest.mark.parametrize("name", FEW)
def test_parts_of_some_units_are_those_of_the_twin(name, kind):
    circuit = CIRCUITS[name]
    plan, arrays = planned(circuit, np.flatnonzero(circuit.nodes.kind == kind)[::2])
    found, _ = all_parts(plan, arrays, False)
    expected = dict(twin.covariance_parts(plan, compress=False))
    assert found.keys() == expected.keys()
    for r, (covariance, d, v, factors) in found.items():
        assert_same(covariance, expected[r].own.covariance)
        assert_same(d, expected[r].own.d)
        if plan.needed[r]:
            assert_same(v, expected[r].own.v)
        assert len(factors) == len(expected[r].factors)


def test_selected_units_of_a_region_are_between_two_numbers():
    plan, arrays = planned(CIRCUITS["nary"], np.arange(0, CIRCUITS["nary"].num_nodes, 4))
    own_nodes = getattr(
        kernels.own_nodes, "py_func", kernels.own_nodes
    )  # it is copied into other kernels
    assert [own_nodes(arrays, r) for r in range(len(arrays.region))] == list(
        zip(plan.start[:-1], plan.start[1:], strict=True)
    )


def test_weights_whose_product_overflows_leave_variances_numbers():
    """1e160 squared is infinite, and times the variance of a constant, which is zero, it was NaN."""
    circuit = kernel_circuits.CIRCUITS["two_coins"]
    inputs = [
        InputRegion(v, [[0.5, 0.5], [0.2, 0.8]]) for v in (0, 1)
    ]  # the first product is constant
    circuit = Circuit(circuit.vtree, [*inputs, circuit.regions[2]])
    plan = make_plan(circuit, np.array([4, 5]), np.array([1e160, 1e60]))
    arrays = moment_arrays(plan)
    fill_masses(arrays)
    *_, (covariance, *_) = all_parts(plan, arrays, False)[0].values()
    *_, (_, parts) = twin.covariance_parts(plan, compress=False)
    np.testing.assert_allclose(covariance, parts.own.covariance, rtol=1e-12)
    assert covariance[0].tolist() == [0.0, 0.0]
