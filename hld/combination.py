"""One p-value for several metrics, from their joint law.

Each metric has its p-value p_i.  The smallest of them is the combined statistic; under H0 its law depends on how the
metrics go together, and F(x) = P(min_i p_i <= x) lies between x (they always agree) and q x (never: Bonferroni).

In the limit of large T the difference Z is normal, and all metrics are functions of the same Z.  So F is found by
drawing: Z* = n^(-1/2) sum_i e_i (L(x_i) - mean) with independent standard normal e_i is normal with the sample
covariance of n rows, for any number of nodes, and B such draws give B tuples of statistics; ranks turn them into
p-values.  Below the resolution of B draws Bonferroni's bound q x takes over, which is close there since the tails of
different norms hardly coincide.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DRAWS = 10_000
RESOLVED = 100  # draws below which F is not trusted
BLOCK = 2_000


@dataclass(frozen=True, eq=False)
class JointLaw:
    """Law of the smallest of q p-values.

    Attributes
    ----------
    smallest : (B,) float array
        Sorted draws of it.
    num_metrics : int
        q.
    """

    smallest: np.ndarray
    num_metrics: int

    def tail(self, x: float) -> float:
        """F(x) = P(smallest p-value <= x)."""
        below = int(np.searchsorted(self.smallest, x, side="right"))
        if below < RESOLVED:
            return float(min(self.num_metrics * x, (RESOLVED + 1) / (len(self.smallest) + 1)))
        return (below + 1) / (len(self.smallest) + 1)

    def quantile(self, alpha: float) -> float:
        """Largest x with F(x) <= alpha, by bisection."""
        low, high = 0.0, alpha
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.tail(middle) <= alpha else (low, middle)
        return high if self.tail(high) <= alpha else low


def joint_law(rows, metrics, rng, *, num_draws=DRAWS) -> JointLaw:
    """Joint law of the p-values of several metrics in the limit of large batches.

    Parameters
    ----------
    rows : (n, m) float array
        Node likelihoods of rows that follow the null, minus their mean.
    metrics : tuple of Metric
    rng : numpy.random.Generator
    num_draws : int
        B.

    Returns
    -------
    JointLaw

    Notes
    -----
    O(B n m) multiplications as matrix products.

    Examples
    --------
    >>> from hld.metric import Metric
    >>> plain = Metric("euclidean", np.ones(2), 1.0, np.zeros((2, 0)), np.zeros(0))
    >>> rng = np.random.default_rng(0)
    >>> law = joint_law(rng.normal(size=(100, 2)), (plain, plain), rng)      # twice the same: F(x) = x
    >>> round(law.tail(0.25), 3)
    0.25
    """
    squared = np.concatenate([_statistics(rows, metrics, rng, size) for size in _blocks(num_draws)])
    ranks = np.stack(
        [len(column) - np.searchsorted(np.sort(column), column, side="left") for column in squared.T], axis=1
    )
    return JointLaw(np.sort(ranks.min(axis=1) / len(ranks)), len(metrics))


def _statistics(rows, metrics, rng, size):
    """(size, q) squared statistics of normal draws, all metrics of the same draw."""
    draws = rng.standard_normal((size, len(rows))) @ rows / np.sqrt(len(rows))
    return np.stack([metric.squared(draws) for metric in metrics], axis=1)


def _blocks(total: int) -> list:
    """Block sizes that add up to the total."""
    return [min(BLOCK, total - start) for start in range(0, total, BLOCK)]
