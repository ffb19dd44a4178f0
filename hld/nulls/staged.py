r"""P-values by drawing batches when one is tested, as many as its p-value needs.

B batches are drawn from the reference, and p = (1 + #{b : score_b <= score}) / (1 + B) is valid whatever the law
of the scores is (`hld.nulls.ranks.monte_carlo`).  A small p-value needs many draws, but most p-values need few: so B_1
= 999 are drawn first, and ten times as many in the next stage only while fewer than STOP = 10 of them are as extreme,

.. math:: p = \frac{1 + N_s}{1 + B_s}, \qquad s = \min\{ s : N_s \ge 10 \} \text{ or the last stage}.

This p-value is valid, too.  Let alpha be at least 10 / (1 + B_s) and below 11 / (1 + B_{s-1}), for the smallest such s
(the last stage, if there is none).  Stages before s stop with p-values above alpha.  At s it either stops with p = p_s,
or goes on because p_s <= 10 / (1 + B_s) <= alpha.  So p <= alpha implies p_s <= alpha, whose probability is at most
alpha.  (Besag and Clifford 1991 stop after each single draw; stages can be kept and shared by all batches of a size.)

The last stage is what MOST_ROWS rows and MOST_VALUES node likelihoods allow, for single rows up to a million.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hld.nulls.null import PValue
from hld.nulls.ranks.drawn_tail import drawn_tail
from hld.nulls.ranks.monte_carlo import monte_carlo_error
from hld.nulls.score import Score
from hld.vectors.row_products import squared_distances
from pcircuit.arguments import check_whole_number

STOP = 10  # extreme batches at which a stage is enough
MOST_BATCHES = 999_999
MOST_ROWS = 1_000_000  # drawn for one batch size
MOST_VALUES = 400_000_000  # node likelihoods, rows times nodes, drawn for one batch size after the first stage
BLOCK_BATCHES = 10_000  # whose means are held at a time
MOST_RESAMPLES = 10**6


@dataclass(frozen=True, eq=False)
class StagedTails:
    """Tails of the scores of drawn batches, drawn once for each T and stage, and kept."""

    score: Score
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
                scores.append(self.score(squared_distances(self.metrics, means), T))
            self._drawn[T, stage] = tuple(drawn_tail(column) for column in np.concatenate(scores).T)
        return self._drawn[T, stage]

    def describe(self) -> str:
        """A few words."""
        return f"{self.num_resamples} batches drawn from the circuit, and more for small p-values"

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """B_1: the rest is in the test."""
        return {"kind": self.kind, "num_resamples": self.num_resamples}, {}

    @classmethod
    def from_parts(cls, scalars: Any, arrays: Any, context: Any, score: Any) -> StagedTails:
        """Tails that `to_parts` wrote, to be drawn again."""
        B = check_whole_number(scalars["num_resamples"], "num_resamples", 1)
        if B > MOST_RESAMPLES:
            raise ValueError(f"the number of drawn batches must be 1..{MOST_RESAMPLES}, found {B}")
        return cls(score, context.reference, context.metrics, B, context.seed)
