"""Scenes drawn with matplotlib, and what all pictures share: the way to matplotlib, new axes, their frame."""

from __future__ import annotations

import importlib
from typing import Any

from pcircuit.pictures.scene import BLUE, FITS, VERMILLION, Box, Curve, Disc, Scene

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
