"""How far a batch deviates from groups in statistics without bound: a witness beside the distance of likelihoods.

Among groups it has no level of its own: the largest deviation is one of the distances whose largest is ranked
(`hld.nulls.exchangeable`).  Beyond the ranks it has a law, and shares the level with the normal law where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.references.group_statistics import Cells, GroupStatistics, t_law
from hld.results.shared_level import combined

BLOCK_ROWS = 10_000
PREFIX = "statistics."  # of arrays in a file


@dataclass(frozen=True, eq=False)
class Deviations:
    """t of a batch, the first of N, and of the groups.

    Shapes: t (N, M), parts (M,).
    """

    t: np.ndarray
    parts: np.ndarray
    num_parts: int

    @property
    def largest(self) -> np.ndarray:
        """(N,) the largest t of each."""
        return np.asarray(self.t.max(axis=1))

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
        G, tried = len(self.t) - 1, (self.t > 0).any(axis=0)
        own = np.ones(self.num_parts)
        np.minimum.at(own, self.parts, t_law(self.t[0], G))
        number = np.bincount(self.parts, weights=tried, minlength=self.num_parts)
        return np.minimum(np.array([own * np.maximum(number, 1), own * max(tried.sum(), 1)]), 1.0)

    def beyond(self, law: float) -> float:
        """The p-value of a batch that is odder than all groups, by the t law and another, infinite where there is none.

        The t law has half of the level, or all of it.
        """
        share = 0.5 if np.isfinite(law) else 1.0
        return combined(law, TLaw(float(self.laws[1].min()), share))


@dataclass(frozen=True)
class TLaw:
    """The t law as one of the tests that share a level."""

    pvalue: float
    share: float

    def attained(self, level: Any) -> Any:
        """How often `pvalue` is at most a level: taken to be that level."""
        return level


def mean_features(
    statistics: GroupStatistics, codes: np.ndarray, cells: Cells | None
) -> np.ndarray:
    """(F,) means of the numbers of a batch, block by block.

    Shapes: codes (T, V).
    """
    total = np.zeros(statistics.size)
    for start in range(0, len(codes), BLOCK_ROWS):
        some = slice(start, start + BLOCK_ROWS)
        own = None if cells is None else cells.rows(some)
        total += statistics.features(codes[some], own).sum(axis=0)
    return total / len(codes)


def deviations(
    statistics: GroupStatistics | None,
    codes: np.ndarray,
    cells: Cells | None,
    others: np.ndarray,
    sizes: np.ndarray,
    worth: float = 1.0,
) -> Deviations | None:
    """How far a batch is from groups with such means, of so many rows; None without statistics.

    Shapes: codes (T, V), others (G, F), sizes (G,).
    """
    if statistics is None or not len(statistics.parts):
        return None
    means = np.concatenate([mean_features(statistics, codes, cells)[None], others])
    t = statistics.distances(
        means,
        np.append(float(len(codes)), sizes),
        () if cells is None else cells.hidden,
        worth,
    )
    return Deviations(t, statistics.parts, statistics.num_columns + len(statistics.pairs))
