"""One number for the distances of a batch: the p-values that the limit law would give them, and their harmonic mean.

With few rows the limit law is not the law of the distances, but it is a good scale for them.  A *score* is the p-value
of a distance under the law of three moments (`hld.gchi2.three_moments`) with its variance corrected for T; with several
metrics it is the harmonic mean of these (`hld.nulls.joint`).  Scores are fixed functions of the distances, smooth into
the far tail and nearly alike at all batch sizes; how often an unshifted batch has a score as small as the observed one
is found by drawing (`hld.nulls.staged`, `hld.nulls.table`), whatever the law is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hld.gchi2.three_moments import three_moments
from hld.nulls.joint import harmonic_mean
from hld.nulls.limit_law import LimitLaw


@dataclass(frozen=True, eq=False)
class Score:
    """Scores of the distances of q metrics."""

    laws: tuple[Any, ...]
    excesses: tuple[Any, ...]

    def __call__(self, squared: np.ndarray, T: int) -> np.ndarray:
        """(n, q) scores of squared distances (n, q); with several metrics (n, q + 1), the last of all together."""
        parts = zip(self.laws, self.excesses, np.asarray(squared).T, strict=True)
        each = np.stack(
            [law.tail(column * T, finite(excess, T)) for law, excess, column in parts], axis=1
        )
        return together(each)

    def squared(self, score: float, T: int) -> float:
        """The squared distance of a single metric that has this score."""
        return float(self.laws[0].quantile(score, finite(self.excesses[0], T))) / T


def finite(excess: float, T: int) -> float:
    """The factor 1 + excess / T on the variance of T d^2, kept away from zero."""
    return max(1.0 + excess / T, 0.1)


def together(each: ArrayLike) -> np.ndarray:
    """Scores (n, q) of the metrics one by one, and behind them, if there are several, their harmonic mean."""
    columns = np.asarray(each, dtype=np.float64)
    return columns if columns.shape[1] == 1 else np.column_stack([columns, harmonic_mean(columns)])


def score_of(laws: tuple[LimitLaw, ...]) -> Score:
    """The score by the limit laws of some metrics."""
    return Score(
        tuple(three_moments(law.eigenvalues, law.multiplicities) for law in laws),
        tuple(law.excess for law in laws),
    )
