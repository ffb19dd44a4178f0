r"""Distances of batches drawn from rows, by whichever of three ways is shortest.

The mean of a batch drawn with replacement from n centred rows z_i is sum_i w_i z_i, with w_i the row's share of the
batch.  Its squared distance under a metric F is

.. math:: |F \sum_i w_i z_i|^2 = w^t G w, \qquad G_{ij} = (F z_i)^t (F z_j).

* few rows, small batches: the T (T + 1) / 2 entries of G between the rows of a batch are looked up and added;
* few rows, large batches: products of the weights with G (n x n), or with the n rows mapped by the metric where these
  are shorter, replace vectors of m nodes;
* many rows: the means are formed, and mapped.

So the number of nodes matters only for n > m; for n <= m the metrics are applied once, to the n rows.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hld.features.linear_maps import Stretched, Window
from hld.features.row_products import quadratic_forms, row_products, scale_of, squared_distances
from hld.references.rows import resampled_weights

MOST_PRODUCTS = 2**27  # bytes of all G together, beyond which they are formed only where n <= m
IN_DOUBLE = 2**23  # the same, up to which they are in double precision
# of a place in all G, of multiplications in matrix products, and of those with triangles in single precision, in
# additions to a mean
LOOK_UP, MULTIPLY, SINGLE = 55.0, 0.1, 0.08
BLOCK = 100_000  # places that are looked up at a time, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class ResampledDistances:
    """Squared distances of batches drawn from some rows, see the module.

    Shapes: rows (n, m).
    All G take q n m n operations, once, where they are used and not known.
    """

    metrics: tuple[Any, ...]
    rows: np.ndarray
    known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __call__(self, T: int, B: int, rng: np.random.Generator) -> np.ndarray:
        """(B, q) squared distances of B batches of T rows."""
        way, n = self._way(T)[0], len(self.rows)
        if way == "entries":
            picked = rng.integers(0, n, size=B * T, dtype=np.int32).reshape(B, T)
            entries, units = self.entries
            return _by_entries(entries, n, picked) * (units * (n / max(n - 1, 1) / T**2))
        weights = resampled_weights(n, T, B, rng)
        if way == "means":
            return squared_distances(self.metrics, weights @ self.rows)
        return self.forms[0](weights if isinstance(weights, np.ndarray) else weights.toarray())

    def cost(self, T: int) -> float:
        """About what one batch of T rows costs, in additions."""
        return self._way(T)[1]

    @cached_property
    def forms(self) -> Any:
        """A function of weights (B, n), and the multiplications that it takes for each batch."""
        return quadratic_forms(self.metrics, self.rows, self.known, self._dtype)

    @cached_property
    def entries(self) -> tuple[np.ndarray, np.ndarray]:
        """(n n, q) the entries of all G side by side, so that one look-up finds them all, and (q,) their units."""
        n, q = len(self.rows), len(self.metrics)
        entries, units = np.empty((n, n, q), self._dtype), np.empty(q)
        for i, metric in enumerate(self.metrics):
            product = row_products((metric,), self.rows, self.known)[0]
            units[i] = scale_of(product)
            np.divide(product, units[i], out=entries[:, :, i], casting="same_kind")
        return entries.reshape(n * n, q), units

    @property
    def _dtype(self) -> Any:
        """Precision of G: the errors of singles are no thousandth of those of drawing, and they take half the time."""
        return (
            np.float64 if 8 * len(self.metrics) * len(self.rows) ** 2 <= IN_DOUBLE else np.float32
        )

    def _way(self, T: Any) -> Any:
        """How batches of T rows are drawn, and what one costs."""
        (n, m), q = self.rows.shape, len(self.metrics)
        costs = {"means": min(T, n) * m + MULTIPLY * sum(_width(metric) for metric in self.metrics)}
        is_small = np.dtype(self._dtype).itemsize * q * n * n <= MOST_PRODUCTS
        if n <= m or is_small:
            costs["forms"] = (MULTIPLY if self._dtype == np.float64 else SINGLE) * q * n * n / 2
        if is_small:
            costs["entries"] = LOOK_UP * T * (T + 1) / 2
        return min(costs.items(), key=lambda item: item[1])


def _by_entries(entries: Any, n: Any, picked: Any) -> Any:
    """(B, q) sums of the entries (n n, q) between the rows picked (B, T) of a batch."""
    B, T = picked.shape
    first, second = np.triu_indices(T, 1)
    twice, once = (
        np.full((1, k), factor, entries.dtype) for k, factor in ((len(first), 2.0), (T, 1.0))
    )
    result = np.empty((B, entries.shape[1]))
    step = max(1, BLOCK // max(len(first), T))
    for start in range(0, B, step):
        rows = picked[start : start + step]
        pairs = entries.take(rows[:, first] * n + rows[:, second], axis=0)
        own = entries.take(rows * (n + 1), axis=0)
        result[start : start + step] = (twice @ pairs + once @ own)[:, 0]
    return np.maximum(result, 0.0)


def _width(metric: Any) -> float:
    """Multiplications of `LinearMap.squared` of one vector, about."""
    metric = metric.inner if isinstance(metric, Window) else metric
    return metric.vectors.size if isinstance(metric, Stretched) else 60 * metric.width
