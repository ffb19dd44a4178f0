"""Tails of scores drawn when a test is made, for references whose rows are not there later.

From the vectors of n reference rows batches are drawn with replacement, at a grid of sizes, and the tails of their
scores are kept.  Such batches vary around the mean of the rows with (n - 1) / n of the sample covariance, which
stretching them by sqrt(n / (n - 1)) corrects (`RowReference.batch_means`).  Between two sizes p-values are interpolated
in 1 / T, in which the law is nearly linear.  Below the resolution of the draws p is taken to fall as the score does.

Single rows, T = 1, are judged by rank: each of the n rows occurs once, and with the fresh row they are n + 1
exchangeable rows.  Let u_i be the differences of the rows from their mean, and delta that of the fresh row.  Seen from
the mean of all n + 1, the rows are at u_i - delta / (n + 1) and the fresh row at delta n / (n + 1), so

    |F u_i| < |F delta| (n - 1) / (n + 1)   implies   |F (u_i - delta / (n + 1))| < |F delta| n / (n + 1),

and p = (1 + #{i : |F u_i| >= |F delta| (n - 1) / (n + 1)}) / (n + 1) is no smaller than the exact p-value by ranks
among exchangeable rows: it is below a with probability at most a, for any n and any distribution.  Nothing is
extrapolated: a single row cannot be odder than one in n + 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.nulls.null import PValue
from hld.nulls.ranks.drawn_tail import drawn_tail, read_tail
from hld.nulls.ranks.monte_carlo import monte_carlo_error
from pcircuit.io.archive import under_prefix, with_prefix

if TYPE_CHECKING:
    from hld.nulls.ranks.drawn_tail import DrawnTail
    from hld.nulls.score import Score

RESOLVED = 20  # draws below which a tail is extrapolated


@dataclass(frozen=True, eq=False)
class TableTails:
    """Tails of scores at some batch sizes; shapes sizes (g,)."""

    sizes: np.ndarray
    tails: tuple[Any, ...]
    kind = "table"

    def pvalue(self, scores: np.ndarray, T: int) -> PValue:
        """p-values of scores (q,) or (q + 1,), in the order of the tails."""
        each = np.zeros(len(scores))
        for share, tails in self._around(T):
            each += share * np.array(
                [_pvalue(tail, one, T) for tail, one in zip(tails, scores, strict=True)]
            )
        value, B = float(each[-1]), self._around(T)[0][1][-1].num_drawn
        resolved = max(value, min(RESOLVED / B, 0.5))  # few draws resolve nothing
        error = value * monte_carlo_error(resolved, B) / resolved if T > 1 else 0.0
        return PValue(
            value, tuple(map(float, each[: max(len(each) - 1, 1)])), error, "monte-carlo", B
        )

    def threshold(self, alpha: float, T: int, draws: int = 0) -> float:
        """The score from which on nothing is rejected; 0 where no batch of T rows is."""
        if T == 1:
            return self.tails[0][-1].threshold(alpha)
        low, high = np.log(1e-300), 0.0  # p-values rise with the score
        for _ in range(50):
            middle = (low + high) / 2
            rejected = (
                sum(
                    share * _pvalue(tails[-1], np.exp(middle), T)
                    for share, tails in self._around(T)
                )
                <= alpha
            )
            low, high = (middle, high) if rejected else (low, middle)
        return float(np.exp(high))

    def least(self, T: int) -> float:
        """1 / (n + 1) for single rows, and 0 for larger batches."""
        return self.tails[0][-1].pvalue(0.0) if T == 1 else 0.0

    def _around(self, T: int) -> list[tuple[float, tuple[Any, ...]]]:
        """[(share, tails)] of the sizes around T."""
        i = min(int(np.searchsorted(self.sizes, T)), len(self.sizes) - 1)
        high = self.sizes[i]
        if i == 0 or high <= T:
            return [(1.0, self.tails[i])]
        low = self.sizes[i - 1]
        share = (1 / T - 1 / high) / (1 / low - 1 / high)
        return [(share, self.tails[i - 1]), (1 - share, self.tails[i])]

    def describe(self) -> str:
        """A few words."""
        return (
            f"{self.tails[-1][-1].num_drawn} batches of reference rows, at {len(self.sizes)} sizes up to "
            f"{self.sizes[-1]}; single rows by rank"
        )

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The sizes, and a (2, k) array for each tail."""
        arrays = {"sizes": self.sizes}
        for i, tails in enumerate(self.tails):
            arrays |= with_prefix(
                f"{i}.", {str(j): tail.to_arrays() for j, tail in enumerate(tails)}
            )
        return {"kind": self.kind}, arrays

    @classmethod
    def from_parts(
        cls, scalars: dict[str, str], arrays: dict[str, np.ndarray], context: Any, score: Score
    ) -> TableTails:
        """Tails that `to_parts` wrote."""
        sizes, q = arrays["sizes"], len(context.metrics)
        if (
            sizes.ndim != 1
            or sizes.dtype.kind not in "iu"
            or not len(sizes)
            or sizes[0] != 1
            or (np.diff(sizes.astype(np.int64)) <= 0).any()
        ):
            raise ValueError("the batch sizes of the test must be ascending whole numbers from 1")
        width = 1 if q == 1 else q + 1
        return cls(
            sizes,
            tuple(
                tuple(read_tail(under_prefix(f"{i}.", arrays), str(j)) for j in range(width))
                for i in range(len(sizes))
            ),
        )


def table_of(sizes: Sequence[int], scores: Iterable[np.ndarray]) -> TableTails:
    """The table of scores (B, q + 1) that were drawn at each of some sizes."""
    return TableTails(
        np.asarray(sizes), tuple(tuple(drawn_tail(column) for column in one.T) for one in scores)
    )


def _pvalue(tail: DrawnTail, score: float, T: int) -> float:
    """The p-value of a score, proportional to it below the resolution of the draws, but not for single rows."""
    i = min(RESOLVED, len(tail.values)) - 1  # the rank of the score at the resolution is i + 1
    edge = float(tail.values[i])
    if T == 1 or score >= edge or tail.num_drawn <= RESOLVED or edge <= 0:
        return tail.pvalue(score)
    return score / edge * (i + 2) / (1 + tail.num_drawn)
