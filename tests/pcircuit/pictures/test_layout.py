"""Where boxes stand: above the middle of their children, within the room of their subtree."""

import pytest

from pcircuit import VTree
from pcircuit.pictures.layout import MARGIN, arrange

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
