r"""Scalar products of rows as a metric sees them, for few rows of many nodes.

With rows z_1..z_n and a metric F, the matrix

.. math:: G_{ij} = (F z_i)^t (F z_j)

holds all that the metric can tell of linear combinations of the rows: |F sum_i w_i z_i|^2 = w^t G w.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from hld.vectors.linear_maps import LinearMap, Scaled, Stretched
from hld.vectors.windows import Window


def row_products(metrics: tuple[LinearMap, ...], rows: np.ndarray) -> list[np.ndarray]:
    """G of each metric.

    Parameters
    ----------
    metrics : tuple of LinearMap
    rows : (n, m) float array

    Returns
    -------
    list of (n, n) float arrays
        Not to be written to: metrics that are alike share one.

    Notes
    -----
    n^2 m operations as matrix products; for a `Stretched` metric beside the plain one n^2 k and n m k.

    Examples
    --------
    >>> row_products((Scaled("weights", np.array([1.0, 2.0])),), np.array([[1.0, 1.0], [2.0, 0.0]]))
    [array([[5., 2.],
           [2., 4.]])]
    """
    plain: dict[tuple[int, int], np.ndarray] = {}
    return [_products(*_window(metric, rows), plain) for metric in metrics]  # type: ignore[call-arg]


def _window(metric: Any, rows: Any) -> Any:
    """The map that a window shows, and the coordinates that it sees, with their place."""
    if isinstance(metric, Window):
        return metric.inner, rows[:, metric.seen], (metric.seen.start, metric.seen.stop)
    return metric, rows, (0, rows.shape[1])


def _products(metric: Any, rows: Any, place: Any, plain: Any) -> Any:
    """(n, n) G of one metric; `plain` keeps that of the plain norm of each window."""
    is_plain = isinstance(metric, Scaled) and (metric.weights == 1).all()
    if not is_plain and not isinstance(metric, Stretched):
        mapped = metric.apply(rows)
        return mapped @ mapped.T
    if place not in plain:
        plain[place] = rows @ rows.T
    if is_plain:
        return plain[place]
    along = rows @ metric.vectors  # r^2 |z|^2 + sum_k (f_k^2 - r^2) (v_k . z)^2
    return metric.rest ** 2 * plain[place] + (along * (metric.factors ** 2 - metric.rest ** 2)) @ along.T
