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
from hld.laws.joint import JointNull, covariance_factor, joint_law
from hld.laws.limit_law import limit_law
from hld.laws.null import Null
from hld.references.covariances import through
from hld.references.holes import HolePatterns
from hld.testing.row_batches import all_shown, checked_by, compared, reference_counts
from hld.testing.summaries.summary import BatchSummary, check_summary
from hld.testing.summaries.summing import check_possible, confirmed_by_spread
from hld.testing.verdict import verdict
from hld.witnesses.result import HLDResult
from pcircuit.evidence import is_missing


def judge_summary(test: Any, summary: BatchSummary, alpha: float) -> HLDResult:
    """Test a batch by its summary."""
    check_summary(summary, test.fingerprint)
    parts, T = test.calibration, summary.num_rows
    check_possible(test, summary)
    batch = replace(all_shown(summary.means, T), counts=summary.seen)
    found, stretch, held = compared(test, batch), 1.0, None
    if found.factors is not None:
        stretch = float(found.factors.max())
        counts = reference_counts(parts.kept, batch) * (T / np.maximum(summary.seen, 1))
        held = float(counts[found.factors > 0].min(initial=parts.kept.num_rows))

    def own(squared: np.ndarray) -> tuple[Any, ...]:
        return confirmed_by_spread(
            parts.kept, parts.metrics, summary.arrays, found.deltas, squared, T, stretch, held=held
        )

    result = verdict(
        test,
        found.deltas,
        T,
        alpha,
        summary.num_missing,
        found.null,
        check=None if parts.kept is None else checked_by(test, T, found, own),
        factors=stretch,
    )
    return replace(result, _weights=found.weights)


def judge_with_holes(
    test: Any, patterns: HolePatterns, batch: np.ndarray, alpha: float
) -> HLDResult:
    """The verdict about a batch by its marginal likelihoods and the limit law for its pattern of holes.

    Shapes: batch (T, V).
    """
    expected, covariance = patterns.of_batch(batch)
    metrics, rng = test.calibration.metrics, np.random.default_rng([test.settings.seed, 1])
    laws = tuple(limit_law(through(metric, covariance)) for metric in metrics)
    null: Null = laws[0]
    if len(laws) > 1:
        null = JointNull(laws, joint_law(covariance_factor(covariance), metrics, rng))
    mean = pcircuit.mean_node_likelihoods(test.circuit, batch, nodes=test.nodes)
    found = verdict(test, mean - expected, len(batch), alpha, int(is_missing(batch).sum()), null)
    covariance = covariance * np.multiply.outer(test.shown_weights, test.shown_weights)
    return replace(
        found,
        stds=np.sqrt(np.maximum(covariance.diagonal(), 0.0)),
        _covariance=partial(_among, covariance),
    )


def _among(covariance: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Of the nodes at some positions."""
    return covariance[np.ix_(positions, positions)]
