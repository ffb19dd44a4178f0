"""Drawn batches for small T and the law of the statistic for large T.

The limit law needs large T.  How large is read off the excess variance of the statistic (`hld.nulls.limit_law`),
estimated from rows that follow the reference: batches of fewer than SWITCH * excess rows are judged by drawn batches,
which are valid at every T, larger ones by the law with its variance corrected for T.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hld.checks import saved_count, under_prefix, with_prefix
from hld.nulls.drawn import draw
from hld.nulls.joint import combined
from hld.nulls.limit_law import limit_laws
from hld.nulls.null import Null, PValue

SWITCH = 20  # at T = SWITCH * excess the variance of the statistic is within 5 % of its limit
MOST_DRAWN_ROWS = 2_000_000  # for one batch size
PILOT_ROWS = 20_000  # from which the excess variance is estimated
PILOT_BYTES = 2 ** 28


@dataclass(frozen=True, eq=False)
class SwitchedNull:
    """One null below a batch size, and another from there on.

    Attributes
    ----------
    small, large : Null
    switch : int
        Smallest T that `large` judges.
    """

    small: Null
    large: Null
    switch: int

    def null_for(self, T: int) -> Null:
        """The null of batches of T rows."""
        return self.small if self.switch > T else self.large

    def pvalue(self, squared, T) -> PValue:
        """That of the null in charge."""
        return self.null_for(T).pvalue(squared, T)

    def threshold(self, alpha, T) -> float:
        """That of the null in charge."""
        return self.null_for(T).threshold(alpha, T)

    def describe(self, names) -> list:
        """A line about the small, and those of the large."""
        small = " ".join(line.strip() for line in self.small.describe(names))
        return [f"  T < {self.switch}: {small}; from there on:", *self.large.describe(names)]

    def to_parts(self) -> tuple[dict, dict]:
        """The parts of both."""
        (small, below), (large, above) = self.small.to_parts(), self.large.to_parts()
        return ({"kind": "switched", "switch": self.switch, "small": small, "large": large},
                with_prefix("small.", below) | with_prefix("large.", above))

    @classmethod
    def from_parts(cls, scalars, arrays, context) -> SwitchedNull:
        """A null that `to_parts` wrote."""
        small, large = (context.read(scalars.get(name), under_prefix(f"{name}.", arrays))
                        for name in ("small", "large"))
        return cls(small, large, saved_count(scalars, "switch"))


def auto_null(reference, metrics, options):
    """Drawn batches below the switch, and the corrected law from there on."""
    laws = limit_laws(reference, metrics)
    most = int(np.clip(PILOT_BYTES // (8 * len(reference.nodes)), 500, PILOT_ROWS))
    pilot = reference.rows(most, options.rng)
    laws = tuple(law.with_excess(float(np.var(metric.squared(pilot))))
                 for law, metric in zip(laws, metrics, strict=True))
    large = combined(laws, reference, metrics, options.rng)
    switch = min(int(np.ceil(SWITCH * max(abs(law.excess) for law in laws))),
                 max(MOST_DRAWN_ROWS // options.num_resamples, 1))
    return SwitchedNull(draw(reference, metrics, options, switch), large, switch) if switch else large
