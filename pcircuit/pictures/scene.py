"""What a picture consists of, before it is drawn.

A picture is described once, as a `Scene`: boxes, discs, curves and texts at positions in pixels, x to the right and y
downwards.  `pcircuit.pictures.canvas` draws scenes with matplotlib, `pcircuit.pictures.svg` writes them as SVG; so a
picture in a paper and one in a browser are the same picture.  Some shapes carry a `tip`, the text that a browser shows
when one points at them, and a `key`: shapes with a common key light up together.

Colours are few and muted, and those of Okabe and Ito (2008) where they carry meaning, so that people with any kind of
colour vision can distinguish them.

Where the regions of a picture go: the root at the top, each region above the middle of its children.

A subtree takes the width of its root, or that of its children side by side if they are wider.  All regions of one depth
have one height.  One pass up the v-tree gives the widths, one down the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.pictures.description import depths
from pcircuit.vtree import VTree

INK, SOFT_INK, FAINT = "#24303c", "#5d6b7a", "#aab6c2"
PAPER, PANEL, PANEL_LINE = "#ffffff", "#f4f7fa", "#d5dee7"
BLUE, SKY, VERMILLION = "#0072b2", "#a9cfe6", "#d55e00"
MARGIN = 20.0


@dataclass(frozen=True)
class Box:
    """A rectangle with round corners; x and y are its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    fill: str = PANEL
    line: str = PANEL_LINE
    radius: float = 6.0
    tip: str = ""
    key: str = ""


@dataclass(frozen=True)
class Disc:
    """A circle around x, y."""

    x: float
    y: float
    radius: float
    fill: str = PAPER
    line: str = BLUE
    tip: str = ""
    key: str = ""


@dataclass(frozen=True)
class Curve:
    """A line from x, y downwards to x2, y2 that leaves and arrives upright; `key` may list several keys."""

    x: float
    y: float
    x2: float
    y2: float
    colour: str = FAINT
    width: float = 1.0
    opacity: float = 1.0
    tip: str = ""
    key: str = ""


@dataclass(frozen=True)
class Text:
    """Words with their middle at the height y, at x their middle, start or end."""

    x: float
    y: float
    text: str
    size: float = 12.0
    colour: str = INK
    anchor: Literal["middle", "start", "end"] = "middle"


Shape: TypeAlias = Box | Disc | Curve | Text


@dataclass(frozen=True)
class Scene:
    """Shapes on a page of a width and height, later ones over earlier ones; `title` says in words what is seen."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str


def arrange(
    vtree: VTree, widths: Sequence[float], heights: Sequence[float], *, between: float, below: float
) -> tuple[Floats, Floats, float, float]:
    """Left and upper ends of all boxes, and the size of the page.

    Returns (R,).
    """
    children = vtree.child_lists()
    taken = np.array(widths, dtype=np.float64)
    for r, own in enumerate(children):
        if own:
            taken[r] = max(taken[r], sum(taken[c] for c in own) + between * (len(own) - 1))
    left = np.zeros(len(taken))  # of the subtrees
    left[-1] = MARGIN
    for r in range(vtree.num_nodes - 1, -1, -1):
        own = sorted(children[r], key=lambda c: int(vtree.first[c]))
        inside = sum(taken[c] for c in own) + between * (len(own) - 1)
        start = left[r] + (taken[r] - inside) / 2
        for c in own:
            left[c] = start
            start += taken[c] + between
    own_width, own_height = np.asarray(widths), np.asarray(heights)
    centre = left + taken / 2
    for r, own in enumerate(children):  # above the middle of the children, as far as there is room
        if own:
            middle = (centre[own].min() + centre[own].max()) / 2
            half = own_width[r] / 2
            centre[r] = np.clip(middle, left[r] + half, left[r] + taken[r] - half)
    depth = depths(vtree)
    highest = np.zeros(int(depth.max()) + 1)
    np.maximum.at(highest, depth, own_height)
    top = (MARGIN + np.concatenate([[0.0], np.cumsum(highest + below)[:-1]]))[depth]
    width, height = float(taken[-1] + 2 * MARGIN), float((top + own_height).max() + MARGIN)
    return centre - own_width / 2, top, width, height
