"""Columns: which have moved, and how.

Each column of a batch is compared with the reference by the frequencies of its levels or bins, with missing cells as
one more level.  There is a p-value (`hld.answers.frequencies`), adjusted for the number of columns (Holm), and a size,

    difference = (1/2) sum_c |observed_c - expected_c|,

the share of rows that would have to change for the frequencies to be the expected ones (the total variation distance).
In an ordered column, A = P(a batch row is above a reference row) + P(they are level) / 2 gives the direction.  Unseen
and rare levels of whole numbers have no place in the order: A is that of the others, and left out where these may turn
its direction.

New values have a test of their own (`schemas.counts`): numbers beyond the training range are in the
outermost bins, where one ten times as large is in the same bin, and unseen levels are one of perhaps many rare ones,
whose counts are pooled.  So have missing cells (`schemas.counts`): as one of many levels they can be
lost among the others.  Where rows have such values or cells, of the batch or of those that it is compared with, the
p-value is the smallest of two or three, times their number.  Whether there is such a test depends on their number in
both sides together, given which the tests keep their levels.

Columns are in the order of their p-values.  Where a batch is rejected and no column moved by itself, those come first
that most likely moved by the dependences that changed and those that stayed: exchanged levels may leave the
frequencies as they were (`hld.answers.dependences`).
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.answers.adjust import holm
from hld.answers.frequencies import homogeneity_pvalue
from hld.tables.shown_names import visible
from pcircuit.arguments import for_ranking

if TYPE_CHECKING:
    from hld.answers.profile import Profile
    from hld.tables.schemas.columns import LevelColumn

UNSEEN, RARE, MISSING = "(unseen)", "(rare)", "(missing)"
CLEAR = 0.01  # |A - 1/2| below which no direction is given
SHOWN_CHANGES = 2
MOST_DIGITS = 4  # behind the point, of shares in per cent that would look alike
DIGITS = 4  # of bin edges, more where they would look alike


@dataclass(frozen=True)
class NewValues:
    """Values of one column that learning did not show: their p-value, and shares of rows of reference and batch."""

    pvalue: float
    expected: float
    observed: float


@dataclass(frozen=True, eq=False)
class ColumnShift:
    """How one column of a batch compares with the reference; shapes expected, observed (K,)."""

    name: str
    kind: str
    labels: tuple[Any, ...]
    expected: np.ndarray
    observed: np.ndarray
    difference: float
    pvalue: float
    adjusted: float
    above: float | None
    beyond: tuple[float, float] | None = None

    @property
    def direction(self) -> str:
        """Where the values went: "higher", "lower", or "" without an order or a clear direction."""
        if self.above is None or abs(self.above - 0.5) < CLEAR:
            return ""
        return "higher" if self.above > 0.5 else "lower"

    def largest_changes(self, count: int = SHOWN_CHANGES) -> list[Any]:
        """Positions of the levels or bins whose shares changed most, at most `count` of them."""
        change = np.abs(self.observed - self.expected)
        order = np.argsort(-for_ranking(change), kind="stable")[:count].tolist()
        return [k for k in order if change[k] > 0]

    def describe(self) -> str:
        """How the column moved, in words."""
        expected, observed = self.beyond or (0.0, 0.0)
        is_most = observed - expected > np.abs(self.observed - self.expected).max(initial=0.0)
        changes = [
            f"{visible(self.labels[k])} {from_to(self.expected[k], self.observed[k])}"
            for k in self.largest_changes(SHOWN_CHANGES - is_most)
        ]
        if is_most:
            changes.insert(0, f"beyond the training range {from_to(expected, observed)}")
        return (
            ", ".join(part for part in (self.direction, "; ".join(changes)) if part)
            or "as expected"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        known = self.pvalue == self.pvalue
        return {
            "name": self.name,
            "kind": self.kind,
            "pvalue": self.pvalue if known else None,
            "adjusted_pvalue": self.adjusted if known else None,
            "difference": self.difference,
            "direction": self.direction,
            "above": self.above,
            "beyond_range": None if self.beyond is None else list(self.beyond),
            "levels": [
                {"label": label, "expected": float(a), "observed": float(b)}
                for label, a, b in zip(self.labels, self.expected, self.observed, strict=True)
            ],
        }


def column_shifts(
    columns: tuple[LevelColumn, ...],
    reference: Profile,
    batch: Profile,
    seed: int,
    tests: np.ndarray | None = None,
    new: Sequence[NewValues | None] | None = None,
    missing: Sequence[float | None] | None = None,
) -> tuple[Any, ...]:
    """How each column moved, the smallest p-value first.

    Shapes: tests (2, V).
    O(K) a column, and up to 9,999 draws of K numbers where counts are small.
    """
    pairs = list(zip(reference.counts, batch.counts, strict=True))
    new, missing = new or [None] * len(columns), missing or [None] * len(columns)
    if tests is None or any(one is not None for one in (*new, *missing)):
        pvalues = [
            _together(
                homogeneity_pvalue(expected, observed, np.random.default_rng([seed, v]))
                if tests is None
                else float(tests[0, v]),
                getattr(new[v], "pvalue", None),
                missing[v],
            )
            for v, (expected, observed) in enumerate(pairs)
        ]
        tests = np.array([pvalues, holm(pvalues, int(np.isfinite(pvalues).sum()))])
    shifts = [
        _shift(column, expected, observed, float(p), float(q), one)
        for column, (expected, observed), (p, q), one in zip(
            columns, pairs, tests.T.tolist(), new, strict=True
        )
    ]
    return tuple(
        sorted(
            shifts,
            key=lambda one: (
                np.isnan(one.pvalue),
                float(f"{np.nan_to_num(one.pvalue):.9g}"),
                -round(one.difference, 9),
            ),
        )
    )


def _together(*pvalues: float | None) -> float:
    """The smallest of those that there are, times their number; NaN for a column that is not tested."""
    known = [p for p in pvalues if p is not None]
    return float(np.minimum(len(known) * min(known), 1.0))


def _shift(
    column: LevelColumn,
    expected: np.ndarray,
    observed: np.ndarray,
    pvalue: float,
    adjusted: float,
    new: NewValues | None,
) -> ColumnShift:
    """How a column with counts (C + 1,) moved."""
    a, b = expected / max(expected.sum(), 1), observed / max(observed.sum(), 1)
    labels = labels_of(column)
    ordered = is_ordered(column)
    levels = (
        [k for k in range(len(labels) - 1) if labels[k] not in (UNSEEN, RARE)] if ordered else []
    )
    return ColumnShift(
        column.name,
        column.kind,
        labels,
        a,
        b,
        float(np.abs(a - b).sum() / 2),
        pvalue,
        adjusted,
        _above(expected[:-1], observed[:-1], levels) if ordered else None,
        (new.expected, new.observed) if new is not None and hasattr(column, "edges") else None,
    )


def is_ordered(column: LevelColumn) -> bool:
    """Whether the categories of a column have an order: bins and whole numbers."""
    return hasattr(column, "edges") or column.kind == "integer"


def labels_of(column: Any) -> tuple[Any, ...]:
    """Names of the categories of a column, and "(missing)" after them, no two of them the same."""
    edges = getattr(column, "edges", None)
    if edges is None:
        others = (*column.values(UNSEEN, RARE)[len(column.levels) :], MISSING)
        return (*level_texts(column.levels, others), *others)
    if not edges:
        return ("all numbers", MISSING)
    marks = edge_texts(column, edges)
    return (
        f"< {marks[0]}",
        *(f"{a} to {b}" for a, b in pairwise(marks)),
        f">= {marks[-1]}",
        MISSING,
    )


def level_texts(levels: Sequence[Any], others: Iterable[str]) -> tuple[str, ...]:
    """The texts of distinct levels, in quotes where a text looks like another level, or like one of other names."""
    count = collections.Counter([*map(str, levels), *others])
    return tuple(
        repr(level) if isinstance(level, str) and count[level] > 1 else str(level)
        for level in levels
    )


def percent(share: float) -> str:
    """A share in per cent; small ones are not shown as zero, nor those of nearly all rows as of all."""
    text = f"{100 * share:.2g}%" if 100 * share < 9.95 else f"{100 * share:.0f}%"
    if share >= 1 or text != "100%":
        return text
    rest = float(f"{100 * (1 - share):.1g}")
    return f"{100 - rest:.10g}%"


def tenths(share: float) -> str:
    """A share to a tenth of a per cent, with more digits where it would look like none or all."""
    text = f"{share:.1%}"
    return percent(share) if text in ("0.0%", "100.0%") and 0 < share < 1 else text


def from_to(first: float, second: float) -> str:
    """Two shares in per cent, with as many digits as tell them apart."""
    texts = percent(first), percent(second)
    is_close = texts[0] == texts[1] and first != second
    for digits in range(1, MOST_DIGITS + 1) if is_close else ():
        longer = f"{100 * first:.{digits}f}%", f"{100 * second:.{digits}f}%"
        if longer[0] != longer[1] and (
            max(first, second) >= 1 or not any(one.startswith("100") for one in longer)
        ):
            return " -> ".join(longer)
    return " -> ".join(texts)


def edge_texts(column: Any, edges: Sequence[float]) -> list[str]:
    """Edges of the bins of a column: dates and times as such, numbers as short as they can be without looking alike."""
    return list(column.texts(edges, DIGITS))


def _above(expected: np.ndarray, observed: np.ndarray, levels: list[int]) -> float | None:
    """P(batch above reference) + P(level) / 2 of counts (C,) in levels that ascend.

    None where a side has none of these, or the others, whose place is not known, may turn the direction.
    """
    a, b = expected[levels], observed[levels]
    if not a.sum() or not b.sum():
        return None
    placed = float(
        a.sum() / expected.sum() * (b.sum() / observed.sum())
    )  # share of pairs with two known places
    a, b = a / a.sum(), b / b.sum()
    above = float(b @ (np.cumsum(a) - a / 2))
    may_turn = placed * above < 0.5 if above > 0.5 else 1 - placed * (1 - above) > 0.5
    return None if abs(above - 0.5) >= CLEAR and may_turn else above
