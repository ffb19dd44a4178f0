"""A batch of which only a summary is available, compared with the reference.

Means come from sums, so that without holes the p-value is that of the rows.  What a summary lacks is
replaced by bounds that cannot make a p-value smaller than it should be:

* where rows are the reference a small p-value is checked by the batch's own rows: here by their spread, which bounds
  what the rows would say (`hld.testing.summaries.summing`);
* with holes the law of a batch depends on which pairs of nodes are seen together: here metrics that mix nodes of
  different rows say nothing (p = 1), and those that do not keep the law without holes, which is wider
  (`hld.references.available`).
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import pcircuit
from hld.laws.limit_law import limit_null
from hld.laws.null import NullOptions
from hld.laws.ranks.confirmation import ASKED_BELOW
from hld.references.available import Shown, weights
from hld.references.holes import HolePatterns
from hld.testing.row_batches import HoledNull, keeps_apart, replace_value, row_factors
from hld.testing.summaries.summary import BatchSummary, check_summary
from hld.testing.summaries.summing import check_possible, confirmed_by_spread
from hld.testing.verdict import verdict
from hld.witnesses.result import HLDResult
from pcircuit.evidence import is_missing


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
            allowed = parts.null.limit.of_pvalues(own, T)
            each = tuple(map(max, found.each, own))
            return (
                found if allowed.value <= found.value else replace_value(found, allowed.value, each)
            )

    return replace(
        verdict(test, deltas, T, alpha, summary.num_missing, null, check=check, factors=stretch),
        _weights=g,
    )


def _difference(test: Any, summary: Any) -> tuple[Any, ...]:
    """(m,) the difference of means, its null, what holes change in the check by the spread, and the weights."""
    parts, T = test.calibration, summary.num_rows
    if parts.kept is None or (summary.is_whole and not parts.kept.has_holes):
        return summary.means - test.mean, parts.null, (1.0, None), None
    k, none = parts.kept.num_rows, np.zeros((0, 0), dtype=np.int64)
    batch = Shown(summary.means, summary.seen, T, none, none[0:0].ravel())
    counts = parts.kept.counts if parts.kept.has_holes else np.full(len(summary.sums), k)
    g = weights(batch, counts, k)
    laws = tuple(
        law if keeps_apart(metric, test.vectors) else None
        for law, metric in zip(parts.null.laws, parts.metrics, strict=True)
    )
    stretch = float(row_factors(g, summary.seen, T, counts, k).max())
    held = float((counts * (T / np.maximum(summary.seen, 1)))[g > 0].min(initial=k))
    return (
        g * (summary.means - test.mean),
        HoledNull(laws, parts.null),
        (stretch, held),
        g[: len(test.nodes)],
    )


def judge_with_holes(
    test: Any, patterns: HolePatterns, batch: np.ndarray, alpha: float
) -> HLDResult:
    """The verdict about a batch by its marginal likelihoods and the limit law for its pattern of holes.

    Shapes: batch (T, V).
    """
    reference = patterns.reference(batch)
    options = NullOptions(1, test.settings.seed, np.random.default_rng([test.settings.seed, 1]))
    null = limit_null(reference, test.calibration.metrics, options)
    mean = pcircuit.mean_node_likelihoods(test.circuit, batch, nodes=test.nodes)
    found = verdict(
        test, mean - reference.mean, len(batch), alpha, int(is_missing(batch).sum()), null
    )
    covariance = reference.matrix * np.multiply.outer(test.shown_weights, test.shown_weights)
    return replace(
        found,
        stds=np.sqrt(np.maximum(covariance.diagonal(), 0.0)),
        _covariance=partial(_among, covariance),
    )


def _among(covariance: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Of the nodes at some positions."""
    return covariance[np.ix_(positions, positions)]
