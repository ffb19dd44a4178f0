r"""Scalar products of rows as a metric sees them, for few rows of many nodes.

With rows z_1..z_n and a metric F, the matrix

.. math:: G_{ij} = (F z_i)^t (F z_j)

holds all that the metric sees of linear combinations of the rows: |F sum_i w_i z_i|^2 = w^t G w.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from hld.vectors.linear_maps import LinearMap, Scaled, Stretched
from hld.vectors.windows import Window


def row_products(metrics: tuple[LinearMap, ...], rows: np.ndarray, plain: Any = None) -> list[np.ndarray]:
    """G of each metric.

    Parameters
    ----------
    metrics : tuple of LinearMap
    rows : (n, m) float array
    plain : dict, optional
        What earlier calls for the same rows have found that others need, too: start with an empty one.

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
    plain = {} if plain is None else plain
    return [_products(*_window(metric, rows), plain) for metric in metrics]  # type: ignore[call-arg]


def quadratic_forms(metrics: tuple[LinearMap, ...], rows: np.ndarray) -> tuple[Any, int]:
    """w^t G w of each metric for many w, with as few multiplications as the metrics allow, and their number.

    Metrics of fewer than n coordinates are applied to the rows once, and a stretched one is the plain one and some
    directions more; what is left needs an (n, n) product, and all plain norms of the same coordinates share one.

    Parameters
    ----------
    metrics : tuple of q LinearMap
        G is F^t F, F one of them applied to the rows.
    rows : (n, m) float array

    Returns
    -------
    callable
        Function of w (B, n); gives (B, q).
    int
        Multiplications for one w.

    Examples
    --------
    >>> forms, cost = quadratic_forms((Scaled("weights", np.array([1.0, 2.0])),), np.array([[1.0, 1.0], [2.0, 0.0]]))
    >>> forms(np.array([[1.0, 0.0], [1.0, -1.0]])), cost
    (array([[5.],
           [5.]]), 4)
    """
    products: dict[Any, np.ndarray] = {}
    parts = [_form(*_window(metric, rows), products) for metric in metrics]  # type: ignore[call-arg]

    def forms(weights: np.ndarray) -> np.ndarray:
        whole = {key: np.einsum("bi,bi->b", weights @ product, weights) for key, product in products.items()}
        found = []
        for key, factor, along, gains in parts:
            one = factor * whole[key] if key is not None else 0.0
            found.append(one + (weights @ along) ** 2 @ gains if along is not None else one)
        return np.maximum(np.stack(found, axis=1), 0.0)

    cost = sum(product.size for product in products.values())
    return forms, cost + sum(along.size for _, _, along, _ in parts if along is not None)


def _form(metric: Any, rows: Any, place: Any, products: Any) -> Any:
    """Key of a product, its factor, and directions with gains that are added: w^t G w of one metric."""
    n = len(rows)
    if isinstance(metric, Stretched) and rows.shape[1] + metric.vectors.shape[1] > n:
        if place not in products:
            products[place] = rows @ rows.T
        return place, metric.rest ** 2, rows @ metric.vectors, metric.factors ** 2 - metric.rest ** 2
    mapped = metric.apply(rows)
    if mapped.shape[1] < n:
        return None, 0.0, mapped, np.ones(mapped.shape[1])
    is_plain = isinstance(metric, Scaled) and (metric.weights == 1).all()
    key = place if is_plain else (place, len(products), "own")
    if key not in products:
        products[key] = mapped @ mapped.T
    return key, 1.0, None, None


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
