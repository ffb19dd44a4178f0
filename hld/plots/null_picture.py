"""The null distribution of a test's distance, drawn, and where the distance of a batch falls.

The picture is made from the same p-values as results, so what is drawn is what was tested.  The one difference: where
batches are drawn, only the first 999 are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.plots.figure import BLUE, SKY, VERMILLION, axes, plain_frame

NUM_BARS = 60  # below the threshold; as wide ones go on above it
LEAST_SHOWN = 1e-300  # p-values up to it are bounds
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
        If `test` is no test or `result` no result; if the test has several metrics, whose p-values are combined, so
        that there is no one law to draw.

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
    if not hasattr(test, "calibration"):
        raise TypeError(f"`test` must be an HLDTest, found {type(test).__name__}")
    if not hasattr(result, "metrics"):
        raise TypeError(f"`result` must be an HLDResult, found {type(result).__name__}")
    if len(result.metrics) > 1:
        raise ValueError(
            f"`test` combines the metrics {result.metrics}: draw the law of a test with one of them"
        )
    edges, tail = null_tail(test, result)
    pvalue, level = _of_distance(result)
    known = f"p = {pvalue:.2g}" if pvalue > LEAST_SHOWN else f"p < {LEAST_SHOWN:g}"
    density = -np.diff(tail) / np.diff(edges)
    beyond = edges[:-1] >= result.threshold * (1 - 1e-9)
    ax = axes(ax)
    for chosen, colour, label in (
        (~beyond, SKY, "no shift"),
        (beyond, VERMILLION, f"level {level:.3g}"),
    ):
        ax.bar(
            edges[:-1][chosen],
            density[chosen],
            np.diff(edges)[chosen],
            align="edge",
            color=colour,
            label=label,
        )
    ax.axvline(result.statistic, color=BLUE, linewidth=2, label=f"this batch: {known}")
    rows = f"{result.num_samples} row{'s' * (result.num_samples != 1)}"
    ax.set(
        xlabel=f"distance d of a batch of {rows}",
        ylabel="density under H0",
        xlim=(0, edges[-1]),
        ylim=(0, None),
    )
    place = "upper center" if result.statistic > 0.7 * edges[-1] else "upper right"
    ax.legend(fontsize="small", frameon=False, loc=place)
    return plain_frame(ax)


def _of_distance(result: Any) -> tuple[float, float]:
    """The p-value of the distance, and its part of the level; all of it where nothing else is tested."""
    quality = result.data_quality
    beside = (
        result.largest_count,
        result.largest_dependence,
        *(() if quality is None else (quality.missingness, quality.new_values)),
    )
    share = sum(one.share for one in beside if one is not None)
    return (
        (result.pvalues[0], (1 - share) * result.scaled_alpha)
        if share
        else (result.pvalue, result.alpha)
    )


def null_tail(test: Any, result: Any) -> tuple[np.ndarray, np.ndarray]:
    """Edges of bars, the threshold among them, and the probabilities under H0 of a distance at least as large.

    Returns edges (n,), tail (n,).
    """
    threshold, statistic = result.threshold, result.statistic
    width = threshold / NUM_BARS if 0 < threshold < np.inf else max(statistic, 1e-300) / NUM_BARS
    last = ROOM * max(statistic, 1.4 * NUM_BARS * width)
    count = int(np.ceil(last / width))
    edges = np.arange(min(count, 2 * NUM_BARS) + 1) * width
    if count > 2 * NUM_BARS:  # one bar for the rest, which is too thin to be seen
        edges = np.append(edges, last)
    margin, null = float(test.calibration.margins[0]), test.calibration.null
    squared = np.maximum(edges - margin, 0.0) ** 2 / result.inflation
    sketch = getattr(null, "sketch", lambda one, T: null.pvalue(one, T).value)
    return edges, np.array([sketch(one, result.num_samples) for one in squared[:, None]])
