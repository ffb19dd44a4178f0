"""Scenes as SVG, and pages of HTML around them that need nothing from elsewhere.

A page (`page.html`) shows one scene, or several with a slider, and below it the text of whatever one points at, taps or
reaches with the Tab key.  One can zoom, and fold what is below a region: the rest then closes up as
`pcircuit.pictures.scene.arrange` would have arranged it.  Style and script are part of the file, and a policy in its
head forbids the browser to load anything else, so a page can be mailed, put on a memory stick, and opened ten years
later.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Sequence
from html import escape

from pcircuit.pictures.scene import Box, Curve, Disc, Scene, Shape

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
