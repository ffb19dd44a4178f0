"""Which unit each entry of the packed parameters belongs to, against loops over the regions."""

import numpy as np
import pytest
import scipy.sparse
import zoo

from pcircuit import Circuit, InnerRegion, InputRegion, VTree
from pcircuit.kernels.packed import num_inputs, table_rows, weight_rows
from pcircuit.kernels.packing import pack


def storing_nothing():
    """Sparse weights without entries between regions that have some, and a sum without products beside one."""
    empty = scipy.sparse.csr_array((2, 2))
    some = scipy.sparse.csr_array(np.array([[0.0, 0.0], [0.5, 0.5]]))
    leaves = [InputRegion(v, [[0.5, 0.5], [0.1, 0.9]]) for v in range(4)]
    pair = [[0, 0], [1, 1]]
    return Circuit(
        VTree.from_nested([[[0, 1], 2], 3]),
        [
            leaves[0],
            leaves[1],
            InnerRegion(pair, some),
            leaves[2],
            InnerRegion(pair, empty),
            leaves[3],
            InnerRegion(pair, [[0.5, 0.5]]),
        ],
    )


CIRCUITS = {**zoo.all_circuits(), "storing nothing": storing_nothing()}


def of_variable(circuit, v):
    """The input region of a variable."""
    return circuit.regions[circuit.vtree.leaf_of()[v]]


@pytest.mark.parametrize("name", CIRCUITS)
def test_entries_of_tables_belong_to_input_units_variable_by_variable(name):
    circuit = CIRCUITS[name]
    packed, rows, missing, entries, unit = pack(circuit), [], [], [], 0
    inputs = [of_variable(circuit, v) for v in range(circuit.num_variables)]
    assert num_inputs(packed).tolist() == [region.num_units for region in inputs]
    for region in inputs:
        for row in region.probs.tolist():
            rows += [unit] * (len(row) + 1)
            missing += [False] * len(row) + [True]
            entries += [*row, sum(row)]
            unit += 1
    found_rows, is_missing = table_rows(packed)
    assert found_rows.tolist() == rows
    assert is_missing.tolist() == missing
    np.testing.assert_allclose(packed.tables, entries, rtol=1e-15)


@pytest.mark.parametrize("name", CIRCUITS)
def test_entries_of_weights_belong_to_sum_units_region_by_region(name):
    circuit, rows, entries, unit = CIRCUITS[name], [], [], 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            continue
        for k in range(region.num_units):
            row = region.weights[[k]].data if region.is_sparse else region.weights[k]
            rows += [unit] * len(row)
            entries += row.tolist()
            unit += 1
    packed = pack(circuit)
    assert weight_rows(packed).tolist() == rows
    np.testing.assert_array_equal(packed.weights, entries)
