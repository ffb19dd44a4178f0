r"""A test of whether a batch is a group like those before.

    H0: the batch and the groups of the reference are exchangeable        H1: they are not

What a circuit cannot know, that Mondays differ from Sundays, is in the groups.  Each becomes a mean vector
(`hld.references.groups`), the batch becomes one, and its score is ranked among theirs (`hld.laws.exchangeable`).

**The batch's own rows.**  The law beyond the ranks takes the means of groups to be normal.  Those of few rows are not:
one row with a level that one in a thousand has moves the mean of twenty rows farther than a hundred groups do, and the
covariance of these knows nothing of it.  The batch does.  With x_t its T rows, d the difference of their mean from
that of the groups, and one ordinary row more, at the mean of the groups, the covariance of the batch's mean is
estimated by

.. math:: V = \frac{1}{T} \Bigl( \frac{1}{T} \sum_t (x_t - \bar x) (x_t - \bar x)^t + \frac{1}{T + 1} d d^t \Bigr),

which is added to the covariance of the law (`hld.laws.exchangeable`).  Without a shift it is about what rows vary by.
Where h of many rows make the difference, V is about d d^t / h, so that they count as some sqrt(h) standard deviations,
however far out they are; where T rows all go the same way, which few do by chance, they count as T and a half at most.

Successive rows repeat what they show: T of them count as their effective number.

**Rounding.**  Where all rows show the same, such as a column with one value, the means of groups are equal, but for
the last digits: a sum of 30 doubles is not rounded as one of 10 is.  Ranks know no size, so that a batch of another
size than the groups would be the oddest of all.  A number of the vectors of which all means lie within the share
`SLACK` of its size is therefore taken to be the same in all.  What a row can change is far larger: one row in a
million that shows something else moves a mean by about a millionth.

The rule treats the batch and the groups alike, so they remain exchangeable.

How far a batch deviates from groups in statistics without bound: a witness beside the distance of likelihoods.

Among groups it has no level of its own: the largest deviation is one of the distances whose largest is ranked
(`hld.laws.exchangeable`).  Beyond the ranks it has a law, and shares the level with the normal law where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hld.answers.words import least_text, p_text
from hld.features.row_vectors import RowVectors, check_rows, column_units, some_rows
from hld.laws.exchangeable import MANY, exchangeable_pvalue, ranked_parts
from hld.references.group_statistics import FEWEST, Cells, GroupStatistics, no_statistics, t_law
from hld.references.groups import (
    Features,
    GroupReference,
    filled_rows,
    group_reference,
    mean_of,
)
from hld.tables.schemas.counts import CountTest
from hld.testing.goodness_of_fit import HLDTest
from hld.testing.verdict import LEAST_PVALUE, result_of
from hld.witnesses.result import HLDResult
from hld.witnesses.witnesses import Witness, combined
from pcircuit.arguments import check_fraction
from pcircuit.io.archive import under_prefix, with_prefix
from pcircuit.moments.means import unit_means

CENTRAL, USUAL = 0.9, 1.65  # of the groups, and below what t a normal variable then is


@dataclass(frozen=True, eq=False)
class Deviations:
    """t of a batch, the first of N, and of the groups, and which of the columns and pairs each speaks of.

    Shapes: t (N, M), parts (M,).
    """

    t: np.ndarray
    parts: np.ndarray
    num_parts: int

    @property
    def largest(self) -> np.ndarray:
        """(N,) the largest t of each, those of statistics with heavy tails made as small as normal ones are."""
        usual = np.quantile(self.t, CENTRAL, axis=0) / USUAL
        return np.asarray((self.t / np.maximum(usual, 1.0)).max(axis=1, initial=0.0))

    @property
    def tails(self) -> np.ndarray:
        """(parts, N) the smallest tail of the statistics of each column and pair, which puts parts on one scale."""
        from scipy.special import stdtr

        found, N = np.ones((self.num_parts, len(self.t))), len(self.t)
        np.minimum.at(found, self.parts, 2 * stdtr(max(N - 2, 1), -self.t).T)
        return found

    @property
    def laws(self) -> np.ndarray:
        """(2, parts) p-values of the batch by the t law: of each column and pair by itself, and adjusted for all."""
        tried, own = (self.t > 0).any(axis=0), np.ones(self.num_parts)
        np.minimum.at(own, self.parts, t_law(self.t[0], len(self.t) - 1))
        number = np.bincount(self.parts, weights=tried, minlength=self.num_parts)
        return np.minimum(np.array([own * np.maximum(number, 1), own * max(tried.sum(), 1)]), 1.0)

    def beyond(self, law: float) -> float:
        """The p-value of a batch that is odder than all groups, by the t law and another, infinite where there is none.

        The t law has half of the level, or all of it.
        """
        share = (0.5 if np.isfinite(law) else 1.0) * bool(len(self.parts))
        return combined(law, CountTest(pvalue=float(self.laws[1].min()), share=share))


PREFIX = "statistics."  # of arrays in a file
MOST_OWN_ROWS = 2_000  # that are looked at; of more rows some, evenly spread
LEAST_RANK = 1 - 1e-9  # rounded down, of a p-value by rank times the number ranked
SLACK = 1e-9  # sums of 10 million rows are exact to about this


def without_rounding(
    own: np.ndarray, others: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean vectors of the batch and of the groups, 0 in both wherever they differ by rounding alone.

    Shapes: own (size,), others (G, size), size (size,) -> own (size,), others (G, size).
    """
    low, high = np.minimum(own, others.min(axis=0)), np.maximum(own, others.max(axis=0))
    varies = high - low > SLACK * np.maximum(size, np.maximum(-low, high))
    return np.where(varies, own, 0.0), np.where(varies, others, 0.0)


def own_spread(
    vectors: RowVectors,
    batch: np.ndarray,
    fill: np.ndarray,
    center: np.ndarray,
    effective_rows: float,
) -> Callable[[], np.ndarray]:
    """A function that gives an (r + 1, size) array Y such that Y^t Y is the matrix V of the rows of a batch.

    Shapes: batch (T, V), fill (size,), center (size,).
    """
    # the rows are looked at when it is called first: few batches are odder than all groups

    @cache
    def spread() -> np.ndarray:
        rows = filled_rows(vectors, batch[some_rows(len(batch), MOST_OWN_ROWS)], fill) - center
        own, size = rows.mean(axis=0), min(max(effective_rows, 1.0), float(len(batch)))
        return np.concatenate(
            [(rows - own) / np.sqrt(len(rows) * size), own[None] / np.sqrt(size * (size + 1))]
        )

    return spread


@dataclass(frozen=True)
class GroupContext:
    """The groups that a batch was compared with."""

    kind: str
    num_groups: int
    least_pvalue: float
    times: float
    effect: float
    effective_rows: float
    law: str = ""
    most_rows: int | None = None
    beyond: float | None = None

    @property
    def procedure(self) -> str:
        """Where the adjusted p-values of columns come from."""
        return f"ranks among {self.noun}"

    def lines(self) -> list[str]:
        """For people."""
        least = least_text(self.least_pvalue)
        least = (
            f"p-values go by rank down to {least} and by {self.law} below"
            if self.law
            else f"no p-value is below {least}"
        )
        lines = [
            f"among {self.num_groups} {self._others()}: {self.times:.2g} times their typical distance; the rows "
            f"are worth {self.effective_rows:.3g} independent ones; {least}"
        ]
        if self.beyond is not None:
            lines.append(
                f"odder than all {self.num_groups} {self.noun}; by {self.law} {p_text(self.beyond)}, which is outside "
                f"the guarantee of ranks: they give p = {1 / (1 + self.num_groups):.3g}"
            )
        return lines

    @property
    def noun(self) -> str:
        """What there are many of."""
        return "groups" if self.kind == "groups" else "stretches of time"

    def _others(self) -> str:
        """What the batch was compared with, by their size."""
        if self.most_rows is None:
            return f"{self.noun} of this size"
        if self.kind == "groups":
            return f"groups of at most {self.most_rows} rows"
        return f"{self.noun} of {self.most_rows} rows, scaled to this size"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class GroupTest:
    """Test of batches against others like them: here groups."""

    inner: HLDTest
    reference: Any
    statistics: GroupStatistics
    kind = "groups"
    compared = "groups"
    reads: Any = GroupReference  # what is read from a file
    many = MANY  # others from which on there is a normal law beyond the ranks
    is_exact = True  # whether they are exchangeable

    def __call__(
        self, batch: ArrayLike, alpha: float = 0.05, cells: Cells | None = None
    ) -> HLDResult:
        """Test a batch (T, V) of codes, -1 for a hole, at a level in (0, 1), and its cells if they are known."""
        inner, look, statistics = self.inner, self.inner.vectors, self.statistics
        batch, alpha = check_rows(inner.circuit, batch), check_fraction(alpha, "alpha")
        T, m = len(batch), len(inner.nodes)
        center, differences, sizes, worth = self.reference.compared(T)
        features = features_of(inner, statistics, batch, cells)
        own = mean_of(look, batch, self.reference.fill, features)
        further = np.vstack([own, center + differences])[:, look.size :]
        hidden = () if cells is None else cells.hidden
        distances = statistics.distances(further, np.append(T, sizes), hidden, worth)
        odd = Deviations(distances, statistics.parts, statistics.num_parts)
        center, own, others = (one[..., : look.size] for one in (center, own - center, differences))
        own, others = without_rounding(own, others, np.abs(center))
        spread = own_spread(look, batch, self.reference.fill, center, worth * T) if worth else None
        found = exchangeable_pvalue(
            own,
            others,
            inner.calibration.metrics,
            many=self.many,
            is_exact=self.is_exact,
            spread=spread,
            beside=odd.largest,
            beyond=odd.beyond,
        )
        columns, pairs, nodes = single_pvalues(inner, own, others, self.many, spread, odd)
        pairs, of_rows = np.split(pairs, [len(statistics.pairs)], axis=1)
        bound, columns, pairs, nodes = self.bounded(T, columns, pairs, nodes)
        pvalue = max(found.value, bound, LEAST_PVALUE)
        difference = (own - others.mean(axis=0))[:m]
        variances, G = others.var(axis=0, ddof=1)[:m], len(others)
        told = zip(statistics.pairs.tolist(), pairs.T.tolist(), strict=False)
        return result_of(
            inner,
            pvalue,
            alpha,
            T,
            int((batch < 0).sum()),
            null=self.kind,
            inflation=1 + 1 / G,
            null_error=found.error,
            pvalues=found.each,
            deltas=difference * inner.shown_weights,
            stds=np.sqrt(T * variances) * inner.shown_weights,
            context=self._context(T, pvalue, difference, variances, G),
            column_pvalues=columns,
            witnesses=_heard(statistics, columns, pairs, of_rows),
            pair_pvalues={(u, v): p for (u, v), p in told},
            _node_pvalues=nodes,
        )

    def _context(
        self, T: int, pvalue: float, difference: np.ndarray, variances: np.ndarray, G: int
    ) -> GroupContext:
        """What a batch was compared with; shapes difference, variances (m,)."""
        squared, total = float((difference**2).sum()), float(variances.sum())
        rows = float((self.inner.stds[: len(variances)] ** 2).sum())
        return GroupContext(
            self.kind,
            G,
            self.least_pvalue(T) or 1 / (1 + G),
            math.sqrt(squared / total) if total > 0 else 0.0,
            math.sqrt(max(squared - total * (1 + 1 / G), 0.0) / rows) if rows > 0 else 0.0,
            rows / total if total > 0 else float(T),
            self.law,
            self.longest if self.longest < T else None,
            pvalue if self.law and pvalue * (1 + G) < LEAST_RANK else None,
        )

    @property
    def num_groups(self) -> int:
        """G."""
        return self.reference.num_groups

    @property
    def longest(self) -> int:
        """Rows of the largest group."""
        return int(self.reference.counts.max())

    @property
    def law(self) -> str:
        """The laws beyond the ranks, in words; nothing where there are too few groups for one."""
        return law_of(self.num_groups, self.num_groups >= MANY, self.statistics)

    def least_pvalue(self, T: int = 1) -> float:
        """The smallest p-value by rank, for batches of any size T."""
        return 1 / (1 + self.num_groups)

    def smallest_pvalue(self, T: int) -> float:
        """What no p-value of a batch of T rows is below, laws included: 0 with a normal law."""
        if self.num_groups >= MANY:
            return 0.0
        law = self.statistics.smallest_pvalue(T, self.num_groups)
        return min(self.least_pvalue(T), law if self.law else 1.0)

    def describe(self) -> str:
        """A few lines."""
        counts, within = self.reference.counts, float(self.reference.within.sum())
        means = self.reference.covariance_at(self.longest)
        between = float(means.diagonal().sum()) - within * float((1 / counts).mean())
        law = f", below {least_text(self.least_pvalue())} from {self.law}" if self.law else ""
        worth = "no difference between groups was found beyond that of their rows"
        if within > 0 and between > 0:
            worth = f"a group is worth at most {within / between:.3g} independent rows"
        return (
            f"groups: {self.num_groups} of {int(counts.min())} to {int(counts.max())} rows, held out of learning; "
            f"p-values by rank among them{law}\nnatural variation: {worth}"
        )

    def bounded(
        self, T: int, columns: np.ndarray | None, pairs: np.ndarray, nodes: np.ndarray
    ) -> tuple[Any, ...]:
        """The least p-value of a batch of T rows, and p-values (2, V) of columns, (2, P) of pairs, (m,) of nodes."""
        return 0.0, columns, pairs, nodes

    def to_arrays(self) -> dict[str, Any]:
        """The others, for a file."""
        own: dict[str, Any] = self.reference.to_arrays()
        return own | with_prefix(PREFIX, self.statistics.to_arrays())

    @classmethod
    def from_arrays(cls, inner: HLDTest, arrays: dict[str, Any]) -> GroupTest:
        """What `to_arrays` gave, checked."""
        own = under_prefix(PREFIX, arrays)
        statistics = GroupStatistics.from_arrays(own, inner.circuit.num_categories)
        reference = cls.reads.from_arrays(arrays, inner.vectors.bounds, statistics.bounds)
        return cls(inner, reference, statistics)


def group_test(
    inner: HLDTest,
    rows: np.ndarray,
    labels: np.ndarray,
    *,
    seed: int,
    statistics: GroupStatistics | None = None,
    cells: Cells | None = None,
) -> GroupTest:
    """The test against groups of rows that nothing was learned from, and their cells.

    Shapes: rows (n, V), labels (n,).
    """
    statistics = no_statistics(rows.shape[1]) if statistics is None else statistics
    groups = group_reference(
        inner.vectors,
        rows,
        np.unique(labels, return_inverse=True)[1],
        fill_of(inner),
        np.random.default_rng([seed, 3]),
        features_of(inner, statistics, rows, cells),
    )
    return GroupTest(inner, groups, statistics)


def fill_of(inner: HLDTest) -> np.ndarray:
    """(size,) what stands for numbers of a vector that a row does not show."""
    fill = np.zeros(inner.vectors.size)
    fill[: len(inner.nodes)] = unit_means(inner.circuit)[inner.nodes]
    return fill


def _heard(
    statistics: GroupStatistics, columns: np.ndarray | None, pairs: np.ndarray, rows: np.ndarray
) -> dict[str, Witness]:
    """The witnesses that statistics of groups stand for, which have a part in the rank of the batch, none of the level.

    Shapes: columns (2, V), pairs (2, P), rows (2, S).
    """
    found = dict(zip(statistics.odd, rows[1].tolist(), strict=False))
    if columns is not None:
        found["largest_count"] = float(columns[1].min())
    if pairs.size:
        found["largest_dependence"] = float(pairs[1].min())
    return {name: CountTest(pvalue=p, share=0.0) for name, p in found.items()}


def single_pvalues(
    inner: HLDTest,
    own: np.ndarray,
    others: np.ndarray,
    many: int,
    spread: Callable[[], np.ndarray] | None,
    odd: Deviations,
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """p-values (2, V) of columns among groups, None unless each has units, (2, P + S) of the rest, (m,) of nodes.

    Shapes: own (size,), others (G, size).
    """
    parts, m = column_units(inner.circuit, inner.nodes), len(inner.nodes)
    columns, pairs = None, np.zeros((2, 0))
    if all(map(len, parts)):
        found = ranked_parts(
            own, others, parts, many=many, spread=spread, beside=odd.tails, laws=odd.laws
        )
        columns, pairs = np.split(found, [len(parts)], axis=1)
    nodes = ranked_parts(own, others, list(np.arange(m)[:, None]), many=many, spread=spread)
    return columns, pairs, nodes[1]


def law_of(num_groups: int, is_normal: bool, statistics: GroupStatistics) -> str:
    """The laws beyond the ranks among so many groups, in words."""
    has_t = len(statistics.parts) > 0 and num_groups >= FEWEST
    return " and ".join(["a normal law"] * is_normal + ["a t law"] * has_t)


def features_of(
    inner: HLDTest, statistics: GroupStatistics, rows: np.ndarray, cells: Cells | None
) -> Features:
    """A function that gives the further numbers of the rows at some positions."""
    return lambda some: statistics.features(
        inner.circuit, rows[some], None if cells is None else cells.rows(some)
    )
