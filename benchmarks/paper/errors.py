"""How well a rejection rate is measured.

The mean of some rates of one circuit and batch size, over its OOD classes say, has an error of two parts:

    trials       the populations share the reference batch of a trial, so trials are independent but populations are
                 not:  sd over trials of the mean over populations, divided by sqrt(trials).  For one population this is
                 the binomial sqrt(p (1 - p) / trials)
    threshold    one threshold, an order statistic of B null statistics, serves all of them, and is off for all of them
                 together.  The bootstrap over null statistics says by how much: sd of the mean rate when the threshold
                 is that of B of them drawn with replacement

No bootstrap sample is drawn.  The k-th smallest of B draws from the order statistics x_1 <= ... <= x_B is at most x_j
if at least k draws are among the first j, so the bootstrap threshold is x_j with probability

    P(Bin(B, j/B) >= k) - P(Bin(B, (j-1)/B) >= k).

The closed-form and the exact null of HLD are not drawn and have the first part only.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

SMALLEST_WEIGHT = 1e-12


class Outcome(NamedTuple):
    """What a test says of a number of trials: `rejected` (levels, trials) bool; `statistics` (trials,) and the sorted
    `null` (B,) they are compared with, where that was drawn.
    """

    rejected: np.ndarray
    statistics: np.ndarray | None = None
    null: np.ndarray | None = None


def errors_of_mean(outcomes, alphas) -> list:
    """Error of the mean rate of one circuit's outcomes at one batch size, for each level."""
    found = []
    for level, alpha in enumerate(alphas):
        rates = np.mean([outcome.rejected[level] for outcome in outcomes], axis=0)
        variance = rates.var() / len(rates)
        if outcomes[0].null is not None:
            statistics = np.concatenate([outcome.statistics for outcome in outcomes])
            variance += threshold_variance(statistics, outcomes[0].null, alpha)
        found.append(float(np.sqrt(variance)))
    return found


def threshold_variance(statistics, null, alpha) -> float:
    """Variance of the share of `statistics` above the threshold, over bootstrap samples of `null` (B,), ascending."""
    positions, weights = bootstrap_weights(len(null), alpha)
    if not len(positions):
        return 0.0
    rates = 1 - np.searchsorted(
        np.sort(statistics), above_ties(null[positions]), side="right"
    ) / len(statistics)
    return float(weights @ (rates - weights @ rates) ** 2)


def above_ties(threshold):
    """A hair's breadth above a threshold: statistics up to there are ties, which do not reject."""
    return threshold * (1 + 1e-9) + 1e-12


@lru_cache(maxsize=64)
def bootstrap_weights(num_null, alpha):
    """Positions in the sorted null that the threshold of a bootstrap sample can have, and their probabilities."""
    from scipy.stats import binom

    allowed = (
        int(np.floor(alpha * (1 + num_null) + 1e-9)) - 1
    )  # null statistics that may exceed a rejected one
    if allowed < 0:
        return np.empty(0, int), np.empty(0)  # too few to reject at all, in every bootstrap sample
    at_most = binom.sf(num_null - 1 - allowed, num_null, np.arange(num_null + 1) / num_null)
    weights = np.diff(at_most)
    positions = np.flatnonzero(weights > SMALLEST_WEIGHT)
    return positions, weights[positions] / weights[positions].sum()
