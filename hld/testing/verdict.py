"""From the difference of means to a result: the metrics' distances, the p-value under a null, and the threshold.

**Own rows.** They say how their mean varies, for the p-values of nodes.  Of the rows, at most `MOST_VECTORS` of them,
the differences from their mean, over T: the sum of their squares is the covariance of the mean.  With holes each node
has the mean of the T_j rows that show it, and the differences are divided by T_j instead; so the sum allows for which
rows show which nodes together.

**Other rows.**  A row that becomes another one moves a mean of likelihoods by at most a T-th of their range, and a
distance by at most a T-th of what the metric makes of these ranges: how large the p-value can be if r rows of the batch
are others, which is what the effect is made of (`hld.witnesses.effects`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import pcircuit
from hld.features.row_vectors import RowVectors, some_rows
from hld.laws.ranks.confirmation import MOST_VECTORS
from hld.witnesses.effects import allowed_rows, tolerant_pvalue
from hld.witnesses.result import HLDResult

LEAST_PVALUE = 1e-300


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
    factors: Any = 1.0,
) -> HLDResult:
    """The result of a batch; a row counts `factors` times in the mean of a node, where holes leave it fewer rows.

    Shapes: deltas (m,), rows (r, V), factors (m,).
    """
    parts, num_train = test.calibration, test.settings.num_train
    inflation = 1.0 if num_train is None else 1.0 + T / num_train
    distances = [math.sqrt(max(metric.squared(deltas), 0.0)) for metric in parts.metrics]
    beyond = np.where(np.array(distances) > test.least_distances(T), distances, 0.0)
    reach = (test.reaches if np.ndim(factors) == 0 and factors == 1 else reaches(test, factors)) / T
    found = null.pvalue(np.square(beyond) / inflation, T)
    if len(distances) > 1:
        threshold = -math.log10(alpha)
    else:
        others, level = allowed_rows(T, test.tolerance, alpha)
        threshold = math.sqrt(null.threshold(level, T, found.draws) * inflation) + others * float(
            reach[0]
        )
    found = found if check is None else check(found, np.square(beyond))
    found = found._replace(value=max(found.value, LEAST_PVALUE))
    after, pvalue = (
        partial(_after, null, beyond, reach, inflation, T, found.value),
        found.value,
    )
    if test.tolerance:
        pvalue = max(tolerant_pvalue([after], T, test.tolerance), LEAST_PVALUE)
    statistic = 0.0 - math.log10(pvalue) if len(distances) > 1 else distances[0]
    weights, m = test.shown_weights, len(test.nodes)
    return HLDResult(
        statistic=statistic,
        threshold=threshold,
        pvalue=pvalue,
        reject=bool(pvalue <= alpha),
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
        _own=None if rows is None else own_rows(test.vectors, rows, T, weights),
        _after=after,
        _tolerance=test.tolerance,
    )


def result_of(
    inner: Any, batch: np.ndarray, pvalue: float, alpha: float, **further: Any
) -> HLDResult:
    """The result of a batch (T, V) that has a p-value and no distance of its own."""
    return HLDResult(
        statistic=0.0 - math.log10(pvalue),
        threshold=-math.log10(alpha),
        pvalue=pvalue,
        reject=bool(pvalue <= alpha),
        alpha=alpha,
        num_samples=len(batch),
        num_missing=int((batch < 0).sum()),
        metrics=inner.metric_names,
        nodes=inner.nodes,
        _circuit=inner.circuit,
        **further,
    )


def reaches(test: Any, factors: Any) -> np.ndarray:
    """(q,) by how much a row that is another moves T times the mean, in each metric; shapes factors (m,)."""
    ranges = test.vectors.ranges * factors
    return np.array([metric.reach(ranges) for metric in test.calibration.metrics])


def _after(
    null: Any,
    distances: np.ndarray,
    reach: np.ndarray,
    inflation: float,
    T: int,
    least: float,
    r: int,
) -> float:
    """The largest p-value of distances (q,) where r rows are others, each of which moves them by reach (q,)."""
    left = np.maximum(distances - r * reach, 0.0)
    return max(least, float(null.pvalue(np.square(left) / inflation, T).value))


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows of a batch; shapes rows (r, V), weights (m,)."""

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
    """The rows of a batch, of many some, evenly spread; shapes rows (r, V), weights (m,)."""
    return OwnRows(vectors, np.asarray(rows)[some_rows(len(rows), MOST_VECTORS)], num_rows, weights)
