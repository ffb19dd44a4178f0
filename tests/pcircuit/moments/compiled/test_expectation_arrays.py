"""A circuit as the kernel of expected likelihoods reads it: its parts, overlaps, and room for a tile of rows."""

import naive
import numpy as np
import pytest
import zoo

from pcircuit import InputRegion
from pcircuit.moments.compiled import expectation_arrays as module
from pcircuit.moments.compiled.expectation_arrays import (
    TILE,
    expectation_arrays,
    new_scratch,
)

CIRCUITS = zoo.circuits()
NAMES = ("irregular_csr", "nary", "unary", "one_region", "mixed_categories", "rat_like")


@pytest.mark.parametrize("name", NAMES)
def test_overlaps_are_sums_over_the_states_of_a_scope(name):
    circuit = CIRCUITS[name]
    arrays, values = expectation_arrays(circuit), naive.node_values(circuit, naive.states(circuit))
    for r, region in enumerate(circuit.regions):
        K, begin = region.num_units, arrays.region[r, module.OVERLAP]
        others = set(range(circuit.num_variables)) - set(circuit.vtree.scope(r))
        shown = values[:, circuit.offsets[r + 1] - K : circuit.offsets[r + 1]]
        expected = (
            shown.T @ shown / np.prod([circuit.num_categories[v] for v in others])
        )  # copies of each state
        np.testing.assert_allclose(
            arrays.overlaps[begin : begin + K * K].reshape(K, K), expected, rtol=1e-12
        )


@pytest.mark.parametrize("name", CIRCUITS)
def test_no_table_on_the_stack_is_overwritten_before_its_parent_has_read_it(name):
    circuit = CIRCUITS[name]
    arrays = expectation_arrays(circuit)
    stack = np.full(len(new_scratch(arrays, circuit.num_variables).stack) // TILE, -1)
    for r, region in enumerate(circuit.regions):
        for c in circuit.vtree.children(r).tolist():
            assert (
                stack[arrays.region[c, module.STACK] :][: circuit.regions[c].num_units ** 2] == c
            ).all()
        place = slice(
            arrays.region[r, module.STACK], arrays.region[r, module.STACK] + region.num_units**2
        )
        assert len(stack[place]) == region.num_units**2
        stack[place] = r


def test_arrays_are_made_once_and_scratch_for_each_thread():
    circuit = CIRCUITS["irregular_csr"]
    arrays = expectation_arrays(circuit)
    assert expectation_arrays(circuit) is arrays
    one, other = (
        new_scratch(arrays, circuit.num_variables),
        new_scratch(arrays, circuit.num_variables),
    )
    assert not any(
        np.shares_memory(first, second) for first, second in zip(one, other, strict=True)
    )
    most = max(
        region.num_products for region in circuit.regions if not isinstance(region, InputRegion)
    )
    assert len(one.codes) == TILE * circuit.num_variables
    assert len(one.mantissa) == len(one.flow) == TILE * circuit.num_nodes
    assert len(one.products) == TILE * most**2
    assert len(one.omega) == TILE * len(arrays.weights)
