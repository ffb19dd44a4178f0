"""A circuit drawn region by region: a box for each, which says how many units it holds."""

from __future__ import annotations

from pcircuit.circuit import Circuit
from pcircuit.pictures.layout import arrange
from pcircuit.pictures.scene import (
    BLUE,
    INK,
    PANEL,
    PANEL_LINE,
    SKY,
    SOFT_INK,
    Box,
    Curve,
    Scene,
    Shape,
    Text,
)
from pcircuit.regions import InputRegion

LETTER = 6.4  # pixels of a letter
BOX_HEIGHT = 44.0


def regions_scene(circuit: Circuit, labels: list[str]) -> Scene:
    """The picture of a circuit with one box for each region."""
    lines = [_words(region, labels) for region in circuit.regions]
    widths = [max(36.0, LETTER * max(map(len, words)) + 16) for words in lines]
    x, y, width, height = arrange(
        circuit.vtree, widths, [BOX_HEIGHT] * len(lines), between=10, below=34
    )
    curves: list[Shape] = []
    boxes: list[Shape] = []
    for r, (region, words) in enumerate(zip(circuit.regions, lines, strict=True)):
        middle, parent = x[r] + widths[r] / 2, circuit.vtree.parent(r)
        if parent >= 0:
            curves.append(
                Curve(
                    x[parent] + widths[parent] / 2,
                    y[parent] + BOX_HEIGHT,
                    middle,
                    y[r],
                    width=1.2,
                    key=f"r{r} r{parent}",
                )
            )
        scope = [labels[v] for v in circuit.vtree.scope(r)[:16].tolist()]
        more = int(circuit.vtree.scope_sizes()[r]) - len(scope)
        tip = (
            f"region {r}: {region!r}\nnodes {circuit.offsets[r]}..{circuit.offsets[r + 1] - 1}\n"
            f"scope: {', '.join(scope)}{f' and {more} more' if more else ''}"
        )
        is_input = isinstance(region, InputRegion)
        boxes += [
            Box(
                x[r],
                y[r],
                widths[r],
                BOX_HEIGHT,
                PANEL,
                SKY if is_input else PANEL_LINE,
                8,
                tip,
                f"r{r}",
            ),
            Text(middle, y[r] + 15, words[0], 11, INK if is_input else BLUE),
            Text(middle, y[r] + 31, words[1], 11, SOFT_INK),
        ]
    return Scene(width, height, (*curves, *boxes), repr(circuit))


def _words(region: object, labels: list[str]) -> tuple[str, str]:
    """The two lines in a box."""
    if isinstance(region, InputRegion):
        return labels[region.variable], f"{region.num_units} in"
    num_units, num_products = region.num_units, region.num_products  # type: ignore[attr-defined]
    return f"{num_units} +", f"{num_products} ×"
