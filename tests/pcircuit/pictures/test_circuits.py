"""Circuits drawn: with units or without, as pages that stand alone, and what is too large or no row."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import zoo
from browser import CHROMIUM, browser
from picture_parts import boxes, of_kind, row_of, texts

import pcircuit
from pcircuit import Circuit, InputRegion, VTree, plot_vtree
from pcircuit.pictures.circuits import (
    circuit_scene,
    regions_scene,
    vtree_scene,
)
from pcircuit.pictures.scene import Curve, Disc, Text

ZOO = zoo.circuits()


def test_large_circuits_are_drawn_region_by_region_or_refused():
    middle = pcircuit.rat_spn([2] * 16, num_units=16, depth=3, rng=0)
    scene = circuit_scene(middle, None, None, "auto")
    assert len(boxes(scene)) == middle.num_regions
    assert len(boxes(circuit_scene(middle, np.zeros(16, int), None, "auto"))) > middle.num_units
    large = pcircuit.rat_spn([2] * 512, num_units=2, depth=5, rng=0)
    assert len(boxes(circuit_scene(large, None, None, "auto"))) == large.num_regions
    vtree = VTree.from_nested(list(range(2000)))
    larger = Circuit(
        vtree,
        [
            *(InputRegion(v, [[1.0]]) for v in range(2000)),
            pcircuit.InnerRegion([[0] * 2000], [[1.0]]),
        ],
    )
    with pytest.raises(
        ValueError,
        match=r"`circuit` has 2001 regions, and a picture shows at most 2000: .*describe",
    ):
        pcircuit.plot_circuit(larger)
    with pytest.raises(
        ValueError,
        match=r"`vtree` has 2001 regions, and a picture shows at most 2000: `vtree.to_nested",
    ):
        pcircuit.plot_vtree(vtree)


def test_what_does_not_fit_stands_sideways_and_overlaps_nowhere():
    """A circuit of 297 units was a strip of 1,120 x 100 pixels; its regions are one below another, with their names."""
    rows = np.random.default_rng(0).integers(0, 2, (60, 37))
    circuit = pcircuit.hclt(rows, num_latents=2)
    names = [f"variable number {v}" for v in range(37)]
    scene = circuit_scene(circuit, None, names, "auto")
    assert scene.layout.sideways
    assert scene.height > scene.width / 2
    drawn = boxes(scene)
    leaves = [box for box in drawn if "InputRegion" in box.tip]
    assert len({box.y for box in leaves}) == len(leaves) == 37
    for i, a in enumerate(drawn):
        assert 0 <= a.x < a.x + a.width <= scene.width
        assert 0 <= a.y < a.y + a.height <= scene.height
        for b in drawn[:i]:
            apart = (a.y + a.height <= b.y) | (b.y + b.height <= a.y)
            assert apart | (a.x + a.width <= b.x) | (b.x + b.width <= a.x)
    assert all(line.sideways and line.x < line.x2 for line in of_kind(scene, Curve))


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


ZOO = zoo.circuits()


@pytest.mark.parametrize("name", ["two_coins", "nary", "unary", "deep_chain", "one_region"])
def test_every_node_is_drawn_once_with_a_line_to_the_node_above(name):
    vtree = ZOO[name].vtree
    scene = vtree_scene(vtree)
    leaves, dots, lines = boxes(scene), of_kind(scene, Disc), of_kind(scene, Curve)
    assert (len(leaves), len(dots)) == (vtree.num_variables, vtree.num_nodes - vtree.num_variables)
    middle = {int(dot.tip.split(":")[0].split()[1]): (dot.x, dot.y) for dot in dots}
    middle |= {
        int(leaf.tip.split(":")[0].split()[1]): (leaf.x + leaf.width / 2, leaf.y + leaf.height / 2)
        for leaf in leaves
    }
    assert len(middle) == vtree.num_nodes
    ends = {((line.x, line.y), (line.x2, line.y2)) for line in lines}
    assert ends == {(middle[vtree.parent(r)], middle[r]) for r in range(vtree.num_nodes - 1)}
    scopes = {dot.tip.split("scope: ")[1] for dot in dots}
    assert scopes == {
        ", ".join(map(str, vtree.scope(r)))
        for r in range(vtree.num_nodes)
        if vtree.variables[r] < 0
    }


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


def labels_of(circuit):
    return [f"x{v}" for v in range(circuit.num_variables)]


@pytest.mark.parametrize("name", ZOO)
def test_each_region_has_a_box_with_its_numbers_of_units(name):
    circuit = ZOO[name]
    scene = regions_scene(circuit, labels_of(circuit))
    assert [box.key for box in boxes(scene)] == [f"r{r}" for r in range(circuit.num_regions)]
    assert texts(scene) == [
        f"x{region.variable} · {region.num_units} in"
        if isinstance(region, InputRegion)
        else f"{region.num_units} + · {region.num_products} ×"
        for region in circuit.regions
    ]
    for box, word in zip(boxes(scene), of_kind(scene, Text), strict=True):
        assert 0 <= box.x < box.x + box.width <= scene.width
        assert 0 <= box.y < box.y + box.height <= scene.height
        assert word.x == pytest.approx(box.x + box.width / 2)
        assert box.y < word.y < box.y + box.height


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("detail", ["regions", "units"])
@pytest.mark.parametrize("num_variables", [6, 37])
def test_a_page_zooms_and_folds_as_python_arranges(num_variables, detail, tmp_path):
    rows = np.random.default_rng(0).integers(0, 2, (60, num_variables))
    circuit = pcircuit.hclt(rows, num_latents=2)
    circuit.write_html(tmp_path / "a.html", detail=detail)
    scene = circuit_scene(circuit, None, None, detail)
    where = "[...document.querySelectorAll('rect[data-region][rx]')].filter(e => e.style.display !== 'none')"
    places = f"""Object.fromEntries({where}.map(e => [e.dataset.region, e]).reverse().map(([r, e]) => {{
      const b = e.getBBox(), m = (e.getAttribute('transform') || '').match(/-?[\\d.]+(?:e-?\\d+)?/g) || [0, 0];
      return [r, [b.x + +m[0], b.y + +m[1], b.width, b.height]]; }}))"""
    with browser(tmp_path) as page:
        page.open((tmp_path / "a.html").as_uri())
        width = "document.querySelector('svg').getBoundingClientRect().width"
        before = page.run(width)
        page.run("document.getElementById('in').click()")
        assert page.run(width) == pytest.approx(1.25 * before, rel=0.01)
        page.run("document.getElementById('fit').click()")
        assert page.run(width) == pytest.approx(before)
        page.run("closeUp.forEach(lay => lay())")  # nothing folded: nothing moves
        assert len(scene.layout.rows) == circuit.num_regions
        for r, place in page.run(places).items():
            assert place == pytest.approx(scene.layout.rows[int(r)][1:], abs=0.02)
        tall = page.run("document.querySelector('svg').viewBox.baseVal.height")
        root = circuit.num_regions - 1
        page.run("document.getElementById('fold').click()")
        left = set(map(int, page.run(places)))
        assert left == {root, *circuit.vtree.children(root).tolist()}
        if scene.layout.sideways:
            assert page.run("document.querySelector('svg').viewBox.baseVal.height") < tall
        handle = f".fold[data-region='{root}']"
        assert (
            page.run(f"document.querySelector(\"{handle}\").getAttribute('aria-expanded')")
            == "true"
        )
        page.run(f'document.querySelector("{handle}").focus()')
        page.press("Enter")
        assert set(page.run(places)) == {str(root)}
        page.run("document.getElementById('unfold').click()")
        assert len(page.run(places)) == circuit.num_regions
        for r, place in page.run(places).items():
            assert place == pytest.approx(scene.layout.rows[int(r)][1:], abs=0.02)
        assert page.complaints() == []
