"""Circuits drawn unit by unit: each unit once, lines as strong as weights or flows, and what is said of each."""

import re

import naive
import numpy as np
import pytest
import zoo
from picture_parts import boxes, of_kind, row_of

import pcircuit
from pcircuit import Circuit, InputRegion, VTree
from pcircuit.pictures.circuits import circuit_scene
from pcircuit.pictures.scene import VERMILLION, Curve, Disc, Text
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
