"""Upper bounds of units and lower bounds of linear functions of them, against enumeration."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st
from streams import floor

from hld import select_nodes
from hld.monitoring.bounds import floor_rows, unit_bounds


@given(zoo.circuit_strategy())
def test_unit_bounds_hold_and_are_exact_at_inputs_and_their_products(circuit):
    largest = naive.node_values(circuit, naive.states(circuit)).max(axis=0)
    bounds = unit_bounds(circuit)
    assert (bounds >= largest * (1 - 1e-12)).all()
    leaf = circuit.vtree.variables >= 0
    over_leaves = [
        r for r in range(len(leaf)) if not leaf[r] and leaf[circuit.vtree.children(r)].all()
    ]
    exact = (circuit.nodes.kind == "input") | (
        (circuit.nodes.kind == "product") & np.isin(circuit.nodes.region, over_leaves)
    )
    np.testing.assert_allclose(bounds[exact], largest[exact], rtol=1e-12)


@given(
    zoo.circuit_strategy(),
    st.integers(0, 2**32),
    st.sampled_from([("input", "sum"), "input", "product"]),
)
def test_floors_hold_for_every_direction_and_are_exact_for_inputs(circuit, seed, kinds):
    if kinds == "product" and len(circuit.regions) == 1:
        kinds = "input"
    rng = np.random.default_rng(seed)
    nodes = select_nodes(circuit, kinds)
    factors = rng.uniform(0.5, 2, len(nodes)) * (rng.random(len(nodes)) < 0.8)
    a = rng.normal(size=len(nodes))
    values = naive.node_values(circuit, naive.states(circuit))[:, nodes] @ (factors * a)
    found = floor(floor_rows(circuit, nodes, factors, unit_bounds(circuit)), a)
    assert found <= values.min() + 1e-12
    if kinds == "input":
        assert found == pytest.approx(values.min(), abs=1e-12)
