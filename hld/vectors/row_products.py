r"""Scalar products of rows as a metric sees them, for few rows of many nodes.

With rows z_1..z_n and a metric F, the matrix

.. math:: G_{ij} = (F z_i)^t (F z_j)

holds all that the metric can tell of linear combinations of the rows: |F sum_i w_i z_i|^2 = w^t G w.
"""
from __future__ import annotations

import numpy as np

from hld.vectors.linear_maps import LinearMap, Scaled, Stretched


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
    plain, found = None, []
    for metric in metrics:
        is_plain = isinstance(metric, Scaled) and (metric.weights == 1).all()
        if not is_plain and not isinstance(metric, Stretched):
            mapped = metric.apply(rows)
            found.append(mapped @ mapped.T)
            continue
        plain = rows @ rows.T if plain is None else plain
        if is_plain:
            found.append(plain)
        else:  # r^2 |z|^2 + sum_k (f_k^2 - r^2) (v_k . z)^2
            along = rows @ metric.vectors
            found.append(metric.rest ** 2 * plain + (along * (metric.factors ** 2 - metric.rest ** 2)) @ along.T)
    return found
