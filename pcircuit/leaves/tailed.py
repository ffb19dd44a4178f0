r"""Normal distributions with a broad tail: numbers among which outliers may be, though training has not shown any.

.. math:: p_k(x) = (1 - \epsilon_k)\, N(x;\, \mu_k, \sigma_k^2) + \epsilon_k\, t(x), \qquad
          t(x) \propto \sum_{l=0}^{4} 32^{-2l} N(x;\, m, (32^l s)^2)

with mean m and standard deviation s of the column.  The tail falls as the third power of the distance, up to a million
deviations: an outlier costs tens of nats, where one normal distribution takes millions.  Each l adds as much to the
variance, so that the tail has a finite one, of five times its share.  All is a mixture of normal distributions:
integrals of products are weighted sums of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pcircuit.arguments import Floats, Ints, check_numbers
from pcircuit.leaves.columns import keep
from pcircuit.leaves.gaussian import LOG_2_PI, Gaussian
from pcircuit.regions import LeafFamily

WIDTHS = 32.0 ** np.arange(5)  # of the tail, in standard deviations of the column
WEIGHTS = WIDTHS**-2 / (WIDTHS**-2).sum()
TAIL_SHARE = 0.01  # of the pseudocount, and of the first units
MODE_STEPS = 100


@dataclass(frozen=True, eq=False, repr=False)
class Tailed(LeafFamily):
    """Normal distributions with a broad tail.

    Parameters
    ----------
    normal : Gaussian
        K units with the prior of their column, whose mean and standard deviation the tail has.
    share : (K,) float array_like
        Probability of the tail under each unit, from 0 to 1.

    Examples
    --------
    >>> leaves = Tailed(Gaussian([0.0], [1.0], [0.0, 1.0, 0.01]), [0.001])
    >>> leaves.log_density(np.array([0.0, 1000.0])).round(2)
    array([[ -0.92],
           [-29.1 ]])
    """

    normal: Gaussian
    share: Any
    states: ClassVar[tuple[str, ...]] = ("prior",)

    def __post_init__(self) -> None:
        if not isinstance(self.normal, Gaussian) or not len(self.normal.prior):
            raise TypeError(
                f"`normal` must be `Gaussian` leaves with a prior, found {self.normal!r}"
            )
        size = (self.normal.num_units,)
        expected = f"{size[0]} probabilities, one for each unit"
        share = np.array(check_numbers(self.share, "share", expected, size, least=0, most=1))
        keep(self, share=share)

    @property
    def prior(self) -> Floats:
        """(3,) mean, standard deviation and least standard deviation of the column."""
        return self.normal.prior

    def log_density(self, x: Any) -> Floats:
        """(N, K) ln of the densities; 0 where x is NaN; shapes x (N,) -> (N, K)."""
        normal, tail = self._logs(x)
        top = np.maximum(normal, tail)
        less = np.minimum(normal, tail, out=tail) - top
        return top + np.log(1.0 + np.exp(less, out=less))

    def log_bound(self) -> Floats:
        """(K,) ln of the densities at the modes."""
        return self.log_density(self.mode()).diagonal()

    def statistics(self, x: Any, flows: Any) -> Floats:
        """(K, 4) flow of the tail, and the statistics of the units; shapes x (N,), flows (N, K) -> (K, 4)."""
        of_tail = flows * self._tail_shares(x)
        inside = self.normal.statistics(x, flows - of_tail)
        return np.column_stack([of_tail[~np.isnan(x)].sum(axis=0), inside])

    def maximize(self, statistics: Any, pseudocount: float) -> Tailed:
        """Shares of the flow, a hundredth of the pseudocount in the tail, and the M-step of the units.

        Shapes: statistics (K, 4).
        """
        total = statistics[:, 0] + statistics[:, 1] + pseudocount
        share = (statistics[:, 0] + TAIL_SHARE * pseudocount) / np.where(total > 0, total, 1.0)
        normal = self.normal.maximize(statistics[:, 1:], pseudocount)
        return Tailed(normal, np.where(total > 0, share, self.share))

    def overlap2(self, other: Tailed) -> Floats:
        """(K, K') integrals of products of two densities."""
        (units, weights), (others, its) = self._parts(), other._parts()
        return weights @ units.overlap2(others) @ its.T

    def overlap3(self) -> Floats:
        """(K, K, K) integrals of products of three densities."""
        units, w = self._parts()
        return np.einsum("ax,by,cz,xyz->abc", w, w, w, units.overlap3(), optimize=True)

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) draws."""
        parts, weights = self._parts()
        sums = np.cumsum(weights, axis=1)[units]
        part = (sums[:, :-1] <= rng.random((len(units), 1))).sum(axis=1)
        return parts.sample(part, rng)

    def mode(self) -> Floats:
        """(K,) where the densities are largest: near the mean of the unit, or that of the column."""
        parts, weights = self._parts()
        starts = np.stack([self.normal.mean, np.full(self.num_units, self.prior[0])])
        for _ in range(MODE_STEPS):  # each the mean of all parts, weighted by density and precision
            pull = np.exp(parts.log_density(starts.ravel())).reshape(2, self.num_units, -1)
            pull = pull * weights / parts.std**2
            starts = pull @ parts.mean / pull.sum(axis=2)
        density = np.stack([self.log_density(start).diagonal() for start in starts])
        return np.where(density[0] >= density[1], *starts)

    def interval(self, low: Any, high: Any) -> Floats:
        """(K,) P(low < X <= high), or (N, K) for arrays (N,)."""
        parts, weights = self._parts()
        return parts.interval(low, high) @ weights.T

    def condition(self, low: float, high: float) -> LeafFamily:
        """The units given low < X <= high."""
        from pcircuit.leaves.truncated import Truncated

        return Truncated(self, low, high)

    def expectation(self, g: Callable[[Any], Any]) -> Floats:
        """(K,) E g(X), by Gauss-Hermite quadrature of each part."""
        parts, weights = self._parts()
        return weights @ parts.expectation(g)

    def scores(self, x: Any) -> Floats:
        """(N, K, 3) gradients in the logit of the tail's share, and in mean and ln sigma; shapes x (N,)."""
        of_tail = self._tail_shares(x)[:, :, None]
        of_share = np.where(np.isnan(x)[:, None, None], 0.0, of_tail - self.share[:, None])
        return np.concatenate([of_share, (1 - of_tail) * self.normal.scores(x)], axis=2)

    @classmethod
    def like(cls, x: Any, num_units: int, atoms: Any = ()) -> Tailed:
        """Equal units with mean and standard deviation of a column without atoms (A,); shapes x (N,)."""
        return cls(Gaussian.like(x, num_units, atoms), np.full(num_units, TAIL_SHARE))

    def _logs(self, x: Any) -> tuple[Floats, Floats]:
        """(N, K) ln of the densities of units and of the tail, times their shares; 0 of both where x is NaN."""
        m, s, _ = self.prior
        square = np.square(np.asarray(x, dtype=float) - m)
        with np.errstate(divide="ignore", over="ignore"):
            likelihoods = np.exp(np.multiply.outer(-0.5 / (s * WIDTHS) ** 2, square))
            tail = np.log((WEIGHTS / WIDTHS) @ likelihoods) - np.log(s) - 0.5 * LOG_2_PI
            tail = np.where(np.isnan(x), 0.0, tail)
            normal = self.normal.log_density(x) + np.log1p(-self.share)
            return normal, np.add.outer(np.log(self.share), tail).T  # in memory as the units are

    def _tail_shares(self, x: Any) -> Floats:
        """(N, K) the probability that x is of the tail; shapes x (N,)."""
        normal, tail = self._logs(x)
        with np.errstate(over="ignore", invalid="ignore"):
            odds = np.exp(np.where(tail > -np.inf, normal - tail, np.inf))
        return 1.0 / (1.0 + odds)

    def _parts(self) -> tuple[Gaussian, Floats]:
        """All normal distributions, first those of the K units, then those of the tail, and weights (K, K + 5)."""
        m, s, _ = self.prior
        tail = Gaussian(np.full(len(WIDTHS), m), s * WIDTHS, self.prior)
        weights = np.hstack([np.diag(1 - self.share), np.outer(self.share, WEIGHTS)])
        return self.normal.joined([tail]), weights
