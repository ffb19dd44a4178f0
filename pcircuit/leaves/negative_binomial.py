r"""Negative binomial distributions: counts whose variance exceeds their mean.

.. math:: p_k(x) = \binom{x + r_k - 1}{x} \frac{\mu_k^x \, r_k^{r_k}}{(\mu_k + r_k)^{x + r_k}}

A count is Poisson with a rate that is itself drawn from a gamma distribution of shape r and mean mu.  EM takes that
rate for hidden, too: given x it has the shape x + r and the mean (x + r) mu / (mu + r), so the E-step adds up
expectations of the rate and of its logarithm, and the M-step fits a gamma distribution to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.leaves.columns import column_prior, keep, prior_array, unit_array
from pcircuit.leaves.counts import Counts

LEAST_MEAN, MOST_SIZE, LEAST_SIZE = 1e-6, 1e6, 1e-3
NEWTON_STEPS = 40


@dataclass(frozen=True, eq=False, repr=False)
class NegativeBinomial(Counts):
    """Negative binomial distributions.

    Parameters
    ----------
    mean, size : (K,) float array_like
        mu and r of each unit; finite and positive.  The variance is mu + mu^2 / r.
    prior : (3,) float array_like, optional
        Mean and standard deviation of the column, to which EM draws, and a number that is not used; `fit_em` sets it.

    Examples
    --------
    >>> np.exp(NegativeBinomial([2.0], [1.0]).log_density(np.array([0.0, 1.0]))).round(4)
    array([[0.3333],
           [0.2222]])
    """

    mean: Any
    size: Any
    prior: Any = ()
    shared: ClassVar[tuple[str, ...]] = ("prior",)

    def __post_init__(self) -> None:
        mean = unit_array(self.mean, "mean", above=0)
        size = unit_array(self.size, "size", len(mean), above=0)
        keep(self, mean=mean, size=size, prior=prior_array(self.prior))

    @property
    def center(self) -> Floats:
        """(K,) the means."""
        return self.mean

    def log_masses(self, x: Any) -> Floats:
        """(N, K) ln of the probabilities of whole numbers; shapes x (N,) -> (N, K)."""
        from scipy.special import gammaln

        r, mu = self.size, self.mean
        x = np.asarray(x)[:, None]
        binomial = gammaln(x + r) - gammaln(r) - gammaln(x + 1.0)
        return binomial + x * np.log(mu / (mu + r)) - r * np.log1p(mu / r)

    def statistics(self, x: Any, flows: Any) -> Floats:
        """(K, 3) sums of f, f E rate and f E ln rate, given each x; shapes x (N,), flows (N, K) -> (K, 3)."""
        from scipy.special import digamma

        seen = ~np.isnan(x)
        shape = np.asarray(x)[seen, None] + self.size
        scale = self.mean / (self.mean + self.size)
        counted = flows[seen]
        parts = (np.ones_like(shape), shape * scale, digamma(shape) + np.log(scale))
        return np.stack([(counted * part).sum(axis=0) for part in parts], axis=1)

    def maximize(self, statistics: Any, pseudocount: float) -> NegativeBinomial:
        """The gamma distribution of the hidden rates, with `pseudocount` rates of the column; a unit without any stays.

        Shapes: statistics (K, 3).
        """
        from scipy.special import digamma

        n, rates, logs = np.array(statistics).T
        if len(self.prior) and pseudocount:
            like = _by_moments(self.prior, 1)
            n, rates = n + pseudocount, rates + pseudocount * like.mean
            of_one = digamma(like.size) + np.log(like.mean / like.size)
            logs = logs + pseudocount * of_one
        reached = n > 0
        n = np.where(reached, n, 1.0)
        mean = np.maximum(rates / n, LEAST_MEAN)
        gap = np.maximum(np.log(mean) - logs / n, 1e-12)  # ln r - digamma(r)
        size = np.clip(_size_of_gap(gap), LEAST_SIZE, MOST_SIZE)
        return NegativeBinomial(
            np.where(reached, mean, self.mean), np.where(reached, size, self.size), self.prior
        )

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) draws."""
        r, mu = self.size[units], self.mean[units]
        return rng.poisson(rng.gamma(r, mu / r)).astype(float)

    def scores(self, x: Any) -> Floats:
        """(N, K, 2) gradients in ln mean and ln size; shapes x (N,) -> (N, K, 2)."""
        from scipy.special import digamma

        x, r, mu = np.asarray(x)[:, None], self.size, self.mean
        of_mean = (x - mu) * r / (mu + r)
        of_size = r * (digamma(x + r) - digamma(r) - np.log1p(mu / r) + (mu - x) / (mu + r))
        return np.nan_to_num(np.stack([of_mean, of_size], axis=2), nan=0.0)

    @classmethod
    def like(cls, x: Any, num_units: int) -> NegativeBinomial:
        """Equal units with mean and variance of a column; shapes x (N,)."""
        return _by_moments(column_prior(x), num_units)


def _by_moments(prior: Floats, num_units: int) -> NegativeBinomial:
    """Equal units with the mean and variance of a column, as far as these are possible."""
    mean, variance = max(prior[0], LEAST_MEAN), prior[1] ** 2
    size = np.clip(mean**2 / max(variance - mean, 1e-12), LEAST_SIZE, MOST_SIZE)
    return NegativeBinomial(np.full(num_units, mean), np.full(num_units, size), prior)


def _size_of_gap(gap: Floats) -> Floats:
    """(K,) the r with ln r - digamma(r) = gap, by Newton's method in ln r, from a close start (Minka 2002)."""
    from scipy.special import digamma, polygamma

    log_r = np.log((3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap))
    for _ in range(NEWTON_STEPS):
        r = np.exp(log_r)
        step = (log_r - digamma(r) - gap) / (1 - r * polygamma(1, r))
        log_r = log_r - np.clip(step, -2.0, 2.0)
    return np.exp(log_r)
