"""Pictures: each unit is drawn once, lines are as strong as flows, pages stand alone, large circuits are refused."""
import html.parser
import re
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
import zoo
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import pcircuit
from pcircuit import Circuit, InputRegion, VTree
from pcircuit.pictures.circuits import circuit_scene
from pcircuit.pictures.scene import VERMILLION, Box, Curve, Disc, Text
from pcircuit.pictures.svg import page, svg
from pcircuit.pictures.vtrees import vtree_scene

matplotlib.use("Agg")
ZOO = zoo.circuits()


@pytest.fixture
def ax():
    return Figure(figsize=(6, 4)).add_subplot()


def row_of(circuit):
    """A possible row, every other entry missing."""
    row = pcircuit.sample(circuit, 1, rng=0)[0].astype(int)
    row[1::2] = -1
    return row


def boxes(scene):
    return [shape for shape in scene.shapes if isinstance(shape, Box)]


# -- what is drawn ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
def test_every_unit_is_drawn_once_and_on_the_page(name):
    circuit = ZOO[name]
    scene = circuit_scene(circuit, None, None, "units")
    tips = [re.match(r"(\w+) \d+ of region \d+, node (\d+)", shape.tip) for shape in scene.shapes
            if not isinstance(shape, (Text, Curve)) and shape.tip]
    found = {int(tip[2]): tip[1] for tip in tips}
    assert found == dict(enumerate(circuit.nodes.kind.tolist()))
    assert len(tips) == circuit.num_units
    for box in boxes(scene):
        assert 0 <= box.x < box.x + box.width <= scene.width
        assert 0 <= box.y < box.y + box.height <= scene.height


@pytest.mark.parametrize("name", ["two_coins", "nary", "unary"])
def test_names_of_variables_stand_in_the_leaves_of_a_vtree(name):
    vtree = ZOO[name].vtree
    scene = vtree_scene(vtree)
    found = {}
    for text in (shape for shape in scene.shapes if isinstance(shape, Text)):
        around, = [box for box in boxes(scene) if box.x < text.x < box.x + box.width
                   and box.y < text.y < box.y + box.height]
        found[text.text] = around.tip.partition(":")[0]
    assert found == {str(v): f"node {r}" for r, v in enumerate(vtree.variables.tolist()) if v >= 0}


@pytest.mark.parametrize("name", ["hclt_like", "nary", "deep_chain", "irregular_csr"])
def test_panels_do_not_overlap(name):
    panels = [box for box in boxes(circuit_scene(ZOO[name], None, None, "units")) if box.radius == 10]
    assert len(panels) == ZOO[name].num_regions
    for i, a in enumerate(panels):
        for b in panels[:i]:
            apart = a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
            assert apart


@pytest.mark.parametrize("name", ZOO)
def test_lines_of_a_row_are_its_flows(name):
    circuit = ZOO[name]
    row = row_of(circuit)
    flows = pcircuit.expected_flows(circuit, row[None])
    lines = [shape for shape in circuit_scene(circuit, row, None, "units").shapes if isinstance(shape, Curve)]
    said = [float(re.search(r"flow of the row: (\S+)", line.tip)[1]) for line in lines if "flow" in line.tip]
    flowing = np.concatenate([[0.0], flows.edges])
    assert sum(said) == pytest.approx(flowing[flowing >= 1e-4].sum(), rel=1e-3)
    assert all((line.colour == VERMILLION) == (line.width > 0.8) for line in lines)


def test_tips_say_scope_table_and_likelihood():
    circuit = ZOO["two_coins"]
    scene = circuit_scene(circuit, [0, np.nan], ["rain", "wind"], "units")
    root = next(shape for shape in scene.shapes if isinstance(shape, Disc))
    likelihood = np.exp(pcircuit.log_likelihood(circuit, [[0, -1]])[0])
    assert root.tip.splitlines() == ["sum 0 of region 2, node 6", "scope: rain, wind", "weights: 0.25 0.75",
                                     f"likelihood of the row: {likelihood:.4g}", "flow of the row: 1"]
    names = [shape.text for shape in scene.shapes if isinstance(shape, Text)]
    assert names[:2] == ["rain", "wind"]


def test_large_circuits_are_drawn_region_by_region_or_refused():
    middle = pcircuit.rat_spn([2] * 16, num_units=16, depth=3, rng=0)
    scene = circuit_scene(middle, None, None, "auto")
    assert len(boxes(scene)) == middle.num_regions
    assert len(boxes(circuit_scene(middle, np.zeros(16, int), None, "auto"))) > middle.num_units
    large = pcircuit.rat_spn([2] * 512, num_units=2, depth=5, rng=0)
    with pytest.raises(ValueError, match=r"`circuit` has 575 regions, and a picture shows at most 400: .*describe"):
        pcircuit.plot_circuit(large)
    with pytest.raises(ValueError, match=r"`vtree` has 575 nodes, and a picture shows at most 400: `vtree.to_nested"):
        pcircuit.plot_vtree(large.vtree)


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"row": [0, 1, 1]}, ValueError, "`row`"),
    ({"row": [0, 7]}, ValueError, "`row` holds 7"),
    ({"names": ["a"]}, ValueError, "one name for each of the 2 variables, found 1"),
    ({"detail": "all"}, ValueError, "`detail` must be"),
    ({"detail": "regions", "row": [0, 1]}, ValueError, "`row` flows through units"),
])
def test_bad_arguments_get_one_sentence(options, error, message, ax):
    with pytest.raises(error, match=message):
        pcircuit.plot_circuit(ZOO["two_coins"], ax=ax, **options)


# -- matplotlib ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two_coins", "one_region", "nary"])
def test_matplotlib_draws_all_shapes(name, ax):
    circuit = ZOO[name]
    scene = circuit_scene(circuit, None, None, "units")
    circuit.plot(ax=ax)
    assert len(ax.patches) + len(ax.texts) == len(scene.shapes)
    FigureCanvasAgg(ax.figure).draw()
    assert np.asarray(ax.figure.canvas.buffer_rgba()).min() < 200


def test_names_are_not_read_as_formulas(ax):
    pcircuit.plot_vtree(VTree.balanced(2), names=["$x$", "a_b$"], ax=ax)
    FigureCanvasAgg(ax.figure).draw()
    assert [text.get_text() for text in ax.texts] == ["$x$", "a_b$"]


def test_a_figure_of_its_own_is_as_large_as_the_scene():
    from matplotlib import pyplot
    figure = pcircuit.plot_vtree(VTree.balanced(4)).figure
    scene = vtree_scene(VTree.balanced(4))
    np.testing.assert_allclose(figure.get_size_inches() * 96, (scene.width, scene.height), rtol=1e-9)
    pyplot.close("all")


def test_learning_is_drawn_as_it_went(ax):
    rows = np.array([[0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0]] * 3)
    steps = [pcircuit.hclt(rows, 2)]
    for _ in range(4):
        steps.append(pcircuit.fit_em(steps[-1], rows, num_epochs=1)[0])
    line, = pcircuit.plot_learning(steps, rows, ax=ax).lines
    _, history = pcircuit.fit_em(steps[0], rows, num_epochs=4)
    np.testing.assert_allclose(line.get_ydata(), history, rtol=1e-12)
    with pytest.raises(ValueError, match="at least one step of EM, found 1"):
        pcircuit.plot_learning(steps[:1], rows)
    with pytest.raises(ValueError, match="different structures"):
        pcircuit.plot_learning([steps[0], ZOO["two_coins"]], rows)


@pytest.mark.thorough
def test_moments_are_drawn_as_they_are(ax):
    moments = pcircuit.exact_moments(ZOO["hclt_like"])
    np.testing.assert_array_equal(pcircuit.plot_covariance(moments, ax=ax).get_images()[0].get_array(),
                                  moments.covariance())
    other = Figure().add_subplot()
    assert pcircuit.plot_eigenvalues(moments, ax=other) is other
    values = other.lines[0].get_ydata()
    assert values.sum() == pytest.approx(moments.trace, rel=1e-9)
    assert (np.diff(values) <= 0).all()
    with pytest.raises(TypeError, match=r"what `pcircuit\.exact_moments` returns, found list"):
        pcircuit.plot_eigenvalues([1.0])
    for drawn in (ax, other):
        FigureCanvasAgg(drawn.figure).draw()


# -- pages -----------------------------------------------------------------------------------------------------------


class Links(html.parser.HTMLParser):
    """What a page would load, and how its elements nest."""

    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.found += [value for key, value in attrs
                       if key in ("src", "href", "xlink:href", "action") and value != "data:,"]
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["two_coins", "hclt_like", "irregular_csr"])
def test_pages_are_well_formed_and_load_nothing(name, tmp_path):
    circuit = ZOO[name]
    circuit.write_html(tmp_path / "a.html", row_of(circuit), names=[f'<b>"{v}&' for v in range(circuit.num_variables)])
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(text)
    assert (links.found, links.open) == ([], [])
    assert "default-src 'none'" in text
    assert "<b>" not in text
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]  # a name, not an address
    circuit.write_html(tmp_path / "a.svg")
    root = ET.parse(tmp_path / "a.svg").getroot()
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == (circuit.nodes.kind == "sum").sum()


def test_signs_that_no_xml_holds_are_replaced():
    scene = vtree_scene(VTree.balanced(2), ["a\x00b", "\ud800"])
    assert "\ufffd" in svg(scene)
    ET.fromstring(svg(scene))


def test_a_page_of_learning_has_a_picture_for_each_epoch(tmp_path):
    rows = np.array([[0, 0], [1, 1], [1, 0]])
    steps = [pcircuit.hclt(rows, 2)]
    steps.append(pcircuit.fit_em(steps[0], rows, num_epochs=1)[0])
    pcircuit.write_learning_html(steps, tmp_path / "em.html", data=rows)
    text = (tmp_path / "em.html").read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert 'type="range" id="step" min="0" max="1"' in text
    means = [pcircuit.log_likelihood(step, rows).mean() for step in steps]
    assert all(f"epoch {i}: {mean:.4f} nats per row" in text for i, mean in enumerate(means))
    with pytest.raises(ValueError, match="a page shows at most 200: give every 2th"):
        pcircuit.write_learning_html(steps * 101, tmp_path / "b.html")
    assert "slider" not in page([vtree_scene(VTree.balanced(2))], [""], "t", "x").split("<script>")[0]


def test_one_variable_is_a_picture_too(ax):
    coin = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.25, 0.75]])])
    coin.plot([1], ax=ax)
    pcircuit.plot_vtree(coin.vtree, ax=ax)
    FigureCanvasAgg(ax.figure).draw()
