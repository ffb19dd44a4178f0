"""Places of values in a tile: no more of them than are needed, found once for each circuit."""

import zoo

from pcircuit.kernels.layouts import full_layout, stack_layout


def test_evaluation_keeps_no_more_sums_than_wait_for_their_parent():
    """Along a chain these are those of one region: two sums, beside twice the room of two products."""
    chain = zoo.circuits()["deep_chain"]
    assert stack_layout(chain).num_values == 6


def test_layouts_are_made_once_for_a_circuit():
    circuit = zoo.circuits()["nary"]
    for make in (stack_layout, full_layout):
        assert make(circuit) is make(circuit)
