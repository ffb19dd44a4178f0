"""Distributions on 0, 1, 2, ...: what sums over the states answer for each of them.

The tail is cut where it has less than 1e-17 of the probability of any unit, beyond which doubles see nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pcircuit.arguments import Floats
from pcircuit.regions import LeafFamily

MOST_STATES = 10_000_000
TAIL = -40.0  # ln of the probability at which the states end


class Counts(LeafFamily):
    """Base of families on 0, 1, 2, ...: they define `log_masses`, ln p_k(x) of whole numbers, and `center`."""

    is_discrete: ClassVar[bool] = True

    def log_masses(self, x: Any) -> Floats:
        """(N, K) ln of the probabilities of whole numbers; shapes x (N,) -> (N, K)."""
        raise NotImplementedError

    @property
    def center(self) -> Floats:
        """(K,) the mean of each unit: from where on probabilities fall."""
        raise NotImplementedError

    def log_density(self, x: Any) -> Floats:
        """(N, K) ln of the probabilities, -inf for what is no count; 0 where x is NaN; shapes x (N,) -> (N, K)."""
        x = np.asarray(x, dtype=float)
        is_count = (x >= 0) & (x == np.floor(x))
        logs = np.where(is_count[:, None], self.log_masses(np.where(is_count, x, 0.0)), -np.inf)
        return np.where(np.isnan(x)[:, None], 0.0, logs)

    def support(self) -> Floats:
        """(n,) all counts that matter."""
        end = 32
        while self.log_masses(np.array([float(end)])).max() > TAIL or end < self.center.max():
            end *= 2
            if end > MOST_STATES:
                raise ValueError(
                    f"`{type(self).__name__}` leaves reach beyond {MOST_STATES} states, over which no sums are "
                    "taken: use densities for such a column"
                )
        return np.arange(end, dtype=float)

    def log_bound(self) -> Floats:
        """(K,) ln of the largest probability."""
        return self.log_masses(self.mode()).diagonal()

    def mode(self) -> Floats:
        """(K,) the most probable count."""
        return self.log_masses(self.support()).argmax(axis=0).astype(float)

    def overlap2(self, other: Counts) -> Floats:
        """(K, K') sum_x p_a(x) p_b(x)."""
        x = self.support()
        return np.exp(self.log_masses(x)).T @ np.exp(other.log_masses(x))

    def overlap3(self) -> Floats:
        """(K, K, K) sum_x p_a(x) p_b(x) p_c(x)."""
        p = np.exp(self.log_masses(self.support()))
        return np.einsum("xa,xb,xc->abc", p, p, p, optimize=True)

    def interval(self, low: Any, high: Any) -> Floats:
        """(K,) P(low < X <= high), or (N, K) for arrays (N,)."""
        x, p = self.support(), np.exp(self.log_masses(self.support()))
        low, high = np.asarray(low)[..., None], np.asarray(high)[..., None]
        return ((x > low) & (x <= high)).astype(float) @ p

    def condition(self, low: float, high: float) -> LeafFamily:
        """The units given low < X <= high."""
        from pcircuit.leaves.truncated import Truncated

        return Truncated(self, low, high)

    def expectation(self, g: Callable[[Any], Any]) -> Floats:
        """(K,) E g(X)."""
        x = self.support()
        return np.asarray(g(x), dtype=float) @ np.exp(self.log_masses(x))

    def cross_entropy(self, other: Counts) -> Floats:
        """(K, K') -sum_x p_a(x) ln p_b(x)."""
        x = self.support()
        return -np.exp(self.log_masses(x)).T @ other.log_masses(x)
