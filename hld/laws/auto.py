"""P-values at every batch size: drawn batches for small T, the law of the statistic for large T.

The limit law needs large T.  How large depends on the circuit and the metrics: with a few nodes the distances of small
batches lie on a lattice, and in sparse tables a single row can dominate a distance.  So batches are drawn at a grid of
sizes from pilot rows that follow the reference, and the law takes over at the first of three successive sizes at which,
at the levels that tests use,

    #{drawn batches that the law gives a p-value of at most alpha}  <=  B alpha + 2 sqrt(B alpha (1 - alpha)),

so that the law rejects no more often than it should, within the error of B draws.  Below that size tails of drawn
batches decide: drawn from the circuit when a batch is tested (`hld.laws.drawn`), or here from
reference rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.features.linear_maps import squared_distances
from hld.laws.drawn import StagedTails, TableTails, scores_of, table_of, together
from hld.laws.joint import combined
from hld.laws.limit_law import limit_laws
from hld.laws.null import Null, NullOptions, PValue
from hld.references.reference import Reference
from hld.references.rows import draw_cost, drawn_distances
from pcircuit.arguments import check_whole_number
from pcircuit.io.archive import under_prefix, with_prefix

SIZES = (2, 3, 5, 8, 15, 30, 60, 120, 240, 480, 960, 1920)
AGREEING = 3  # successive sizes at which law and draws have to agree
LEVELS = np.array([0.1, 0.05, 0.01, 0.001])  # at which the law has to agree with draws
MOST_DRAWN_ROWS = 2_000_000  # for one batch size, of the first stage
PILOT_ROWS = 20_000
PILOT_BYTES = 2**28
GRID_FACTOR = 10  # batches drawn at each size of the grid, times `num_resamples`
GRID_WORK = 30_000_000  # additions for each size of the grid
TAILS: dict[str, type[StagedTails] | type[TableTails]] = {
    one.kind: one for one in (StagedTails, TableTails)
}


@dataclass(frozen=True, eq=False)
class AutoNull(Null):
    """Tails of drawn scores below a batch size, and the law from there on."""

    tails: Any
    large: Any
    switch: int | None
    kind = "auto"

    @property
    def laws(self) -> tuple[Any, ...]:
        """Those of large batches."""
        return self.large.laws

    @property
    def limit(self) -> Null:
        """The law from the size `switch` on."""
        return self.large

    def drawn(self, T: int) -> bool:
        """Whether drawn batches judge a batch of T rows."""
        return self.switch is None or self.switch > T

    def pvalue(self, squared: np.ndarray, T: int) -> PValue:
        """By drawn batches or by the law."""
        if not self.drawn(T):
            return self.large.pvalue(squared, T)
        return self.tails.pvalue(scores_of(self.laws, np.asarray(squared)[None], T)[0], T)

    def of_pvalues(self, each: Any, T: Any) -> PValue:
        """From p-values under the batch's own limit laws, which serve as scores where drawn batches judge."""
        if not self.drawn(T):
            return self.large.of_pvalues(each, T)
        return self.tails.pvalue(together([each])[0], T)

    def level(self, alpha: float, T: Any, draws: Any = 0) -> float:
        """The p-value of the law from which on a batch is not rejected; 0 where none is rejected."""
        return self.tails.threshold(alpha, T, draws) if self.drawn(T) else alpha

    def threshold(self, alpha: float, T: Any, draws: Any = 0) -> float:
        """The squared distance from which on batches are rejected; infinite where none is."""
        if not self.drawn(T) or len(self.laws) > 1:  # which refuses
            return self.large.threshold(alpha, T)
        level = self.level(alpha, T, draws)
        return self.laws[0].squared(level, T) if level > 0 else float("inf")

    def least(self, T: int) -> float:
        """The smallest p-value of a batch of T rows."""
        return self.tails.least(T) if self.drawn(T) else 0.0

    def describe(self, names: tuple[str, ...]) -> list[Any]:
        """A line about the draws, and those of the law."""
        if self.switch is None:
            return [f"  {self.tails.describe()}"]
        return [
            f"  T < {self.switch}: {self.tails.describe()}; from there on:",
            *self.large.describe(names),
        ]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parts of both."""
        (tails, below), (large, above) = self.tails.to_parts(), self.large.to_parts()
        return (
            {"kind": self.kind, "switch": self.switch, "tails": tails, "large": large},
            with_prefix("tails.", below) | with_prefix("large.", above),
        )

    @classmethod
    def from_parts(cls, scalars: Any, arrays: Any, context: Any) -> AutoNull:
        """A null that `to_parts` wrote."""
        large = context.read(scalars["large"], under_prefix("large.", arrays))
        kind = TAILS[scalars["tails"]["kind"]]
        small = under_prefix("tails.", arrays)
        tails = kind.from_parts(scalars["tails"], small, context, large.laws)
        switch = check_whole_number(scalars["switch"], "switch", 1, none="draws at every size")
        return cls(tails, large, switch)


def auto_null(reference: Reference, metrics: tuple[Any, ...], options: NullOptions) -> AutoNull:
    """Drawn batches below the size from which the law's tails are right, and the corrected law from there on."""
    most = int(np.clip(PILOT_BYTES // (8 * len(reference.mean)), 500, PILOT_ROWS))
    pilot = reference.rows(most, options.rng)
    is_table = pilot is getattr(reference, "table", None)  # whose rows are centred, and not copied
    rows: Any = reference
    spread = (rows.squared(metrics) if is_table else squared_distances(metrics, pilot)).var(axis=0)
    laws = tuple(
        law.with_excess(float(one))
        for law, one in zip(limit_laws(reference, metrics), spread, strict=True)
    )
    large = combined(laws, reference, metrics, options.rng)
    stays = reference.at_deployment
    if not is_table:
        pilot -= pilot.mean(axis=0)
    drawn, switch = settle(
        pilot,
        metrics,
        large,
        options,
        MOST_DRAWN_ROWS // options.num_resamples,
        rows.known if is_table else None,
    )
    if stays is not None:
        return AutoNull(
            StagedTails(laws, stays, metrics, options.num_resamples, options.seed), large, switch
        )
    n = len(rows.table)  # what does not stay is a reference of rows
    # the distance of a fresh row is divided by sqrt(1 + 1 / n), and compared with (n + 1) / (n - 1) times those of rows
    single = scores_of(laws, rows.squared(metrics) * (n * (n + 1) / (n - 1) ** 2), 1)
    kept = {T: scores for T, scores in drawn.items() if switch >= T}
    return AutoNull(table_of([1, *kept], [single, *kept.values()]), large, switch)


def drawn_null(reference: Reference, metrics: tuple[Any, ...], options: NullOptions) -> AutoNull:
    """Batches drawn when one is tested, at every size."""
    laws = limit_laws(reference, metrics)
    large = combined(laws, reference, metrics, options.rng)
    tails = StagedTails(laws, reference.at_deployment, metrics, options.num_resamples, options.seed)
    return AutoNull(tails, large, None)


def settle(
    pilot: np.ndarray,
    metrics: tuple[Any, ...],
    large: Null,
    options: NullOptions,
    largest: int,
    known: Any = None,
) -> Any:
    """{T: (B, q + 1) scores of batches of T pilot rows}, and the size from which on the law judges.

    That is the first of AGREEING successive sizes at which the law rejects no more of the drawn batches than it should;
    if there are none, the first after all.

    Shapes: pilot (k, size).
    """
    known, drawn, agreed = {} if known is None else known, {}, list[int]()
    for T in SIZES:
        if largest < T:
            break
        most = GRID_FACTOR * (1 + options.num_resamples) - 1
        B = int(np.clip(GRID_WORK // draw_cost(metrics, pilot, T), options.num_resamples, most))
        squared = drawn_distances(metrics, pilot, T, B, options.rng, known)
        drawn[T] = scores_of(large.laws, squared, T)
        agreed = [*agreed, T] if law_holds(large, drawn[T][:, -1]) else []
        if len(agreed) == AGREEING:
            break
    return drawn, agreed[0] if agreed else max(drawn) + 1


def law_holds(large: Null, scores: np.ndarray) -> bool:
    """Whether the law gives small p-values to no more of the drawn scores (B,) than it should."""
    expected = len(scores) * LEVELS
    found = (large.tails_of(scores)[:, None] <= LEVELS).sum(axis=0)
    return bool((found <= expected + 2 * np.sqrt(expected * (1 - LEVELS))).all())
