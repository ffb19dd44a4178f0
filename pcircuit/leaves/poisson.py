r"""Poisson distributions.

.. math:: p_k(x) = e^{-\lambda_k} \lambda_k^x / x!

The M-step is the mean of the rows, with that of the column in `pseudocount` rows more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.leaves.columns import column_prior, keep, prior_array, unit_array
from pcircuit.leaves.counts import Counts

LEAST_RATE = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Poisson(Counts):
    """Poisson distributions.

    Parameters
    ----------
    rate : (K,) float array_like
        The mean of each unit; finite and positive.
    prior : (3,) float array_like, optional
        The mean of the column, to which EM draws, then two numbers that are not used; `fit_em` sets it.

    Examples
    --------
    >>> np.exp(Poisson([2.0]).log_density(np.array([0.0, 1.0, 0.5]))).round(4)
    array([[0.1353],
           [0.2707],
           [0.    ]])
    """

    rate: Any
    prior: Any = ()
    shared: ClassVar[tuple[str, ...]] = ("prior",)

    def __post_init__(self) -> None:
        rate = unit_array(self.rate, "rate", above=0)
        keep(self, rate=rate, prior=prior_array(self.prior))

    @property
    def center(self) -> Floats:
        """(K,) the rates."""
        return self.rate

    def log_masses(self, x: Any) -> Floats:
        """(N, K) ln of the probabilities of whole numbers; shapes x (N,) -> (N, K)."""
        from scipy.special import gammaln

        return np.multiply.outer(x, np.log(self.rate)) - self.rate - gammaln(x + 1.0)[:, None]

    def statistics(self, x: Any, flows: Any) -> Floats:
        """(K, 2) sums of f and f x; shapes x (N,), flows (N, K) -> (K, 2)."""
        seen = ~np.isnan(x)
        x = np.asarray(x)[seen]
        return flows[seen].T @ np.stack([np.ones_like(x), x], axis=1)

    def maximize(self, statistics: Any, pseudocount: float) -> Poisson:
        """Means of the rows, with `pseudocount` rows of the column's mean; a unit without any stays.

        Shapes: statistics (K, 2).
        """
        n, total = np.asarray(statistics).T
        a = pseudocount if len(self.prior) else 0.0
        mean = (total + (a * self.prior[0] if a else 0.0)) / np.where(n + a > 0, n + a, 1.0)
        return Poisson(np.where(n + a > 0, np.maximum(mean, LEAST_RATE), self.rate), self.prior)

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) draws."""
        return rng.poisson(self.rate[units]).astype(float)

    def scores(self, x: Any) -> Floats:
        """(N, K, 1) gradients in ln rate: x - rate; shapes x (N,) -> (N, K, 1)."""
        return np.nan_to_num(np.asarray(x)[:, None, None] - self.rate[:, None], nan=0.0)

    @classmethod
    def like(cls, x: Any, num_units: int) -> Poisson:
        """Equal units with the mean of a column; shapes x (N,)."""
        prior = column_prior(x)
        return cls(np.full(num_units, max(prior[0], LEAST_RATE)), prior)
