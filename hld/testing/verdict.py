"""From a batch, as rows, with holes or as sums, to a result: distances, the p-value under a null, the threshold.

**Other rows.**  A row that becomes another one moves a mean of likelihoods by at most a T-th of their range, and a
distance by at most a T-th of what the metric makes of these ranges: how large the p-value can be if r rows of the batch
are others, which is what the effect is made of (`hld.witnesses.effects`).

**Reference rows.**  Without holes a batch of T rows is reduced to its mean vector, and the null of the test judges
it. With holes, in the batch or in the reference rows, every node is compared using the rows that show it and the
batch has laws of its own (`hld.references.available`); their p-values replace those of the test's laws. Either way a
small p-value is checked by the batch's own rows (`hld.laws.ranks.confirmation`); only a single row without holes has
been ranked among the reference rows and needs no check.

**Seen together.**  How the differences of nodes vary together is S o R as well, up to a factor, with S that of a row of
the circuit.  A result keeps the holes of the batch, a bit for each cell; R of the nodes that are listed is computed
when it is asked for.

**Sums.**  Means come from sums, so that without holes the p-value is that of the rows.  What a summary lacks is
replaced by bounds that cannot make a p-value smaller than it should be:

* where rows are the reference a small p-value is checked by the batch's own rows: here by their spread, which bounds
  what the rows would say (`hld.testing.summaries.summing`);
* with holes the law of a batch depends on which pairs of nodes are seen together: here metrics that mix nodes of
  different rows say nothing (p = 1), and those that do not keep the law without holes, which is wider
  (`hld.references.available`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import pcircuit
from hld.features.row_vectors import RowVectors, some_rows
from hld.laws.joint import JointNull, covariance_factor, joint_law
from hld.laws.limit_law import limit_law
from hld.laws.null import Null, PValue
from hld.laws.ranks.confirmation import ASKED_BELOW, MOST_VECTORS, confirmed
from hld.references.available import MOST_PAIRED, Shown, correlations, shown, weights
from hld.references.covariances import through
from hld.references.holes import HolePatterns
from hld.testing.summaries.summary import BatchSummary, check_summary
from hld.testing.summaries.summing import check_possible, confirmed_by_spread
from hld.witnesses.effects import allowed_rows, tolerant_pvalue
from hld.witnesses.result import HLDResult
from pcircuit.evidence import is_missing

LEAST_PVALUE = 1e-300
MOST_HOLED = 64  # batches with holes whose laws are remembered

# by squared distances (q,), the p-value that a batch's own rows allow in each metric
OwnPvalues: TypeAlias = Callable[[np.ndarray], tuple[Any, ...]]


class Comparison(NamedTuple):
    """(m,) the difference of means and its null; with holes (m,) factors on single rows, and on means of nodes."""

    deltas: np.ndarray
    null: Any
    factors: np.ndarray | None = None
    weights: np.ndarray | None = None


def verdict(
    test: Any,
    found: Comparison,
    T: int,
    alpha: float,
    num_missing: int,
    *,
    own: OwnPvalues | None = None,
    rows: np.ndarray | None = None,
) -> HLDResult:
    """The result of a batch, whose own rows check a small p-value where there is `own`; shapes rows (r, V)."""
    parts, num_train, null = test.calibration, test.settings.num_train, found.null
    inflation = 1.0 if num_train is None else 1.0 + T / num_train
    distances = [math.sqrt(max(metric.squared(found.deltas), 0.0)) for metric in parts.metrics]
    beyond = np.where(np.array(distances) > test.least_distances(T), distances, 0.0)
    reach = (test.reaches if found.factors is None else reaches(test, found.factors)) / T
    value = null.pvalue(np.square(beyond) / inflation, T)
    statistic = {}
    if len(distances) == 1:
        others, level = allowed_rows(T, test.tolerance, alpha)
        limit = math.sqrt(null.threshold(level, T, value.draws) * inflation)
        statistic = {"statistic": distances[0], "threshold": limit + others * float(reach[0])}
    # a single row without holes has been ranked among the reference rows, and needs no check
    is_ranked = T == 1 and value.draws and found.factors is None
    if own is not None and value.value <= ASKED_BELOW and not is_ranked:
        value = _checked(value, own(np.square(beyond)), parts.null.limit, T)
    pvalue = max(value.value, LEAST_PVALUE)
    after = partial(_after, null, beyond, reach, inflation, T, pvalue)
    if test.tolerance:
        pvalue = max(tolerant_pvalue([after], T, test.tolerance), LEAST_PVALUE)
    weights, m, kept = test.shown_weights, len(test.nodes), None
    if rows is not None:
        kept = OwnRows(rows[some_rows(len(rows), MOST_VECTORS)], weights)
    return result_of(
        test,
        pvalue,
        alpha,
        T,
        num_missing,
        null=value.null,
        inflation=inflation,
        null_error=value.error,
        pvalues=value.each,
        deltas=found.deltas[:m] * weights,
        stds=test.stds[:m] * weights,
        _own=kept,
        _weights=found.weights,
        _after=after,
        _tolerance=test.tolerance,
        **statistic,
    )


def _checked(value: PValue, each: tuple[Any, ...], limit: Null, T: int) -> PValue:
    """A small p-value raised to what the batch's own rows allow in each metric."""
    allowed = limit.of_pvalues(each, T).value
    if allowed <= value.value:
        return value
    error = value.error and value.value and value.error * allowed / value.value
    return value._replace(value=allowed, each=tuple(map(max, value.each, each)), error=error)


def result_of(
    test: Any, pvalue: float, alpha: float, T: int, num_missing: int, **further: Any
) -> HLDResult:
    """The result of a batch of T rows; its statistic is that of its p-value unless there is another one."""
    usual = {"statistic": 0.0 - math.log10(pvalue), "threshold": -math.log10(alpha)}
    return HLDResult(
        pvalue=pvalue,
        reject=bool(pvalue <= alpha),
        alpha=alpha,
        num_samples=T,
        num_missing=num_missing,
        metrics=test.metric_names,
        nodes=test.nodes,
        _circuit=test.circuit,
        **(usual | further),
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


class OwnRows(NamedTuple):
    """Some rows (r, V) of a batch, evenly spread, and weights (m,) in which nodes are reported."""

    rows: np.ndarray
    weights: Any


@dataclass(frozen=True, eq=False)
class HoledNull:
    """The null of one batch with holes."""

    laws: tuple[Any, ...]
    inner: Null

    def pvalue(self, squared: np.ndarray, T: int) -> PValue:
        """By the laws of the batch, and together as without holes."""
        each = tuple(
            1.0 if law is None else law.pvalue(squared[i : i + 1], T).value
            for i, law in enumerate(self.laws)
        )
        return self.inner.of_pvalues(each, T)

    def threshold(self, alpha: float, T: Any, draws: Any = 0) -> float:
        """Largest squared distance that is not rejected."""
        level = self.inner.level(alpha, T, draws)
        return (
            self.laws[0].threshold(level, T)
            if self.laws[0] is not None and level > 0
            else float("inf")
        )


def compared(test: Any, batch: Shown) -> Comparison:
    """What rows show compared with the reference of a test."""
    parts, kept, T = test.calibration, test.calibration.kept, batch.num_rows
    if kept is None or ((batch.counts == T).all() and not kept.has_holes):
        return Comparison(batch.means - parts.mean, parts.null)
    counts = reference_counts(kept, batch)
    g = weights(batch, counts, kept.num_rows)
    return Comparison(
        g * (batch.means - parts.mean),
        HoledNull(holed_laws(test, batch, g), parts.null),
        row_factors(g, batch.counts, T, counts, kept.num_rows),
        g[: len(test.nodes)],
    )


def judge_rows(
    test: Any, rows: np.ndarray, batch: Shown | None, alpha: float, num_missing: int
) -> HLDResult:
    """Test rows (r, V) against reference rows; of a batch in chunks they are a sample, and `batch` is of all."""
    parts, kept, look = test.calibration, test.calibration.kept, test.vectors
    if batch is None:
        has_holes = kept.has_holes or is_missing(rows).any()
        batch = shown(look, rows) if has_holes else all_shown(look.mean(rows), len(rows))
    found = compared(test, batch)

    def own(squared: np.ndarray) -> tuple[Any, ...]:
        some = rows[some_rows(len(rows), MOST_VECTORS)]
        vectors, held = parts.differences(look, some), None
        if found.factors is not None:
            vectors = vectors * look.seen(some) * found.factors
            held = _held(kept, batch, vectors)
        return confirmed(kept, parts.metrics, vectors, squared, batch.num_rows, held)

    result = verdict(test, found, batch.num_rows, alpha, num_missing, own=own, rows=rows)
    if found.weights is None:
        return result
    together = seen_together(look, rows, batch.num_rows, found.weights, kept)
    return replace(result, _covariance=together)


def all_shown(means: np.ndarray, num_rows: int) -> Shown:
    """What rows without holes show, of which no pairs need to be known."""
    none = np.zeros((0, 0), dtype=np.int64)
    return Shown(means, np.full(len(means), num_rows), num_rows, none, none.ravel())


def reference_counts(kept: Any, batch: Shown) -> np.ndarray:
    """(size,) how many rows of the reference show each number."""
    return np.asarray(kept.counts if kept.has_holes else np.full(len(batch.means), kept.num_rows))


def _alike(kept: Any, batch: Shown) -> np.ndarray:
    """(size,) to how many rows of the reference T rows are as the T_j that show a number are to k_j."""
    return reference_counts(kept, batch) * (batch.num_rows / np.maximum(batch.counts, 1))


def _held(kept: Any, batch: Shown, vectors: np.ndarray) -> np.ndarray:
    """(R,) reference rows that show what each row differs by: averages of k_j T / T_j by its squared differences."""
    k, squares = kept.num_rows, vectors**2
    each = np.minimum(_alike(kept, batch), k)
    total = squares.sum(axis=1)
    return np.divide(squares @ each, total, out=np.full(len(total), float(k)), where=total > 0)


def holed_laws(test: Any, batch: Shown, g: np.ndarray) -> tuple[Any, ...]:
    """The laws of a batch with holes; some are remembered, by all that they depend on."""
    known = test.calibration.holed_laws
    key = batch.num_rows, hashlib.sha256(batch.pairs.tobytes() + g.tobytes()).digest()
    found = known.get(key)
    if found is None:
        found = known[key] = _made_laws(test, batch, g)
        for oldest in list(known)[:-MOST_HOLED]:  # a dictionary is in the order of insertion
            known.pop(oldest, None)
    return found


def _made_laws(test: Any, batch: Shown, g: np.ndarray) -> tuple[Any, ...]:
    """The laws of a batch with holes: from its own covariance, or without one where it cannot be wider."""
    parts, kept, laws = test.calibration, test.calibration.kept, test.calibration.null.laws
    if not len(kept.covariance) or not len(batch.pairs):
        return tuple(
            law if keeps_apart(metric, test.vectors) else None
            for law, metric in zip(laws, parts.metrics, strict=True)
        )
    m, k = len(test.nodes), kept.num_rows
    shared = kept.shared[:m, :m] if kept.has_holes else 1 / k
    own = kept.covariance[:m, :m] * correlations(batch.part(m), g[:m], shared, k)
    return tuple(
        # features are shown by the same rows, and have the law that they have without holes
        law
        if metric.before >= m
        # corrected for T as without holes
        else replace(limit_law(through(metric.alone, own)), excess=law.excess)
        for law, metric in zip(laws, parts.metrics, strict=True)
    )


def row_factors(g: np.ndarray, own: np.ndarray, T: int, counts: np.ndarray, k: int) -> np.ndarray:
    """(m,) how much a row that shows a node counts in it, when the rows of a batch check an alarm; all shapes (m,)."""
    # with g T / T_j the mean over all rows, 0 where they do not show the node, is the difference that is tested; pooled
    # are the k_j + T_j rows that show the node, whose variance is that of the batch's to (T_j - 1) / (k_j + T_j - 1):
    # among all k + T rows that takes another factor, the larger one where the reference shows the node less often
    pooled = np.sqrt((k + T - 1) / np.maximum(counts + own - 1, 1)) * (g > 0)
    return np.maximum(g * T / np.maximum(own, 1), pooled)


def keeps_apart(metric: Any, vectors: RowVectors) -> bool:
    """Whether a metric mixes only numbers that the same rows show: then holes cannot widen its law."""
    if metric.alone.node_weights is not None:
        return True
    index = getattr(metric, "index", None)
    regions = None if index is None else vectors.circuit.nodes.region[vectors.nodes][index]
    return regions is not None and bool((regions == regions[:, :1]).all())


def seen_together(
    vectors: RowVectors, rows: np.ndarray, num_rows: int, weights: np.ndarray, kept: Any
) -> Callable[[np.ndarray], np.ndarray] | None:
    """A function that gives the covariance of differences of nodes; shapes rows (r, V), weights (m,)."""
    if kept.has_holes and not len(kept.shared):
        return None
    holes = np.packbits(is_missing(rows[some_rows(len(rows), MOST_PAIRED)]), axis=1)
    return partial(_together, vectors, holes, num_rows, weights, kept)


def _together(
    vectors: RowVectors,
    holes: np.ndarray,
    num_rows: int,
    weights: np.ndarray,
    kept: Any,
    positions: np.ndarray,
) -> np.ndarray:
    """(n, n) covariance, up to a factor, of the differences of the nodes at some positions (n,), ascending."""
    circuit, nodes, n = vectors.circuit, vectors.nodes[positions], len(positions)
    missing = np.unpackbits(holes, axis=1, count=circuit.num_variables)
    seen = RowVectors(circuit, nodes).seen(-missing.astype(np.int8)).astype(np.float64)
    pairs = seen.T @ seen * (num_rows / len(seen))
    some = Shown(np.zeros(n), pairs.diagonal(), num_rows, pairs, np.arange(n))
    among = np.ix_(positions, positions)
    shared = kept.shared[among] if kept.has_holes else 1 / kept.num_rows
    covariance = pcircuit.exact_moments(circuit, nodes).covariance()
    return covariance * correlations(some, weights[positions], shared, kept.num_rows)


def judge_summary(test: Any, summary: BatchSummary, alpha: float) -> HLDResult:
    """Test a batch by its summary."""
    check_summary(summary, test.fingerprint)
    parts, T = test.calibration, summary.num_rows
    check_possible(test, summary)
    batch = replace(all_shown(summary.means, T), counts=summary.seen)
    found, stretch, held = compared(test, batch), 1.0, None
    if found.factors is not None:
        stretch = float(found.factors.max())
        seen = _alike(parts.kept, batch)[found.factors > 0]
        held = float(seen.min(initial=parts.kept.num_rows))
        # which rows show which nodes is not known
        found = found._replace(factors=np.full(len(found.factors), stretch))

    def own(squared: np.ndarray) -> tuple[Any, ...]:
        return confirmed_by_spread(
            parts.kept, parts.metrics, summary.arrays, found.deltas, squared, T, stretch, held=held
        )

    check = None if parts.kept is None else own
    return verdict(test, found, T, alpha, summary.num_missing, own=check)


def judge_with_holes(
    test: Any, patterns: HolePatterns, batch: np.ndarray, alpha: float
) -> HLDResult:
    """The verdict about a batch (T, V) by its marginal likelihoods and the limit law for its pattern of holes."""
    expected, covariance = patterns.of_batch(batch)
    metrics, rng = test.calibration.metrics, np.random.default_rng([test.settings.seed, 1])
    laws = tuple(limit_law(through(metric, covariance)) for metric in metrics)
    null: Null = laws[0]
    if len(laws) > 1:
        null = JointNull(laws, joint_law(covariance_factor(covariance), metrics, rng))
    mean = pcircuit.mean_node_likelihoods(test.circuit, batch, nodes=test.nodes)
    num_missing = int(is_missing(batch).sum())
    found = verdict(test, Comparison(mean - expected, null), len(batch), alpha, num_missing)
    covariance = covariance * np.multiply.outer(test.shown_weights, test.shown_weights)
    return replace(
        found,
        stds=np.sqrt(np.maximum(covariance.diagonal(), 0.0)),
        _covariance=partial(_among, covariance),
    )


def _among(covariance: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Of the nodes at some positions."""
    return covariance[np.ix_(positions, positions)]
