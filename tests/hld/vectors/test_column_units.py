"""Input units of each column among selected nodes, against kinds and scopes of the nodes."""

import numpy as np
import pytest
import zoo

from hld.vectors.column_units import column_units


@pytest.mark.parametrize("name", zoo.circuits())
@pytest.mark.parametrize("kinds", [("input", "sum"), ("sum",), ("input", "product", "sum")])
def test_units_of_a_column_are_the_inputs_with_its_scope(name, kinds):
    circuit = zoo.circuits()[name]
    nodes = np.random.default_rng(0).permutation(
        np.flatnonzero(np.isin(circuit.nodes.kind, kinds))
    )  # any order
    found = column_units(circuit, nodes)
    assert len(found) == circuit.num_variables
    for v, places in enumerate(found):
        own = [
            j
            for j, node in enumerate(nodes.tolist())
            if circuit.nodes.kind[node] == "input" and list(circuit.scope(node)) == [v]
        ]
        assert places.tolist() == own
        assert bool(own) == ("input" in kinds)


def test_without_a_unit_of_a_column_its_places_are_empty_integers():
    circuit = zoo.circuits()["two_coins"]
    for places in column_units(circuit, np.zeros(0, dtype=np.int64)):
        assert (places.tolist(), places.dtype.kind) == ([], "i")
