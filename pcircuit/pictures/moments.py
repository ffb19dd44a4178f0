"""The covariance S of unit likelihoods and its eigenvalues: which units vary together, and in how many directions.

The HLD statistic of a batch that follows the circuit is distributed like sum_i lambda_i Z_i^2 / T, Z_i standard normal,
with the eigenvalues lambda_i of S.  A few large ones mean a skew law far from normal; how many directions count is
tr(S)^2 / tr(S^2).
"""

from typing import Any

import numpy as np

from pcircuit.moments.moments import Moments
from pcircuit.pictures.scene import PANEL_LINE, axes_or_new, matplotlib_module, plot_two

MOST_ROWS = 2000  # of a covariance that is drawn
SMALLEST = 1e-4  # relative to the largest entry, where the colours of the two signs begin


def plot_covariance(moments: Moments, *, ax: Any = None) -> Any:
    """Draw the covariance of unit likelihoods as a picture.

    Brown entries are positive, purple ones negative, on a logarithmic scale of four decades; lines separate regions.

    Parameters
    ----------
    moments : Moments
        Moments of at most 2,000 units, from `pcircuit.exact_moments`.
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
        If `moments` is not of this kind, or of too many units.

    Notes
    -----
    Forms S: 8 m^2 bytes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> moments = pcircuit.exact_moments(circuit)
    >>> ax = plot_covariance(moments, ax=Figure().add_subplot())
    >>> ax.get_images()[0].get_array().shape == (len(moments.nodes),) * 2
    True
    """
    _check_moments(moments)
    S = moments.covariance()
    top = max(float(np.abs(S).max()), 1e-300)
    ax = axes_or_new(ax)
    norm = matplotlib_module("colors").SymLogNorm(linthresh=SMALLEST * top, vmin=-top, vmax=top)
    picture = ax.imshow(S, cmap="PuOr_r", norm=norm, interpolation="nearest")
    for edge in np.flatnonzero(np.diff(moments.circuit.nodes.region[moments.nodes])) + 0.5:
        if len(S) <= 200:
            ax.axhline(edge, color=PANEL_LINE, linewidth=0.5)
            ax.axvline(edge, color=PANEL_LINE, linewidth=0.5)
    ax.set(xlabel="unit", ylabel="unit")
    ax.figure.colorbar(
        picture,
        cax=ax.inset_axes((1.04, 0, 0.05, 1)),
        label="covariance",
        ticks=[-top, -top * 1e-2, 0, top * 1e-2, top],
        format="%.0e",
    )
    return ax


def plot_eigenvalues(moments: Moments, *, ax: Any = None) -> Any:
    """Draw the eigenvalues of the covariance, in descending order, and their share of the trace.

    Parameters
    ----------
    moments : Moments
        Moments of at most 2,000 units, from `pcircuit.exact_moments`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the eigenvalues; the share has its own axis on the right.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    TypeError, ValueError
        If `moments` is not of this kind, or of too many units.

    Notes
    -----
    All eigenvalues: O(m^3).  Those below 1e-12 of the largest are round-off, and left out.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import pcircuit
    >>> circuit = pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0)
    >>> ax = plot_eigenvalues(pcircuit.exact_moments(circuit), ax=Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_yscale()
    ('eigenvalue number', 'log')
    """
    _check_moments(moments)
    values = np.sort(np.linalg.eigvalsh(moments.covariance()))[::-1]
    values = values[values > 1e-12 * max(values[0], 0.0)]
    ax = axes_or_new(ax)
    number = np.arange(1, len(values) + 1)
    effective = moments.trace**2 / moments.trace_sq if moments.trace_sq > 0 else 0.0
    ax.set(
        xlabel="eigenvalue number",
        yscale="log",
        title=f"effective directions: {effective:.1f} of {len(values)}",
    )
    share = np.cumsum(values) / values.sum()
    plot_two(ax, number, values, "eigenvalue", number, share, "share of the trace").set_ylim(
        0, 1.02
    )
    return ax


def _check_moments(moments: object) -> None:
    """Raise unless these are moments of few enough units."""
    if not isinstance(moments, Moments):
        raise TypeError(
            f"`moments` must be what `pcircuit.exact_moments` returns, found {type(moments).__name__}"
        )
    if len(moments.nodes) > MOST_ROWS:
        raise ValueError(
            f"`moments` are of {len(moments.nodes)} units, and a picture shows at most {MOST_ROWS}: "
            "choose some with `pcircuit.select_nodes`"
        )
