r"""Stretches of time as reference: for rows that depend on those before and after them.

The mean of T successive rows of a stationary series has the covariance

.. math:: \mathrm{Cov}(M_T) = \frac{1}{T} \sum_{|h| < T} (1 - |h| / T) \, \Gamma_h \;\to\; \Omega / T

with Gamma_h the covariance of rows h apart: more than S / T where rows resemble their neighbours.  It is not computed
from Gamma_h but estimated directly: the means of stretches of T rows have this covariance.  From n reference rows the
means of up to 200 stretches, spread over all rows and not overlapping, are kept for T = 1, 2, 4, ... up to

    b = the largest power of 2 that is at most n / 30,

which is the block length of this estimate of the long-run covariance Omega (block means; Carlstein 1986): thirty blocks
keep its error small, which the test covers, and blocks as long as that allows keep its bias small.  With v_s the trace
of Cov(M_s):

* a batch of T rows is compared with stretches of s <= T rows, the longest there are, shrunk by sqrt(v_T / v_s), where
  v_T is interpolated between two sizes (log v in log T);
* beyond b the sum over h gives T v_T = w - c / T as soon as Gamma_h has died out.  The sizes b and b / 2 tell w and c,

  .. math:: T v_T = V_b + (V_b - V_{b/2}) (1 - b / T), \qquad V_s = s v_s,

  in place of V_b alone, in which the covariances of rows of neighbouring blocks are missing: a seventh of w with
  correlations of 0.9^h and b = 64 (the flat-top weights of Politis and Romano 1995 are the same correction);
* the mean of the reference has an error of its own, with the trace v_n of its n rows, by which the stretches are
  widened.

tr S / v_T is the **effective size** of T rows: the mean of so many independent rows would vary as much.

All of this holds once the longest stretches have outgrown the memory of the series.  They are pairs of halves, and

.. math:: \rho = 2 v_b / v_{b/2} - 1

is the correlation of the two: near 0 if the memory is short beside b / 2, and 1 if it is long.  From J pairs with d
degrees of freedom each it is known to 1 / sqrt(J d), and to `SPREAD` times that if halves and pairs are not cut at the
same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from hld.features.row_vectors import RowVectors, bounded_array
from hld.references.groups import (
    BLOCK_VALUES,
    NONE,
    Compared,
    Features,
    filled_rows,
    no_features,
)
from pcircuit.io.archive import finite_array

FEWEST_STRETCHES, MOST_STRETCHES = 30, 200
FEWEST_ROWS = 2 * FEWEST_STRETCHES
DEPENDENT = 0.5  # correlation of the halves of a stretch; v_b is then three quarters of v_{b/2}, and without one a half
SPREAD = 1.25
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class StretchReference:
    """Means of stretches of a series.

    Shapes: counts (R,), means (sum of counts, size + F), mean (size + F,), fill (size,).

    The F further numbers of rows have no part in how long the memory is said to be.
    """

    counts: np.ndarray
    means: np.ndarray
    mean: np.ndarray
    fill: np.ndarray
    num_rows: int

    @property
    def longest(self) -> int:
        """b."""
        return 2 ** (len(self.counts) - 1)

    def stretches(self, r: int) -> np.ndarray:
        """(J, size) means of the stretches of 2^r rows, less their mean, with their variance made unbiased."""
        first = int(self.counts[:r].sum())
        found = self.means[first : first + self.counts[r]]
        # a stretch is the difference of two sums of up to n rows: what is less than their rounding is no variation
        varies = np.ptp(found, axis=0) > 2 * self.num_rows * EPS * np.abs(found).max(axis=0)
        return np.where(varies, found - found.mean(axis=0), 0.0) * np.sqrt(
            len(found) / (len(found) - 1)
        )

    def traces(self) -> np.ndarray:
        """(R,) v_s: as s grows never larger than before, nor smaller than independence makes it."""
        v = np.array(
            [
                (self.stretches(r)[:, : len(self.fill)] ** 2).sum() / self.counts[r]
                for r in range(len(self.counts))
            ]
        )
        for r in range(1, len(v)):
            v[r] = np.clip(v[r], v[r - 1] / 2, v[r - 1])
        return v

    def trace_at(self, T: float) -> float:
        """v_T."""
        v, place = self.traces(), float(np.log2(T))
        if self.longest <= T:
            own = self.longest * v[-1]
            grows = (
                own - self.longest / 2 * v[-2] if len(v) > 1 else 0.0
            )  # at least 0, as v falls by half at most
            return float(own + grows * (1 - self.longest / T)) / T
        if v[int(place)] <= 0:
            return 0.0
        logs = np.log(np.maximum(v, 1e-300))
        return float(np.exp(np.interp(place, np.arange(len(v)), logs)))

    def effective_rows(self, T: int) -> float:
        """Independent rows that would vary by as much as T successive ones."""
        v = self.trace_at(T)
        return float(self.traces()[0] / v) if v > 0 else float(T)

    def part(self, places: np.ndarray) -> StretchReference:
        """The same stretches, of some numbers of the vector alone."""
        parts = self.mean[places], self.fill[places]
        return replace(self, means=self.means[:, places], mean=parts[0], fill=parts[1])

    def is_dependent(self, risk: float = 0.5) -> bool:
        """Whether the halves of the longest stretches go together: by more than chance does, with a small risk."""
        from scipy.special import ndtri

        v = self.traces()
        if len(v) < 2 or not v[-2] > 0:
            return False
        halves = self.stretches(len(v) - 2)[:, : len(self.fill)]
        together = (
            halves @ halves.T if len(halves) < halves.shape[1] else halves.T @ halves
        )  # of equal norms
        degrees = np.trace(together) ** 2 / (together**2).sum()
        chance = float(ndtri(1 - risk)) * SPREAD / np.sqrt(self.counts[-1] * degrees)
        return bool(2 * v[-1] / v[-2] - 1 > max(DEPENDENT, chance))

    def at(self, T: int) -> np.ndarray:
        """(J, size) differences from the mean as that of a batch of T rows has them."""
        r, v = min(int(np.log2(T)), len(self.counts) - 1), self.traces()
        wanted = self.trace_at(T) + self.trace_at(self.num_rows)
        return self.stretches(r) * np.sqrt(wanted / v[r] if v[r] > 0 else 0.0)

    def compared(self, T: int) -> Compared:
        """What a batch of T successive rows is compared with."""
        found, varies = self.at(T), bool(self.traces()[0] > 0)
        worth = self.effective_rows(T) / T if varies else 0.0
        return Compared(self.mean, found, np.full(len(found), T), worth)

    def to_arrays(self) -> dict[str, Any]:
        """All arrays, by name."""
        return {part.name: np.asarray(getattr(self, part.name)) for part in fields(self)}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, Any], bounds: np.ndarray, further: np.ndarray = NONE
    ) -> StretchReference:
        """What `to_arrays` gave, for vectors and further numbers (F,) with such bounds; ValueError where it is none."""
        every = np.append(bounds, further)
        counts = finite_array(arrays, "counts", (None,), np.int64)
        n = int(finite_array(arrays, "num_rows", (), np.int64))
        if not 1 <= len(counts) <= 50 or counts.min() < 2 or counts.max() > MOST_STRETCHES or n < 2:
            raise ValueError("the stretches of the test do not fit together")
        means = bounded_array(arrays, "means", (int(counts.sum()), len(every)), every)
        mean = bounded_array(arrays, "mean", (len(every),), every)
        fill = bounded_array(arrays, "fill", (len(bounds),), bounds)
        return cls(counts, means, mean, fill, n)


def stretch_reference(
    vectors: RowVectors, rows: np.ndarray, fill: np.ndarray, features: Features = no_features
) -> StretchReference:
    """The reference of rows in their order of time, with means of further numbers of theirs.

    Shapes: rows (n, V), fill (size,).
    One pass over the rows, and sums of all of them at a time: 8 n size bytes, of at most 20 million numbers a block.
    """
    n, step = len(rows), max(1, BLOCK_VALUES // vectors.size)
    sums = [np.zeros((1, vectors.size + features(np.arange(1)).shape[1]))]
    for start in range(0, n, step):
        some = np.arange(start, min(start + step, n))
        values = np.hstack([filled_rows(vectors, rows[some], fill), features(some)])
        sums.append(sums[-1][-1] + values.cumsum(axis=0))
    total = np.concatenate(sums)
    sizes = 2 ** np.arange(int(np.log2(n // FEWEST_STRETCHES)) + 1)
    counts, means = [], []
    for s in sizes.tolist():
        starts = spread_starts(n, s)
        counts.append(len(starts))
        means.append((total[starts + s] - total[starts]) / s)
    return StretchReference(
        np.array(counts, dtype=np.int64), np.concatenate(means), total[-1] / n, fill, n
    )


def spread_starts(n: int, s: int) -> np.ndarray:
    """First of n rows of stretches of s rows that do not overlap, with gaps that are drawn, the same at every call.

    At equal distances they might all begin on the same day of the week, or at the same hour.

    Returns (J,).
    """
    J = min(n // s, MOST_STRETCHES)
    before = np.sort(
        np.random.default_rng(s).integers(n - J * s + 1, size=J)
    )  # rows of the gaps up to each
    found: np.ndarray = before + s * np.arange(J)
    return found
