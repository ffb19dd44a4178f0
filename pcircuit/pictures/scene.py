"""What a picture consists of, before it is drawn.

A picture is described once, as a `Scene`: boxes, discs, curves and texts at positions in pixels, x to the right and y
downwards.  `pcircuit.pictures.canvas` draws scenes with matplotlib, `pcircuit.pictures.svg` writes them as SVG; so a
picture in a paper and one in a browser are the same picture.  Some shapes carry a `tip`, the text that a browser shows
when one points at them, and a `key`: shapes with a common key light up together.

Colours are few and muted, and those of Okabe and Ito (2008) where they carry meaning, so that people with any kind of
colour vision can distinguish them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

INK, SOFT_INK, FAINT = "#24303c", "#5d6b7a", "#aab6c2"
PAPER, PANEL, PANEL_LINE = "#ffffff", "#f4f7fa", "#d5dee7"
BLUE, SKY, VERMILLION = "#0072b2", "#a9cfe6", "#d55e00"


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
