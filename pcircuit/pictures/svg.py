"""Scenes as SVG, and pages of HTML around them that need nothing from elsewhere.

A page shows one scene, or several with a slider, and below it the text of whatever one points at, taps or reaches with
the Tab key.  Style and script are part of the file, and a policy in its head forbids the browser to load anything else,
so a page can be mailed, put on a memory stick, and opened ten years later.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pcircuit.pictures.scene import Box, Curve, Disc, Scene, Shape

LEAST_WIDTH = (
    960  # pixels below which a picture is not squeezed: on a phone one moves it to the side
)
STYLE = """
:root { color-scheme: light }
body { margin: 0 auto; padding: 1.25rem; max-width: 78rem; color: #24303c; background: #fff;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
h1 { font-size: 1.2rem; font-weight: 600; margin: 0 0 .25rem }
p { margin: 0 0 .75rem; color: #5d6b7a; max-width: 44rem }
.scene { overflow-x: auto; border: 1px solid #e4eaf0; border-radius: 10px; -webkit-overflow-scrolling: touch }
svg { display: block; margin: 0 auto; height: auto; max-width: 100% }
svg text { font-family: inherit; pointer-events: none }
[data-tip] { cursor: pointer; outline: none }
rect:not([data-tip]), path:not([data-tip]) { pointer-events: none }
.lit { stroke: #24303c !important; stroke-opacity: 1 !important }
#tip { position: sticky; bottom: 0; margin: .75rem 0 0; padding: .6rem .9rem; min-height: 7.5em; overflow-x: auto;
  background: #f4f7fa; border: 1px solid #d5dee7; border-radius: 10px; white-space: pre-wrap;
  font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
label { display: flex; align-items: center; gap: .75rem; margin: 0 0 .75rem }
input[type=range] { flex: 1; max-width: 30rem; accent-color: #0072b2; min-height: 44px }
output { font-variant-numeric: tabular-nums }
"""
SCRIPT = """
const tip = document.getElementById("tip");
function show(target) {
  const shape = target.closest ? target.closest("[data-tip]") : null;
  if (!shape) return;
  tip.textContent = shape.dataset.tip;
  document.querySelectorAll(".lit").forEach(s => s.classList.remove("lit"));
  (shape.dataset.key || "").split(" ").filter(Boolean).forEach(key =>
    shape.ownerSVGElement.querySelectorAll(`[data-key~="${key}"]`).forEach(s => s.classList.add("lit")));
}
for (const kind of ["pointerover", "click", "focusin"]) document.addEventListener(kind, e => show(e.target));
const slider = document.getElementById("step");
if (slider) {
  const scenes = [...document.querySelectorAll(".scene")];
  const turn = () => scenes.forEach((scene, i) => { scene.hidden = i !== +slider.value;
    if (!scene.hidden) document.querySelector("output").textContent = scene.dataset.label; });
  slider.addEventListener("input", turn); turn();
}
"""


def svg(scene: Scene) -> str:
    """A scene as an SVG element."""
    shapes = "\n".join(_element(shape) for shape in scene.shapes)
    size = _lengths(width=scene.width, height=scene.height)
    box, least = (
        f"0 0 {_pixels(scene.width)} {_pixels(scene.height)}",
        _pixels(min(scene.width, LEAST_WIDTH)),
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {size} style="min-width: {least}px" '
        f'font-family="sans-serif" role="img" aria-label="{_safe(scene.title)}">\n'
        f"<title>{_safe(scene.title)}</title>\n{shapes}\n</svg>"
    )


def page(scenes: Sequence[Scene], labels: Sequence[str], title: str, text: str) -> str:
    """Scenes as a page of HTML; with more than one a slider goes through them, and a label says which is seen."""
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    )
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
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{_safe(title)}</title>\n'
        f'<link rel="icon" href="data:,">\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{_safe(title)}</h1>\n'
        f"<p>{_safe(text)}</p>\n{slider}{figures}\n"
        f'<div id="tip" aria-live="polite">Point at a unit, or tap it.</div>\n<script>{SCRIPT}</script>\n'
        "</body>\n</html>\n"
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
        x, y, x2, y2, middle = map(
            _pixels, (shape.x, shape.y, shape.x2, shape.y2, (shape.y + shape.y2) / 2)
        )
        return (
            f'<path d="M{x} {y}C{x} {middle} {x2} {middle} {x2} {y2}" fill="none" stroke="{shape.colour}" '
            f'stroke-width="{shape.width:.4g}" stroke-opacity="{shape.opacity:.3g}"{_hints(shape)}/>'
        )
    return (
        f'<text {_lengths(x=shape.x, y=shape.y)} font-size="{shape.size:.4g}" fill="{shape.colour}" '
        f'text-anchor="{shape.anchor}" dy=".35em">{_safe(shape.text)}</text>'
    )


def _lengths(**lengths: float) -> str:
    """Attributes in pixels."""
    return " ".join(f'{name}="{_pixels(length)}"' for name, length in lengths.items())


def _pixels(length: float) -> str:
    """A length with five digits, and more in wide pictures, so that places are never rounded to whole pixels."""
    return f"{length:.{5 if abs(length) < 1000 else 9}g}"


def _hints(shape: Box | Disc | Curve) -> str:
    """What a shape says and lights up; units can be reached with the Tab key."""
    tip = f' data-tip="{_safe(shape.tip)}"' if shape.tip else ""
    tip += ' tabindex="0"' if shape.tip and not isinstance(shape, Curve) else ""
    return tip + (f' data-key="{_safe(shape.key)}"' if shape.key else "")


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
