"""Scenes as SVG, and pages around them: every shape an element in its place, and texts that stay texts."""

import re
import xml.etree.ElementTree as ET

from pcircuit import VTree
from pcircuit.pictures.circuits import vtree_scene
from pcircuit.pictures.scene import Box, Curve, Disc, Scene, Text, page, svg

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = (
    Curve(1, 2, 5, 10, colour="#123456", width=1.25, opacity=0.5, key="a b"),
    Box(
        1.5,
        2.25,
        30,
        40,
        fill="#abcdef",
        line="#111111",
        radius=3,
        tip='a "tip" <of>\ntwo lines',
        key="a",
    ),
    Disc(20.125, 3, 7, fill="#fedcba", line="#222222", tip="disc", key="b"),
    Text(4, 5, "x < y & z", 11, colour="#333333", anchor="end"),
)


def elements(scene):
    """The root of the SVG of a scene, and its shapes."""
    root = ET.fromstring(svg(scene))
    return root, [element for element in root if element.tag != f"{SVG}title"]


def test_each_shape_is_an_element_with_its_place_and_colours():
    root, (path, rect, circle, text) = elements(Scene(100, 50.5, SHAPES, "a & b"))
    assert (root.get("viewBox"), root.get("width"), root.get("height")) == (
        "0 0 100 50.5",
        "100",
        "50.5",
    )
    assert root.get("aria-label") == root.find(f"{SVG}title").text == "a & b"
    assert path.attrib == {
        "d": "M1 2C1 6 5 6 5 10",
        "fill": "none",
        "stroke": "#123456",
        "stroke-width": "1.25",
        "stroke-opacity": "0.5",
        "data-key": "a b",
    }
    assert rect.attrib == {
        "x": "1.5",
        "y": "2.25",
        "width": "30",
        "height": "40",
        "rx": "3",
        "fill": "#abcdef",
        "stroke": "#111111",
        "data-tip": 'a "tip" <of>\ntwo lines',
        "tabindex": "0",
        "data-key": "a",
    }
    assert [
        circle.get(name)
        for name in ("cx", "cy", "r", "fill", "stroke", "tabindex", "data-tip", "data-key")
    ] == ["20.125", "3", "7", "#fedcba", "#222222", "0", "disc", "b"]
    assert [text.get(name) for name in ("x", "y", "font-size", "fill", "text-anchor")] == [
        "4",
        "5",
        "11",
        "#333333",
        "end",
    ]
    assert text.text == "x < y & z"


def test_signs_that_no_xml_holds_are_replaced():
    scene = vtree_scene(VTree.balanced(2), ["a\x00b", "\ud800"])
    assert "\ufffd" in svg(scene)
    ET.fromstring(svg(scene))


def test_pages_of_several_scenes_have_a_slider_and_show_the_first():
    scenes = [Scene(10, 10, (Text(0, 0, word),), word) for word in ("one", "two", "three")]
    text = page(scenes, ["1 < 2", "2", "3"], "title & all", "a <sentence>")
    assert re.findall(r'<div class="scene" data-label="([^"]*)"( hidden)?>', text) == [
        ("1 &lt; 2", ""),
        ("2", " hidden"),
        ("3", " hidden"),
    ]
    assert (
        '<input type="range" id="step" min="0" max="2" value="0"><output>1 &lt; 2</output>' in text
    )
    assert text.count("title &amp; all") == 2  # of the window, and above the picture
    assert "<p>a &lt;sentence&gt;</p>" in text
    assert [text.index(f">{word}</text>") for word in ("one", "two", "three")] == sorted(
        text.index(f">{word}</text>") for word in ("one", "two", "three")
    )
