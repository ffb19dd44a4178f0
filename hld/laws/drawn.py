r"""One number for the distances of a batch: the p-values that the limit law would give them, and their harmonic mean.

With few rows the limit law is not the law of the distances, but it is a good scale for them.  A *score* is the p-value
of a distance under the law of three moments (`hld.gchi2.three_moments`) with its variance corrected for T; with several
metrics it is the harmonic mean of these (`hld.laws.joint`).  Scores are fixed functions of the distances, smooth into
the far tail and nearly alike at all batch sizes; how often an unshifted batch has a score as small as the observed one
is found by drawing, whatever the law is.

Tails of scores drawn when a test is made, for references whose rows are not there later.

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

P-values by drawing batches when one is tested, as many as its p-value needs.

B batches are drawn from the reference, and p = (1 + #{b : score_b <= score}) / (1 + B) is valid whatever the law
of the scores is (`hld.laws.ranks.monte_carlo`).  A small p-value needs many draws, but most p-values need few: so B_1
= 999 are drawn first, and ten times as many in the next stage only while fewer than STOP = 10 of them are as extreme,

.. math:: p = \frac{1 + N_s}{1 + B_s}, \qquad s = \min\{ s : N_s \ge 10 \} \text{ or the last stage}.

This p-value is valid, too.  Let alpha be at least 10 / (1 + B_s) and below 11 / (1 + B_{s-1}), for the smallest such s
(the last stage, if there is none).  Stages before s stop with p-values above alpha.  At s it either stops with p = p_s,
or goes on because p_s <= 10 / (1 + B_s) <= alpha.  So p <= alpha implies p_s <= alpha, whose probability is at most
alpha.  (Besag and Clifford 1991 stop after each single draw; stages can be kept and shared by all batches of a size.)

The last stage is what MOST_ROWS rows and MOST_VALUES node likelihoods allow, for single rows up to a million.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hld.features.linear_maps import squared_distances
from hld.laws.joint import harmonic_mean
from hld.laws.limit_law import LimitLaw
from hld.laws.null import PValue
from hld.laws.ranks.monte_carlo import drawn_tail, monte_carlo_error, read_tail
from pcircuit.arguments import check_whole_number
from pcircuit.io.archive import finite_array, under_prefix, with_prefix

if TYPE_CHECKING:
    from hld.laws.ranks.monte_carlo import DrawnTail


def scores_of(laws: tuple[LimitLaw, ...], squared: np.ndarray, T: int) -> np.ndarray:
    """(n, q) scores of squared distances (n, q); with several metrics (n, q + 1), the last of all together."""
    columns = np.asarray(squared).T
    return together(
        np.stack([law.score(one, T) for law, one in zip(laws, columns, strict=True)], axis=1)
    )


def together(each: ArrayLike) -> np.ndarray:
    """Scores (n, q) of the metrics one by one, and behind them, if there are several, their harmonic mean."""
    columns = np.asarray(each, dtype=np.float64)
    return columns if columns.shape[1] == 1 else np.column_stack([columns, harmonic_mean(columns)])


RESOLVED = 20  # draws below which a tail is extrapolated


@dataclass(frozen=True, eq=False)
class TableTails:
    """Tails of scores at some batch sizes; shapes sizes (g,)."""

    sizes: np.ndarray
    tails: tuple[Any, ...]
    kind = "table"

    def pvalue(self, scores: np.ndarray, T: int) -> PValue:
        """p-values of scores (q,) or (q + 1,), in the order of the tails."""
        around = self._around(T)
        each = np.zeros(len(scores))
        for share, tails in around:
            parts = zip(tails, scores, strict=True)
            each += share * np.array([_pvalue(tail, one, T) for tail, one in parts])
        value, B = float(each[-1]), around[0][1][-1].num_drawn
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
        cls, scalars: dict[str, str], arrays: dict[str, np.ndarray], context: Any, laws: Any
    ) -> TableTails:
        """Tails that `to_parts` wrote."""
        sizes, q = finite_array(arrays, "sizes", (None,), np.int64), len(context.metrics)
        if sizes[:1].tolist() != [1] or (np.diff(sizes) <= 0).any():
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


STOP = 10  # extreme batches at which a stage is enough
MOST_BATCHES = 999_999
MOST_ROWS = 1_000_000  # drawn for one batch size
MOST_VALUES = 400_000_000  # node likelihoods, rows times nodes, drawn for one batch size after the first stage
BLOCK_BATCHES = 10_000  # whose means are held at a time
MOST_RESAMPLES = 10**6


@dataclass(frozen=True, eq=False)
class StagedTails:
    """Tails of the scores of drawn batches, drawn once for each T and stage, and kept."""

    laws: tuple[LimitLaw, ...]
    reference: Any
    metrics: tuple[Any, ...]
    num_resamples: int
    seed: int
    kind = "staged"
    _drawn: dict[Any, Any] = field(default_factory=dict, repr=False)

    def pvalue(self, scores: Any, T: int) -> PValue:
        """p-values of scores (q,) or (q + 1,): the last decides how far to go."""
        stages = self.stages(T)
        for stage in range(len(stages)):
            tails = self.tails(T, stage)
            if tails[-1].count(scores[-1]) >= STOP:
                break
        B = stages[stage]
        each = tuple(tail.pvalue(one) for tail, one in zip(tails, scores, strict=True))
        value = each[-1]
        return PValue(
            value, each[: len(self.metrics)], monte_carlo_error(value, B), "monte-carlo", B
        )

    def threshold(self, alpha: float, T: int, draws: int | None = None) -> float:
        """The score from which on nothing is rejected, by the stage of that many draws; by default the first."""
        stages = self.stages(T)
        return self.tails(T, stages.index(draws) if draws in stages else 0)[-1].threshold(alpha)

    def least(self, T: int) -> float:
        """The smallest p-value of a batch of T rows."""
        return 1.0 / (1.0 + self.stages(T)[-1])

    def stages(self, T: int) -> list[Any]:
        """Numbers of batches, B_1 first, ascending."""
        most = min(MOST_BATCHES, MOST_ROWS // T, MOST_VALUES // (T * len(self.reference.nodes)))
        stages = [self.num_resamples]
        while 10 * (1 + stages[-1]) - 1 <= most:
            stages.append(10 * (1 + stages[-1]) - 1)
        return stages + [most] * (most > 2 * stages[-1])

    def tails(self, T: int, stage: int) -> tuple[Any, ...]:
        """The tails of one stage: of each score by itself, and of all metrics together if there are several."""
        if (T, stage) not in self._drawn:
            rng, B, scores = np.random.default_rng([self.seed, T, stage]), self.stages(T)[stage], []
            for start in range(0, B, BLOCK_BATCHES):
                means = self.reference.batch_means(T, min(BLOCK_BATCHES, B - start), rng)
                scores.append(scores_of(self.laws, squared_distances(self.metrics, means), T))
            self._drawn[T, stage] = tuple(drawn_tail(column) for column in np.concatenate(scores).T)
        return self._drawn[T, stage]

    def describe(self) -> str:
        """A few words."""
        return f"{self.num_resamples} batches drawn from the circuit, and more for small p-values"

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """B_1: the rest is in the test."""
        return {"kind": self.kind, "num_resamples": self.num_resamples}, {}

    @classmethod
    def from_parts(cls, scalars: Any, arrays: Any, context: Any, laws: Any) -> StagedTails:
        """Tails that `to_parts` wrote, to be drawn again."""
        B = check_whole_number(scalars["num_resamples"], "num_resamples", 1)
        if B > MOST_RESAMPLES:
            raise ValueError(f"the number of drawn batches must be 1..{MOST_RESAMPLES}, found {B}")
        return cls(laws, context.reference, context.metrics, B, context.seed)
