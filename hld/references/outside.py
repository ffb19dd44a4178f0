r"""Values beyond all that were learned from, as evidence of their own.

Continuous columns are cut into bins, and what lies beyond the range of the rows that were learned from falls into the
outermost: a value a million times too large counts there as one just above the others.  How many values lie beyond is
a count.  Let h of the T values of a batch in some column be outside, and at most h_0 of the k of the rows kept from
learning.  The range comes from neither, so without a shift all k + T values are exchangeable, and given h + h_0

.. math:: p_v = P(H \ge h), \qquad H \sim \mathrm{Hypergeometric}(k + T,\, h + h_0,\, T)

is a p-value (Fisher 1935), whatever the distribution.  A larger h_0 makes it larger.  The smallest of the c continuous
columns, times c, is that of all of them.

It joins the p-value p of the test with a weight: min(p / (1 - w), c min_v p_v / w) is at most a with probability at
most a (Bonferroni with weights), and w = 0.02 costs the test of distances next to nothing.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WEIGHT = 0.02  # w


@dataclass(frozen=True, eq=False)
class OutsideCounts:
    """What rows kept from learning show of the continuous columns.

    Attributes
    ----------
    columns : (c,) int array
        Their positions.
    outside, shown : (c,) int arrays
        A bound on the values beyond the range, h_0, and the values that are there, k.

    Examples
    --------
    >>> kept = OutsideCounts(np.array([0]), np.array([1]), np.array([99]))
    >>> round(kept.pvalue(np.array([2]), np.array([10])), 4)            # 3 of 109 outside, 2 or 3 of them of these 10
    0.0218
    """

    columns: np.ndarray
    outside: np.ndarray
    shown: np.ndarray

    def pvalue(self, outside, shown) -> float:
        """Of a batch with `outside` (V,) of its `shown` (V,) values beyond the range; 1 if there are none."""
        from scipy.stats import hypergeom
        h, T = outside[self.columns], shown[self.columns]
        moved = h > 0
        if not moved.any():
            return 1.0
        tails = hypergeom.sf(h[moved] - 1, (self.shown + T)[moved], (self.outside + h)[moved], T[moved])
        return float(min(1.0, len(h) * tails.min()))

    def joined(self, pvalue: float, outside, shown) -> float:
        """The p-value of the test and of what lies outside, together."""
        if not len(self.columns):
            return pvalue
        return min(1.0, pvalue / (1 - WEIGHT), self.pvalue(outside, shown) / WEIGHT)

    def to_arrays(self) -> dict:
        """Three arrays for a file."""
        return {"columns": self.columns, "outside": self.outside, "shown": self.shown}

    @classmethod
    def from_arrays(cls, arrays: dict, columns, num_rows: int) -> OutsideCounts:
        """Counts that `to_arrays` wrote, of encoder columns and of so many rows; ValueError where they do not fit."""
        positions = continuous_positions(columns)
        found = [arrays[name] for name in ("columns", "outside", "shown")]
        if any(one.dtype != np.int64 or one.shape != positions.shape for one in found) \
                or (found[0] != positions).any() or not (found[1] >= 0).all() \
                or not (found[1] <= found[2]).all() or not (found[2] <= num_rows).all():
            raise ValueError("counts of values outside the range must be whole numbers, one for each continuous "
                             f"column, of at most {num_rows} rows")
        return cls(*found)


def outside_counts(columns, codes, outside) -> OutsideCounts:
    """What the kept rows show.

    Parameters
    ----------
    columns : V columns of an encoder
    codes : (k, V) int array
        Categories of the kept rows, -1 where missing.
    outside : (V,) int array
        Values beyond the range among the kept rows, or more.
    """
    positions = continuous_positions(columns)
    shown = (codes[:, positions] >= 0).sum(axis=0).astype(np.int64)
    return OutsideCounts(positions, np.minimum(outside[positions], shown).astype(np.int64), shown)


def continuous_positions(columns) -> np.ndarray:
    """(c,) positions of the continuous columns of an encoder."""
    return np.array([v for v, column in enumerate(columns) if column.kind == "continuous"], dtype=np.int64)
