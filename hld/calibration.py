"""Building a test: everything that can be computed before a batch is seen.

    reference   what a batch is compared with       `hld.references`    mean mu, covariance S, rows to draw
    metrics     how a difference becomes a number   `hld.metrics`       d = |F (mean of the batch - mu)|
    null        how large it is without a shift     `hld.nulls`         p-value and threshold at every T

A `Calibration` is what is left of them when the test stands, and what a model file stores.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hld.metrics.named import build_metric
from hld.nulls.named import NULLS, NullOptions
from hld.nulls.null import Null

NEAREST, FARTHEST = 1e-140, 1e140  # of distances


@dataclass(frozen=True, eq=False)
class Calibration:
    """What is known about the statistics under the null hypothesis.

    Attributes
    ----------
    nodes : (m,) int array
    mean, stds : (m,) float arrays
        Of the node likelihoods under the reference.
    metrics : tuple of LinearMap
    null : Null
        Of all metrics together.
    margins : (q,) float array
        For each metric, the distance that is no shift.
    """

    nodes: np.ndarray
    mean: np.ndarray
    stds: np.ndarray
    metrics: tuple
    null: Null
    margins: np.ndarray

    def __post_init__(self):
        for array in (self.nodes, self.mean, self.stds, self.margins):
            array.flags.writeable = False


def calibrate(reference, parts, null, *, tolerance, num_resamples, seed, **options) -> Calibration:
    """Compute a calibration.

    Parameters
    ----------
    reference : hld.references.reference.Reference
    parts : tuple of str or arrays
        See `hld.metrics.named.parse_metric`.
    null : str
        One of `hld.nulls.named.NULLS`.
    tolerance : float
        Of the typical distance of a single row, sqrt(E |F (L - mu)|^2): what is no shift.
    num_resamples : int
        B, drawn batches.
    seed : int
    **options
        For the metrics.

    Returns
    -------
    Calibration
    """
    metrics = tuple(build_metric(part, reference, **options) for part in parts)
    stds = np.sqrt(np.maximum(reference.diagonal(), 0.0))
    check_scales(metrics, stds)
    rng = np.random.default_rng([seed, 0])
    law = NULLS[null](reference, metrics, NullOptions(num_resamples, seed, rng))
    traces = [reference.under(metric).trace if tolerance else 0.0 for metric in metrics]
    return Calibration(reference.nodes, np.array(reference.mean), stds, metrics, law, tolerance * np.sqrt(traces))


def check_scales(metrics, stds) -> None:
    """Raise unless squares of the distances that the metrics make are numbers that a double can hold."""
    for metric in metrics:
        with np.errstate(over="ignore"):
            largest, typical = metric.reach(np.ones(len(stds))), metric.reach(stds)
        if not largest <= FARTHEST or (typical < NEAREST and stds.any()):
            raise ValueError(f"`metric` {metric.name!r} makes distances from {typical:.3g} to {largest:.3g} of "
                             f"likelihoods, expected {NEAREST:g} to {FARTHEST:g}: give other node weights")
