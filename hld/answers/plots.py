"""Pictures: what the circuit draws, where a shift sits, how far a batch is from chance.

Each function draws into one matplotlib axes and returns it; without `ax` it makes a figure of its own through
pyplot, so that a notebook shows it.  `new_figure` makes one that pyplot does not know, for services and
files. Colours are those of Okabe and Ito (2008) and the map "cividis" (Nunez, Anderton and Renslow 2018),
which people with any kind of colour vision can distinguish; what a colour says, a shape or a line says too.

Needs matplotlib (``pip install 'hld[plot]'``), which is imported when a function is called.

====================  =====================================================================
`images`              rows as small pictures, in a grid
`localisation_map`    shares of a shift, for variables that are pixels
`variable_shares`     shares of a shift, for variables that have names
`null_law`            the null distribution of a test, and where the statistic of a batch falls
`draw_columns`        the frequencies of the columns of a result, expected and observed
`draw_segments`       the adjusted p-values of segments
`new_figure`          an empty figure without global state
====================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hld.answers.column_shifts import ColumnShift
from hld.answers.words import p_text
from pcircuit.arguments import check_numbers, check_whole_number
from pcircuit.pictures.scene import axes_or_new as axes
from pcircuit.pictures.scene import matplotlib_module

__all__ = [
    "images",
    "localisation_map",
    "new_figure",
    "null_law",
    "variable_shares",
]
BLUE, SKY, VERMILLION = "#0072B2", "#A9CFE6", "#D55E00"
SMALLEST = 1e-6  # p-values below are drawn here: on a logarithmic axis the tiny ones would flatten all others
LONGEST = 32  # letters of a name beside bars, which need room
FRAME = "#BFD9EA"  # between pictures of black, grey and white: a tint that none of them has


def images(rows: Any, shape: tuple[int, int], ax: Any = None, *, num_columns: int = 10) -> Any:
    """Draw rows of data as small pictures, side by side.

    Parameters
    ----------
    rows : (N, V) array_like
        One picture each; dark is large. N at least 1.
    shape : tuple of two int
        Height and width of a picture, H W = V.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    num_columns : int
        Pictures in a line of the grid, at most.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    TypeError, ValueError
        If an argument is of the wrong kind, `rows` and `shape` do not agree, or `num_columns` is below 1.

    Examples
    --------
    >>> ax = images(np.eye(4), (2, 2), new_figure((4, 3)).add_subplot(), num_columns=3)
    >>> ax.get_images()[0].get_array().shape                          # 2 x 3 pictures, frames of one pixel
    (7, 10)
    """
    rows = check_numbers(rows, "rows", "a table of numbers", finite=False)
    if rows.ndim != 2:
        raise ValueError(
            f"`rows` has shape {rows.shape}, expected (N, V): give one picture in a list"
        )
    height, width = _checked_shape(shape, rows.shape[1])
    across = min(check_whole_number(num_columns, "num_columns", 1), len(rows)) or 1
    ax = axes(ax)
    grid = np.full((-(-len(rows) // across) * (height + 1) + 1, across * (width + 1) + 1), np.nan)
    for i, row in enumerate(rows):
        top, left = i // across * (height + 1) + 1, i % across * (width + 1) + 1
        grid[top : top + height, left : left + width] = row.reshape(height, width)
    ax.imshow(np.ma.masked_invalid(grid), cmap="gray_r", interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_facecolor(FRAME)
    return ax


def localisation_map(localisation: Any, shape: tuple[int, int], ax: Any = None) -> Any:
    """Draw the variables' shares of a shift as a picture, for variables that are pixels.

    The share of variable v is score_v / d^2, so the shares add up to 1.

    Parameters
    ----------
    localisation : hld.witnesses.localization.Localization
        Result of ``HLDResult.localize``.
    shape : tuple of two int
        Height and width, H W = V.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    TypeError, ValueError
        If an argument is of the wrong kind, or `shape` does not fit the number of variables.

    Examples
    --------
    >>> from hld.witnesses.localization import Localization
    >>> found = Localization((), np.array([0.1, 0.3, 0.0, 0.0]))
    >>> ax = localisation_map(found, (2, 2), new_figure((4, 3)).add_subplot())
    >>> ax.get_images()[0].get_array().round(2).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    shares = _shares(localisation)
    shape = _checked_shape(shape, len(shares))
    ax = axes(ax)
    picture = ax.imshow(shares.reshape(shape), cmap="cividis", vmin=0, interpolation="nearest")
    ax.set(xlabel="pixel column", ylabel="pixel row")
    # In axes of the picture, so that the scale is as high as the picture wherever it is put.
    ax.figure.colorbar(picture, cax=ax.inset_axes((1.04, 0, 0.05, 1)), label="share of d²")
    return ax


def variable_shares(
    localisation: Any, names: Sequence[str], ax: Any = None, *, top: int = 10
) -> Any:
    """Draw the largest shares of a shift as bars, for variables that have names.

    Parameters
    ----------
    localisation : hld.witnesses.localization.Localization
        Result of ``HLDResult.localize``.
    names : sequence of V str
        Names of the variables.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    top : int
        How many variables, at most.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    TypeError, ValueError
        If an argument is of the wrong kind, the number of names is not that of the variables, or `top` is below 1.

    Examples
    --------
    >>> from hld.witnesses.localization import Localization
    >>> found = Localization((), np.array([0.1, 0.3]))
    >>> ax = variable_shares(found, ["age", "income"], new_figure((4, 3)).add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['income', 'age']
    """
    shares = _shares(localisation)
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"`names` must be a list of names, found {type(names).__name__}")
    names = list(names)
    if len(names) != len(shares):
        raise ValueError(
            f"`names` has {len(names)} entries, expected {len(shares)}, one for each variable"
        )
    top = check_whole_number(top, "top", 1)
    ax = axes(ax)
    largest = np.argsort(-shares, kind="stable")[:top]
    ax.barh(np.arange(len(largest)), shares[largest], color=BLUE, height=0.7)
    labels = [shortened(str(names[v]), LONGEST) for v in largest]
    ax.set_yticks(np.arange(len(largest)), labels, parse_math=False)
    ax.invert_yaxis()
    ax.set(xlabel="share of d²", xlim=(0, None))
    return plain_frame(ax)


def new_figure(size: Any) -> Any:
    """An empty figure of a size in inches, laid out so that nothing overlaps, without pyplot's global state.

    Parameters
    ----------
    size : tuple of two float
        Width and height in inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> new_figure((4, 3)).get_size_inches()
    array([4., 3.])
    """
    figure = matplotlib_module("figure").Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    return figure


def _shares(localisation: Any) -> np.ndarray:
    """(V,) scores as parts of their sum; all 0 where nothing differs."""
    if not hasattr(localisation, "variable_scores"):
        found = type(localisation).__name__
        raise TypeError(f"`localisation` must be what `localize()` returns, found {found}")
    scores = np.asarray(localisation.variable_scores, dtype=float)
    return scores / (scores.sum() or 1.0)


def _checked_shape(shape: Any, size: int) -> tuple[int, int]:
    """Height and width of a picture of so many pixels."""
    if not isinstance(shape, (tuple, list, np.ndarray)) or len(shape) != 2:
        raise TypeError(f"`shape` must be height and width, two numbers, found {shape!r}")
    height, width = (check_whole_number(one, "shape", 1) for one in shape)
    if height * width != size:
        raise ValueError(
            f"`shape` is {height} x {width}, but there are {size} variables: expected a shape with as many "
            "pixels"
        )
    return height, width


NUM_BARS = 60  # below the threshold, and nearly as many above it
ROOM = 1.15  # beyond the larger of statistic and threshold


def null_law(test: Any, result: Any, ax: Any = None) -> Any:
    """Draw the null distribution of the distance, and where the distance of a batch falls.

    P(d in a bar) under H0 over the width of the bar; bars above the threshold, which sum to alpha, are orange.  Where
    tests beside the distance share the level, as in results of a detector, p-value and level are those of the distance.

    Parameters
    ----------
    test : hld.HLDTest
        A test with a single metric.
    result : hld.HLDResult
        A result of this test.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    TypeError, ValueError
        If an argument is of the wrong kind, or the test has several metrics, whose p-values are combined: there is
        no one law to draw.

    Examples
    --------
    >>> import hld, pcircuit
    >>> from matplotlib.figure import Figure
    >>> test = hld.HLDTest(pcircuit.rat_spn([2] * 6, num_units=2, depth=1, rng=0))
    >>> result = test(pcircuit.sample(test.circuit, 20, rng=1))
    >>> ax = null_law(test, result, Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('distance d of a batch of 20 rows', 'density under H0')
    """
    for one, name, attribute in ((test, "test", "calibration"), (result, "result", "metrics")):
        if not hasattr(one, attribute):
            raise TypeError(
                f"`{name}` must be an HLDTest or a result of one, found {type(one).__name__}"
            )
    if len(result.metrics) > 1:
        raise ValueError(
            f"`test` combines the metrics {result.metrics}: draw the law of a test with one of them"
        )
    edges, tail = null_tail(test, result)
    share = sum(one.share for one in result.beside)
    pvalue, level = result.pvalue, result.alpha
    if share:
        pvalue, level = result.pvalues[0], (1 - share) * result.scaled_alpha
    density = -np.diff(tail) / np.diff(edges)
    beyond = edges[:-1] >= result.threshold * (1 - 1e-9)
    ax = axes(ax)
    widths = np.diff(edges)
    for chosen, colour, label in (
        (~beyond, SKY, "no shift"),
        (beyond, VERMILLION, f"level {level:.3g}"),
    ):
        left, heights = edges[:-1][chosen], density[chosen]
        ax.bar(left, heights, widths[chosen], align="edge", color=colour, label=label)
    ax.axvline(result.statistic, color=BLUE, linewidth=2, label=f"this batch: {p_text(pvalue)}")
    rows = f"{result.num_samples} row{'s' * (result.num_samples != 1)}"
    ax.set(
        xlabel=f"distance d of a batch of {rows}",
        ylabel="density under H0",
        xlim=(0, edges[-1]),
        ylim=(0, None),
    )
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 3, "borderaxespad": 0.0}
    ax.legend(fontsize="small", frameon=False, columnspacing=1.0, handlelength=1.2, **above)
    return plain_frame(ax)


def null_tail(test: Any, result: Any) -> tuple[np.ndarray, np.ndarray]:
    """Edges of bars (n,), the threshold among them, and the probabilities under H0 of a distance at least as large."""
    threshold, statistic = result.threshold, result.statistic
    if not 0 < threshold < np.inf:
        threshold = max(statistic, 1e-300)
    last = ROOM * max(statistic, 1.4 * threshold)
    below = np.linspace(0, threshold, NUM_BARS, endpoint=False)
    edges = np.append(below, np.linspace(threshold, last, NUM_BARS))
    null = test.calibration.null
    sketch = getattr(null, "sketch", lambda one, T: null.pvalue(one, T).value)
    squared = edges**2 / result.inflation
    return edges, np.array([sketch(one, result.num_samples) for one in squared[:, None]])


def plain_frame(ax: Any) -> Any:
    """The axes without the lines above and to the right, which say nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def shortened(text: str, most: int) -> str:
    """A label, cut where it is too long."""
    return text if len(text) <= most else text[: most - 1] + "…"


EXPECTED_COLOUR = "#999999"
MOST_LEVELS = 12
LONGEST_LABEL = 18
LONGEST_NAME = 22  # above a panel, before its p-value; a longer title leaves no room for the bars


def draw_columns(figure: Any, columns: Any, top: int) -> Any:
    """Draw the first columns of a result into a figure."""
    shown = columns[:top]
    across = min(3, len(shown))
    panels = np.atleast_1d(figure.subplots(-(-len(shown) // across), across)).ravel()
    for ax, column in zip(panels, shown, strict=False):
        levels = shown_levels(column)
        place = np.arange(len(levels))
        for shares, offset, look in (
            (column.expected, -0.2, {"color": EXPECTED_COLOUR, "label": "expected"}),
            (column.observed, 0.2, {"color": BLUE, "hatch": "//", "label": "observed"}),
        ):
            ax.bar(
                place + offset, 100 * shares[levels], 0.4, edgecolor="white", linewidth=0, **look
            )
        labels = [shortened(column.labels[k], LONGEST_LABEL) for k in levels]
        ax.set_xticks(place, labels, rotation=40, ha="right", fontsize="x-small", parse_math=False)
        p = p_text(column.adjusted, name="adjusted p")
        title = f"{shortened(column.name, LONGEST_NAME)}, {p}"
        ax.set_title(title, loc="left", fontsize="small", parse_math=False)
        ax.set_ylabel("% of rows", fontsize="x-small")
        ax.tick_params(axis="y", labelsize="x-small")
        plain_frame(ax)
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
    """Draw adjusted p-values of segments in order on a logarithmic axis: shifts as triangles, the others as dots."""
    ax = axes(ax)
    place, heights = np.arange(1, len(result.adjusted) + 1), np.maximum(result.adjusted, SMALLEST)
    for chosen, mark, colour, size, name in (
        (~result.reject, "o", BLUE, 5, "no shift"),
        (result.reject, "v", VERMILLION, 8, "shift"),
    ):
        label = f"{name} ({np.sum(chosen)})"
        ax.plot(place[chosen], heights[chosen], mark, color=colour, markersize=size, label=label)
    level = f"level {result.alpha:g}"
    ax.axhline(result.alpha, color="black", linestyle="--", linewidth=1, label=level)
    ax.set(yscale="log", ylim=(SMALLEST / 2, 2), ylabel="adjusted p-value")
    by, first, last = (
        shortened(text, LONGEST_LABEL) for text in (result.by, result.labels[0], result.labels[-1])
    )
    ax.set_xlabel(f"segment of {by}, {first} to {last}", parse_math=False)
    ax.legend(loc="lower left", fontsize="small")
    return plain_frame(ax)
