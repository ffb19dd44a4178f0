"""Circuits drawn: with units or without, as pages that stand alone, and what is too large or no row."""

import html.parser
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import zoo
from matplotlib.backends.backend_agg import FigureCanvasAgg
from picture_parts import boxes, row_of

import pcircuit
from pcircuit import Circuit, InputRegion, VTree
from pcircuit.pictures.circuits import MOST_DRAWN, MOST_UNITS, circuit_scene
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


class Links(html.parser.HTMLParser):
    """What a page would load, and how its elements nest."""

    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.found += [
            value
            for key, value in attrs
            if key in ("src", "href", "xlink:href", "action") and value != "data:,"
        ]
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["two_coins", "hclt_like", "irregular_csr"])
def test_pages_are_well_formed_and_load_nothing(name, tmp_path):
    circuit = ZOO[name]
    circuit.write_html(
        tmp_path / "a.html",
        row_of(circuit),
        names=[f'<b>"{v}&' for v in range(circuit.num_variables)],
    )
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(text)
    assert (links.found, links.open) == ([], [])
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


def test_one_variable_is_a_picture_too(ax):
    coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    coin.plot([1], ax=ax)
    pcircuit.plot_vtree(coin.vtree, ax=ax)
    FigureCanvasAgg(ax.figure).draw()


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


def test_rows_may_have_holes_of_any_kind():
    circuit = ZOO["two_coins"]
    expected = circuit_scene(circuit, [0, -1], None, "units")
    for row in (
        [0, np.nan],
        np.array([0, -1], dtype=np.int8),
        np.ma.array([0, 1], mask=[False, True]),
    ):
        assert circuit_scene(circuit, row, None, "units") == expected


def test_pages_say_what_lines_mean_with_a_row_and_without(tmp_path):
    for row, words in (
        (None, "The stronger a line, the larger its weight."),
        ([0, 1], "The stronger an orange line, the more of the row flows through it."),
    ):
        pcircuit.write_html(ZOO["two_coins"], tmp_path / "a.html", row)
        text = (tmp_path / "a.html").read_text(encoding="utf-8")
        assert words in text
        assert text.count("<svg") == 1


@pytest.mark.parametrize(
    ("circuit", "row", "error", "message"),
    [
        (3, None, TypeError, "`circuit` must be a"),
        (ZOO["two_coins"], [0, 7], ValueError, "`row` holds 7"),
    ],
)
def test_what_cannot_be_drawn_leaves_no_file(circuit, row, error, message, tmp_path):
    with pytest.raises(error, match=message):
        pcircuit.write_html(circuit, tmp_path / "a.html", row)
    assert list(tmp_path.iterdir()) == []
