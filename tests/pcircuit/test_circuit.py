"""Circuits: what is refused with which sentence, the table of units, equality."""

import re

import numpy as np
import pytest
import scipy.sparse
import zoo

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree
from pcircuit.circuit import check_distribution, check_regions

LONG = [20_000, pytest.param(100_000, marks=pytest.mark.slow)]
ZOO = zoo.all_circuits()


def with_region(circuit, r, region):
    return Circuit(circuit.vtree, [*circuit.regions[:r], region, *circuit.regions[r + 1 :]])


@pytest.mark.parametrize("regions", [None, 3, np.array(3)])
def test_regions_are_a_listing(regions):
    with pytest.raises(
        TypeError, match="`regions` must be a sequence of regions, one per v-tree node, found"
    ):
        Circuit(VTree.balanced(2), regions)


@pytest.mark.parametrize("name", ZOO)
def test_table_of_units(name):
    circuit = ZOO[name]
    expected = []
    for r, region in enumerate(circuit.regions):
        size = len(circuit.vtree.scope(r))
        if isinstance(region, InputRegion):
            expected += [("input", r, k, size) for k in range(region.num_units)]
        else:
            expected += [("product", r, p, size) for p in range(region.num_products)]
            expected += [("sum", r, k, size) for k in range(region.num_units)]
    assert circuit.nodes.tolist() == expected
    assert circuit.num_nodes == len(expected)
    owners = [r for _, r, _, _ in expected]
    firsts = [owners.index(r) for r in range(len(circuit.regions))]
    assert circuit.offsets.tolist() == [*firsts, len(expected)]
    for node, (_, r, _, _) in enumerate(expected):
        assert circuit.scope(node).tolist() == circuit.vtree.scope(r).tolist()


@pytest.mark.parametrize("name", ZOO)
def test_counts(name):
    circuit = ZOO[name]
    parameters = 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            assert circuit.num_categories[region.variable] == region.num_categories
            parameters += region.num_units * region.num_categories
        else:
            parameters += (
                region.weights.nnz if region.is_sparse else region.num_units * region.num_products
            )
    assert circuit.num_parameters == parameters
    assert len(circuit.num_categories) == circuit.num_variables == circuit.vtree.num_variables


def test_node_ids_that_do_not_exist():
    for node in (-1, 7):
        with pytest.raises(IndexError, match=f"`node_id` {node} does not exist: node ids are 0..6"):
            zoo.two_coins().scope(node)


@pytest.mark.parametrize(
    ("amount", "normalised"),
    [(0.0, True), (5e-10, True), (-5e-10, True), (2e-9, False), (-2e-9, False)],
)
def test_normalised_up_to_1e_9(amount, normalised):
    coins = zoo.two_coins()
    for kind in (np.array, scipy.sparse.csr_array):
        weights = InnerRegion([[0, 0], [1, 1]], kind([[0.25, 0.75 + amount]]))
        assert with_region(coins, 2, weights).is_normalized is normalised
    table = [[0.7, 0.3 + amount], [0.4, 0.6]]
    assert with_region(coins, 1, InputRegion(1, table)).is_normalized is normalised


def test_repr_says_what_is_not_normalised():
    assert repr(zoo.two_coins()) == "Circuit(2 variables, 3 regions, 7 units, 10 parameters)"
    assert repr(zoo.unnormalized_circuits()["zero"]).endswith("5 parameters, not normalised)")


def test_any_change_makes_it_different():
    coins = zoo.two_coins()
    assert coins != with_region(coins, 0, InputRegion(0, [[0.9, 0.1], [0.2, np.nextafter(0.8, 1)]]))
    assert coins != with_region(coins, 2, InnerRegion([[0, 0], [1, 0]], [[0.25, 0.75]]))
    sparse = scipy.sparse.csr_array([[0.25, 0.75]])
    assert coins != with_region(coins, 2, InnerRegion([[0, 0], [1, 1]], sparse))
    swapped = Circuit(
        VTree.from_nested([1, 0]), [coins.regions[1], coins.regions[0], coins.regions[2]]
    )
    assert coins != swapped
    assert coins != "coins"
    with pytest.raises(TypeError, match="unhashable"):
        hash(coins)


@pytest.mark.thorough
@pytest.mark.parametrize("V", LONG)
def test_many_thousand_variables_in_a_chain(V):
    vtree = VTree.right_linear(V)
    table = np.full((2, 2), 0.5)
    pair, root = InnerRegion([[0, 0], [1, 1]], table), InnerRegion([[0, 0], [1, 1]], table[:1])
    leaves = [InputRegion(v, table) for v in range(V)]
    circuit = Circuit(vtree, [*leaves, *[pair] * (V - 2), root])  # here leaves come first
    assert circuit.num_nodes == 2 * V + 4 * (V - 2) + 3
    assert circuit.num_parameters == 4 * V + 4 * (V - 2) + 2
    assert circuit.num_categories == (2,) * V
    assert len(circuit.nodes) == circuit.num_nodes
    assert circuit.nodes.scope_size[-1] == V
    assert circuit.scope(0).tolist() == [0]
    assert len(circuit.scope(circuit.num_nodes - 1)) == V
    assert circuit.describe(max_regions=1).endswith("more regions")
    message = f"region {V + 1} with scope .*: `products` asks for unit 1 of child region {V}"
    with pytest.raises(StructureError, match=message):
        with_region(circuit, V, root)


@pytest.mark.parametrize("name", zoo.unnormalized_circuits())
def test_others_are_refused_by_name(name):
    circuit = zoo.unnormalized_circuits()[name]
    with pytest.raises(
        StructureError, match="`model` is not normalised, so it is not a distribution"
    ):
        check_distribution(circuit, "model")
    for query in (
        pcircuit.exact_moments,
        pcircuit.sample,
        lambda c: pcircuit.fit_em(c, [[0] * c.num_variables]),
    ):
        with pytest.raises(
            StructureError, match="`circuit` is not normalised, so it is not a distribution"
        ):
            query(circuit)


def test_every_unit_of_a_child_can_be_asked_for_and_none_after_the_last():
    coins = zoo.two_coins()
    check_regions(coins.vtree, (*coins.regions[:2], InnerRegion([[0, 1]], [[1.0]])))
    with pytest.raises(
        StructureError, match="asks for unit 2 of child region 1, which has 2 units"
    ):
        check_regions(coins.vtree, (*coins.regions[:2], InnerRegion([[0, 2]], [[1.0]])))


def test_vtree_must_be_a_vtree():
    with pytest.raises(TypeError, match="`vtree` must be a VTree, found list"):
        Circuit([[0, 1]], zoo.two_coins().regions)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_one_region_per_node(count):
    regions = [*zoo.two_coins().regions, InputRegion(0, [[1.0]])][:count]
    with pytest.raises(
        StructureError, match=f"`regions` has {count} entries but the v-tree 3 nodes"
    ):
        Circuit(VTree.balanced(2), regions)


@pytest.mark.parametrize(
    ("r", "region", "message"),
    [
        (
            1,
            InnerRegion([[0]], [[1.0]]),
            "region 1 with scope [0]: found InnerRegion, but the v-tree node is the leaf of variable 0, which needs "
            "an InputRegion",
        ),
        (
            1,
            [[0.5, 0.5]],
            "region 1 with scope [0]: found list, but the v-tree node is the leaf of variable 0",
        ),
        (
            1,
            InputRegion(2, [[0.5, 0.5]]),
            "region 1 with scope [0]: the region is of variable 2, the v-tree leaf of variable 0",
        ),
        (
            2,
            InputRegion(2, [[0.5, 0.5]]),
            "region 2 with scope [0, 2]: found InputRegion, but the v-tree node has children and needs an "
            "InnerRegion",
        ),
        (
            2,
            InnerRegion([[0, 0, 0]], [[1.0]]),
            "region 2 with scope [0, 2]: `products` has 3 columns, the v-tree node 2 children",
        ),
        (
            2,
            InnerRegion([[0]], [[1.0]]),
            "region 2 with scope [0, 2]: `products` has 1 columns, the v-tree node 2 children",
        ),
        (
            2,
            InnerRegion([[0, 0], [1, 2]], [[0.5, 0.5], [1.0, 0.0]]),
            "region 2 with scope [0, 2]: `products` asks for unit 2 of child region 1, which has 2 units",
        ),
        (
            4,
            InnerRegion([[1, 0], [2, 0]], [[0.5, 0.5]]),
            "region 4 with scope [0, 1, 2]: `products` asks for unit 2 of child region 2, which has 2 units",
        ),
        (
            4,
            InnerRegion([[1, 0], [0, 1]], [[0.5, 0.5]]),
            "region 4 with scope [0, 1, 2]: `products` asks for unit 1 of child region 3, which has 1 units",
        ),
        (
            4,
            InnerRegion([[0, 0]], [[1.0], [1.0]]),
            "region 4 with scope [0, 1, 2]: the root region shows 2 units, a circuit has exactly one root",
        ),
    ],
)
def test_disagreements_name_region_and_scope(r, region, message):
    circuit = Circuit(
        VTree.from_nested([[2, 0], 1]),
        [
            InputRegion(2, [[0.5, 0.5], [0.25, 0.75]]),
            InputRegion(0, [[0.5, 0.5], [1.0, 0.0]]),
            InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5], [1.0, 0.0]]),
            InputRegion(1, [[1.0]]),
            InnerRegion([[0, 0], [1, 0]], [[0.5, 0.5]]),
        ],
    )
    with pytest.raises(StructureError, match=re.escape(message)):
        with_region(circuit, r, region)


def test_one_variable_needs_one_unit():
    message = (
        "region 0 with scope [0]: the root region shows 2 units, a circuit has exactly one root"
    )
    with pytest.raises(StructureError, match=re.escape(message)):
        Circuit(VTree.from_nested(0), [InputRegion(0, [[0.5, 0.5], [1.0, 0.0]])])
