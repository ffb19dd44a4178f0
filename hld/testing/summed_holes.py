"""A batch with holes compared with the circuit, the holes summed out: ``missing="exact"``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import pcircuit
from hld.nulls.limit_law import limit_null
from hld.nulls.null import NullOptions
from hld.references.holes import HolePatterns
from hld.results.result import HLDResult
from hld.testing.verdict import verdict


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
    found = verdict(test, mean - reference.mean, len(batch), alpha, int((batch < 0).sum()), null)
    covariance = reference.matrix * np.multiply.outer(test.shown_weights, test.shown_weights)
    return replace(
        found,
        stds=np.sqrt(np.maximum(covariance.diagonal(), 0.0)),
        _spectrum=partial(np.linalg.eigh, covariance),
        _covariance=partial(_among, covariance),
    )


def _among(covariance: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Of the nodes at some positions."""
    return covariance[np.ix_(positions, positions)]
