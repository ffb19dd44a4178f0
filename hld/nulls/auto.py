"""P-values at every batch size: drawn batches for small T, the law of the statistic for large T.

The limit law needs large T.  How large depends on the circuit and the metrics: with a few nodes the distances of small
batches are a lattice, in sparse tables a single row can make one.  So batches are drawn at a grid of sizes from pilot
rows that follow the reference, and the law takes over at the first size from which on, at the levels that tests use,

    #{drawn batches that the law gives a p-value of at most alpha}  <=  B alpha + 2 sqrt(B alpha (1 - alpha)),

so that the tails of the law and of the draws agree within the error of B draws.  Below that size tails of drawn batches
decide: of the circuit, drawn when a batch is tested (`hld.nulls.staged`), or of reference rows, drawn here
(`hld.nulls.table`).
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hld.checks import under_prefix, whole_number, with_prefix
from hld.nulls.joint import JointNull, combined
from hld.nulls.limit_law import limit_laws
from hld.nulls.null import Null, PValue
from hld.nulls.score import Score, score_of, together
from hld.nulls.staged import StagedTails, squared_distances
from hld.nulls.table import TableTails, table_of
from hld.references.rows import resampled_means

SIZES = (2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1200, 2000)
LEVELS = np.array([0.1, 0.05, 0.01, 0.001])  # at which the law has to agree with draws
MOST_DRAWN_ROWS = 2_000_000  # for one batch size, of the first stage
PILOT_ROWS = 20_000
PILOT_BYTES = 2 ** 28
GRID_FACTOR = 10  # batches drawn at each size of the grid, times `num_resamples`
GRID_WORK = 500_000_000  # additions for each size of the grid
TAILS = {"staged": StagedTails, "table": TableTails}


@dataclass(frozen=True, eq=False)
class AutoNull:
    """Tails of drawn scores below a batch size, and the law from there on.

    Attributes
    ----------
    tails : StagedTails or TableTails
    large : Null
        The law: a `LimitLaw`, or a `JointNull` of several.
    switch : int or None
        Smallest T that the law judges; None where drawn batches judge all.
    """

    tails: object
    large: Null
    switch: int | None

    @cached_property
    def score(self) -> Score:
        """The score of distances, by the laws."""
        return score_of(laws_of(self.large))

    def drawn(self, T: int) -> bool:
        """Whether drawn batches judge a batch of T rows."""
        return self.switch is None or self.switch > T

    def pvalue(self, squared, T) -> PValue:
        """By drawn batches or by the law."""
        if not self.drawn(T):
            return self.large.pvalue(squared, T)
        return self.tails.pvalue(self.score(np.asarray(squared)[None], T)[0], T)

    def of_pvalues(self, each, T) -> PValue:
        """Of p-values under limit laws of the batch's own, which serve as scores where drawn batches judge."""
        if not self.drawn(T):
            return self.large.of_pvalues(each, T)
        return self.tails.pvalue(together([each])[0], T)

    def level(self, alpha, T, draws=0) -> float:
        """The p-value of the law from which on a batch is not rejected; 0 where none is rejected."""
        return self.tails.threshold(alpha, T, draws) if self.drawn(T) else alpha

    def threshold(self, alpha, T, draws=0) -> float:
        """The squared distance from which on batches are rejected; infinite where none is."""
        if not self.drawn(T) or len(self.score.laws) > 1:  # which refuses
            return self.large.threshold(alpha, T)
        level = self.level(alpha, T, draws)
        return self.score.squared(level, T) if level > 0 else float("inf")

    def least(self, T) -> float:
        """The smallest p-value of a batch of T rows."""
        return self.tails.least(T) if self.drawn(T) else 0.0

    def describe(self, names) -> list:
        """A line about the draws, and those of the law."""
        if self.switch is None:
            return [f"  {self.tails.describe()}"]
        return [f"  T < {self.switch}: {self.tails.describe()}; from there on:", *self.large.describe(names)]

    def to_parts(self) -> tuple[dict, dict]:
        """The parts of both."""
        (tails, below), (large, above) = self.tails.to_parts(), self.large.to_parts()
        return ({"kind": "auto", "switch": self.switch, "tails": tails, "large": large},
                with_prefix("tails.", below) | with_prefix("large.", above))

    @classmethod
    def from_parts(cls, scalars, arrays, context) -> AutoNull:
        """A null that `to_parts` wrote."""
        large = context.read(scalars["large"], under_prefix("large.", arrays))
        kind = TAILS[scalars["tails"]["kind"]]
        tails = kind.from_parts(scalars["tails"], under_prefix("tails.", arrays), context, score_of(laws_of(large)))
        return cls(tails, large, None if scalars["switch"] is None else whole_number(scalars["switch"], "switch"))


def law_part(null: Null) -> Null:
    """The law of a null: what it says of large batches."""
    return null.large if isinstance(null, AutoNull) else null


def laws_of(null: Null) -> tuple:
    """The limit laws of a null, one for each metric."""
    law = law_part(null)
    return law.nulls if isinstance(law, JointNull) else (law,)


def score_by(null: Null) -> Score:
    """The score of distances by the limit laws of a null."""
    return null.score if isinstance(null, AutoNull) else score_of(laws_of(null))


def auto_null(reference, metrics, options) -> AutoNull:
    """Drawn batches below the size from which the law's tails are right, and the corrected law from there on."""
    most = int(np.clip(PILOT_BYTES // (8 * len(reference.nodes)), 500, PILOT_ROWS))
    pilot = reference.rows(most, options.rng)
    laws = tuple(law.with_excess(float(np.var(metric.squared(pilot))))
                 for law, metric in zip(limit_laws(reference, metrics), metrics, strict=True))
    large, score = combined(laws, reference, metrics, options.rng), score_of(laws)
    if reference.at_deployment is not None:
        switch = settled(large, pilot_scores(pilot, metrics, score, options, MOST_DRAWN_ROWS // options.num_resamples))
        return AutoNull(StagedTails(score, reference.at_deployment, metrics, options.num_resamples, options.seed),
                        large, switch)
    drawn = pilot_scores(pilot, metrics, score, options, SIZES[-1])
    switch = settled(large, drawn)
    single = score(squared_distances(metrics, reference.single_rows()), 1)
    kept = {T: scores for T, scores in drawn.items() if T <= switch}
    return AutoNull(table_of([1, *kept], [single, *kept.values()]), large, switch)


def drawn_null(reference, metrics, options) -> AutoNull:
    """Batches drawn when one is tested, at every size."""
    laws = limit_laws(reference, metrics)
    large = combined(laws, reference, metrics, options.rng)
    tails = StagedTails(score_of(laws), reference.at_deployment, metrics, options.num_resamples, options.seed)
    return AutoNull(tails, large, None)


def pilot_scores(pilot, metrics, score: Score, options, largest: int) -> dict:
    """{T: (B, q + 1) scores of batches drawn from pilot rows}, for the sizes of the grid up to the largest."""
    drawn = {}
    for T in SIZES:
        if largest >= T:
            work = min(T, len(pilot)) * pilot.shape[1]
            B = int(np.clip(GRID_WORK // work, options.num_resamples, GRID_FACTOR * (1 + options.num_resamples) - 1))
            drawn[T] = score(squared_distances(metrics, resampled_means(pilot, T, B, options.rng)), T)
    return drawn


def settled(large, drawn: dict) -> int:
    """The first size from which on the law rejects no more of the drawn batches than it should."""
    switch = 2  # single rows are always drawn
    for T, scores in drawn.items():
        pvalues = scores[:, -1]
        if isinstance(large, JointNull):
            pvalues = np.array([large.law.tail(one) for one in pvalues])
        found = (pvalues[:, None] <= LEVELS).sum(axis=0)
        if (found > len(pvalues) * LEVELS + 2 * np.sqrt(len(pvalues) * LEVELS * (1 - LEVELS))).any():
            switch = T + 1
    return min([T for T in drawn if T >= switch], default=switch)
