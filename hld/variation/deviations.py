"""How far a batch deviates from groups in statistics without bound: a witness beside the distance of likelihoods.

Among groups it has no level of its own: the largest deviation is one of the distances whose largest is ranked
(`hld.nulls.exchangeable`).  Beyond the ranks it has a law, and shares the level with the normal law where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hld.references.group_statistics import t_law
from hld.results.shared_level import combined
from hld.tables.schemas.counts import CountTest

CENTRAL, USUAL = 0.9, 1.65  # of the groups, and below what t a normal variable then is


@dataclass(frozen=True, eq=False)
class Deviations:
    """t of a batch, the first of N, and of the groups, and which of the columns and pairs each speaks of.

    Shapes: t (N, M), parts (M,).
    """

    t: np.ndarray
    parts: np.ndarray
    num_parts: int

    @property
    def largest(self) -> np.ndarray:
        """(N,) the largest t of each, those of statistics with heavy tails made as small as normal ones are."""
        usual = np.quantile(self.t, CENTRAL, axis=0) / USUAL
        return np.asarray((self.t / np.maximum(usual, 1.0)).max(axis=1, initial=0.0))

    @property
    def tails(self) -> np.ndarray:
        """(parts, N) the smallest tail of the statistics of each column and pair, which puts parts on one scale."""
        from scipy.special import stdtr

        found, N = np.ones((self.num_parts, len(self.t))), len(self.t)
        np.minimum.at(found, self.parts, 2 * stdtr(max(N - 2, 1), -self.t).T)
        return found

    @property
    def laws(self) -> np.ndarray:
        """(2, parts) p-values of the batch by the t law: of each column and pair by itself, and adjusted for all."""
        tried, own = (self.t > 0).any(axis=0), np.ones(self.num_parts)
        np.minimum.at(own, self.parts, t_law(self.t[0], len(self.t) - 1))
        number = np.bincount(self.parts, weights=tried, minlength=self.num_parts)
        return np.minimum(np.array([own * np.maximum(number, 1), own * max(tried.sum(), 1)]), 1.0)

    def beyond(self, law: float) -> float:
        """The p-value of a batch that is odder than all groups, by the t law and another, infinite where there is none.

        The t law has half of the level, or all of it.
        """
        share = (0.5 if np.isfinite(law) else 1.0) * bool(len(self.parts))
        return combined(law, CountTest(pvalue=float(self.laws[1].min()), share=share))
