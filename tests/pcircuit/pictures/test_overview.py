"""Circuits drawn region by region: a box for each, its size in units, and lines to the box above."""

import numpy as np
import pytest
import zoo
from picture_parts import boxes, of_kind, texts

from pcircuit import InputRegion
from pcircuit.pictures.overview import regions_scene
from pcircuit.pictures.scene import Curve, Text

ZOO = zoo.circuits()


def labels(circuit):
    return [f"x{v}" for v in range(circuit.num_variables)]


@pytest.mark.parametrize("name", ZOO)
def test_each_region_has_a_box_with_its_numbers_of_units(name):
    circuit = ZOO[name]
    scene = regions_scene(circuit, labels(circuit))
    assert [box.key for box in boxes(scene)] == [f"r{r}" for r in range(circuit.num_regions)]
    expected = [
        part
        for region in circuit.regions
        for part in (
            (f"x{region.variable}", f"{region.num_units} in")
            if isinstance(region, InputRegion)
            else (f"{region.num_units} +", f"{region.num_products} ×")
        )
    ]
    assert texts(scene) == expected
    for box, *words in zip(
        boxes(scene), of_kind(scene, Text)[::2], of_kind(scene, Text)[1::2], strict=True
    ):
        assert 0 <= box.x < box.x + box.width <= scene.width
        assert 0 <= box.y < box.y + box.height <= scene.height
        for word in words:
            assert word.x == pytest.approx(box.x + box.width / 2)
            assert box.y < word.y < box.y + box.height


@pytest.mark.parametrize("name", ["two_coins", "nary", "unary", "deep_chain", "one_region"])
def test_a_line_joins_each_region_to_the_one_above(name):
    circuit = ZOO[name]
    scene = regions_scene(circuit, labels(circuit))
    place = {box.key: box for box in boxes(scene)}
    lines = of_kind(scene, Curve)
    assert [line.key for line in lines] == [
        f"r{r} r{circuit.vtree.parent(r)}" for r in range(circuit.num_regions - 1)
    ]
    for line in lines:
        below, above = (place[key] for key in line.key.split())
        assert (line.x, line.y) == pytest.approx(
            (above.x + above.width / 2, above.y + above.height)
        )
        assert (line.x2, line.y2) == pytest.approx((below.x + below.width / 2, below.y))
        assert line.y < line.y2


def test_tips_say_what_a_region_holds_and_cut_long_scopes():
    wide = zoo.independent(np.full((20, 2), 0.5))
    root, leaf = (
        boxes(regions_scene(wide, labels(wide)))[-1],
        boxes(regions_scene(wide, labels(wide)))[0],
    )
    assert (
        leaf.tip
        == "region 0: InputRegion(variable 0, 1 units, 2 categories)\nnodes 0..0\nscope: x0"
    )
    assert root.tip == (
        f"region 38: InnerRegion(2 children, 1 products, 1 sum)\nnodes {wide.num_units - 2}.."
        f"{wide.num_units - 1}\nscope: {', '.join(f'x{v}' for v in range(16))} and 4 more"
    )
    sixteen = zoo.independent(np.full((16, 2), 0.5))
    assert boxes(regions_scene(sixteen, labels(sixteen)))[-1].tip.endswith("x14, x15")


def test_boxes_are_as_wide_as_their_words():
    coins = zoo.two_coins()
    short, long = (
        boxes(regions_scene(coins, names))[0].width for names in (["a", "b"], ["a" * 24, "b"])
    )
    assert short < long
    assert long > 24 * 6
