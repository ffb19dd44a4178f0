"""The plan of the recursions: which units are selected where, which tables a region needs, and the order of regions."""

import numpy as np
import pytest
import zoo

from pcircuit import InputRegion, select_nodes
from pcircuit.moments.plan import make_plan

CIRCUITS = zoo.circuits()
SELECTIONS = ("input", "product", "sum", "all", "root", "first input")


def selected(circuit, which):
    """Ascending ids of some units of a circuit."""
    if which in ("input", "product", "sum"):
        return np.flatnonzero(circuit.nodes.kind == which)
    nodes = np.arange(circuit.num_nodes)
    return {"all": nodes, "root": nodes[-1:], "first input": nodes[:1]}[which]


def ancestors(vtree, r):
    """Regions above r."""
    while r != vtree.root:
        r = vtree.parent(r)
        yield r


@pytest.mark.parametrize("which", SELECTIONS)
@pytest.mark.parametrize("name", ["irregular_csr", "nary", "unary", "one_region", "deep_chain"])
def test_selected_units_of_a_region_and_below_it_are_slices(name, which):
    circuit, nodes = CIRCUITS[name], selected(CIRCUITS[name], which)
    plan = make_plan(circuit, nodes, np.linspace(1.0, 2.0, len(nodes)))
    regions, vtree = circuit.nodes.region[nodes], circuit.vtree
    for r, region in enumerate(circuit.regions):
        products, sums, weights = plan.own(r)
        hidden = 0 if isinstance(region, InputRegion) else region.num_products
        found = circuit.offsets[r] + np.concatenate([products, hidden + sums])
        assert found.tolist() == nodes[regions == r].tolist()
        assert (products < hidden).all()
        np.testing.assert_array_equal(weights, np.linspace(1.0, 2.0, len(nodes))[regions == r])
        in_subtree = [c == r or r in ancestors(vtree, c) for c in regions.tolist()]
        assert (
            nodes[plan.start[vtree.first[r]] : plan.start[r + 1]].tolist()
            == nodes[in_subtree].tolist()
        )


@pytest.mark.parametrize("which", SELECTIONS)
@pytest.mark.parametrize("name", ["irregular_csr", "nary", "unary", "one_region", "deep_chain"])
def test_what_a_region_needs_is_said_by_what_is_selected_at_above_and_below(name, which):
    circuit, nodes = CIRCUITS[name], selected(CIRCUITS[name], which)
    plan = make_plan(circuit, nodes, np.ones(len(nodes)))
    has_own, vtree = (
        np.isin(np.arange(circuit.num_regions), circuit.nodes.region[nodes]),
        circuit.vtree,
    )
    for r in range(circuit.num_regions):
        nested = any(has_own[a] for a in ancestors(vtree, r))
        assert plan.below[r] == any(
            has_own[c] and (c == r or r in ancestors(vtree, c)) for c in range(circuit.num_regions)
        )
        assert plan.nested[r] == nested
        assert plan.needed[r] == (nested or (has_own[r] and vtree.variables[r] < 0))


@pytest.mark.parametrize("seed", range(4))
def test_regions_of_the_plan_come_after_their_children(seed):
    circuit = zoo.random_circuit(seed, num_variables=12, nary=True)
    nodes = select_nodes(circuit)
    order = make_plan(circuit, nodes, np.ones(len(nodes))).order
    position = np.argsort(order)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(order)))
    for r in range(len(order) - 1):
        assert position[r] < position[circuit.vtree.parent(r)]


@pytest.mark.parametrize("seed", range(4))
def test_of_several_children_the_larger_subtree_comes_first_and_none_is_interleaved(seed):
    circuit = zoo.random_circuit(seed, num_variables=12, nary=True)
    vtree, order = circuit.vtree, make_plan(circuit, np.array([0]), np.ones(1)).order
    position, numbers = np.argsort(order), np.arange(circuit.num_regions)
    sizes = numbers - vtree.first + 1
    for r in np.flatnonzero(vtree.variables < 0).tolist():
        children = sorted(vtree.children(r).tolist(), key=position.__getitem__)
        assert sizes[children].tolist() == sorted(sizes[children].tolist(), reverse=True)
        for c in children:
            places = position[vtree.first[c] : c + 1]
            assert places.max() - places.min() == sizes[c] - 1
