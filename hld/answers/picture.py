"""A picture of a result: the frequencies of its columns, expected and observed, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hld.answers.plots import BLUE, draw_pvalues, plain_frame, shortened
from pcircuit.pictures.canvas import axes_or_new as axes

if TYPE_CHECKING:
    from hld.answers.column_shifts import ColumnShift

EXPECTED_COLOUR = "#999999"
MOST_LEVELS = 12
LONGEST = 18
LONGEST_NAME = 22  # above a panel, before its p-value; a longer title leaves no room for the bars


def draw_columns(figure: Any, columns: Any, top: int) -> Any:
    """Draw the first columns of a result into a figure."""
    shown = columns[:top]
    across = min(3, len(shown))
    panels = np.atleast_1d(figure.subplots(-(-len(shown) // across), across)).ravel()
    for ax, column in zip(panels, shown, strict=False):
        _draw(ax, column)
    for ax in panels[len(shown) :]:
        ax.set_visible(False)
    panels[0].legend(loc="best", fontsize="x-small", frameon=False)
    return figure


def shown_levels(column: ColumnShift) -> list[Any]:
    """Positions of the levels worth showing, in their order: those with rows, the largest changes if they are many."""
    used = np.flatnonzero(column.expected + column.observed)
    if len(used) <= MOST_LEVELS:
        return used.tolist()
    size = np.maximum(column.expected, column.observed)[used]
    change = np.abs(column.observed - column.expected)[used]
    return np.sort(used[np.lexsort((-size, -change))[:MOST_LEVELS]]).tolist()


def draw_segments(result: Any, ax: Any = None) -> Any:
    """Draw the adjusted p-values of segments in their order: shifted ones are triangles, the others dots."""
    ax = axes(ax)
    by, first, last = (
        shortened(text, LONGEST) for text in (result.by, result.labels[0], result.labels[-1])
    )
    ax.set_xlabel(f"segment of {by}, {first} to {last}", parse_math=False)
    ax.set_ylabel("adjusted p-value")
    return draw_pvalues(ax, result.adjusted, result.reject, result.alpha)


def _draw(ax: Any, column: Any) -> None:
    """Bars of one column."""
    shown = shown_levels(column)
    place = np.arange(len(shown))
    ax.bar(place - 0.2, 100 * column.expected[shown], 0.4, color=EXPECTED_COLOUR, label="expected")
    ax.bar(
        place + 0.2,
        100 * column.observed[shown],
        0.4,
        color=BLUE,
        hatch="//",
        edgecolor="white",
        linewidth=0,
        label="observed",
    )
    labels = [shortened(column.labels[k], LONGEST) for k in shown]
    ax.set_xticks(place, labels, rotation=40, ha="right", fontsize="x-small", parse_math=False)
    known = (
        f"adjusted p = {column.adjusted:.2g}" if column.adjusted else "adjusted p < 1e-300"
    )  # rounded to 0
    said = "not tested" if column.adjusted != column.adjusted else known
    ax.set_title(
        f"{shortened(column.name, LONGEST_NAME)}, {said}",
        loc="left",
        fontsize="small",
        parse_math=False,
    )
    ax.set_ylabel("% of rows", fontsize="x-small")
    ax.tick_params(axis="y", labelsize="x-small")
    plain_frame(ax)
