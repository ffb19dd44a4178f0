r"""Squared distances of many vectors under several metrics, what the metrics have in common being done once.

For a stretched metric, d^2 = r^2 |z|^2 + sum_k (f_k^2 - r^2) (v_k . z)^2.  The two whitened metrics of a test differ in
their factors only: the directions v_k of the coarser one are the first of the finer one's.  So the products v_k . z,
nearly all of the work, serve both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.vectors.linear_maps import BLOCK_ROWS, Stretched, lengths
from hld.vectors.windows import seen_by


def squared_distances(metrics: tuple[Any, ...], rows: np.ndarray) -> np.ndarray:
    """(n, q) squared distances d^2 of vectors (n, m), under each of q metrics.

    Shapes: rows (n, m) -> (n, q).
    """
    found = np.empty((len(rows), len(metrics)))
    for start in range(0, len(rows), BLOCK_ROWS):
        _add_block(metrics, rows[start : start + BLOCK_ROWS], found[start : start + BLOCK_ROWS])
    return found


def _add_block(metrics: Any, rows: np.ndarray, found: np.ndarray) -> None:
    """Distances of some rows; the metric with most directions first, so that others may find theirs among them."""
    known: list[Any] = []
    for q in sorted(range(len(metrics)), key=lambda q: -_num_directions(metrics[q])):
        inner, seen = seen_by(metrics[q])
        found[:, q] = (
            _stretched(inner, rows[:, seen], seen, known)
            if isinstance(inner, Stretched)
            else (metrics[q].squared(rows))
        )


def _num_directions(metric: Any) -> int:
    """Directions with factors of their own."""
    inner = seen_by(metric)[0]
    return inner.vectors.shape[1] if isinstance(inner, Stretched) else 0


def _stretched(metric: Stretched, part: np.ndarray, seen: slice, known: list[Any]) -> np.ndarray:
    """d^2 under a stretched metric; `known` holds the lengths and products of those before, and gets its own."""
    k = metric.vectors.shape[1]
    alike = [
        one for one in known if one[0] == seen and np.array_equal(one[1][:, :k], metric.vectors)
    ]
    if not alike:
        alike = [(seen, metric.vectors, lengths(part), (part @ metric.vectors) ** 2)]
        known += alike
    _, _, squares, along = alike[0]
    return np.maximum(
        metric.rest**2 * squares + along[:, :k] @ (metric.factors**2 - metric.rest**2), 0.0
    )
