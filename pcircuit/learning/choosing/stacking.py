r"""Weights of models in their mixture, chosen on rows that none of them learned from (stacking).

.. math:: \max_w \; \frac1n \sum_i \log \sum_k w_k \, p_k(x_i), \qquad w \ge 0, \; \sum_k w_k = 1 .

The models are given, so that only the weights are unknown.  The mean is concave in them, and EM finds its maximum: the
new weight of model k is the mean share that it has in the likelihood of a row,

.. math:: w_k \leftarrow w_k \, g_k, \qquad g_k = \frac1n \sum_i \frac{p_k(x_i)}{\sum_j w_j \, p_j(x_i)} .

The g are also the gradient of the mean, and max_k g_k - 1 bounds how far below the maximum it is (a concave function
lies below its tangents, and sum_k w_k g_k = 1), so that the steps end with a guarantee.

They begin with equal weights and end as soon as no more than a tolerance can be gained, so that models that are equally
good keep equal weights.

Models with less than a tenth of an equal share are left out (`chosen_weights`): they make the mixture slower to use,
for next to nothing; but not the only one under which some row is possible.  That others gain little on these rows is no
reason to leave them out.  That was tried, and lost on test rows: models that agree on the whole still err in different
places.
"""

from __future__ import annotations

import numpy as np

from pcircuit.array_types import Floats

MOST_STEPS, SMALL_SHARE = 1000, 0.1


def chosen_weights(logs: Floats, tolerance: float) -> tuple[Floats, float]:
    """The best weights, 0 for models that have next to none; the mean log-likelihood with them.

    Shapes: logs (W, n) -> weights (W,).
    O(W n) for each of at most a thousand steps of EM, and again for each model that is left out.
    """
    weights, mean = best_weights(logs, tolerance)
    kept = np.arange(len(logs))
    while len(small := np.flatnonzero(weights < SMALL_SHARE / len(logs))):
        without = (
            np.delete(kept, place) for place in small[np.argsort(weights[small], kind="stable")]
        )
        fewer = next((some for some in without if _are_possible(logs[some])), None)
        if fewer is None:
            break
        kept = fewer
        weights, mean = best_weights(logs[kept], tolerance)
    spread = np.zeros(len(logs))
    spread[kept] = weights
    return spread, mean


def best_weights(logs: Floats, tolerance: float) -> tuple[Floats, float]:
    """The weights with the largest mean log-likelihood, and that mean.

    Shapes: logs (W, n) -> weights (W,).
    """
    if not _are_possible(logs):
        return np.full(len(logs), 1 / len(logs)), -np.inf
    top = logs.max(axis=0)
    likelihoods = np.exp(logs - top)  # in units of the best model of each row
    weights = np.full(len(logs), 1 / len(logs))
    for _ in range(MOST_STEPS):
        total = (weights[:, None] * likelihoods).sum(axis=0)
        gradient = (likelihoods / total).mean(axis=1)
        if gradient.max() - 1 <= tolerance:
            break
        weights = weights * gradient
    total = (weights[:, None] * likelihoods).sum(axis=0)
    return weights / weights.sum(), float((np.log(total) + top).mean())


def _are_possible(logs: Floats) -> bool:
    """Whether each row is possible under some model."""
    return not np.isneginf(logs.max(axis=0)).any()
