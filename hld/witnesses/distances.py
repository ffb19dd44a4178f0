r"""Distances of counts from those of a reference, and their p-values.

The distances of the columns and of the pairs, Q, and their laws are those of `witnesses.count_law`.  The reference is
that of the detector.

**Rows** (the default).  The counts r_c are those of n held-out rows; their laws were estimated from these rows when the
detector was fitted.  They and the rows of an unshifted table are exchangeable, so the level does not rest on the
circuit.  Beside the distances there are exact tests: the counts in the largest difference of a single count, of columns
and of pairs, are hypergeometric whatever the distribution is (`hld.witnesses.largest_count`).  With fewer than
`LEAST_ROWS` rows on either side, where a law for many rows means little, only these are used.

**Circuit** (``reference="circuit"``).  The rows are as many drawn from the circuit as it learned from, at most 50,000.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import pcircuit
from hld.answers.profile import Held, Profile, profile_of
from hld.witnesses.count_law import FLOOR, law_tail, merged_counts, with_laws

LEAST_ROWS = 50
DRAWN_ROWS = 50_000
SHARE = 0.04  # of the level: `benchmarks.power.trials`


@dataclass(frozen=True, eq=False)
class Distance:
    """Q of T rows against n, its mean without a shift and its law (4,), and what a row moves its root by."""

    squared: float
    expected: float
    law: np.ndarray
    num_rows: int
    num_kept: int
    reach: float
    share: float = 0.0

    @cached_property
    def pvalue(self) -> float:
        """P(Q >= squared)."""
        return self.after(0)

    def after(self, rows: int) -> float:
        """The largest p-value where so many rows are others."""
        left = max(self.squared**0.5 - rows * self.reach, 0.0) ** 2
        return law_tail(self.law, left, self.num_rows, self.num_kept)

    def attained(self, level: Any) -> Any:
        """How often `pvalue` is at most a level without a shift."""
        return level

    def to_dict(self) -> dict[str, Any]:
        """p-value and share as plain Python values."""
        return {"pvalue": float(self.pvalue), "share": self.share}


def count_distances(detector: Any, profile: Any) -> list[Distance] | None:
    """The distances of columns and pairs of a counted table, in which rare and unseen levels are one category."""
    columns, own, T = detector.encoder_.columns, detector.profile_, profile.num_rows
    if detector.test_.reference == "circuit":
        own = _drawn_profile(detector)
    if own.laws is None or min(T, own.num_rows) < LEAST_ROWS:
        return None
    batch = [one[:-1] for one in profile.counts], profile.pairs
    sides = zip(own.laws, merged_counts(columns, own), batch, strict=True)
    return [_distance(*each, T, own.num_rows) for each in sides]


def _drawn_profile(detector: Any) -> Profile:
    """Counts of rows drawn from the circuit, the same at every call."""
    n = min(detector.test_.num_train or DRAWN_ROWS, DRAWN_ROWS)
    codes = pcircuit.sample(detector.circuit_, n, rng=detector.test_.settings.seed)
    own = profile_of(codes, detector.encoder_.num_categories, detector.profile_.edges)
    return with_laws(own, detector.encoder_.columns, codes)


def levels(held: Held, batch: Profile) -> Distance:
    """The distance of all columns, each category in units of about its own deviation, as a witness.

    Beside `marginals`, which weighs all categories alike and so hardly sees rare ones.
    """
    own, T = held.counts, batch.num_rows
    if own.laws is None or min(T, own.num_rows) < LEAST_ROWS:
        return Distance(0.0, 0.0, np.zeros(4), T, own.num_rows, 0.0)
    tables, counts = (merged_counts(held.columns, one)[0] for one in (own, batch))
    return replace(_distance(own.laws[0], tables, counts, T, own.num_rows), share=SHARE)


def _distance(law: np.ndarray, tables: Any, counts: Any, T: int, n: int) -> Distance:
    """The distance of counts from those of n rows, of a law (4,) that is scaled to its mean."""
    # Given the sums of both counts the mean is exact without a shift, as the counts are hypergeometric; weights from
    # the reference alone would make Q too large, as a cell that is small by chance is also far from the batch's.  A
    # row that is another moves two cells of every item v by 1 / T_v.
    squared = mean = reach = 0.0
    for one, own in zip(tables, counts, strict=True):
        k, t = int(one.sum()), int(own.sum())
        if k and t:
            p = (one + own) / (k + t)
            weights = 1 / (p + FLOOR)
            squared += float(((own / t - one / k) ** 2 * weights).sum()) / (1 / t + 1 / k)
            mean += float((p * (1 - p) * weights).sum()) * (k + t) / (k + t - 1)
            reach += float(np.sort(weights, axis=None)[-2:].sum()) / t
    scale = mean / law[0] if law[0] > 0 else 1.0
    return Distance(squared, mean, law * [scale, scale**2, scale, scale**2], T, n, reach**0.5)
