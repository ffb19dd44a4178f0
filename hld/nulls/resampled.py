r"""Distances of batches drawn from rows, by whichever of two ways is shorter.

The mean of a batch drawn with replacement from n centred rows z_i is sum_i w_i z_i, with w_i the row's share of the
batch.  Its squared distance under a metric F is

.. math:: |F \sum_i w_i z_i|^2 = w^t G w, \qquad G_{ij} = (F z_i)^t (F z_j),

so that with fewer rows than nodes the means need not be formed: n x n products replace vectors of m nodes.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hld.nulls.staged import squared_distances
from hld.references.rows import resampled_weights


def resampled_distances(metrics: tuple[Any, ...], rows: np.ndarray) -> Callable[..., Any]:
    """Draw batches of some rows and give their squared distances.

    Parameters
    ----------
    metrics : q LinearMaps
    rows : (n, m) float array
        Centred.

    Returns
    -------
    callable
        ``draw(T, B, rng)`` gives (B, q) squared distances of B batches of T rows.

    Notes
    -----
    A call costs B min(T, n) m additions and q applications to (B, m), or, for n <= m, q B n min(T, n).

    Examples
    --------
    >>> from hld.vectors.linear_maps import Scaled
    >>> rows = np.array([[0.5, 0.5], [-0.5, -0.5]])
    >>> draw = resampled_distances([Scaled("euclidean", np.ones(2))], rows)
    >>> sorted({round(float(d), 12) for d in draw(2, 50, np.random.default_rng(0))[:, 0]})   # 0 or 1/2, times n/(n-1)
    [0.0, 1.0]
    """
    if len(rows) > rows.shape[1]:
        return lambda T, B, rng: squared_distances(metrics, resampled_weights(len(rows), T, B, rng) @ rows)
    products = [mapped @ mapped.T for mapped in (metric.apply(rows) for metric in metrics)]

    def draw(T: int, B: int, rng: np.random.Generator) -> np.ndarray:
        weights = resampled_weights(len(rows), T, B, rng)
        forms = [np.asarray((weights * (weights @ product)).sum(axis=1)).reshape(B) for product in products]
        return np.maximum(np.stack(forms, axis=1), 0.0)

    return draw
