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

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import pcircuit
from hld.features.linear_maps import Scaled, Window, seen_by
from hld.features.row_vectors import RowVectors, some_rows
from hld.laws.limit_law import limit_law
from hld.laws.null import Null, PValue
from hld.laws.ranks.confirmation import ASKED_BELOW, MOST_VECTORS, confirmed
from hld.references.available import MOST_PAIRED, Shown, correlations, shown, weights
from hld.references.covariances import through
from pcircuit.evidence import is_missing

MOST_HOLED = 64  # batches with holes whose laws are remembered


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


@dataclass(frozen=True, eq=False)
class RowBatch:
    """A batch and what it is compared with; shapes rows (T, V)."""

    vectors: RowVectors
    calibration: Any
    rows: np.ndarray
    shown: Shown | None = None

    @property
    def num_rows(self) -> int:
        """T."""
        return len(self.rows) if self.shown is None else self.shown.num_rows

    @cached_property
    def mean_score(self) -> Any:
        """(P,) mean score of the rows, if the test looks at features of it."""
        return (
            None
            if self.vectors.features is None
            else pcircuit.mean_score(self.vectors.circuit, self.rows)
        )

    def score_shift(self) -> Any:
        """(P,) its difference from that of the reference, if both have no holes."""
        held = self.vectors.features is not None and self.shown is None
        if not held or is_missing(self.rows).any() or self.calibration.kept.has_holes:
            return None
        return self.mean_score - self.calibration.mean_score

    def difference(self) -> Any:
        """(m,) the difference of means and its null; with holes (m,) factors on single rows, and on means of nodes."""
        parts = self.calibration
        if (
            self.shown is not None
            and (self.shown.counts == self.num_rows).all()
            and not parts.kept.has_holes
        ):
            return self.shown.means - parts.mean, parts.null, None, None
        if self.shown is None and not is_missing(self.rows).any() and not parts.kept.has_holes:
            return (
                self.vectors.mean(self.rows, self.mean_score) - parts.mean,
                parts.null,
                None,
                None,
            )
        (batch, counts), k = self._shown_by, parts.kept.num_rows
        g = weights(batch, counts, k)
        factors = row_factors(g, batch.counts, batch.num_rows, counts, k)
        null, m = HoledNull(self._laws(batch, g), parts.null), len(self.vectors.nodes)
        return g * (batch.means - parts.mean), null, factors, g[:m]

    @cached_property
    def _shown_by(self) -> tuple[Shown, np.ndarray]:
        """What the rows show of each node, and (size,) how many rows of the reference show it."""
        kept = self.calibration.kept
        return (
            shown(self.vectors, self.rows) if self.shown is None else self.shown,
            kept.counts if kept.has_holes else np.full(self.vectors.size, kept.num_rows),
        )

    def _compared(self, vectors: np.ndarray) -> np.ndarray:
        """(R,) reference rows that show what each row differs by: averages of k_j T / T_j by its squared differences.

        T rows are to so many as the T_j that show a node are to k_j.
        """
        (batch, counts), k = self._shown_by, self.calibration.kept.num_rows
        each, squares = (
            np.minimum(counts * (self.num_rows / np.maximum(batch.counts, 1)), k),
            vectors**2,
        )
        total = squares.sum(axis=1)
        return np.divide(squares @ each, total, out=np.full(len(total), float(k)), where=total > 0)

    def confirmed(self, found: PValue, squared: np.ndarray, factors: Any) -> PValue:
        """A small p-value, raised to what the batch's own rows allow."""
        parts, T = self.calibration, self.num_rows
        if found.value > ASKED_BELOW or (T == 1 and found.draws and factors is None):
            return found
        vectors = self._vectors(factors)
        held = None if factors is None else self._compared(vectors)
        own = confirmed(parts.kept, parts.metrics, vectors, squared, T, held)
        allowed = parts.null.limit.of_pvalues(own, T)
        each = tuple(map(max, found.each, own))
        return found if allowed.value <= found.value else replace_value(found, allowed.value, each)

    def _vectors(self, factors: Any) -> np.ndarray:
        """(R, m) differences of the rows from the mean of the reference; of many rows some, evenly spread."""
        rows = self.rows[some_rows(len(self.rows), MOST_VECTORS)]
        vectors = self.calibration.differences(self.vectors, rows)
        return vectors if factors is None else vectors * self.vectors.seen(rows) * factors

    def _laws(self, batch: Shown, g: np.ndarray) -> tuple[Any, ...]:
        """The laws of a batch with holes: from its own covariance, or without one where it cannot be wider.

        They depend on how many rows show which nodes, and on nothing else of the batch, so some are remembered.
        """
        parts, laws = self.calibration, self.calibration.null.laws
        if not len(parts.kept.covariance):
            return tuple(
                law if keeps_apart(metric, self.vectors) else None
                for law, metric in zip(laws, parts.metrics, strict=True)
            )
        known, key = (
            parts.holed_laws,
            (batch.num_rows, hashlib.sha256(batch.pairs.tobytes()).digest()),
        )
        found = known.get(key)
        if found is None:
            m, k = len(self.vectors.nodes), parts.kept.num_rows
            shared = parts.kept.shared[:m, :m] if parts.kept.has_holes else 1 / k
            own = parts.kept.covariance[:m, :m] * correlations(batch.part(m), g[:m], shared, k)
            found = known[key] = tuple(
                # features are shown by the same rows, and have the law that they have without holes
                law
                if (seen_by(metric)[1].start or 0) >= m
                # corrected for T as without holes
                else replace(
                    limit_law(through(seen_by(metric)[0], own)), excess=law.excess, _prepared={}
                )
                for law, metric in zip(laws, parts.metrics, strict=True)
            )
            for oldest in list(known)[:-MOST_HOLED]:  # a dictionary is in the order of insertion
                known.pop(oldest, None)
        return found


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
    metric = metric.inner if isinstance(metric, Window) else metric
    if isinstance(metric, Scaled):
        return True
    index = getattr(metric, "index", None)
    regions = None if index is None else vectors.circuit.nodes.region[vectors.nodes][index]
    return regions is not None and bool((regions == regions[:, :1]).all())


def replace_value(found: PValue, value: float, each: tuple[Any, ...]) -> PValue:
    """A p-value that is raised, with its relative error."""
    error = (
        found.error
        if found.error is None or found.value == 0
        else found.error * value / found.value
    )
    return found._replace(value=value, each=each, error=error)


@dataclass(frozen=True, eq=False)
class SeenTogether:
    """The holes of a batch, and those of its reference; shapes weights (m,), shared (m, m)."""

    vectors: RowVectors
    holes: np.ndarray
    num_rows: int
    weights: np.ndarray
    shared: Any
    num_held: int

    def __call__(self, positions: np.ndarray) -> np.ndarray:
        """(n, n) covariance, up to a factor, of the differences of the nodes at some positions (n,), ascending."""
        circuit, nodes = self.vectors.circuit, self.vectors.nodes[positions]
        missing = np.unpackbits(self.holes, axis=1, count=circuit.num_variables)
        seen = RowVectors(circuit, nodes).seen(-missing.astype(np.int8)).astype(np.float64)
        pairs = seen.T @ seen * (self.num_rows / len(seen))
        some = Shown(
            np.zeros(len(nodes)), pairs.diagonal(), self.num_rows, pairs, np.arange(len(nodes))
        )
        shared = (
            self.shared if np.ndim(self.shared) == 0 else self.shared[np.ix_(positions, positions)]
        )
        return pcircuit.exact_moments(circuit, nodes).covariance() * correlations(
            some, self.weights[positions], shared, self.num_held
        )


def seen_together(
    vectors: RowVectors, rows: np.ndarray, num_rows: int, weights: np.ndarray, kept: Any
) -> SeenTogether | None:
    """The holes of a batch compared with reference rows; shapes rows (r, V), weights (m,)."""
    if kept.has_holes and not len(kept.shared):
        return None
    return SeenTogether(
        vectors,
        np.packbits(is_missing(rows[some_rows(len(rows), MOST_PAIRED)]), axis=1),
        num_rows,
        weights,
        kept.shared if kept.has_holes else 1 / kept.num_rows,
        kept.num_rows,
    )
