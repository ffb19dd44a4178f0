"""V-trees drawn: leaves with their names, inner nodes as dots, and a line from each node to the one above."""

import itertools

import numpy as np
import pytest
import zoo
from picture_parts import boxes, of_kind, texts

from pcircuit import VTree, plot_vtree
from pcircuit.pictures.scene import Curve, Disc, Text
from pcircuit.pictures.vtrees import variable_names, vtree_scene

ZOO = zoo.circuits()


@pytest.mark.parametrize("name", ["two_coins", "nary", "unary"])
def test_names_of_variables_stand_in_the_leaves_of_a_vtree(name):
    vtree = ZOO[name].vtree
    scene = vtree_scene(vtree)
    found = {}
    for text in (shape for shape in scene.shapes if isinstance(shape, Text)):
        (around,) = [
            box
            for box in boxes(scene)
            if box.x < text.x < box.x + box.width and box.y < text.y < box.y + box.height
        ]
        found[text.text] = around.tip.partition(":")[0]
    assert found == {
        str(v): f"region {r}" for r, v in enumerate(vtree.variables.tolist()) if v >= 0
    }


@pytest.mark.parametrize("name", ["two_coins", "nary", "unary", "deep_chain", "one_region"])
def test_every_node_is_drawn_once_with_a_line_to_the_node_above(name):
    vtree = ZOO[name].vtree
    scene = vtree_scene(vtree)
    leaves, dots, lines = boxes(scene), of_kind(scene, Disc), of_kind(scene, Curve)
    assert (len(leaves), len(dots)) == (vtree.num_variables, vtree.num_nodes - vtree.num_variables)
    middle = {int(dot.tip.split(",")[0].split()[1]): (dot.x, dot.y) for dot in dots}
    middle |= {
        int(leaf.tip.split(":")[0].split()[1]): (leaf.x + leaf.width / 2, leaf.y + leaf.height / 2)
        for leaf in leaves
    }
    assert len(middle) == vtree.num_nodes
    ends = {((line.x, line.y), (line.x2, line.y2)) for line in lines}
    assert ends == {(middle[vtree.parent(r)], middle[r]) for r in range(vtree.num_nodes - 1)}
    scopes = {dot.tip.split(", scope: ")[1] for dot in dots}
    assert scopes == {
        ", ".join(map(str, vtree.scope(r)))
        for r in range(vtree.num_nodes)
        if vtree.variables[r] < 0
    }


def test_a_variable_without_a_name_is_a_leaf_too():
    scene = vtree_scene(VTree.balanced(3), ["", "b", ""])
    assert [leaf.tip for leaf in boxes(scene)] == [
        "region 0: the leaf of variable ",
        "region 1: the leaf of variable b",
        "region 3: the leaf of variable ",
    ]
    assert texts(scene) == ["", "b", ""]
    assert len(of_kind(scene, Disc)) == 2


def test_leaves_are_as_wide_as_their_names_and_do_not_overlap():
    leaves = sorted(
        boxes(vtree_scene(VTree.balanced(4), ["a" * 24, "b", "c" * 24, "d" * 10])),
        key=lambda box: box.x,
    )
    assert all(a.x + a.width <= b.x for a, b in itertools.pairwise(leaves))
    assert [leaf.width > 28 for leaf in leaves] == [True, False, True, True]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (None, ["0", "1"]),
        (("age", 7), ["age", "7"]),
        (np.array(["a", "b"]), ["a", "b"]),
        (["x" * 24, "y" * 25], ["x" * 24, "y" * 23 + "…"]),
        ({"a": 1, "b": 2}, ["a", "b"]),
        (iter("ab"), ["a", "b"]),
    ],
)
def test_names_are_given_or_numbers(names, expected):
    assert variable_names(2, names) == expected


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ("ab", TypeError, "`names` must be a sequence of names, one for each variable, found 'ab'"),
        (
            {"ab"},
            TypeError,
            "`names` must be a sequence of names, one for each variable, found {'ab'}",
        ),
        (3, TypeError, "`names` must be a sequence of names, one for each variable, found 3"),
        (["a"], ValueError, "`names` must hold one name for each of the 2 variables, found 1"),
        (
            ["a", "b", "c"],
            ValueError,
            "`names` must hold one name for each of the 2 variables, found 3",
        ),
    ],
)
def test_other_names_are_refused(names, error, message, ax):
    with pytest.raises(error) as caught:
        plot_vtree(VTree.balanced(2), names=names, ax=ax)
    assert str(caught.value) == message


def test_at_most_400_nodes_are_drawn():
    assert len(boxes(vtree_scene(VTree.from_nested(list(range(399)))))) == 399
    with pytest.raises(ValueError, match="`vtree` has 401 nodes, and a picture shows at most 400"):
        vtree_scene(VTree.from_nested(list(range(400))))
    with pytest.raises(TypeError, match=r"`vtree` must be a pcircuit\.VTree, found Circuit"):
        vtree_scene(ZOO["two_coins"])
