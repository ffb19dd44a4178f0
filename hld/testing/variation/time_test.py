r"""A test of whether a stretch of time is like those before: for rows that depend on their neighbours.

    H0: the batch, successive rows, is a stretch of the stationary series that the reference is a stretch of

The mean vector of the batch is compared with those of stretches of as many rows (`hld.references.stretches`), by rank
and beyond the ranks by a law, like a group among groups (`hld.laws.exchangeable`).  Stretches of one series are nearly
exchangeable if they are long compared with the memory of the series.

Where they are not, because doubling the length of the longest still takes off less than a quarter of their variance,
neither their number nor the law beyond them says much.  The reference then is what it is by exchangeability: G disjoint
stretches as long as the batch, or of four independent rows if that is longer, and a p-value is at least 1 / (G + 1).
So it is where all rows are alike: that nothing has happened in n rows does not say how rare it is.

The sum over all numbers of the vector does not show one column of long memory beside many quick ones.  So the stretches
of every column's own numbers are asked, too, with a risk of `RISK` for all of them together if all are quick.  Such a
column has the bound 1 / (G + 1) for itself, by its own effective size, and a batch that is odd because of it is not
called: with p of all numbers together and p_v the adjusted p-values of the columns (`hld.laws.exchangeable`),

.. math:: \max\Bigl(p, \; \min\bigl(\tfrac{1}{G + 1}, \min_v p_v\bigr)\Bigr)

is below 1 / (G + 1) only where a quick column is odd by itself, which has the probability that it should have.

A column that is alike in all reference rows has the bound 1 / (G + 1) for its rank, too, if the batch shows something
else in it: no stretch does, and short ones are many, however long the batch is.  The law beyond the ranks may go below
it, as that counts the rows of the batch that show something else (`hld.testing.variation.group_test`).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from hld.answers.words import least_text
from hld.features.row_vectors import column_units
from hld.references.group_statistics import Cells, GroupStatistics, no_statistics
from hld.references.stretches import FEWEST_STRETCHES, StretchReference, stretch_reference
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.variation.group_test import (
    LEAST_RANK,
    GroupTest,
    features_of,
    fill_of,
    law_of,
)

SHOWN_SIZES = (10, 100, 1000)
INDEPENDENT_ROWS = 4  # that a stretch has to be worth, to be one of several
RISK = 0.05


class TimeTest(GroupTest):
    """Test of successive rows against stretches of a series."""

    reference: StretchReference
    reads = StretchReference
    kind = "time"
    compared = "stretches of time"
    many = FEWEST_STRETCHES
    is_exact = False

    def bounded(
        self, T: int, columns: np.ndarray | None, pairs: np.ndarray, nodes: np.ndarray
    ) -> tuple[Any, ...]:
        """A pair has the larger bound of its two columns, a node the largest of its scope."""
        least = self.least_pvalue(T)
        if columns is None:
            bound = max(least, self.least_of_columns(T))
            return bound, None, pairs, np.maximum(nodes, bound)
        bounds, by_law = np.full(columns.shape[1], least), np.zeros(columns.shape, dtype=bool)
        for v, own in (self.constant_columns | self.dependent_columns).items():
            if v in self.dependent_columns or columns[0, v] < 1:
                bounds[v] = max(least, _least(own, T))
        constant = list(self.constant_columns)
        by_law[:, constant] = columns[:, constant] * (len(self.reference.at(T)) + 1) < LEAST_RANK
        columns = np.maximum(columns, np.where(by_law, least, bounds))
        scopes = [self.inner.circuit.scope(int(node)) for node in self.inner.nodes]
        floor = [min(float(bounds[one].max()), float(columns[1, one].min())) for one in scopes]
        pairs = np.maximum(pairs, bounds[self.statistics.pairs].max(axis=1))
        bound = min(bounds.max(), columns[1].min(), pairs[1].min(initial=1.0))
        return float(bound), columns, pairs, np.maximum(nodes, floor)

    def smallest_pvalue(self, T: int) -> float:
        """What no p-value of a batch of T rows is below."""
        return self.least_pvalue(T)

    def least_pvalue(self, T: int = 1) -> float:
        """1 / (G + 1), see above, for a batch of T rows; 0 where stretches differ and are long enough for a law."""
        if self.law:
            return 0.0
        return max(_least(self.reference, T), self.least_of_columns(T))

    def least_of_columns(self, T: int = 1) -> float:
        """The largest bound of the columns whose longest stretches are still dependent; 0 without any."""
        return max((_least(own, T) for own in self.dependent_columns.values()), default=0.0)

    @cached_property
    def dependent_columns(self) -> dict[int, StretchReference]:
        """Stretches of the columns whose longest ones are still dependent, by number of the column."""
        found = self._by_column()
        return {v: own for v, own in found.items() if own.is_dependent(RISK / len(found))}

    @cached_property
    def constant_columns(self) -> dict[int, StretchReference]:
        """Stretches of the columns that are alike in all rows, of which nobody knows how rare another value is."""
        return {v: own for v, own in self._by_column().items() if not own.traces()[0] > 0}

    def _by_column(self) -> dict[int, StretchReference]:
        """Stretches of the own numbers of each column that has any."""
        parts = column_units(self.inner.circuit, self.inner.nodes)
        return {v: self.reference.part(part) for v, part in enumerate(parts) if len(part)}

    @property
    def longest(self) -> int:
        """Rows of the longest stretches."""
        return self.reference.longest

    @property
    def law(self) -> str:
        """The law beyond the ranks, in words; none where stretches are dependent, nor where none differs at all."""
        is_known = not self.is_too_short and self.reference.traces()[0] > 0
        return law_of(FEWEST_STRETCHES, True, self.statistics) if is_known else ""

    @property
    def is_too_short(self) -> bool:
        """Whether the longest stretches are still dependent: doubling their length took off less than a quarter."""
        return self.reference.is_dependent()

    def describe(self) -> str:
        """A line or two."""
        own, slow, note = self.reference, len(self.dependent_columns), ""
        sizes = "; ".join(f"T = {T}: {own.effective_rows(T):.3g}" for T in SHOWN_SIZES)
        if not self.law:
            why = "these are still dependent" if self.is_too_short else "all rows are alike"
            note = f"; {why}, so p-values are at least {least_text(self.least_pvalue())}"
        elif slow:
            note = (
                f"; in {slow} column{'s' * (slow != 1)} these are still dependent, and give no "
                f"p-value below {least_text(self.least_of_columns())} by themselves"
            )
        return (
            f"order of time: stretches of up to {own.longest} of {own.num_rows} rows{note}\n"
            f"effective sample sizes: {sizes}"
        )


def _least(stretches: StretchReference, T: int) -> float:
    """1 / (G + 1), with G the stretches as long as T rows, or worth `INDEPENDENT_ROWS`, that n rows have."""
    n = stretches.num_rows
    longest = max(T, math.ceil(INDEPENDENT_ROWS * n / stretches.effective_rows(n)))
    return 1 / (n // longest + 1)


def time_test(
    inner: HLDTest,
    rows: np.ndarray,
    *,
    statistics: GroupStatistics | None = None,
    cells: Cells | None = None,
) -> TimeTest:
    """The test against stretches of rows in their order, from which nothing was learned, and of their cells.

    Shapes: rows (n, V).
    """
    statistics = no_statistics(rows.shape[1]) if statistics is None else statistics
    features = features_of(inner, statistics, rows, cells)
    stretches = stretch_reference(inner.vectors, rows, fill_of(inner), features)
    return TimeTest(inner, stretches, statistics)
