r"""The witnesses: what is tested of a batch beside its distance, each listed in one line.

A witness compares counts of a batch with those of other rows, `hld.answers.profile.Held`.  Counts add up: over
chunks, summaries, machines.  So a function of both, in `WITNESSES`, is heard wherever there are counts; where there are
none, `OfColumns.not_heard` of the result names it.  It returns a `Witness`, which shares the level with the others
and has a part in the effect (`hld.witnesses.effects`).

Which rows these are is told by the judge (`hld.answers.profile.held_of`): those held out, or as many of them as
have the covariates of the batch.

Numbers of rows need not even that: `hld.features.odd_rows.ODDNESS`.

Several tests share one level: of the distance, of missing and new values, of witnesses.

The distance has a p-value p_0, each test beside it one p_i and a part w_i of the level, w_0 = 1 - sum w_i.  With

.. math:: s = \min_i \frac{p_i}{w_i}

min(1, s) would be a p-value (Bonferroni).  But counts take few values, and a test of them with the level x finds
something with a probability a_i(x) that may be far below x, or 0: in a single row no count can be conspicuous.  What
the a_i are is known from the counts of batch and held-out rows together, before one looks which are whose.  So

.. math:: p = w_0 s + \sum_{i \ge 1} a_i(w_i s) \;\le\; s

is a p-value, too: it rises with s, and P(s <= t) <= w_0 t + sum a_i(w_i t) without a shift.  The parts of the level
that no test can use go back to the distance: to a single row all of it.  The a_i are computed in
`schemas.counts`; as in Fisher's exact test, all is given the counts of all rows together.

The tests of counts are exact given these counts.  The distance is taken to keep its level given them, too, which no
null distribution does exactly: rows with a hole, or with a new value, may be more or less far from the mean than
others.  That this does not cost level is measured, not proved (``docs/calibration.md``).
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from hld.answers.profile import Held, Profile
from hld.witnesses.distances import levels
from hld.witnesses.largest_count import largest_count
from hld.witnesses.largest_dependence import largest_dependence
from hld.witnesses.row_ranks import row_ranks

POINTS, ROUNDS = (
    101,
    5,
)  # of the interval that holds the level of the distance, which gets a hundred times shorter
LEAST_REST = 0.01  # of the level: less is left where there is no distance


def combined(pvalue: float, *tests: Any) -> float:
    """The p-value of the distance and of tests that have shares of its level, together."""
    tests = tuple(one for one in tests if one.share)
    own = pvalue / _rest(tests) if math.isfinite(pvalue) else math.inf
    return float(_together(min(own, *(one.pvalue / one.share for one in tests), math.inf), tests))


def scaled_level(alpha: float, *tests: Any) -> float:
    """The largest s whose p is at most a level: test i finds something where p_i <= w_i s."""
    tests = tuple(one for one in tests if one.share)
    low, high = alpha, alpha / max(_rest(tests), LEAST_REST)
    for _ in range(ROUNDS):
        points = np.linspace(low, high, POINTS)
        kept = int(np.flatnonzero(_together(points, tests) <= alpha).max(initial=0))
        low, high = float(points[kept]), float(points[min(kept + 1, POINTS - 1)])
    return low


def _rest(tests: tuple[Any, ...]) -> float:
    """w_0."""
    total = sum(one.share for one in tests)
    if total > 1:
        raise ValueError(
            f"`share` of all witnesses is {total:.0%} of the level together, expected at most 100%: lower that of "
            "those that were added"
        )
    return 1 - total


def _together(s: Any, tests: tuple[Any, ...]) -> Any:
    """p of s."""
    return np.minimum(
        np.minimum(1.0, s), _rest(tests) * s + sum(one.attained(one.share * s) for one in tests)
    )


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
