r"""New values, tested by themselves: levels that learning did not show, and numbers beyond the range.

Continuous columns are cut into bins, and what lies beyond the range of the rows that were learned from falls into the
outermost: there a value a million times too large looks like one just above the others.  New levels share one category
that hardly any row has, whose weight in a distance is arbitrary.  But the number of new cells is a count, and the
held-out rows tell how many to expect.  Range and levels come from neither these nor the batch, so
without a shift the k held-out rows and the T rows of the batch are exchangeable.  Given the number

.. math:: K = h_0 + h

of rows with something new in a column, the number in the batch is hypergeometric, whatever the distribution is
(R. A. Fisher 1935):

.. math:: p_v = P(H \ge h), \qquad H \sim \mathrm{Hypergeometric}(k + T,\, K,\, T).

The p-value of the table is the probability that a column has one as small as the smallest, at most
(`hld.schemas.counts.smallest_of_tests`).

**Together with the distance.**  As for missing values (`hld.schemas.counts.missingness`), the level is divided in a way
that depends on the K alone, given which all these tests keep their levels: a part of it (`SHARE`) goes to the new
values if there are any, but no more than they can attain, which is little where K is small
(`hld.results.shared_level`).  So one new value in ten rows, where a thousand rows had none, is found at 0.05, and takes
a hundredth of the probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.schemas.counts.missingness import CountTest, hypergeometric_tail, of_columns

SHARE = 0.3  # of the level at most, where anything is new: `benchmarks.power.trials`


@dataclass(frozen=True, eq=False)
class KeptValues:
    """New values among held-out rows.

    Shapes: shown (V,), new (V,).
    """

    shown: np.ndarray
    new: np.ndarray

    def __post_init__(self) -> None:
        for counts in (self.shown, self.new):
            counts.flags.writeable = False

    def to_arrays(self) -> dict[str, Any]:
        """Two arrays for a file."""
        return {"shown": self.shown, "new": self.new}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], num_columns: int, num_rows: int) -> KeptValues:
        """Counts that `to_arrays` wrote, of at most so many rows; ValueError where they do not fit."""
        counts = [arrays[name] for name in ("shown", "new")]
        if (
            any(
                one.dtype != np.int64 or one.shape != (num_columns,) or one.min(initial=0) < 0
                for one in counts
            )
            or (counts[1] > counts[0]).any()
            or counts[0].max(initial=0) > num_rows
        ):
            raise ValueError(
                f"counts of new values must be whole numbers for {num_columns} columns of at most "
                f"{num_rows} rows, no more new ones than there are"
            )
        return cls(*counts)


def reference_rows(encoder: Any, columns: Any, data: Any, kept: Any) -> tuple[Any, ...]:
    """Codes of the rows that batches are compared with, and what they have that learning did not show.

    Rows that nothing was learned from are read as a batch is.  `data` are the codes of all rows as learning reads them,
    `kept` the positions of the rows kept; both results are None where there are none, the second if all are.

    Shapes: data (N, V), kept (k,) -> codes (k, V).
    """
    if kept is None or len(kept) == len(data):
        return (None if kept is None else data[kept]), None
    codes, report = encoder.encode(columns)
    return codes[kept], kept_values(codes[kept], report)


def kept_values(codes: Any, report: Any) -> KeptValues:
    """What the kept rows show.

    Shapes: codes (k, V).
    """
    shown = (codes >= 0).sum(axis=0).astype(np.int64)
    return KeptValues(
        shown, np.minimum(report.num_unseen + report.num_out_of_range, shown).astype(np.int64)
    )


def compare_new(kept: KeptValues, shown: Any, new: Any, tolerance: float = 0.0) -> CountTest:
    """Compare the new values of a batch with those of held-out rows.

    Shapes: shown, new (V,).
    """
    pvalues = tuple(
        _pvalue(int(k), int(before), int(T), int(now), tolerance)
        for k, before, T, now in zip(kept.shown, kept.new, shown, new, strict=True)
    )
    T = np.asarray(shown, dtype=np.int64)
    return of_columns(
        pvalues, kept.shown + T, np.add(kept.new, new, dtype=np.int64), T, SHARE, is_two_sided=False
    )


def _pvalue(k: Any, before: Any, T: Any, now: Any, tolerance: Any) -> float:
    """P(H >= h) of one column, with h less the tolerated excess."""
    N, K = k + T, before + now
    now = (
        math.ceil(now - tolerance * T * math.sqrt(K / N * (1 - K / N))) if tolerance and N else now
    )
    return hypergeometric_tail(N, K, T, now) if now > 0 else 1.0
