r"""Units of another family given an interval: what conditioning makes of those that are not closed under it.

.. math:: p_k(x \mid l < X \le h) = \frac{p_k(x)}{P_k(l < X \le h)} \quad \text{for } l < x \le h, \text{ else } 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pcircuit.arguments import Floats, Ints
from pcircuit.leaves.columns import keep
from pcircuit.regions import LeafFamily

HALVINGS = 64  # of the interval in which a draw lies: down to neighbouring doubles
PANELS, NODES = 64, 16  # of Gauss-Legendre quadrature, for means of functions


@dataclass(frozen=True, eq=False, repr=False)
class Truncated(LeafFamily):
    """Units of a family given an interval.

    Parameters
    ----------
    base : LeafFamily
        The K units without the condition.  One with no probability in the interval stays as it is.
    low, high : float
        The interval (low, high].

    Examples
    --------
    >>> from pcircuit.leaves import Gaussian
    >>> half = Truncated(Gaussian([0.0], [1.0]), 0.0, np.inf)
    >>> np.exp(half.log_density(np.array([-1.0, 1.0]))).round(4)
    array([[0.    ],
           [0.4839]])
    """

    base: LeafFamily
    low: Any
    high: Any
    shared: ClassVar[tuple[str, ...]] = ("low", "high")
    states: ClassVar[tuple[str, ...]] = ("low", "high")

    def __post_init__(self) -> None:
        low, high = float(self.low), float(self.high)
        if not low < high:
            raise ValueError(f"`low` must be below `high`, found {low:g} and {high:g}")
        keep(self, low=low, high=high)

    def log_density(self, x: Any) -> Floats:
        """(N, K) ln of the densities, -inf outside; 0 where x is NaN; shapes x (N,) -> (N, K)."""
        x = np.asarray(x, dtype=float)
        mass = self._mass()
        outside = ((x <= self.low) | (x > self.high))[:, None] & (mass > 0)
        log_mass = np.where(np.isnan(x)[:, None], 0.0, np.log(np.where(mass > 0, mass, 1.0)))
        return np.where(outside, -np.inf, self.base.log_density(x) - log_mass)

    def log_bound(self) -> Floats:
        """(K,) ln of the densities at the modes."""
        return self.log_density(self.mode()).diagonal()

    def mode(self) -> Floats:
        """(K,) the modes, or the end of the interval that is next to them."""
        low = self.low
        if np.isfinite(low):
            low = np.floor(low) + 1.0 if self.base.is_discrete else np.nextafter(low, np.inf)
        return np.clip(self.base.mode(), low, self.high)

    def interval(self, low: Any, high: Any) -> Floats:
        """(K,) P(low < X <= high), or (N, K) for arrays (N,)."""
        mass = self._mass()
        low, high = np.maximum(low, self.low), np.minimum(high, self.high)
        inside = self.base.interval(low, np.maximum(low, high))
        return np.minimum(inside / np.where(mass > 0, mass, 1.0), 1.0)

    def condition(self, low: float, high: float) -> Truncated:
        """The units given low < X <= high as well."""
        return Truncated(self.base, max(low, self.low), min(high, self.high))

    def sample(self, units: Ints, rng: np.random.Generator) -> Floats:
        """(N,) draws, by inversion: the interval is halved until P(X <= x) is the uniform number drawn."""
        u, rows = rng.random(len(units)), np.arange(len(units))
        mass = self._mass()[units]
        low, high = (end[units] for end in self._ends())
        for _ in range(HALVINGS):
            middle = low + 0.5 * (high - low)
            below = self.base.interval(np.full(len(rows), self.low), middle)[rows, units] < u * mass
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        drawn = np.floor(high) if self.base.is_discrete else high
        return np.where(mass > 0, np.minimum(drawn, self.high), self.base.sample(units, rng))

    def expectation(self, g: Callable[[Any], Any]) -> Floats:
        """(K,) E g(X), by sums or quadrature."""
        if self.base.is_discrete:
            mass = self._mass()
            inside = self.base.expectation(lambda x: g(x) * ((x > self.low) & (x <= self.high)))
            return inside / np.where(mass > 0, mass, 1.0)
        z, w = np.polynomial.legendre.leggauss(NODES)
        edges = np.linspace(*self._ends(), PANELS + 1)
        half = np.diff(edges, axis=0)[:, None] / 2
        x = edges[:-1, None] + half * (z[:, None] + 1)  # panels, nodes, units
        density = [self.log_density(own.ravel())[:, k] for k, own in enumerate(x.T)]
        density = np.exp(density).reshape(x.T.shape).T
        return (half * w[:, None] * density * np.asarray(g(x), dtype=float)).sum(axis=(0, 1))

    def _mass(self) -> Floats:
        """(K,) the probability of the interval."""
        return self.base.interval(self.low, self.high)

    def _ends(self) -> tuple[Floats, Floats]:
        """(K,) finite ends between which all but 1e-15 of each unit lies."""
        start, reach, mass = self.base.mode(), np.ones(self.num_units), self._mass()
        low, high = np.clip(start, self.low, self.high), np.clip(start, self.low, self.high)
        for _ in range(1100):  # until doubles end
            lower, upper = np.maximum(low - reach, self.low), np.minimum(high + reach, self.high)
            inside = self.base.interval(lower, upper).diagonal()
            if (inside >= mass * (1 - 1e-15)).all():
                break
            reach = reach * 2
        return lower, upper
