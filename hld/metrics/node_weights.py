r"""Metrics that weigh nodes: the paper's, the standardised one, and any positive weights.

**Score.** The metric "score": how far the parameters that fit a batch best are from those of the circuit, by its
gradient.

With z the features of the score of `hld.vectors.score_features`, every parameter in units of its standard deviation,

.. math:: d^2 = \| \bar z - \bar z_0 \|^2 .

The gradient of the log-likelihood shows for every parameter whether the rows use it as often as they should.  Where the
likelihoods of large scopes are tiny, so that a norm of their mean hardly sees rows that are less likely than they
should be, the score of the few edges that carry a dependence is as large as that of any other parameter.  Its mean over
rows is zero at the parameters that fit them best, whatever the circuit cannot represent; here it is compared with
that of reference rows, which holds wherever the parameters are.

A statistic of Rao's type would weigh by the inverse of the Fisher information; for as many parameters as a circuit has
this is not known well enough, and units of standard deviation, with a floor, found as much (`benchmarks/power`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.references.reference import Reference
from hld.vectors.linear_maps import Scaled, Window
from pcircuit.inference.densities import log_bounds

MOST_LOG_WEIGHT = 140.0  # of a node: where it counts, likelihoods underflow
LEAST = 1e-6  # share of the largest deviation below which none is taken


def euclidean(reference: Reference, **options: Any) -> Scaled:
    """The paper's metric: every node with weight 1, so that those with the largest likelihoods decide.

    Densities are divided by the largest value that they can have, so that they lie in [0, 1] like probabilities.
    """
    circuit = reference.vectors.circuit
    if circuit.is_categorical:
        return Scaled("euclidean", np.ones(len(reference.nodes)))
    bounds = log_bounds(circuit)[reference.nodes]
    return Scaled("euclidean", np.exp(np.minimum(-bounds, MOST_LOG_WEIGHT)))


def standardized(reference: Reference, **options: Any) -> Scaled:
    """Every node with weight 1 / sigma_j: the circuit's deviation, which is not small by chance as that of rows is."""
    stds = np.sqrt(np.maximum(reference.model.diagonal(), 0.0))
    largest = stds.max()
    return Scaled(
        "standardized",
        1.0 / np.maximum(stds, LEAST * largest) if largest > 0 else np.ones(len(stds)),
    )


def score(reference: Any, **options: Any) -> Window:
    """The metric "score" for a reference whose vectors hold features of the score."""
    vectors = reference.vectors
    if vectors.features is None:
        raise ValueError(
            "`metric` 'score' compares rows with rows: use reference='training' with `training_data`"
        )
    m = len(vectors.nodes)
    return Window("score", Scaled("score", np.ones(vectors.size - m)), m, vectors.size)
