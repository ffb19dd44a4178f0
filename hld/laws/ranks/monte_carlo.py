"""The Monte Carlo test, which every null of this package that draws uses.

If B statistics are drawn in the way that the observed one arises without a shift, all B + 1 are exchangeable, so

    p = (1 + #{b : d_b >= d}) / (1 + B)

is at most a with probability at most a, whatever their law is (Phipson and Smyth 2010).  Equal batches may differ in
the last digits: a drawn statistic that is smaller by a relative TIE counts as a tie.

How often a drawn score is as small as an observed one: an empirical tail in few numbers.

Of B drawn scores the smallest hundred are kept, and from there on only scores whose ranks grow in steps of 2 %;
an observed score gets the rank of the next larger score that is kept.  So the Monte Carlo p-value

    p = (1 + #{b : x_b <= x}) / (1 + B)

is never made smaller, and never larger by more than 2 %, whatever B is: a million draws take 570 numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcircuit.arguments import check_fraction, check_numbers
from pcircuit.io.archive import finite_array

TIE = 1e-9


def monte_carlo_pvalue(null: np.ndarray, statistic: float, slack: float = 0.0) -> float:
    """(1 + #{null >= statistic}) / (1 + B); shapes null (B,)."""
    exceeding = len(null) - int(np.searchsorted(null, statistic * (1 - TIE) - slack, side="left"))
    return (1 + exceeding) / (1 + len(null))


def rejection_threshold(null: np.ndarray, alpha: float) -> float:
    """Largest statistic that a Monte Carlo test does not reject: (1 + #{null >= statistic}) / (1 + B) > alpha.

    Shapes: null (B,).
    """
    alpha = check_fraction(alpha, "alpha")
    null = check_numbers(null, "null", "at least one number", finite=False)
    if null.ndim != 1 or not null.size or np.isnan(null).any():
        raise ValueError(
            f"`null` must be a sequence of at least one number, none of them NaN, found {null!r}"
        )
    allowed = (
        int(np.floor(alpha * (1 + len(null)) + 1e-9)) - 1
    )  # null statistics that may exceed a rejected one
    if allowed < 0:
        return float("inf")
    return float(null[len(null) - 1 - allowed]) if allowed < len(null) else float("-inf")


def monte_carlo_error(pvalue: float, B: int) -> float:
    """Standard error of a Monte Carlo p-value."""
    return math.sqrt(pvalue * (1 - pvalue) / B)


EXACT, GROWTH = 100, 1.02  # ranks kept one by one, and the ratio of the others


@dataclass(frozen=True, eq=False)
class DrawnTail:
    """Scores drawn without a shift; small ones speak for one; shapes values (k,), ranks (k,)."""

    values: np.ndarray
    ranks: np.ndarray

    @property
    def num_drawn(self) -> int:
        """B."""
        return int(self.ranks[-1])

    def count(self, score: float) -> int:
        """Drawn scores that are at most this large, rounded up to just below a rank that is kept."""
        larger = int(np.searchsorted(self.values, score * (1 + TIE), side="right"))
        return self.num_drawn if larger == len(self.values) else int(self.ranks[larger]) - 1

    def pvalue(self, score: float) -> float:
        """(1 + count) / (1 + B)."""
        return (1 + self.count(score)) / (1 + self.num_drawn)

    def threshold(self, alpha: float) -> float:
        """The score below which p-values are at most alpha, and from which on they are not; 0 where B is too small."""
        allowed = (
            int(np.floor(alpha * (1 + self.num_drawn) + 1e-9)) - 1
        )  # count of the scores that are rejected
        if allowed < 0:
            return 0.0
        return float(self.values[int(np.searchsorted(self.ranks, allowed + 1, side="right")) - 1])

    def to_arrays(self) -> np.ndarray:
        """(2, k) values and ranks."""
        return np.stack([self.values, self.ranks.astype(np.float64)])


def drawn_tail(scores: np.ndarray) -> DrawnTail:
    """The tail of drawn scores (B,), in any order."""
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    B = len(ordered)
    ranks = np.arange(1, min(B, EXACT) + 1)
    if B > EXACT:
        steps = int(np.ceil(np.log(B / EXACT) / np.log(GROWTH)))
        further = np.unique(np.floor(EXACT * GROWTH ** np.arange(1, steps)).astype(np.int64))
        ranks = np.unique(np.concatenate([ranks, further[(further > EXACT) & (further < B)], [B]]))
    return DrawnTail(ordered[ranks - 1], ranks)


def read_tail(arrays: Mapping[str, Any], name: str) -> DrawnTail:
    """A tail that `DrawnTail.to_arrays` wrote; raises ValueError where it is none."""
    values, ranks = finite_array(arrays, name, (2, None))
    if (
        not len(values)
        or (np.diff(values) < 0).any()
        or (np.diff(ranks) <= 0).any()
        or ranks[0] != 1
        or (ranks != np.floor(ranks)).any()
        or ranks[-1] > 2**53
    ):
        raise ValueError(
            f"the drawn scores {name!r} of the test must be ascending, with ascending ranks from 1"
        )
    return DrawnTail(values, ranks.astype(np.int64))
