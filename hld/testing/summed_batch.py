"""A batch of which only a summary is available, compared with the reference.

Means come from sums, so that without holes and noise the p-value is that of the rows.  What a summary lacks is
replaced by bounds that cannot make a p-value smaller than it should be:

* where rows are the reference a small p-value is checked by the batch's own rows: here by their spread, which bounds
  what the rows would say (`hld.summaries.spread`);
* with holes the law of a batch depends on which pairs of nodes are seen together: here metrics that mix nodes of
  different rows say nothing (p = 1), and those that do not keep the law without holes, which is wider
  (`hld.references.available`);
* with noise the null is that of rows and noise together, from the covariance S (1/T + 1/n) + diag(v) / T^2 with the
  variances v of the noise; where few rows are judged by batches drawn from a circuit, noise is drawn with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hld.nulls.auto import AutoNull, law_part, laws_of
from hld.nulls.joint import JointNull, covariance_factor, joint_law
from hld.nulls.limit_law import limit_law
from hld.nulls.named import ON_DEMAND
from hld.nulls.null import PValue
from hld.nulls.ranks.confirmation import ASKED_BELOW
from hld.nulls.ranks.monte_carlo import monte_carlo_error
from hld.nulls.score import Score, score_of
from hld.references.available import Shown, weights
from hld.references.circuit import CircuitReference
from hld.references.covariances import through
from hld.results.result import HLDResult
from hld.summaries.possible import check_possible
from hld.summaries.privacy import check_noise_can_be_judged
from hld.summaries.spread import confirmed_by_spread
from hld.summaries.summary import BatchSummary, check_summary
from hld.testing.row_batches import HoledNull, keeps_apart, replace_value, row_factors
from hld.testing.verdict import verdict
from hld.vectors.squared_distances import squared_distances

MOST_KEPT = 16  # nulls with noise that a test keeps


def judge_summary(test: Any, summary: BatchSummary, alpha: float) -> HLDResult:
    """Test a batch by its summary."""
    check_summary(summary)
    parts, T = test.calibration, summary.num_rows
    if summary.model != test.fingerprint:
        raise ValueError(
            f"`summary` is for the model {summary.model[:8]}, expected {test.fingerprint[:8]}: a summary "
            "is tested by the model that it was made with"
        )
    check_possible(test.vectors, parts.metrics, summary)
    if summary.privacy is not None:
        null, m = _noisy_null(test, T, summary.privacy.variances), len(test.nodes)
        noise = summary.privacy.variances[:m] / T**2 * test.shown_weights**2
        return replace(
            verdict(test, summary.means - test.mean, T, alpha, summary.num_missing, null),
            _noise=noise,
        )
    deltas, null, (stretch, held), g = _difference(test, summary)
    check, spread = None, summary.spread
    if parts.kept is not None and spread is not None:

        def check(found: Any, squared: Any) -> Any:
            ranked = (
                T == 1 and found.draws and not isinstance(null, HoledNull)
            )  # a single row, by the test's own null
            if found.value > ASKED_BELOW or ranked:
                return found
            own = confirmed_by_spread(
                parts.kept, parts.metrics, spread, deltas, squared, T, stretch, held=held
            )
            allowed = law_part(parts.null).of_pvalues(own, T)
            each = tuple(map(max, found.each, own))
            return (
                found if allowed.value <= found.value else replace_value(found, allowed.value, each)
            )

    return replace(
        verdict(test, deltas, T, alpha, summary.num_missing, null, check=check), _weights=g
    )


def _difference(test: Any, summary: Any) -> tuple[Any, ...]:
    """(m,) the difference of means, its null, what holes change in the check by the spread, and the weights."""
    parts, T = test.calibration, summary.num_rows
    if parts.kept is None or (summary.is_whole and not parts.kept.has_holes):
        return summary.means - test.mean, parts.null, (1.0, None), None
    k, batch = parts.kept.num_rows, Shown(summary.means, summary.seen, T, np.zeros((0, 0)))
    counts = parts.kept.counts if parts.kept.has_holes else np.full(len(summary.sums), k)
    g = weights(batch, counts, k)
    laws = tuple(
        law if keeps_apart(metric, test.vectors) else None
        for law, metric in zip(laws_of(parts.null), parts.metrics, strict=True)
    )
    stretch = float(row_factors(g, summary.seen, T, counts, k).max())
    held = float((counts * (T / np.maximum(summary.seen, 1)))[g > 0].min(initial=k))
    return (
        g * (summary.means - test.mean),
        HoledNull(laws, parts.null),
        (stretch, held),
        g[: len(test.nodes)],
    )


def _noisy_null(test: Any, T: int, variances: np.ndarray) -> Any:
    """The null of T rows with noise of these variances (size,) in their sums; the test keeps some."""
    n = test.settings.num_train
    check_noise_can_be_judged(test, "`summary` has noise")
    own = variances / (T * (1.0 if n is None else 1.0 + T / n))
    key, kept = (T, own.tobytes()), test.noisy_nulls
    if key not in kept:
        null = _made(test, T, own)
        if len(kept) >= MOST_KEPT:
            return null
        kept[key] = null
    return kept[key]


def _made(test: Any, T: int, own: np.ndarray) -> Any:
    """The null for the variances (m,) of the noise, in units of those of rows."""
    parts = test.calibration
    source = CircuitReference(test.circuit, test.nodes, test.mean) if parts.kept is None else None
    covariance = (parts.kept.covariance if source is None else source.covariance()) + np.diag(own)
    laws = tuple(
        _corrected(limit_law(through(metric, covariance)), law)
        for metric, law in zip(parts.metrics, laws_of(parts.null), strict=True)
    )
    is_drawn = test.null in ON_DEMAND or (isinstance(parts.null, AutoNull) and parts.null.drawn(T))
    if source is not None and is_drawn:
        return NoisyDraws(
            source, parts.metrics, score_of(laws), np.sqrt(own / T), test.settings.seed
        )
    if len(laws) == 1:
        return laws[0]
    rng = np.random.default_rng([test.settings.seed, 3])
    return JointNull(laws, joint_law(covariance_factor(covariance), parts.metrics, rng))


def _corrected(law: Any, without: Any) -> Any:
    """A law with the excess of the law without noise: what rows add to the fourth cumulant is the same."""
    excess, variance = getattr(without, "excess", 0.0), law.spectrum.variance
    return replace(
        law,
        excess=excess * without.spectrum.variance / variance if variance > 0 and excess else 0.0,
        _prepared={},
    )


@dataclass(frozen=True, eq=False)
class NoisyDraws:
    """Batches drawn from a circuit, each with noise of its own.

    Shapes: deviations (m,).
    """

    reference: CircuitReference
    metrics: tuple[Any, ...]
    score: Score
    deviations: np.ndarray
    seed: int
    num_draws: int = 1999
    _drawn: dict[str, Any] = field(default_factory=dict, repr=False)

    def pvalue(self, squared: Any, T: Any) -> PValue:
        """(1 + #{drawn scores that are as small}) / (1 + B)."""
        drawn, own = self._scores(T), self.score(np.asarray(squared)[None], T)[0]
        each = (1 + (drawn <= own * (1 + 1e-9)).sum(axis=0)) / (1 + self.num_draws)
        value = float(each[-1])
        return PValue(
            value,
            tuple(map(float, each[: len(self.metrics)])),
            monte_carlo_error(value, self.num_draws),
            "monte-carlo",
            self.num_draws,
        )

    def threshold(self, alpha: float, T: Any, draws: Any = 0) -> float:
        """The largest squared distance of a single metric that is not rejected."""
        allowed = int(alpha * (1 + self.num_draws) + 1e-9) - 1
        return (
            float("inf")
            if allowed < 0
            else self.score.squared(float(np.sort(self._scores(T)[:, 0])[allowed]), T)
        )

    def _scores(self, T: Any) -> np.ndarray:
        """(B, q) or (B, q + 1) scores of drawn batches."""
        if T not in self._drawn:
            rng = np.random.default_rng([self.seed, T, 4])
            means = self.reference.batch_means(T, self.num_draws, rng)
            means += rng.standard_normal(means.shape) * self.deviations
            self._drawn[T] = self.score(squared_distances(self.metrics, means), T)
        return self._drawn[T]
