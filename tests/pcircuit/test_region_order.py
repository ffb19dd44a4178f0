"""Regions that fit a v-tree, and the one sentence for those that do not."""

import re

import pytest
import zoo

from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree
from pcircuit.region_order import check_regions

ZOO = zoo.all_circuits()


def with_region(circuit, r, region):
    return Circuit(circuit.vtree, [*circuit.regions[:r], region, *circuit.regions[r + 1 :]])


@pytest.mark.parametrize("name", ZOO)
def test_regions_of_circuits_fit_their_own_v_tree_and_no_other(name):
    vtree, regions = ZOO[name].vtree, ZOO[name].regions
    check_regions(vtree, regions)
    for other in {other.vtree.num_nodes: other.vtree for other in ZOO.values()}.values():
        if other.num_nodes != vtree.num_nodes:
            with pytest.raises(
                StructureError,
                match=f"has {vtree.num_nodes} entries .* v-tree {other.num_nodes} node",
            ):
                check_regions(other, regions)
    if len(regions) > 1:
        with pytest.raises(StructureError, match=r"^region 0 with scope \["):
            check_regions(vtree, (regions[-1], *regions[1:]))


def test_the_first_region_that_does_not_fit_is_named():
    coins = zoo.two_coins()
    swapped = (coins.regions[1], coins.regions[0], InputRegion(0, [[1.0]]))
    with pytest.raises(
        StructureError, match=r"^region 0 with scope \[0\]: the region is of variable 1, the v-tree"
    ):
        check_regions(coins.vtree, swapped)


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
