"""What a picture consists of, before it is drawn.

A picture is described once, as a `Scene`: boxes, discs, curves and texts at positions in pixels, x to the right and y
downwards.  `draw` draws scenes with matplotlib, `svg` writes them as SVG; so a
picture in a paper and one in a browser are the same picture.  Some shapes carry a `tip`, the text that a browser shows
when one points at them, and a `key`: shapes with a common key light up together.

Colours are few and muted, and those of Okabe and Ito (2008) where they carry meaning, so that people with any kind of
colour vision can distinguish them.

Where the regions of a picture go: the root at the top, each region above the middle of its children; or sideways, the
root at the left and one leaf below another, which stays readable for any number of leaves.  `region` says to which
region a shape belongs, and `below` where a line from one region to another ends, so that a page can fold parts away.

A subtree takes the width of its root, or that of its children side by side if they are wider.  All regions of one depth
have one height.  One pass up the v-tree gives the widths, one down the positions.

Scenes as SVG, and pages of HTML around them that need nothing from elsewhere.

A page (`page.html`) shows one scene, or several with a slider, and below it the text of whatever one points at, taps or
reaches with the Tab key.  One can zoom, and fold what is below a region: the rest then closes up as
`arrange` would have arranged it.  Style and script are part of the file, and a policy in its
head forbids the browser to load anything else, so a page can be mailed, put on a memory stick, and opened ten years
later.

Scenes drawn with matplotlib, and what all pictures share: the way to matplotlib, new axes, their frame.
"""

from __future__ import annotations

import importlib
import importlib.resources
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, TypeAlias

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


Place: TypeAlias = tuple[float, float, float, float, float]  # parent, x, y, width, height


@dataclass(frozen=True)
class Layout:
    """Where regions stand: a row (parent, x, y, width, height) for each, and the size of the page that they need."""

    rows: tuple[Place, ...]
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
    corner = centre - own_width / 2
    rows = tuple(
        (float(parents[r]), float(corner[r]), float(top[r]), float(widths[r]), float(heights[r]))
        for r in range(vtree.num_nodes)
    )
    width, height = float(taken[-1] + 2 * MARGIN), float((top + own_height).max() + MARGIN)
    return Layout(rows, width, height, between)


LEAST_WIDTH = (
    960  # pixels below which a picture is not squeezed: on a phone one moves it to the side
)


def svg(scene: Scene) -> str:
    """A scene as an SVG element."""
    shapes = "\n".join(_element(shape) for shape in scene.shapes)
    size = _lengths(width=scene.width, height=scene.height)
    box, least = (
        f"0 0 {_pixels(scene.width)} {_pixels(scene.height)}",
        _pixels(min(scene.width, LEAST_WIDTH)),
    )
    rows = ""
    if scene.layout is not None:
        numbers = ",".join(f"[{','.join(map(_pixels, row))}]" for row in scene.layout.rows)
        rows = f'data-rows="[{numbers}]" data-between="{_pixels(scene.layout.between)}" '
        rows += 'data-sideways="yes" ' if scene.layout.sideways else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {size} style="min-width: {least}px" '
        f'data-least="{least}px" {rows}'
        f'font-family="sans-serif" role="img" aria-label="{_safe(scene.title)}">\n'
        f"<title>{_safe(scene.title)}</title>\n{shapes}\n</svg>"
    )


def page(scenes: Sequence[Scene], labels: Sequence[str], title: str, text: str) -> str:
    """Scenes as a page of HTML; with more than one a slider goes through them, and a label says which is seen."""
    slider = (
        ""
        if len(scenes) == 1
        else (
            f'<label>Step <input type="range" id="step" min="0" max="{len(scenes) - 1}" value="0">'
            f"<output>{_safe(labels[0])}</output></label>\n"
        )
    )
    figures = "\n".join(
        f'<div class="scene" data-label="{_safe(label)}"{" hidden" if i else ""}>\n{svg(scene)}\n</div>'
        for i, (scene, label) in enumerate(zip(scenes, labels, strict=True))
    )
    text_of = {"TITLE": _safe(title), "TEXT": _safe(text), "SLIDER": slider, "FIGURES": figures}
    template = importlib.resources.files("pcircuit.pictures").joinpath("page.html")
    return re.sub(
        "{{([A-Z]+)}}", lambda found: text_of[found[1]], template.read_text(encoding="utf-8")
    )


def _element(shape: Shape) -> str:
    """One shape."""
    if isinstance(shape, Box):
        place = _lengths(
            x=shape.x, y=shape.y, width=shape.width, height=shape.height, rx=shape.radius
        )
        return f'<rect {place} fill="{shape.fill}" stroke="{shape.line}"{_hints(shape)}/>'
    if isinstance(shape, Disc):
        return (
            f'<circle {_lengths(cx=shape.x, cy=shape.y, r=shape.radius)} fill="{shape.fill}" '
            f'stroke="{shape.line}" stroke-width="1.4"{_hints(shape)}/>'
        )
    if isinstance(shape, Curve):
        start, *others = (f"{_pixels(x)} {_pixels(y)}" for x, y in shape.corners())
        return (
            f'<path d="M{start}C{" ".join(others)}" fill="none" stroke="{shape.colour}" '
            f'stroke-width="{shape.width:.4g}" stroke-opacity="{shape.opacity:.3g}"{_hints(shape)}/>'
        )
    return (
        f'<text {_lengths(x=shape.x, y=shape.y)} font-size="{shape.size:.4g}" fill="{shape.colour}" '
        f'text-anchor="{shape.anchor}" dy=".35em"{_hints(shape)}>{_safe(shape.text)}</text>'
    )


def _lengths(**lengths: float) -> str:
    """Attributes in pixels."""
    return " ".join(f'{name}="{_pixels(length)}"' for name, length in lengths.items())


def _pixels(length: float) -> str:
    """A length with five digits, and more in wide pictures, so that places are never rounded to whole pixels."""
    return f"{length:.{5 if abs(length) < 1000 else 9}g}"


def _hints(shape: Shape) -> str:
    """What a shape says and lights up, the region that it belongs to; units can be reached with the Tab key."""
    tip, key, below = (getattr(shape, name, "") for name in ("tip", "key", "below"))
    is_unit = tip and not isinstance(shape, Curve)
    return "".join(
        (
            f' data-tip="{_safe(tip)}"' if tip else "",
            ' tabindex="0"' if is_unit else "",
            f' data-key="{_safe(key)}"' if key else "",
            f' data-region="{shape.region}"' if shape.region >= 0 else "",
            f' data-below="{below}"' if below not in ("", -1) else "",
        )
    )


def _safe(text: str) -> str:
    """A text as XML takes it; signs that no XML may contain are replaced."""
    printable = "".join(
        sign
        if sign in "\n\t"
        or (sign >= " " and not "\ud800" <= sign <= "\udfff" and sign not in "\ufffe\uffff")
        else "\ufffd"
        for sign in text
    )
    return escape(printable).replace("\n", "&#10;")


PIXELS_PER_INCH = 96


def draw(scene: Scene, ax: Any = None) -> Any:
    """Draw a scene into axes, or into those of a new figure of its size; returns the axes."""
    patches, path = matplotlib_module("patches"), matplotlib_module("path")
    if ax is None:
        inches = min(scene.width, FITS) / PIXELS_PER_INCH
        figure = matplotlib_module("pyplot").figure(
            figsize=(inches, inches * scene.height / scene.width)
        )
        ax = figure.add_axes((0, 0, 1, 1))
    check_axes(ax)
    ax.set(xlim=(0, scene.width), ylim=(scene.height, 0), aspect="equal")
    ax.set_axis_off()
    extent = ax.get_window_extent()
    scale = min(extent.width / scene.width, extent.height / scene.height)
    points = float(scale * 72 / ax.figure.dpi)  # of paper, for one pixel of the scene
    for shape in scene.shapes:
        if isinstance(shape, Box):
            radius = min(shape.radius, shape.width / 2, shape.height / 2)
            ax.add_patch(
                patches.FancyBboxPatch(
                    (shape.x + radius, shape.y + radius),
                    shape.width - 2 * radius,
                    shape.height - 2 * radius,
                    boxstyle=patches.BoxStyle("Round", pad=radius),
                    facecolor=shape.fill,
                    edgecolor=shape.line,
                    linewidth=points,
                )
            )
        elif isinstance(shape, Disc):
            ax.add_patch(
                patches.Circle(
                    (shape.x, shape.y),
                    shape.radius,
                    facecolor=shape.fill,
                    edgecolor=shape.line,
                    linewidth=1.4 * points,
                )
            )
        elif isinstance(shape, Curve):
            codes = [path.Path.MOVETO, path.Path.CURVE4, path.Path.CURVE4, path.Path.CURVE4]
            ax.add_patch(
                patches.PathPatch(
                    path.Path(shape.corners(), codes),
                    facecolor="none",
                    edgecolor=shape.colour,
                    linewidth=shape.width * points,
                    alpha=shape.opacity,
                )
            )
        else:
            ax.text(
                shape.x,
                shape.y,
                shape.text,
                fontsize=shape.size * points,
                color=shape.colour,
                ha={"middle": "center", "start": "left", "end": "right"}[shape.anchor],
                va="center_baseline",
                parse_math=False,  # signs of formulas stay as they are
            )
    return ax


def matplotlib_module(module: str) -> Any:
    """A module of matplotlib; ImportError says how to install it."""
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install 'hld[plot]'"
        ) from None


def axes_or_new(ax: Any) -> Any:
    """The axes given, or those of a new figure that pyplot knows, so that a notebook shows it."""
    if ax is not None:
        return check_axes(ax)
    return matplotlib_module("pyplot").subplots(layout="constrained")[1]


def check_axes(ax: Any) -> Any:
    """The axes given; TypeError for what cannot be drawn into, such as a figure or an array of axes."""
    if not isinstance(ax, matplotlib_module("axes").Axes):
        raise TypeError(f"`ax` must be axes of matplotlib, found {type(ax).__name__}")
    return ax


def plot_two(
    ax: Any, x: Any, y: Any, label: str, other_x: Any, other_y: Any, other_label: str
) -> Any:
    """Two curves with an axis each: points on the left in blue, a line on the right in vermillion; its axes."""
    ax.plot(x, y, "o", color=BLUE, markersize=4)
    ax.set_ylabel(label, color=BLUE)
    other = ax.twinx()
    other.plot(other_x, other_y, color=VERMILLION, linewidth=1.2)
    other.set_ylabel(other_label, color=VERMILLION)
    for axes in (ax, other):
        axes.spines["top"].set_visible(False)
    return other
