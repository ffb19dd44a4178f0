"""Circuits drawn unit by unit: each unit once, lines as strong as weights or flows, and what is said of each."""

import re

import naive
import numpy as np
import pytest
import zoo
from picture_parts import boxes, of_kind, row_of, texts

import pcircuit
from pcircuit import Circuit, InputRegion, VTree
from pcircuit.pictures.circuits import circuit_scene
from pcircuit.pictures.scene import VERMILLION, Box, Curve, Disc, Text
from pcircuit.pictures.units import units_scene

ZOO = zoo.circuits()


@pytest.mark.parametrize("name", ZOO)
def test_every_unit_is_drawn_once_and_on_the_page(name):
    circuit = ZOO[name]
    scene = circuit_scene(circuit, None, None, "units")
    tips = [
        re.match(r"(\w+) \d+ of region \d+, unit id (\d+)", shape.tip)
        for shape in scene.shapes
        if not isinstance(shape, (Text, Curve)) and shape.tip
    ]
    found = {int(tip[2]): tip[1] for tip in tips}
    assert found == dict(enumerate(circuit.nodes.kind.tolist()))
    assert len(tips) == circuit.num_units
    for box in boxes(scene):
        assert 0 <= box.x < box.x + box.width <= scene.width
        assert 0 <= box.y < box.y + box.height <= scene.height


@pytest.mark.parametrize("name", ["hclt_like", "nary", "deep_chain", "irregular_csr"])
def test_panels_do_not_overlap(name):
    panels = [
        box for box in boxes(circuit_scene(ZOO[name], None, None, "units")) if box.radius == 10
    ]
    assert len(panels) == ZOO[name].num_regions
    for i, a in enumerate(panels):
        for b in panels[:i]:
            apart = (
                a.x + a.width <= b.x
                or b.x + b.width <= a.x
                or a.y + a.height <= b.y
                or b.y + b.height <= a.y
            )
            assert apart


def test_tips_say_scope_table_and_likelihood():
    circuit = ZOO["two_coins"]
    scene = circuit_scene(circuit, [0, np.nan], ["rain", "wind"], "units")
    root = next(shape for shape in scene.shapes if isinstance(shape, Disc))
    likelihood = np.exp(pcircuit.log_likelihood(circuit, [[0, -1]])[0])
    assert root.tip.splitlines() == [
        "sum 0 of region 2, unit id 6",
        "scope: rain, wind",
        "weights: 0.25 0.75",
        f"likelihood of the row: {likelihood:.4g}",
        "flow of the row: 1",
    ]
    names = [shape.text for shape in scene.shapes if isinstance(shape, Text)]
    assert names[:2] == ["rain", "wind"]


def test_lines_join_a_sum_to_the_products_it_mixes_and_these_to_their_units():
    """The root has four products, and mixes three of them with weights 0.4, 0.1 and 0.5."""
    circuit = ZOO["irregular_csr"]
    scene = units_scene(circuit, None, list("abcde"))
    root, first = circuit.num_nodes - 1, circuit.num_nodes - 5
    lines = [line for line in of_kind(scene, Curve) if f"n{root}" in line.key.split()]
    assert [line.key for line in lines] == [f"n{root} n{first + p}" for p in (0, 1, 3)]
    assert [line.tip for line in lines] == [
        f"weight {w} of sum 0 on product {p} in region 8" for p, w in ((0, 0.4), (1, 0.1), (3, 0.5))
    ]
    assert [line.width for line in lines] == pytest.approx([0.8 + 3.4 * w for w in (0.4, 0.1, 0.5)])
    shapes = {
        shape.key: shape for shape in scene.shapes if isinstance(shape, (Box, Disc)) and shape.key
    }
    for line in lines:
        product = shapes[line.key.split()[1]]
        assert (line.x, line.y) == (
            shapes[f"n{root}"].x,
            shapes[f"n{root}"].y + shapes[f"n{root}"].radius,
        )
        assert (line.x2, line.y2) == pytest.approx((product.x + product.width / 2, product.y))
    keys = [line.key for line in of_kind(scene, Curve)]
    for p, units in enumerate(circuit.regions[8].products.tolist()):
        below = [
            int(circuit.offsets[c]) + circuit.regions[c].num_products + u
            for c, u in zip(circuit.vtree.children(8).tolist(), units, strict=True)
        ]
        assert [key for key in keys if key.startswith(f"n{first + p} ")] == [
            f"n{first + p} n{node}" for node in below
        ]


def test_each_line_of_a_row_is_the_flow_of_its_own_weight():
    circuit = ZOO["irregular_csr"]
    row = row_of(circuit)
    flows = naive.flows(circuit, row[None])
    said = [
        re.fullmatch(
            r"weight \S+ of sum (\d+) on product (\d+) in region (\d+)\nflow of the row: (\S+)",
            line.tip,
        )
        for line in of_kind(units_scene(circuit, row, list("abcde")), Curve)
        if "flow" in line.tip
    ]
    assert len(said) > 5
    for k, p, r, flow in (one.groups() for one in said):
        assert float(flow) == pytest.approx(flows[int(r)][int(k), int(p)], rel=1e-3)


def test_bars_are_as_high_as_probabilities_and_what_was_seen_is_orange():
    coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.125, 0.5, 0.0, 0.375]])])
    for row, orange in (
        (None, []),
        (np.array([1]), [1]),
        (np.array([2]), []),
        (np.array([-1]), []),
    ):
        frame, *bars = (box for box in boxes(units_scene(coin, row, ["a"])) if box.radius != 10)
        assert [bar.height for bar in bars] == pytest.approx(
            [28 / 4, 28, 28 * 3 / 4]
        )  # none for what is impossible
        assert [i for i, bar in enumerate(bars) if bar.fill == VERMILLION] == orange
        assert len({bar.y + bar.height for bar in bars}) == 1
        assert frame.tip.splitlines()[:3] == [
            "input 0 of region 0, unit id 0",
            "scope: a",
            "probabilities: 0.125 0.5 0 0.375",
        ]


def test_an_impossible_row_flows_nowhere():
    circuit = ZOO["deterministic"]
    row = np.array([1, 0, 0, 0])
    scene = units_scene(circuit, row, list("abcd"))
    assert scene.title.endswith(", ln p(row) = -inf")
    assert not any(line.colour == VERMILLION for line in of_kind(scene, Curve))
    assert "likelihood of the row: 0\nflow of the row: 0" in of_kind(scene, Disc)[-1].tip


def test_long_tables_and_scopes_are_cut_in_tips():
    wide = zoo.independent(np.full((20, 30), 1 / 30))
    scene = units_scene(wide, None, [f"x{v}" for v in range(20)])
    root = of_kind(scene, Disc)[-1].tip.splitlines()
    assert root[1] == "scope: " + ", ".join(f"x{v}" for v in range(16)) + " and 4 more"
    leaf = next(box.tip for box in boxes(scene) if box.tip).splitlines()
    assert leaf[2] == "probabilities: " + " ".join(["0.03333"] * 16) + " ... (30 numbers)"
    assert texts(scene).count("x19") == 1
