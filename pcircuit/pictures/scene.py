"""What a picture consists of, before it is drawn.

A picture is described once, as a `Scene`: boxes, discs, curves and texts at positions in pixels, x to the right and y
downwards.  `pcircuit.pictures.canvas` draws scenes with matplotlib, `pcircuit.pictures.svg` writes them as SVG; so a
picture in a paper and one in a browser are the same picture.  Some shapes carry a `tip`, the text that a browser shows
when one points at them, and a `key`: shapes with a common key light up together.

Colours are few and muted, and those of Okabe and Ito (2008) where they carry meaning, so that people with any kind of
colour vision can distinguish them.

Where the regions of a picture go: the root at the top, each region above the middle of its children; or sideways, the
root at the left and one leaf below another, which stays readable for any number of leaves.  `region` says to which
region a shape belongs, and `below` where a line from one region to another ends, so that a page can fold parts away.

A subtree takes the width of its root, or that of its children side by side if they are wider.  All regions of one depth
have one height.  One pass up the v-tree gives the widths, one down the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from pcircuit.pictures.description import depths
from pcircuit.vtree import VTree

INK, SOFT_INK, FAINT = "#24303c", "#5d6b7a", "#aab6c2"
PAPER, PANEL, PANEL_LINE = "#ffffff", "#f4f7fa", "#d5dee7"
BLUE, SKY, VERMILLION = "#0072b2", "#a9cfe6", "#d55e00"
MARGIN = 20.0
FITS = 1344.0  # pixels of width up to which a picture is read without being shrunk


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
    region: int = -1


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
    region: int = -1


@dataclass(frozen=True)
class Curve:
    """A line from x, y to x2, y2 that leaves and arrives upright, or `sideways`; `key` may list several keys."""

    x: float
    y: float
    x2: float
    y2: float
    colour: str = FAINT
    width: float = 1.0
    opacity: float = 1.0
    tip: str = ""
    key: str = ""
    region: int = -1
    below: int = -1
    sideways: bool = False

    def corners(self) -> list[tuple[float, float]]:
        """The four points of its Bézier curve."""
        middle = (self.x + self.x2) / 2 if self.sideways else (self.y + self.y2) / 2
        bends = (
            [(middle, self.y), (middle, self.y2)]
            if self.sideways
            else [(self.x, middle), (self.x2, middle)]
        )
        return [(self.x, self.y), *bends, (self.x2, self.y2)]


@dataclass(frozen=True)
class Text:
    """Words with their middle at the height y, at x their middle, start or end."""

    x: float
    y: float
    text: str
    size: float = 12.0
    colour: str = INK
    anchor: Literal["middle", "start", "end"] = "middle"
    region: int = -1


Shape: TypeAlias = Box | Disc | Curve | Text


@dataclass(frozen=True)
class Layout:
    """Where regions stand: a row (parent, x, y, width, height) for each, and the size of the page that they need."""

    rows: tuple[tuple[float, ...], ...]
    width: float
    height: float
    between: float
    sideways: bool = False


@dataclass(frozen=True)
class Scene:
    """Shapes on a page of a width and height, later ones over earlier ones; `title` says in words what is seen."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str
    layout: Layout | None = None


def arrange(
    vtree: VTree,
    widths: Sequence[float],
    heights: Sequence[float],
    *,
    between: float,
    below: float,
    sideways: bool = False,
) -> Layout:
    """Left and upper ends of all boxes, `between` pixels apart, `below` pixels from one level to the next."""
    if sideways:
        turned = arrange(vtree, heights, widths, between=between, below=below)
        rows = tuple((parent, x, y, w, h) for parent, y, x, h, w in turned.rows)
        return Layout(rows, turned.height, turned.width, between, True)
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
    parents = [vtree.parent(r) for r in range(vtree.num_nodes)]
    places = zip(parents, centre - own_width / 2, top, own_width, own_height, strict=True)
    rows = tuple(tuple(map(float, place)) for place in places)
    width, height = float(taken[-1] + 2 * MARGIN), float((top + own_height).max() + MARGIN)
    return Layout(rows, width, height, between)
