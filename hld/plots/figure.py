"""What all pictures share: colours, axes, and the way to matplotlib."""
from __future__ import annotations

import importlib
from typing import Any

BLUE, SKY, VERMILLION, GREY = "#0072B2", "#A9CFE6", "#D55E00", "#666666"


def axes(ax: Any) -> Any:
    """The axes given, or those of a new figure."""
    return matplotlib_module("pyplot").subplots(layout="constrained")[1] if ax is None else ax


def matplotlib_module(module: str) -> Any:
    """A module of matplotlib, or the way to get it."""
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError:
        raise ImportError("drawing needs matplotlib, which is not installed: "
                          "pip install 'hld[plot]'") from None


def plain_frame(ax: Any) -> Any:
    """The axes without the lines above and to the right, which say nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax
