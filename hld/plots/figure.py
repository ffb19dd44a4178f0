"""What all pictures share: colours, axes, p-values in order, and the way to matplotlib."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

BLUE, SKY, VERMILLION, GREY = "#0072B2", "#A9CFE6", "#D55E00", "#666666"
SMALLEST = 1e-6  # p-values below are drawn here: on a logarithmic axis the tiny ones would flatten all others


def axes(ax: Any) -> Any:
    """The axes given, or those of a new figure; TypeError for what cannot be drawn into."""
    if ax is None:
        return matplotlib_module("pyplot").subplots(layout="constrained")[1]
    if not isinstance(ax, matplotlib_module("axes").Axes):  # such as a figure, or an array of axes
        raise TypeError(f"`ax` must be axes of matplotlib, found {type(ax).__name__}")
    return ax


def matplotlib_module(module: str) -> Any:
    """A module of matplotlib; ImportError says how to install it."""
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install 'hld[plot]'"
        ) from None


def plain_frame(ax: Any) -> Any:
    """The axes without the lines above and to the right, which say nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def shortened(text: str, most: int) -> str:
    """A label, cut where it is too long."""
    return text if len(text) <= most else text[: most - 1] + "…"


def draw_pvalues(ax: Any, pvalues: np.ndarray, is_shift: np.ndarray, alpha: float) -> Any:
    """Draw p-values in order on a logarithmic axis with the level: shifts as large triangles, the others as dots.

    Shapes: pvalues (n,), is_shift (n,).
    """
    place, heights = np.arange(1, len(pvalues) + 1), np.maximum(pvalues, SMALLEST)
    for chosen, mark, colour, size, name in (
        (~is_shift, "o", BLUE, 5, "no shift"),
        (is_shift, "v", VERMILLION, 8, "shift"),
    ):
        ax.plot(
            place[chosen],
            heights[chosen],
            mark,
            color=colour,
            markersize=size,
            label=f"{name} ({np.sum(chosen)})",
        )
    ax.axhline(alpha, color="black", linestyle="--", linewidth=1, label=f"level {alpha:g}")
    ax.set(yscale="log", ylim=(SMALLEST / 2, 2))
    ax.legend(loc="lower left", fontsize="small")
    return plain_frame(ax)
