"""The witnesses: what is tested of a batch beside its distance, each listed in one line.

A witness compares counts of a batch with those of held-out rows, `hld.answers.profile.Profile`, which add up: over
chunks, summaries, machines.  So a function of a detector and of a batch's counts, in `WITNESSES`, is heard wherever
counts are; where they are not, `OfColumns.not_heard` of the result names it.  It returns a `Witness`, which shares the
level with the others (`hld.results.shared_level`) and has a part in the effect (`hld.results.effects`).

Numbers of rows need not even that: `hld.vectors.odd_rows.ODDNESS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hld.results.distances import levels
from hld.results.largest_count import largest_count
from hld.results.largest_dependence import largest_dependence
from hld.results.row_ranks import row_ranks


class Witness(Protocol):
    """A test beside that of the distance."""

    pvalue: float
    share: float  # of the level, 0 where there is nothing to compare

    def attained(self, level: Any) -> Any:
        """How often `pvalue` is at most a level, or each of several, without a shift."""

    def after(self, rows: int) -> float:
        """The largest p-value where so many rows of the batch are others."""

    def to_dict(self) -> dict[str, Any]:
        """p-value, share and what moved as plain Python values."""


def _counts(detector: Any, batch: Any) -> Witness:
    """The largest difference of a single count."""
    return largest_count(detector.profile_, batch, detector.encoder_.ordered)


def _dependences(detector: Any, batch: Any) -> Witness | None:
    """The largest change of a dependence, where pairs are counted."""
    kept = detector.profile_
    is_known = kept.associations is not None and len(batch.pairs) == len(kept.pairs)
    return largest_dependence(kept, batch) if is_known else None


WITNESSES: dict[str, Callable[[Any, Any], Witness | None]] = {
    "largest_count": _counts,
    "largest_dependence": _dependences,
    "levels": levels,
}


def has_witnesses(detector: Any) -> bool:
    """Whether a detector has witnesses beside the distance: by default, where independent rows were held out."""
    is_default = isinstance(detector.metric, str) and detector.metric in ("auto", "likelihoods")
    has_counts = detector.new_values_ is not None and detector.profile_ is not None
    return is_default and has_counts and detector.judge_ is detector.test_


def witnesses_of(detector: Any, batch: Any) -> dict[str, Witness]:
    """The witnesses of a detector's batch by their names, of one that was counted."""
    if batch is None or not has_witnesses(detector):
        return {}
    found = {name: witness(detector, batch) for name, witness in WITNESSES.items()}
    known = {name: one for name, one in found.items() if one is not None}
    return known | row_ranks(detector, batch)
