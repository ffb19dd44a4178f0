"""Where the regions of a picture go: the root at the top, each region above the middle of its children.

A subtree takes the width of its root, or that of its children side by side if they are wider.  All regions of one depth
have one height.  One pass up the v-tree gives the widths, one down the positions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcircuit.array_types import Floats, Ints
from pcircuit.pictures.description import depths
from pcircuit.vtree import VTree

MARGIN = 20.0


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
    centre = _centres(children, left, taken, np.asarray(widths))
    depth = depths(vtree)
    top = _tops(depth, np.asarray(heights), below)
    return (
        centre - np.asarray(widths) / 2,
        top,
        float(taken[-1] + 2 * MARGIN),
        float((top + np.asarray(heights)).max() + MARGIN),
    )


def _centres(children: list[list[int]], left: Floats, taken: Floats, widths: Floats) -> Floats:
    """Middles of the boxes: above the middle of their children, as far as the subtree's own room allows."""
    centre = left + taken / 2
    for r, own in enumerate(children):
        if own:
            middle = (centre[own].min() + centre[own].max()) / 2
            centre[r] = np.clip(middle, left[r] + widths[r] / 2, left[r] + taken[r] - widths[r] / 2)
    return centre


def _tops(depth: Ints, heights: Floats, below: float) -> Floats:
    """Upper ends, level by level."""
    highest = np.zeros(int(depth.max()) + 1)
    np.maximum.at(highest, depth, heights)
    starts = MARGIN + np.concatenate([[0.0], np.cumsum(highest + below)[:-1]])
    placed: Floats = starts[depth]
    return placed
