"""What pictures consist of: values that cannot change, drawn alike on paper and in a browser."""

import dataclasses

import pytest

from pcircuit.pictures.canvas import draw
from pcircuit.pictures.scene import (
    BLUE,
    FAINT,
    INK,
    PANEL,
    PANEL_LINE,
    PAPER,
    SKY,
    SOFT_INK,
    VERMILLION,
    Box,
    Curve,
    Disc,
    Scene,
    Text,
)
from pcircuit.pictures.svg import svg

SHAPES = [Box(1, 2, 3, 4), Disc(1, 2, 3), Curve(1, 2, 3, 4), Text(1, 2, "text")]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_each_kind_of_shape_is_drawn_both_ways_with_what_it_has_by_default(shape, ax):
    picture = Scene(10, 10, (shape,), "one shape")
    assert svg(picture).count('"#') == (1 if isinstance(shape, (Curve, Text)) else 2)  # its colours
    draw(picture, ax)
    assert len(ax.patches) + len(ax.texts) == 1


@pytest.mark.parametrize(
    "shape", [*SHAPES, Scene(1, 1, (), "")], ids=lambda shape: type(shape).__name__
)
def test_shapes_are_values(shape):
    assert dataclasses.replace(shape) == shape
    assert hash(dataclasses.replace(shape)) == hash(shape)
    with pytest.raises(dataclasses.FrozenInstanceError):
        shape.width = 7


def test_colours_that_mean_something_are_those_of_okabe_and_ito():
    assert (BLUE, VERMILLION) == ("#0072b2", "#d55e00")
    assert len({BLUE, SKY, VERMILLION, INK, SOFT_INK, FAINT, PANEL_LINE, PANEL, PAPER}) == 9
