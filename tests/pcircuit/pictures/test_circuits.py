"""Circuits drawn: with units or without, as pages that stand alone, and what is too large or no row."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import zoo
from picture_parts import boxes, of_kind, row_of

import pcircuit
from pcircuit import Circuit, InputRegion, VTree, plot_vtree
from pcircuit.pictures.circuits import (
    MOST_DRAWN,
    MOST_UNITS,
    circuit_scene,
    variable_names,
    vtree_scene,
)
from pcircuit.pictures.scene import Curve, Disc
from pcircuit.pictures.units import regions_scene, units_scene

ZOO = zoo.circuits()


def test_large_circuits_are_drawn_region_by_region_or_refused():
    middle = pcircuit.rat_spn([2] * 16, num_units=16, depth=3, rng=0)
    scene = circuit_scene(middle, None, None, "auto")
    assert len(boxes(scene)) == middle.num_regions
    assert len(boxes(circuit_scene(middle, np.zeros(16, int), None, "auto"))) > middle.num_units
    large = pcircuit.rat_spn([2] * 512, num_units=2, depth=5, rng=0)
    with pytest.raises(
        ValueError, match=r"`circuit` has 575 regions, and a picture shows at most 400: .*describe"
    ):
        pcircuit.plot_circuit(large)
    with pytest.raises(
        ValueError,
        match=r"`vtree` has 575 nodes, and a picture shows at most 400: `vtree.to_nested",
    ):
        pcircuit.plot_vtree(large.vtree)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"row": [0, 1, 1]}, ValueError, "`row`"),
        ({"row": [0, 7]}, ValueError, "`row` holds 7"),
        ({"names": ["a"]}, ValueError, "one name for each of the 2 variables, found 1"),
        ({"detail": "all"}, ValueError, "`detail` must be"),
        ({"detail": "regions", "row": [0, 1]}, ValueError, "`row` flows through units"),
    ],
)
def test_bad_arguments_get_one_sentence(options, error, message, ax):
    with pytest.raises(error, match=message):
        pcircuit.plot_circuit(ZOO["two_coins"], ax=ax, **options)


@pytest.mark.parametrize("name", ["two_coins", "hclt_like", "irregular_csr"])
def test_pages_are_well_formed_and_load_nothing(name, tmp_path):
    circuit = ZOO[name]
    circuit.write_html(
        tmp_path / "a.html",
        row_of(circuit),
        names=[f'<b>"{v}&' for v in range(circuit.num_variables)],
    )
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href|action)="(?!data:,")', text)
    assert "default-src 'none'" in text
    assert "<b>" not in text
    assert re.findall(r"https?://[^\"]*", text) == [
        "http://www.w3.org/2000/svg"
    ]  # a name, not an address
    circuit.write_html(tmp_path / "a.svg")
    root = ET.parse(tmp_path / "a.svg").getroot()
    assert (
        len(root.findall("{http://www.w3.org/2000/svg}circle"))
        == (circuit.nodes.kind == "sum").sum()
    )


def coins(num_units):
    """One variable with so many units, less three, below a root of one sum and one product, and one more variable."""
    return Circuit(
        VTree.balanced(2),
        [
            InputRegion(0, np.full((num_units - 3, 2), 0.5)),
            InputRegion(1, [[1.0]]),
            pcircuit.InnerRegion([[0, 0]], [[1.0]]),
        ],
    )


def test_detail_decides_between_units_and_regions():
    labels = ["0", "1"]
    small, large = coins(MOST_UNITS), coins(MOST_UNITS + 1)
    row = np.array([0, -1])
    assert (small.num_units, large.num_units) == (300, 301)
    for circuit, given, detail, expected in (
        (small, None, "auto", units_scene(small, None, labels)),
        (large, None, "auto", regions_scene(large, labels)),
        (large, row, "auto", units_scene(large, row, labels)),
        (large, None, "units", units_scene(large, None, labels)),
        (small, None, "regions", regions_scene(small, labels)),
    ):
        assert circuit_scene(circuit, given, None, detail) == expected


@pytest.mark.parametrize("row", [None, [0, -1]])
def test_at_most_4000_units_are_drawn_and_the_error_says_what_can_be(row):
    circuit = coins(MOST_DRAWN + 1)
    with pytest.raises(
        ValueError,
        match=r"^`circuit` has 4001 units, and at most 4000 are drawn one by one: "
        r"`pcircuit\.plot_circuit\(circuit, detail='regions'\)` draws a box for each",
    ):
        circuit_scene(circuit, row, None, "units")
    assert len(boxes(circuit_scene(circuit, None, None, "regions"))) == 3


ZOO = zoo.circuits()


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
