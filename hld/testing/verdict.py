"""From the difference of means to a result: the metrics' distances, the p-value under a null, and the threshold.

**Own rows.** They say how their mean varies, when an effect size is given its interval.  Of the rows, at most
`MOST_VECTORS` of them, the differences from their mean, over T: the sum of their squares is the covariance of the mean
(`hld.results.effects`).  With holes each node has the mean of the T_j rows that show it, and the differences are
divided by T_j instead; so the sum allows for which rows show which nodes together.  It is computed when the interval
is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.nulls.ranks.confirmation import MOST_VECTORS
from hld.references.circuit import CircuitReference
from hld.references.reference import MAX_FULL_SPECTRUM
from hld.results.result import HLDResult
from hld.vectors.row_vectors import RowVectors, some_rows

LEAST_PVALUE = 1e-300


def spectrum_of(test: Any) -> tuple[Any, ...] | None:
    """Eigenvalues and eigenvectors of the covariance of a row's likelihoods, in the weights in which they are shown."""
    m, kept, weights = len(test.nodes), test.calibration.kept, test.shown_weights
    if m > MAX_FULL_SPECTRUM or (kept is not None and not len(kept.covariance)):
        return None
    source = CircuitReference(test.circuit, test.nodes, test.mean) if kept is None else None
    covariance = (kept.covariance if source is None else source.covariance())[:m, :m]
    return np.linalg.eigh(covariance * np.multiply.outer(weights, weights))


def verdict(
    test: Any,
    deltas: Any,
    T: int,
    alpha: float,
    num_missing: int,
    null: Any,
    *,
    check: Callable[..., Any] | None = None,
    rows: np.ndarray | None = None,
) -> HLDResult:
    """The result of a batch.

    Shapes: deltas (m,), rows (r, V).
    """
    parts, num_train = test.calibration, test.settings.num_train
    inflation = 1.0 if num_train is None else 1.0 + T / num_train
    distances = [math.sqrt(max(metric.squared(deltas), 0.0)) for metric in parts.metrics]
    beyond = [
        max(d - margin, 0.0) if d > least else 0.0
        for d, margin, least in zip(distances, parts.margins, _round_offs(test, T), strict=True)
    ]
    found = null.pvalue(np.square(beyond) / inflation, T)
    if len(distances) > 1:
        threshold = -math.log10(alpha)
    else:
        threshold = math.sqrt(null.threshold(alpha, T, found.draws) * inflation) + float(
            parts.margins[0]
        )
    found = found if check is None else check(found, np.square(beyond))
    found = found._replace(value=max(found.value, LEAST_PVALUE))
    statistic = 0.0 - math.log10(found.value) if len(distances) > 1 else distances[0]
    weights, m = test.shown_weights, len(test.nodes)
    plain = [
        p
        for metric, margin, p in zip(parts.metrics, parts.margins, found.each, strict=True)
        if metric.name == "euclidean" and not margin
    ]
    return HLDResult(
        statistic=statistic,
        threshold=threshold,
        pvalue=found.value,
        reject=bool(found.value <= alpha),
        alpha=alpha,
        num_samples=T,
        null=found.null,
        inflation=inflation,
        null_error=found.error,
        num_missing=num_missing,
        metrics=test.metric_names,
        pvalues=found.each,
        deltas=deltas[:m] * weights,
        stds=test.stds[:m] * weights,
        nodes=test.nodes,
        _circuit=test.circuit,
        _spectrum=test.effect_spectrum,
        _plain=plain[0] if plain else None,
        _own=None if rows is None else own_rows(test.vectors, rows, T, weights),
    )


def _round_offs(test: Any, T: int) -> list[float]:
    """For each metric, the distance that rounding alone can make.

    A mean of T equal numbers is off by up to T roundings.  Where rows vary, their own spread is far wider than that;
    the law of a constant is a law of zeros, under which the last digit of a sum would be a shift.
    """
    return [
        least * T if is_constant else least
        for least, is_constant in zip(test.round_offs, test.are_constant, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows of a batch.

    Shapes: rows (r, V), weights (m,).
    """

    vectors: RowVectors
    rows: np.ndarray
    num_rows: int
    weights: Any = 1.0

    def spread(self) -> np.ndarray:
        """(r, m) array Y such that Y^t Y is the covariance of the mean of the T rows."""
        m, r = len(self.vectors.nodes), len(self.rows)
        values = (
            pcircuit.node_likelihoods(self.vectors.circuit, self.rows, nodes=self.vectors.nodes)
            * self.weights
        )
        seen = self.vectors.seen(self.rows)[:, :m]
        counts = np.maximum(seen.sum(axis=0), 1)
        differences = np.where(seen, values - np.where(seen, values, 0.0).sum(axis=0) / counts, 0.0)
        return differences / counts * np.sqrt(r / self.num_rows)


def own_rows(vectors: RowVectors, rows: np.ndarray, num_rows: int, weights: Any = 1.0) -> OwnRows:
    """The rows of a batch, of many some, evenly spread.

    Shapes: rows (r, V), weights (m,).
    """
    return OwnRows(vectors, np.asarray(rows)[some_rows(len(rows), MOST_VECTORS)], num_rows, weights)
