"""The witnesses: what is tested of a batch beside its distance, each listed in one line.

A witness compares counts of a batch with those of other rows, `hld.answers.profile.Held`.  Counts add up: over
chunks, summaries, machines.  So a function of both, in `WITNESSES`, is heard wherever there are counts; where there are
none, `OfColumns.not_heard` of the result names it.  It returns a `Witness`, which shares the level with the others
(`hld.results.shared_level`) and has a part in the effect (`hld.results.effects`).

Which rows these are is told by the judge (`hld.answers.table_facts.held_of`): those held out, or as many of them as
have the covariates of the batch.

Numbers of rows need not even that: `hld.vectors.odd_rows.ODDNESS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hld.answers.profile import Held, Profile
from hld.results.distances import levels
from hld.results.largest_count import largest_count
from hld.results.largest_dependence import largest_dependence
from hld.results.row_ranks import row_ranks


class Witness(Protocol):
    """A test beside that of the distance."""

    @property
    def pvalue(self) -> float:
        """P-value of the witness alone."""

    @property
    def share(self) -> float:
        """Its part of the level, 0 where there is nothing to compare."""

    def attained(self, level: Any) -> Any:
        """How often `pvalue` is at most a level, or each of several, without a shift."""

    def after(self, rows: int) -> float:
        """The largest p-value where so many rows of the batch are others."""

    def to_dict(self) -> dict[str, Any]:
        """p-value, share and what moved as plain Python values."""


def _counts(held: Held, batch: Profile) -> Witness:
    """The largest difference of a single count."""
    return largest_count(held.counts, batch, held.ordered)


def _dependences(held: Held, batch: Profile) -> Witness | None:
    """The largest change of a dependence, where pairs are counted."""
    kept = held.counts
    is_known = kept.associations is not None and len(batch.pairs) == len(kept.pairs)
    return largest_dependence(kept, batch) if is_known else None


WITNESSES: dict[str, Callable[[Held, Profile], Witness | None]] = {
    "largest_count": _counts,
    "largest_dependence": _dependences,
    "levels": levels,
}


def has_witnesses(detector: Any) -> bool:
    """Whether a detector has witnesses beside the distance: by default, where rows were held out."""
    is_default = isinstance(detector.metric, str) and detector.metric in ("auto", "likelihoods")
    return is_default and detector.new_values_ is not None


def witnesses_of(detector: Any, held: Held | None, batch: Profile | None) -> dict[str, Witness]:
    """The witnesses of a detector's batch by their names, of one that was counted and has others to compare with."""
    if held is None or batch is None or not has_witnesses(detector):
        return {}
    return heard_of(held, batch)


def heard_of(held: Held, batch: Profile) -> dict[str, Witness]:
    """What all witnesses say of counts."""
    found = {name: witness(held, batch) for name, witness in WITNESSES.items()}
    known: dict[str, Witness] = {name: one for name, one in found.items() if one is not None}
    return known | row_ranks(held, batch)
