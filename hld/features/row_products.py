r"""Scalar products of rows as a metric sees them, for few rows of many nodes.

With rows z_1..z_n and a metric F, the matrix

.. math:: G_{ij} = (F z_i)^t (F z_j)

holds all that the metric sees of linear combinations of the rows: |F sum_i w_i z_i|^2 = w^t G w.

**Squared distances** of many vectors share what the metrics have in common: for a stretched metric, d^2 = r^2 |z|^2 +
sum_k (f_k^2 - r^2) (v_k . z)^2.  The two whitened metrics of a test differ in their factors only: the directions v_k
of the coarser one are the first of the finer one's.  So the products v_k . z, nearly all of the work, serve both.
"""

from typing import Any

import numpy as np

from hld.features.linear_maps import (
    BLOCK_ROWS,
    LinearMap,
    Scaled,
    Stretched,
    Window,
    lengths,
    seen_by,
)

MOST_KEPT = 2**25  # bytes of a product that is kept for others


def row_products(
    metrics: tuple[LinearMap, ...], rows: np.ndarray, known: Any = None
) -> list[np.ndarray]:
    """G of each metric.

    Shapes: rows (n, m).
    n^2 m operations as matrix products; for a `Stretched` metric beside the plain one n^2 k and n m k.
    """
    known = {} if known is None else known
    return [_product(metric, rows, known) for metric in metrics]


def quadratic_forms(
    metrics: tuple[LinearMap, ...], rows: np.ndarray, known: Any = None, dtype: Any = np.float64
) -> tuple[Any, float]:
    """w^t G w of each metric for many w, with as few multiplications as the metrics allow, and their number.

    Metrics of fewer than n/2 coordinates are applied to the rows once, and one stretched in few directions is the plain
    one and these; what is left needs G.  Of that the upper triangle is enough, with half of the diagonal:
    G = U + U^t, so w^t G w = 2 w^t U w, a product with a triangle and so half of the multiplications.

    Shapes: rows (n, m).
    """
    known = {} if known is None else known
    halves: dict[Any, Any] = {}
    parts = [_form(metric, rows, known, halves, dtype) for metric in metrics]

    def forms(weights: np.ndarray) -> np.ndarray:
        whole = {key: _twice(half, weights) * unit for key, (half, unit) in halves.items()}
        found = []
        for key, factor, along, gains in parts:
            one = factor * whole[key] if key is not None else 0.0
            found.append(
                one + (weights.astype(along.dtype) @ along) ** 2 @ gains
                if along is not None
                else one
            )
        return np.maximum(np.stack(found, axis=1), 0.0)

    cost = sum(half.size / 2 for half, _ in halves.values())
    return forms, cost + sum(along.size for _, _, along, _ in parts if along is not None)


def scale_of(product: np.ndarray) -> float:
    """The mean of the diagonal of a product, or 1: in units of it single precision cannot overflow."""
    return float(np.trace(product)) / max(len(product), 1) or 1.0


def _form(metric: Any, rows: Any, known: Any, halves: Any, dtype: Any) -> Any:
    """Key of a product, its factor, and directions with gains that are added: w^t G w of one metric."""
    n, (inner, part, place) = len(rows), _window(metric, rows)
    few = n / 2 if dtype == np.float64 else n / 8  # directions, which would be in double precision
    if isinstance(inner, Stretched) and inner.vectors.shape[1] < few:
        if place not in halves or halves[place][0].dtype != np.float64:
            halves[place] = _half(_plain(part, place, known), np.float64)
        return place, inner.rest**2, part @ inner.vectors, inner.factors**2 - inner.rest**2
    if not isinstance(inner, Stretched) and 2 * inner.apply(part[:1]).shape[1] < n:
        mapped = inner.apply(part)
        unit = np.sqrt(np.einsum("ij,ij->", mapped, mapped) / n) or 1.0
        return None, 0.0, (mapped / unit).astype(dtype), np.full(mapped.shape[1], unit**2)
    key = place if _is_plain(inner) else metric
    if key not in halves:
        halves[key] = _half(_product(metric, rows, known), dtype)
    return key, 1.0, None, None


def _half(product: np.ndarray, dtype: Any) -> Any:
    """U with G / u = U + U^t, column by column as BLAS has it, and the unit u."""
    unit = scale_of(product)
    half = np.asfortranarray(np.triu(product / unit), dtype=dtype)
    np.fill_diagonal(half, half.diagonal() / 2)
    return half, unit


def _twice(half: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """2 w^t U w of each row of weights."""
    from scipy.linalg.blas import dtrmm, strmm

    if not half.size:
        return np.zeros(len(weights))
    weights = np.ascontiguousarray(weights, dtype=half.dtype)
    multiply = dtrmm if half.dtype == np.float64 else strmm
    return 2 * np.einsum("bi,bi->b", multiply(1.0, half, weights.T, trans_a=1).T, weights).astype(
        np.float64
    )


def _is_plain(metric: Any) -> bool:
    """Whether a metric is the plain norm."""
    return isinstance(metric, Scaled) and bool((metric.weights == 1).all())


def _window(metric: Any, rows: Any) -> Any:
    """The map that a window shows, and the coordinates that it sees, with their place."""
    if isinstance(metric, Window):
        return metric.inner, rows[:, metric.seen], (metric.seen.start, metric.seen.stop)
    return metric, rows, (0, rows.shape[1])


def _plain(part: Any, place: Any, known: Any) -> Any:
    """(n, n) G of the plain norm of the coordinates at a place, kept."""
    if place not in known:
        known[place] = part @ part.T
    return known[place]


def _product(metric: Any, rows: Any, known: Any) -> Any:
    """(n, n) G of one metric, kept."""
    if metric in known:
        return known[metric]
    inner, part, place = _window(metric, rows)
    if _is_plain(inner):
        product = _plain(part, place, known)
    elif isinstance(inner, Stretched):
        along = part @ inner.vectors  # r^2 |z|^2 + sum_k (f_k^2 - r^2) (v_k . z)^2
        gains = inner.factors**2 - inner.rest**2
        product = inner.rest**2 * _plain(part, place, known) + (along * gains) @ along.T
    else:
        mapped = inner.apply(part)
        product = mapped @ mapped.T
    if product.nbytes <= MOST_KEPT:
        known[metric] = product
    return product


def squared_distances(metrics: tuple[Any, ...], rows: np.ndarray) -> np.ndarray:
    """(n, q) squared distances d^2 of vectors (n, m), under each of q metrics."""
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
