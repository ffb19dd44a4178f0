r"""One column among many: the largest difference of a single count, by exact tests.

A sum of squares over a thousand columns has a standard deviation of the square root of two thousand, in which one
column's shift drowns; the largest of a thousand differences grows by chance only like the root of a logarithm.  So the
counts of all categories are tested one by one, and where categories ascend, also those up to every cut between two of
them, in which a drift adds up.  (A category in the middle that gets a fifth of all rows, as where missing numbers were
replaced by a mean, changes every cut by a tenth at the most.)

Of n held-out rows and T rows of a batch that show a column, K = k_c + j_c fall into a category (or below a
cut).  Categories and cuts come from other rows, so all n + T rows are exchangeable without a shift, and

.. math:: j_c \sim \mathrm{Hypergeometric}(n + T, K, T)

whatever the distribution is; twice the smaller tail is a p-value (Fisher's exact test), at any T and however rare the
category.  The p-value of all columns is the probability that any of the m categories and cuts has one as small as the
smallest: at most m times that, and less where most of them are so rare that they cannot be conspicuous at all
(`schemas.counts`).  What is counted once is not counted again: the second of the two categories
that any row has, whose count is what is left, and the first and the last one of a column with cuts.  Which these are is
told by the counts of all rows together, given which the test is exact.

This test has a share w of the level of all tests together, `SHARE`, as far as it can attain it.  With m columns the
largest difference must then exceed about sqrt(2 log(m / w)) standard deviations instead of sqrt(2 log m), which for
hundreds of columns is a tenth more, while sums of squares see a sparse shift only from about m^(1/4) standard
deviations on (Donoho and Jin 2004).

References: R. A. Fisher (1935), The logic of inductive inference, J. Royal Statistical Society 98; D. Donoho and
J. Jin (2004), Higher criticism for detecting sparse heterogeneous mixtures, Annals of Statistics 32.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.tables.schemas.counts import Counts, CountTest, count_pvalue, smallest_law

SHARE = 0.35  # of the level: `benchmarks.power.trials`
EXACT = 8  # differences, the largest, whose p-values are computed: those of others are hardly ever smaller


@dataclass(frozen=True, kw_only=True)
class LargestCount(CountTest):
    """The largest difference of a single count."""

    column: int | None = None
    category: int | None = None
    is_cut: bool = False


def largest_count(kept: Any, batch: Any, ordered: tuple[Any, ...] = ()) -> LargestCount:
    """Compare the counts of a batch with those of held-out rows.

    O(C log C) in the number C of all categories.
    """
    events = count_events(kept.counts, ordered)
    columns, k, j = events.columns, events.of(kept.counts), events.of(batch.counts)
    n, T = (np.array([one[:-1].sum() for one in side.counts])[columns] for side in (kept, batch))
    N, K = n + T, k + j
    pooled = [a[:-1] + b[:-1] for a, b in zip(kept.counts, batch.counts, strict=True)]
    varies = (K > 0) & (K < N) & (n > 0) & (T > 0) & events.are_different(pooled)
    if not varies.any():
        return LargestCount(pvalue=1.0, share=0.0)
    evidence = np.where(varies, likelihood_ratio(j, T, K, N), -1.0)
    best, where = 2.0, None
    first = np.argsort(-evidence, kind="stable")[: min(EXACT, int(varies.sum()))]
    for i in first.tolist():
        p = count_pvalue(int(N[i]), int(K[i]), int(T[i]), int(j[i]))
        best, where = (p, i) if p < best else (best, where)
    law = smallest_law(N[varies], K[varies], T[varies])
    return LargestCount(
        pvalue=law.pvalue(best),
        share=SHARE,
        column=int(columns[where]),
        category=int(events.categories[where]),
        is_cut=bool(events.is_cut[where]),
        law=law,
        counts=Counts(N[first], K[first], T[first], j[first], len(columns)),
    )


@dataclass(frozen=True, eq=False)
class CountEvents:
    """What is counted: categories of columns, and where they ascend all categories up to a cut, too.

    Shapes: columns, categories (E,), is_cut (E,).
    """

    columns: np.ndarray
    categories: np.ndarray
    is_cut: np.ndarray

    def of(self, counts: Any) -> np.ndarray:
        """(E,) counts of the events from counts by column, the last of each that of the missing cells."""
        single = np.concatenate([one[:-1] for one in counts])
        sizes = np.array([len(one) - 1 for one in counts])
        starts = np.cumsum(sizes) - sizes
        total, place = np.cumsum(single), starts[self.columns] + self.categories
        before = (total - single)[starts]
        return np.where(self.is_cut, total[place] - before[self.columns], single[place])

    def are_different(self, counts: Any) -> np.ndarray:
        """(E,) whether an event is neither another one nor what another one leaves, by counts of the categories."""
        filled = [np.flatnonzero(one) for one in counts]
        first, last = (
            np.array([one[end] if len(one) else -1 for one in filled])[self.columns]
            for end in (0, -1)
        )
        some = np.concatenate([one > 0 for one in counts])
        sizes = np.array([len(one) for one in counts])
        is_first, is_last = self.categories == first, self.categories == last
        has_cuts = np.isin(self.columns, self.columns[self.is_cut])
        few = np.array([len(one) for one in filled])[self.columns] <= 2
        alone = np.where(has_cuts, ~is_first & ~is_last, ~few | is_first)
        found: np.ndarray = some[(np.cumsum(sizes) - sizes)[self.columns] + self.categories]
        return found & np.where(self.is_cut, ~is_last, alone)

    def indicators(self, rows: np.ndarray) -> np.ndarray:
        """(M, E) bool array, which events rows (M, V) of codes are in; none where a cell is missing."""
        codes = rows[:, self.columns]
        return np.where(
            self.is_cut, (codes <= self.categories) & (codes >= 0), codes == self.categories
        )


def count_events(kept: Any, ordered: Any) -> CountEvents:
    """The events of columns with such counts."""
    sizes = np.array([len(one) - 1 for one in kept])
    columns = np.repeat(np.arange(len(sizes)), sizes)
    categories = np.arange(len(columns)) - (np.cumsum(sizes) - sizes)[columns]
    ascends, last = np.isin(columns, np.asarray(ordered, dtype=np.int64)), sizes[columns] - 1
    is_cut = ascends & (categories < last)
    alone = np.where(
        ascends, (categories > 0) & (categories < last), (categories < last) | (last > 1)
    )
    places = np.concatenate([np.flatnonzero(is_cut), np.flatnonzero(alone)])
    order = np.argsort(columns[places], kind="stable")
    return CountEvents(
        columns[places][order],
        categories[places][order],
        np.repeat([True, False], [is_cut.sum(), alone.sum()])[order],
    )


def likelihood_ratio(j: Any, T: Any, K: Any, N: Any) -> Any:
    """The statistic of the likelihood ratio of tables of two by two, which ranks them nearly as their p-values do."""
    rest = N - T
    found = _x_log_x(j) + _x_log_x(T - j) + _x_log_x(K - j) + _x_log_x(rest - K + j)
    return found - _x_log_x(T) - _x_log_x(rest) - _x_log_x(K) - _x_log_x(N - K) + _x_log_x(N)


def _x_log_x(x: Any) -> Any:
    """x log x, 0 at 0."""
    return x * np.log(np.where(x > 0, x, 1))
