"""Scenes drawn with matplotlib: every shape in its place, in axes that are given or in a figure of their size."""

import matplotlib.colors
import numpy as np
import pytest
import zoo
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch

import pcircuit
from pcircuit import VTree
from pcircuit.pictures import scene as canvas
from pcircuit.pictures.circuits import circuit_scene
from pcircuit.pictures.scene import Box, Curve, Disc, Scene, Text, axes_or_new, check_axes, draw

ZOO = zoo.circuits()
SHAPES = (
    Curve(1, 2, 50, 80, colour="#123456", width=2.0, opacity=0.5),
    Disc(20, 30, 7, fill="#fedcba"),
    Box(10, 20, 30, 40, fill="#abcdef", radius=3),
    Box(60, 20, 4, 2, radius=6),
    Text(40, 50, "end", anchor="end"),
)


@pytest.mark.parametrize("name", ["two_coins", "one_region", "nary"])
def test_matplotlib_draws_all_shapes(name, ax):
    circuit = ZOO[name]
    scene = circuit_scene(circuit, None, None, "units")
    circuit.plot(ax=ax, detail="units")
    assert len(ax.patches) + len(ax.texts) == len(scene.shapes)
    FigureCanvasAgg(ax.figure).draw()
    assert np.asarray(ax.figure.canvas.buffer_rgba()).min() < 200


def test_names_are_not_read_as_formulas(ax):
    pcircuit.plot_vtree(VTree.balanced(2), names=["$x$", "a_b$"], ax=ax)
    FigureCanvasAgg(ax.figure).draw()
    assert [text.get_text() for text in ax.texts] == ["$x$", "a_b$"]


def test_shapes_have_their_places_colours_and_order(ax):
    assert draw(Scene(100, 90, SHAPES, ""), ax) is ax
    line, disc, box, flat = ax.patches
    assert (type(line), type(disc), type(box)) == (PathPatch, Circle, FancyBboxPatch)
    assert line.get_path().vertices.tolist() == [[1, 2], [1, 41], [50, 41], [50, 80]]
    assert line.get_alpha() == 0.5
    assert (tuple(disc.center), disc.radius) == ((20, 30), 7)
    for patch, (x, y, width, height) in (
        (box, (10, 20, 30, 40)),
        (flat, (60, 20, 4, 2)),
    ):  # round corners included
        np.testing.assert_allclose(patch.get_path().get_extents().bounds, (x, y, width, height))
    assert [matplotlib.colors.to_hex(patch.get_facecolor()) for patch in (disc, box)] == [
        "#fedcba",
        "#abcdef",
    ]
    (text,) = ax.texts
    assert (text.get_position(), text.get_text(), text.get_ha()) == ((40, 50), "end", "right")


@pytest.mark.parametrize(
    "ax", [3, Figure(), Figure().subplots(2)], ids=["number", "figure", "array"]
)
def test_what_cannot_be_drawn_into_is_refused(ax):
    for use in (check_axes, axes_or_new, lambda ax: draw(Scene(1, 1, (), ""), ax)):
        with pytest.raises(
            TypeError, match=f"^`ax` must be axes of matplotlib, found {type(ax).__name__}$"
        ):
            use(ax)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(canvas.importlib, "import_module", missing)
    with pytest.raises(
        ImportError, match=r"^drawing needs matplotlib, .* pip install 'hld\[plot\]'$"
    ):
        pcircuit.plot_vtree(VTree.balanced(2))
