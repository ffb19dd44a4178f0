"""A batch compared with reference rows: its difference from their mean, with or without holes, and its own rows.

Without holes a batch of T rows is reduced to its mean vector, and the null of the test judges it.  With holes, in the
batch or in the reference rows, every node is compared using the rows that show it and the batch has laws of its own
(`hld.references.available`); their p-values replace those of the test's laws.  Either way a small p-value is
checked by the batch's own rows (`hld.laws.ranks.confirmation`); only a single row without holes has been ranked among
the reference rows and needs no check.

**Seen together.**  How the differences of nodes vary together is S o R as well, up to a factor, with S that of a row of
the circuit.  A result keeps the holes of the batch, a bit for each cell; R of the nodes that are listed is computed
when it is asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import pcircuit
from hld.features.row_vectors import RowVectors, some_rows
from hld.laws.limit_law import limit_law
from hld.laws.null import Null, PValue
from hld.laws.ranks.confirmation import ASKED_BELOW, MOST_VECTORS, confirmed
from hld.references.available import MOST_PAIRED, Shown, correlations, shown, weights
from hld.references.covariances import through
from hld.testing.verdict import verdict
from hld.witnesses.result import HLDResult
from pcircuit.evidence import is_missing

MOST_HOLED = 64  # batches with holes whose laws are remembered

OwnPvalues: TypeAlias = Callable[[np.ndarray], tuple[Any, ...]]
Check: TypeAlias = Callable[[PValue, np.ndarray], PValue]


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


class Comparison(NamedTuple):
    """(m,) the difference of means and its null; with holes (m,) factors on single rows, and on means of nodes."""

    deltas: np.ndarray
    null: Any
    factors: np.ndarray | None = None
    weights: np.ndarray | None = None


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


def checked_by(test: Any, T: int, found: Comparison, own: OwnPvalues) -> Check:
    """A function that raises small p-values to what a batch's own rows allow in each metric.

    A single row without holes has been ranked among the reference rows, and needs no check.
    """
    limit = test.calibration.null.limit

    def check(value: PValue, squared: np.ndarray) -> PValue:
        if value.value > ASKED_BELOW or (T == 1 and value.draws and found.factors is None):
            return value
        each = own(squared)
        allowed = limit.of_pvalues(each, T).value
        if allowed <= value.value:
            return value
        error = value.error and value.value and value.error * allowed / value.value
        return value._replace(value=allowed, each=tuple(map(max, value.each, each)), error=error)

    return check


def judge_rows(
    test: Any, rows: np.ndarray, batch: Shown | None, alpha: float, num_missing: int
) -> HLDResult:
    """Test rows (r, V) against reference rows; of a batch in chunks they are a sample, and `batch` is of all."""
    parts, kept, look = test.calibration, test.calibration.kept, test.vectors
    is_whole = batch is None and not kept.has_holes and not is_missing(rows).any()
    if is_whole:
        batch = all_shown(look.mean(rows), len(rows))
    batch = shown(look, rows) if batch is None else batch
    found = compared(test, batch)
    factors = 1.0 if found.factors is None else found.factors

    def own(squared: np.ndarray) -> tuple[Any, ...]:
        some = rows[some_rows(len(rows), MOST_VECTORS)]
        vectors, held = parts.differences(look, some), None
        if found.factors is not None:
            vectors = vectors * look.seen(some) * factors
            held = _held(kept, batch, vectors)
        return confirmed(kept, parts.metrics, vectors, squared, batch.num_rows, held)

    result = verdict(
        test,
        found.deltas,
        batch.num_rows,
        alpha,
        num_missing,
        found.null,
        check=checked_by(test, batch.num_rows, found, own),
        rows=rows,
        factors=factors,
    )
    if found.weights is None:
        return result
    together = seen_together(look, rows, batch.num_rows, found.weights, kept)
    return replace(result, _weights=found.weights, _covariance=together)


def all_shown(means: np.ndarray, num_rows: int) -> Shown:
    """What rows without holes show, of which no pairs need to be known."""
    none = np.zeros((0, 0), dtype=np.int64)
    return Shown(means, np.full(len(means), num_rows), num_rows, none, none.ravel())


def reference_counts(kept: Any, batch: Shown) -> np.ndarray:
    """(size,) how many rows of the reference show each number."""
    return np.asarray(kept.counts if kept.has_holes else np.full(len(batch.means), kept.num_rows))


def _held(kept: Any, batch: Shown, vectors: np.ndarray) -> np.ndarray:
    """(R,) reference rows that show what each row differs by: averages of k_j T / T_j by its squared differences.

    T rows are to so many as the T_j that show a node are to k_j.
    """
    k, squares = kept.num_rows, vectors**2
    each = np.minimum(
        reference_counts(kept, batch) * (batch.num_rows / np.maximum(batch.counts, 1)), k
    )
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
    """(m,) how much a row that shows a node counts in it, when the rows of a batch check an alarm.

    With g T / T_j the mean over all rows, 0 where they do not show the node, is the difference that is tested.  Pooled
    are the k_j + T_j rows that show the node, whose variance is that of the batch's to (T_j - 1) / (k_j + T_j - 1).
    Among all k + T rows that takes a factor of the root of (k + T - 1) / (k_j + T_j - 1), which is the larger one where
    the reference shows a node less often than the batch does.

    Shapes: g (m,), own, counts (m,).
    """
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
