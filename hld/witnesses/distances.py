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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import pcircuit
from hld.answers.profile import Held, Profile, profile_of
from hld.witnesses.count_law import FLOOR, law_tail, merged_counts, with_laws

LEAST_ROWS = 50
DRAWN_ROWS = 50_000
SHARE = 0.04  # of the level: `benchmarks.power.trials`


@dataclass(frozen=True)
class Distance:
    """One distance: Q, its mean without a shift, its p-value, and the largest one where r rows are others."""

    squared: float
    expected: float
    pvalue: float
    after: Callable[[int], float]
    share: float = 0.0  # of the level

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
    return [_from_rows(*each, T, own.num_rows) for each in sides]


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
        return Distance(0.0, 0.0, 1.0, _nothing)
    tables, counts = (merged_counts(held.columns, one)[0] for one in (own, batch))
    return replace(_from_rows(own.laws[0], tables, counts, T, own.num_rows), share=SHARE)


def _nothing(rows: int) -> float:
    """The p-value where there is nothing to compare."""
    return 1.0


def _from_rows(law: np.ndarray, tables: Any, counts: Any, T: int, n: int) -> Distance:
    """The distance of counts from those of n rows, of a law (4,)."""
    squared, first = _pooled(tables, counts)
    scale = first / law[0] if law[0] > 0 else 1.0
    tail = partial(_law_tail, law * [scale, scale**2, scale, scale**2], T, n)
    pooled = [
        (one + own) / max(int((one + own).sum()), 1)
        for one, own in zip(tables, counts, strict=True)
    ]
    return Distance(
        squared, first, tail(squared), partial(_after, tail, squared, _reach(pooled, counts))
    )


def _law_tail(law: np.ndarray, T: int, n: float | None, squared: float) -> float:
    """P(Q >= squared) by a law (4,)."""
    return law_tail(law, squared, T, n)


def _after(tail: Callable[[float], float], squared: float, reach: float, rows: int) -> float:
    """The largest p-value where some rows are others, each of which moves the distance by no more than `reach`."""
    return tail(max(squared**0.5 - rows * reach, 0.0) ** 2)


def _reach(shares: Any, counts: Any) -> float:
    """By how much, at most, one row that is another moves sqrt(Q): by 1 / T_v in two cells of every item v."""
    total = 0.0
    for p, own in zip(shares, counts, strict=True):
        T = int(own.sum())
        if T:
            total += float(np.sort(1 / (p.ravel() + FLOOR))[-2:].sum()) / T
    return total**0.5


def _pooled(tables: Any, counts: Any) -> tuple[float, float]:
    """Q of counts against counts with the shares of both together as weights, and the mean of Q.

    Given the sums of both counts the mean is exact without a shift, as the counts are hypergeometric; weights from the
    reference alone would make Q too large, as a cell that is small by chance is also far from the batch's.
    """
    total = mean = 0.0
    for one, own in zip(tables, counts, strict=True):
        n, T = int(one.sum()), int(own.sum())
        if not T or not n:
            continue
        h, p = 1 / (1 / T + 1 / n), (one + own) / (n + T)
        total += h * float(((own / T - one / n) ** 2 / (p + FLOOR)).sum())
        mean += float((p * (1 - p) / (p + FLOOR)).sum()) * (n + T) / (n + T - 1)
    return total, mean
