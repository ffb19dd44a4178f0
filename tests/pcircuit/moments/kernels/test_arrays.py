"""A plan as flat arrays: every part of every region is found where the table says."""

import dataclasses

import numpy as np
import pytest
import zoo

from pcircuit import InputRegion
from pcircuit.moments.kernels import arrays as columns
from pcircuit.moments.kernels.arrays import moment_arrays
from pcircuit.moments.plan import make_plan

CIRCUITS = zoo.circuits()


def plan_of(circuit):
    """The plan of every third unit, with weights."""
    nodes = np.arange(0, circuit.num_nodes, 3)
    return make_plan(circuit, nodes, np.linspace(1.0, 2.0, len(nodes)))


@pytest.mark.parametrize("name", CIRCUITS)
def test_the_parts_of_each_region_are_where_the_table_says(name):
    circuit = CIRCUITS[name]
    plan = plan_of(circuit)
    arrays = moment_arrays(plan)
    assert arrays.region.shape == (circuit.num_regions, columns.NEEDED + 1)
    for r, region in enumerate(circuit.regions):
        row = arrays.region[r]
        assert row[columns.SHOWN] == region.num_units
        data = row[columns.DATA]
        if isinstance(region, InputRegion):
            K, C = region.probs.shape
            assert (row[columns.ARITY], row[columns.INSIDE]) == (0, C)
            table = arrays.tables[data : data + K * (C + 1)].reshape(K, C + 1)
            np.testing.assert_array_equal(table[:, :C], region.probs)
            continue
        P, A = region.products.shape
        assert (row[columns.INSIDE], row[columns.ARITY], row[columns.SPARSE]) == (
            P,
            A,
            region.is_sparse,
        )
        first, at = row[columns.CHILD], row[columns.UNIT]
        assert arrays.child[first : first + A].tolist() == circuit.vtree.children(r).tolist()
        np.testing.assert_array_equal(arrays.unit[at : at + A * P].reshape(A, P), region.products.T)
        pointer = arrays.row_pointer[row[columns.POINTER] :][: region.num_units + 1]
        dense = np.zeros(region.weights.shape)
        for k in range(region.num_units):
            here = slice(data + pointer[k], data + pointer[k + 1])
            dense[k, arrays.columns[here]] = arrays.weights[here]
        np.testing.assert_array_equal(dense, region.dense_weights())


@pytest.mark.parametrize("name", CIRCUITS)
def test_masses_have_room_of_their_own_and_are_zero_at_first(name):
    circuit = CIRCUITS[name]
    arrays, end = moment_arrays(plan_of(circuit)), 0
    for r, region in enumerate(circuit.regions):
        assert arrays.region[r, columns.MASS] == end
        end += (
            region.num_units
            if isinstance(region, InputRegion)
            else region.num_units + region.num_products
        )
    assert arrays.mass.tolist() == [0.0] * end


@pytest.mark.parametrize("name", CIRCUITS)
def test_selected_units_are_named_by_their_number_in_the_region(name):
    circuit = CIRCUITS[name]
    plan = plan_of(circuit)
    arrays = moment_arrays(plan)
    region = arrays.region
    for r in range(circuit.num_regions):
        begin, number = region[r, [columns.FIRST_NODE, columns.NUM_NODES]]
        here = slice(begin, begin + number)
        own = plan.nodes[plan.start[r] : plan.start[r + 1]]
        np.testing.assert_array_equal(circuit.offsets[r] + arrays.local[here], own)
        np.testing.assert_array_equal(arrays.weight[here], plan.own(r)[2])
    np.testing.assert_array_equal(
        region[:, [columns.BELOW, columns.NEEDED]], np.stack([plan.below, plan.needed], 1)
    )
    np.testing.assert_array_equal(arrays.rounding, plan.rounding)
    np.testing.assert_array_equal(arrays.order, plan.order)


def test_arrays_can_be_written_to_whether_those_of_the_plan_can_or_not():
    """To the compiler this is a part of the type of an array: the kernels would be compiled twice."""
    plan, kinds = plan_of(CIRCUITS["irregular_csr"]), []
    for writeable in (True, False):
        weights, rounding = plan.weights.copy(), plan.rounding.copy()
        weights.flags.writeable = rounding.flags.writeable = writeable
        arrays = moment_arrays(dataclasses.replace(plan, weights=weights, rounding=rounding))
        kinds.append(
            [(array.dtype, array.flags.writeable, array.flags.c_contiguous) for array in arrays]
        )
    assert kinds[0] == kinds[1]
