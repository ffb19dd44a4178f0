"""What pictures consist of: values that cannot change, drawn alike on paper and in a browser."""

import dataclasses

import pytest

from pcircuit import VTree
from pcircuit.pictures.canvas import draw
from pcircuit.pictures.scene import (
    BLUE,
    FAINT,
    INK,
    MARGIN,
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
    arrange,
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


TREE = VTree([2, 2, 4, 4, -1], [0, 1, -1, 2, -1])  # ((0, 1), 2)


def test_a_box_stands_above_the_middle_of_its_children():
    left, _, width, _ = arrange(TREE, [10.0] * 5, [10.0] * 5, between=5.0, below=7.0)
    centre = left - MARGIN + 5
    assert centre.tolist() == pytest.approx([5, 20, 12.5, 35, (12.5 + 35) / 2])
    assert width == 40 + 2 * MARGIN


def test_a_wide_box_stays_within_the_page():
    left, _, width, _ = arrange(
        TREE, [10.0, 10.0, 10.0, 10.0, 38.0], [10.0] * 5, between=5.0, below=7.0
    )
    assert left[4] == pytest.approx(
        MARGIN + 2
    )  # 23.75 is the middle of its children, 21 as far as it can go
    assert width == 40 + 2 * MARGIN
