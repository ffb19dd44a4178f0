"""A test of whether a batch is a group like those before.

    H0: the batch and the groups of the reference are exchangeable        H1: they are not

What a circuit cannot know, that Mondays differ from Sundays, is in the groups.  Each becomes a mean vector
(`hld.references.groups`), the batch becomes one, and its score is ranked among theirs (`hld.nulls.exchangeable`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import pcircuit
from hld.answers.words import least_text
from hld.nulls.exchangeable import MANY, exchangeable_pvalue
from hld.nulls.null import PValue
from hld.nulls.ranked_parts import ranked_numbers, ranked_parts
from hld.references.groups import GroupReference, group_reference
from hld.results.result import HLDResult
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.verdict import LEAST_PVALUE
from hld.variation.context import GroupContext
from hld.variation.own_spread import own_spread
from hld.variation.rounding import without_rounding
from hld.vectors.column_units import column_units
from hld.vectors.completion import check_rows
from pcircuit.arguments import check_fraction


@dataclass(frozen=True, eq=False)
class GroupTest:
    """Test of batches against groups."""

    inner: HLDTest
    groups: GroupReference
    kind = "groups"

    def __call__(self, batch: ArrayLike, alpha: float = 0.05) -> HLDResult:
        """Test a batch (T, V) of codes, -1 for a hole, at a level in (0, 1)."""
        batch, alpha = (
            check_rows(self.inner.circuit, batch),
            check_fraction(alpha, "alpha"),
        )
        T, own = len(batch), self.groups.mean_of(self.inner.vectors, batch)
        others, fill = self.groups.at(T), self.groups.fill
        spread = own_spread(self.inner.vectors, batch, fill, others.mean(axis=0), T)
        own, others = without_rounding(own, others, np.abs(fill))
        found = exchangeable_pvalue(own, others, self.inner.calibration.metrics, spread=spread)
        result = judged(
            self, own - others.mean(axis=0), others, found, T, alpha, int((batch < 0).sum())
        )
        return replace(
            result,
            column_pvalues=parts_pvalues(self.inner, own, others, MANY, spread),
            _node_pvalues=nodes_pvalues(self.inner, own, others, MANY, spread),
        )

    @property
    def num_groups(self) -> int:
        """G."""
        return self.groups.num_groups

    @property
    def longest(self) -> int:
        """Rows of the largest group."""
        return int(self.groups.counts.max())

    @property
    def has_law(self) -> bool:
        """Whether there are groups enough for a law beyond the ranks."""
        return self.num_groups >= MANY

    def least_pvalue(self, T: int = 1) -> float:
        """The smallest p-value by rank, for batches of any size T."""
        return 1 / (1 + self.num_groups)

    def describe(self) -> str:
        """A few lines."""
        counts, m = self.groups.counts, len(self.inner.nodes)
        all_rows, within = self.groups.covariance_at(int(counts.max())), self.groups.within[:m]
        between = max(
            float(all_rows.diagonal()[:m].sum()) - float(within.sum()) * float((1 / counts).mean()),
            0.0,
        )
        law = (
            f"below {least_text(self.least_pvalue())} from a law"
            if self.has_law
            else f"p-values are at least {least_text(self.least_pvalue())}"
        )
        worth = (
            "a group of more rows is worth more: no difference between groups was found beyond that of their rows"
            if between <= 0
            else f"a group, however large, is worth at most {within.sum() / between:.3g} "
            "independent rows"
        )
        if counts.max() == 1:
            worth = "not known, as no group has more than one row"
        return (
            f"groups: {self.num_groups} of {int(counts.min())} to {int(counts.max())} rows, held out of learning; "
            f"p-values by rank among them, {law}\n"
            f"natural variation: {worth}"
        )

    def to_arrays(self) -> dict[str, Any]:
        """The groups, for a file."""
        return self.groups.to_arrays()

    @classmethod
    def from_arrays(cls, inner: HLDTest, arrays: dict[str, Any]) -> GroupTest:
        """What `to_arrays` gave, checked."""
        return cls(inner, GroupReference.from_arrays(arrays, inner.vectors.bounds))


def group_test(inner: HLDTest, rows: np.ndarray, labels: np.ndarray, *, seed: int) -> GroupTest:
    """The test against groups of rows that nothing was learned from.

    Shapes: rows (n, V), labels (n,).
    """
    fill = np.zeros(inner.vectors.size)
    fill[: len(inner.nodes)] = pcircuit.unit_means(inner.circuit)[inner.nodes]
    numbers = np.unique(labels, return_inverse=True)[1]
    return GroupTest(
        inner, group_reference(inner.vectors, rows, numbers, fill, np.random.default_rng([seed, 3]))
    )


def judged(
    test: Any,
    difference: np.ndarray,
    others: np.ndarray,
    found: PValue,
    T: int,
    alpha: float,
    num_missing: int,
) -> HLDResult:
    """The result of a difference of means (size,) whose p-value among others (G, size) is found.

    Shapes: difference (size,), others (G, size).
    """
    inner, G, m = test.inner, len(others), len(test.inner.nodes)
    variances, rows = others.var(axis=0, ddof=1), float((inner.stds[:m] ** 2).sum())
    total, squared = float(variances[:m].sum()), float((difference[:m] ** 2).sum())
    least, most_rows = (
        test.least_pvalue(T) or 1 / (1 + G),
        test.longest if test.longest < T else None,
    )
    context = GroupContext(
        test.kind,
        G,
        least,
        math.sqrt(squared / total) if total > 0 else 0.0,
        math.sqrt(max(squared - total * (1 + 1 / G), 0.0) / rows) if rows > 0 else 0.0,
        rows / total if total > 0 else float(T),
        test.has_law,
        most_rows,
    )
    weights, names = inner.shown_weights, tuple(metric.name for metric in inner.calibration.metrics)
    pvalue = max(found.value, LEAST_PVALUE)
    return HLDResult(
        statistic=0.0 - math.log10(pvalue),
        threshold=-math.log10(alpha),
        pvalue=pvalue,
        reject=bool(pvalue <= alpha),
        alpha=alpha,
        num_samples=T,
        null=found.null,
        inflation=1 + 1 / G,
        null_error=found.error,
        num_missing=num_missing,
        metrics=names,
        pvalues=found.each,
        deltas=difference[:m] * weights,
        stds=np.sqrt(T * variances[:m]) * weights,
        nodes=inner.nodes,
        _circuit=inner.circuit,
        context=context,
    )


def parts_pvalues(
    inner: HLDTest,
    own: np.ndarray,
    others: np.ndarray,
    many: int,
    spread: Callable[[], np.ndarray] | None,
) -> np.ndarray | None:
    """p-values of single columns among the same groups, if every column has units of its own.

    Shapes: own (size,), others (G, size) -> (2, V).
    """
    parts = column_units(inner.circuit, inner.nodes)
    return (
        ranked_parts(own, others, parts, many=many, spread=spread) if all(map(len, parts)) else None
    )


def nodes_pvalues(
    inner: HLDTest,
    own: np.ndarray,
    others: np.ndarray,
    many: int,
    spread: Callable[[], np.ndarray] | None,
) -> np.ndarray:
    """p-values of single nodes among the same groups, adjusted for their number.

    Returns (m,).
    """
    m = len(inner.nodes)
    return ranked_numbers(
        own[:m],
        others[:, :m],
        many=many,
        spread=None if spread is None else lambda: spread()[:, :m],
    )
