r"""Exact tests of counts, of missing and of new values, and the smallest p-value of many such tests.

**Missing values.**  Is as much missing as in training?  An exact test for each column, and one p-value for all.

Holes say nothing about the values of a row as long as they arise as in training; whether they do is a hypothesis of
its own.  In column v, k_v of the n training rows and j_v of the T rows of a batch have no value.  If nothing has
shifted, all n + T rows are exchangeable, and given that K = k_v + j_v of them have a hole, the number in the batch is
hypergeometric whatever the share of holes may be:

.. math:: P(J \ge j) = \sum_{i \ge j} \binom{K}{i} \binom{n + T - K}{T - i} \Big/ \binom{n + T}{T}.

The p-value of a column is twice the smaller tail (Fisher's exact test); that of the table is the probability that a
column has one as small as the smallest, at most (`smallest_law`), however columns depend on one another.

**Together with the distance.**  Given the K of all columns, every column's test is exact, and the test of the
distance is taken to keep its level, as measurements say it does.  So the level may be divided in a way that depends
on the K (`hld.witnesses.witnesses`).  Where nothing is missing in training and batch, all of it goes to the
distance; elsewhere at most a tenth (`MISSING_SHARE`) goes to the holes.  Tables without holes do not pay for those
with.

References: R. A. Fisher (1935), The logic of inductive inference, J. Royal Statistical Society 98.

**New values.**  Continuous columns are cut into bins, and what lies beyond the range of the rows that were learned
from falls into the outermost: there a value a million times too large looks like one just above the others.  New
levels share one category that hardly any row has, whose weight in a distance is arbitrary.  But the number of new
cells is a count, and the held-out rows tell how many to expect.  Range and levels come from neither these nor the
batch, so without a shift the k held-out rows and the T rows of the batch are exchangeable.  Given the number

.. math:: K = h_0 + h

of rows with something new in a column, the number in the batch is hypergeometric, whatever the distribution is (R. A.
Fisher 1935):

.. math:: p_v = P(H \ge h), \qquad H \sim \mathrm{Hypergeometric}(k + T,\, K,\, T).

The p-value of the table is the probability that a column has one as small as the smallest, at most (`smallest_law`).

**Together with the distance.**  As for missing values, the level is divided in a way that depends on the K alone,
given which all these tests keep their levels: a part of it (`NEW_SHARE`) goes to the new values if there are any, but
no more than they can attain, which is little where K is small (`hld.witnesses.witnesses`).  So one new value in ten
rows, where a thousand rows had none, is found at 0.05, and takes a hundredth of the probability.

**The smallest p-value.**  Each test compares how many of T rows have something with how many of N - T others do.
Given that K of all N have it, the number j in the batch is hypergeometric, and the p-value q_e of test e takes few
values: with K = 1 only one below 1, T / N.  Bonferroni's bound, q times the number of tests, counts each test with
the whole q even if it cannot be that small.  Given all K, the probability that some test is at q or below is at most

.. math:: F(q) = \sum_e P(q_e \le q) \;\le\; q \cdot \text{number of tests},

and F of the smallest p-value is a p-value of all tests together, never larger than Bonferroni's, under any dependence
(Tarone 1990 leaves out the tests that cannot reach q; here the others count with what they do reach, too).

F is a step function, and the p-value of all together takes few values as well. The largest of them that is at most x,
`attained`, is the probability of finding something at the level x, and often much smaller than x. What is left of the
level goes to the tests beside (`hld.witnesses.witnesses`): for a single row, in which no count can be conspicuous,
all of it.

Tests with more than `MOST_VALUES` possible counts are taken to reach every q, which is safe and nearly true.

Reference: R. E. Tarone (1990), A modified Bonferroni method for discrete data, Biometrics 46.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from pcircuit.io.archive import finite_array

MISSING_SHARE = 0.1  # of the level, where anything is missing
MOST_SPREADS = 64  # standard deviations of a tail whose terms are added
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of events, as in Fisher's exact test: j of T rows of a batch, K of N with those held out, E events in all.

    Shapes: N, K, T, j (e,).
    """

    N: np.ndarray
    K: np.ndarray
    T: np.ndarray
    j: np.ndarray
    num_tests: int
    is_two_sided: bool = True

    def after(self, rows: int) -> float:
        """An upper bound of the p-value of all events where so many rows of the batch are others (Bonferroni)."""
        each = zip(*(one.tolist() for one in (self.N, self.K, self.T, self.j)), strict=True)
        return min(
            1.0,
            *(
                self.num_tests * count_pvalue(N, K, T, j, rows, is_two_sided=self.is_two_sided)
                for N, K, T, j in each
            ),
        )


def count_pvalue(
    N: int, K: int, T: int, j: int, rows: int = 0, *, is_two_sided: bool = True
) -> float:
    """Twice the tail of a count on its side of the mean, or one tail, after some rows moved it towards the mean."""
    above = j * N > T * K
    if not above and not is_two_sided:
        return 1.0
    step = min(rows, j if above else T - j) * (1 if above else -1)
    j, K = j - step, K - step
    if (j * N <= T * K) if above else (j * N >= T * K):
        return 1.0
    tail = hypergeometric_tail(N, K, T, j) if above else hypergeometric_tail(N, N - K, T, T - j)
    return min(1.0, 2 * tail) if is_two_sided else tail


@dataclass(frozen=True, kw_only=True)
class CountTest:
    """The outcome of comparing counts with those of other rows, and its share of the level; of any, without a law."""

    pvalue: float
    share: float
    law: SmallestLaw | None = field(default=None, repr=False, compare=False)
    counts: Counts | None = field(default=None, repr=False, compare=False)
    pvalues: tuple[Any, ...] = field(default=(), repr=False, compare=False)  # one by one

    def attained(self, level: Any) -> Any:
        """How often `pvalue` is at most a level without a shift, given what was counted in all rows."""
        return level if self.law is None else self.law.attained(level)

    def after(self, rows: int) -> float:
        """The largest p-value where so many rows of the batch are others."""
        return 1.0 if self.counts is None else self.counts.after(rows)

    def to_dict(self) -> dict[str, Any]:
        """p-value and share, and what is compared, as plain Python values."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.compare}


def compare_missing(num_train: Any, train_missing: Any, num_rows: int, missing: Any) -> CountTest:
    """Compare the missing values of a batch with those of other rows, whose number may differ by column.

    Shapes: train_missing (V,), missing (V,).
    """
    return _compared(num_train, train_missing, num_rows, missing, MISSING_SHARE)


def _compared(
    n: Any, k: Any, T: Any, j: Any, share: float, *, is_two_sided: bool = True
) -> CountTest:
    """The tests of all columns as one: k of n rows and j of T; shapes n, k, T, j (V,)."""
    n, k, T, j = (np.asarray(one, dtype=np.int64) for one in np.broadcast_arrays(n, k, T, j))
    each = zip(*(one.tolist() for one in (n + T, k + j, T, j)), strict=True)
    pvalues = tuple(count_pvalue(*one, is_two_sided=is_two_sided) for one in each)
    some = k + j > 0
    if not some.any():
        return CountTest(pvalue=1.0, pvalues=pvalues, share=0.0)
    N, K, T, j = (one[some] for one in (n + T, k + j, T, j))
    law = smallest_law(N, K, T, is_two_sided=is_two_sided)
    counts = Counts(N, K, T, j, len(pvalues), is_two_sided)
    pvalue = law.pvalue(min(pvalues))
    return CountTest(pvalue=pvalue, pvalues=pvalues, share=share, law=law, counts=counts)


def hypergeometric_tail(N: int, K: int, T: int, j: int) -> float:
    """P(J >= j) for the number J of marked balls among T drawn without replacement from N, of which K are marked.

    Small tails are right to about N log(N) / 10^16, relative.
    """
    lowest, highest = max(0, K + T - N), min(K, T)
    if j <= lowest:
        return 1.0
    if j > highest:
        return 0.0
    if j > K * T / N:  # past the mean the terms fall
        return min(1.0, _falling_terms(N, K, T, j, highest))
    return 1.0 - min(1.0, _falling_terms(N, N - K, T, T - j + 1, T - lowest))


def _falling_terms(N: int, K: int, T: int, j: int, highest: int) -> float:
    """The sum of P(J = i) from j on, beyond the mean, each term from the one before."""
    up, down = (K, N - K, T, N - T), (j, K - j, T - j, N - K - T + j, N)
    first = sum(math.lgamma(one + 1) for one in up) - sum(math.lgamma(one + 1) for one in down)
    # terms fall as fast as those of a normal law, or faster
    spread = math.sqrt(min(K, T)) / 2
    i = np.arange(j, min(highest, j + int(MOST_SPREADS * spread) + MOST_SPREADS), dtype=np.float64)
    ratios = (K - i) * (T - i) / ((i + 1) * (N - K - T + i + 1))
    return math.exp(first) * (1.0 + float(np.cumprod(ratios).sum()))


NEW_SHARE = 0.2  # of the level at most, where anything is new: `benchmarks.power.trials`


@dataclass(frozen=True, eq=False)
class KeptValues:
    """New values among held-out rows; shapes shown (V,), new (V,)."""

    shown: np.ndarray
    new: np.ndarray

    def to_arrays(self) -> dict[str, Any]:
        """Two arrays for a file."""
        return {"shown": self.shown, "new": self.new}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], num_columns: int, num_rows: int) -> KeptValues:
        """Counts that `to_arrays` wrote, of at most so many rows; ValueError where they do not fit."""
        shown, new = (
            finite_array(arrays, name, (num_columns,), np.int64) for name in ("shown", "new")
        )
        if new.min(initial=0) < 0 or (new > shown).any() or shown.max(initial=0) > num_rows:
            raise ValueError(
                f"counts of new values must be of at most {num_rows} rows, no more new ones than there are"
            )
        return cls(shown, new)


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
    """What the kept rows show; shapes codes (k, V)."""
    shown = (codes >= 0).sum(axis=0).astype(np.int64)
    return KeptValues(
        shown, np.minimum(report.num_unseen + report.num_out_of_range, shown).astype(np.int64)
    )


def compare_new(kept: KeptValues, shown: Any, new: Any) -> CountTest:
    """Compare the new values of a batch with those of held-out rows; shapes shown, new (V,)."""
    return one_sided(kept.shown, kept.new, shown, new, NEW_SHARE)


def one_sided(n: Any, k: Any, T: Any, j: Any, share: float) -> CountTest:
    """Whether more of T rows have something than of n others, for each of some things; shapes n, k, T, j (e,)."""
    return _compared(n, k, T, j, share, is_two_sided=False)


MOST_VALUES = 40  # of a count whose p-values are listed, less one
SLACK = 1e-5  # relative: two computations of one probability differ by less; values that are this close count as one


@dataclass(frozen=True, eq=False)
class SmallestLaw:
    """How often the smallest p-value of some exact tests is how small, at most; shapes points (k,), totals (k,)."""

    points: np.ndarray
    totals: np.ndarray
    num_dense: int

    def pvalue(self, smallest: float) -> float:
        """F(q), at most 1."""
        if smallest >= 1:
            return 1.0
        k = int(np.searchsorted(self.points, smallest * (1 + SLACK), side="right"))
        return min(1.0, self.num_dense * smallest + (float(self.totals[k - 1]) if k else 0.0))

    def attained(self, level: Any) -> np.ndarray:
        """The largest value of F(q) that is at most a level, or what F approaches from below."""
        k = np.searchsorted(
            self.num_dense * self.points + self.totals, level * (1 + SLACK), side="right"
        )
        reached = np.append(0.0, self.totals)[k]
        if self.num_dense:
            reached = reached + self.num_dense * np.append(self.points, np.inf)[k]
        return np.minimum(level, reached)


def smallest_law(N: Any, K: Any, T: Any, *, is_two_sided: bool = True) -> SmallestLaw:
    """The law of the smallest p-value of exact tests of counts, given their margins.

    Shapes: N, K, T (e,).
    O(e log e) and `MOST_VALUES` for each triple that is different.
    """
    N, K, T = (np.atleast_1d(np.asarray(one, dtype=np.int64)) for one in (N, K, T))
    odd, few = np.minimum(K, N - K), np.minimum(T, N - T)
    rarest = np.minimum(odd, few)
    is_listed = (rarest > 0) & (rarest <= MOST_VALUES)
    num_dense = int((rarest > MOST_VALUES).sum())
    if not is_listed.any():
        return SmallestLaw(np.zeros(0), np.zeros(0), num_dense)
    # which of two sides is the upper one
    is_mirrored = ((odd < K) != (few < T)) & (not is_two_sided)
    margins = np.stack([N, odd, few, is_mirrored], axis=1)[is_listed]
    different, times = np.unique(margins, axis=0, return_counts=True)
    N, odd, few, is_mirrored = different.T[:, :, None].astype(float)
    most = int(np.minimum(odd, few).max())
    points, masses = count_tails(N, odd, few, is_mirrored > 0, is_two_sided, most)
    masses = masses * times[:, None]
    points, masses = points[points <= 1], masses[points <= 1]
    order = np.argsort(points)
    return SmallestLaw(points[order], np.cumsum(masses[order]), num_dense)


def count_tails(
    N: Any, a: Any, b: Any, is_mirrored: Any, is_two_sided: bool, most: int
) -> tuple[Any, Any]:
    """(e, most + 1) p-values that counts lead to, those on the other side above 1, and the probabilities of the counts.

    The count is that of the rarer side among the smaller part, 0 ... min(a, b) of (e, 1); it falls where the count in
    the batch rises if one of the two, but not both, is the other way round.  Operations of arrays alone, as in
    `hld.witnesses.largest_dependence.mean_tails`.
    """
    few, many, j = np.minimum(a, b), np.maximum(a, b), np.arange(most + 1.0)
    i = j[:-1]
    shares = np.where(i < few, np.maximum((N - many - i) / np.maximum(N - i, 1.0), TINY), 1.0)
    none = np.log(shares).sum(axis=1, keepdims=True)  # of P(0), at least 2^-40
    ratios = (a - i) * (b - i) / ((i + 1.0) * np.maximum(N - a - b + i + 1.0, 1.0))
    steps = np.cumsum(np.log(np.where(i < few, np.maximum(ratios, TINY), TINY)), axis=1)
    p = np.where(j <= few, np.exp(none + np.concatenate([0.0 * none, steps], axis=1)), 0.0)
    below, above = np.cumsum(p, axis=1), np.flip(np.cumsum(np.flip(p, 1), axis=1), 1)
    points = 2.0 * np.minimum(above, below) if is_two_sided else np.where(is_mirrored, below, above)
    return np.where(j <= few, points, 2.0), p
