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
from typing import Any

import numpy as np

from hld.answers.frequencies import holm, homogeneity_pvalue
from hld.tables.schemas.columns import LevelColumn
from hld.tables.shown_names import in_one_line, visible
from pcircuit.arguments import for_ranking

UNSEEN, RARE, MISSING = "(unseen)", "(rare)", "(missing)"
CLEAR = 0.01  # |A - 1/2| below which no direction is given
SHOWN_CHANGES = 2
DIGITS = 4  # of bin edges, more where they would look alike


@dataclass(frozen=True, eq=False)
class ColumnShift:
    """How one column of a batch compares with the reference; shapes expected, observed (K,)."""

    name: str
    kind: str
    labels: tuple[Any, ...]
    expected: np.ndarray
    observed: np.ndarray
    pvalue: float
    adjusted: float
    above: float | None
    beyond: tuple[float, float] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The column, as a pair has two."""
        return (self.name,)

    @property
    def title(self) -> str:
        """Its name in a line of text."""
        return in_one_line(self.name)

    @property
    def difference(self) -> float:
        """The share of rows that would have to change."""
        return float(np.abs(self.expected - self.observed).sum() / 2)

    @property
    def direction(self) -> str:
        """Where the values went: "higher", "lower", or "" without an order or a clear direction."""
        if self.above is None or abs(self.above - 0.5) < CLEAR:
            return ""
        return "higher" if self.above > 0.5 else "lower"

    def describe(self) -> str:
        """How the column moved, in words: where to, and what changed most."""
        change = np.abs(self.observed - self.expected)
        expected, observed = self.beyond or (0.0, 0.0)
        said = []
        if observed - expected > change.max(initial=0.0):
            said.append(f"beyond the training range {from_to(expected, observed)}")
        for k in np.argsort(-for_ranking(change), kind="stable")[: SHOWN_CHANGES - len(said)]:
            if change[k] > 0:
                shares = from_to(self.expected[k], self.observed[k])
                said.append(f"{visible(self.labels[k])} {shares}")
        return ", ".join(filter(None, (self.direction, "; ".join(said)))) or "as expected"

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
    columns: Sequence[LevelColumn],
    counts: Sequence[tuple[np.ndarray, np.ndarray]],
    tests: np.ndarray | None = None,
    beside: Sequence[tuple[Sequence[float], tuple[float, float] | None]] | None = None,
) -> tuple[Any, ...]:
    """How each column moved, the smallest p-value first.

    `counts` are those of the reference and of the batch (C + 1,), `tests` (2, V) p-values and adjusted ones, `beside`
    further p-values of each column, and its shares of rows beyond the training range.
    O(K) a column.
    """
    beside = beside or [((), None)] * len(columns)
    pvalues = np.empty(len(columns))
    for v, (more, _) in enumerate(beside):
        if tests is None:
            own = homogeneity_pvalue(*counts[v])
        else:
            own = float(tests[0, v])  # NaN for a column that is not tested
        pvalues[v] = np.minimum((1 + len(more)) * min((own, *more)), 1.0)
    if tests is None or any(more for more, _ in beside):
        adjusted = holm(pvalues, int(np.isfinite(pvalues).sum()))
    else:
        adjusted = tests[1]
    shifts = []
    for v, column in enumerate(columns):
        expected, observed = counts[v]
        labels, above = labels_of(column), None
        if is_ordered(column):
            placed = [k for k in range(len(labels) - 1) if labels[k] not in (UNSEEN, RARE)]
            above = _above(expected[:-1], observed[:-1], placed)
        a, b = (one / max(one.sum(), 1) for one in counts[v])
        p, q = float(pvalues[v]), float(adjusted[v])
        shifts.append(
            ColumnShift(column.name, column.kind, labels, a, b, p, q, above, beside[v][1])
        )
    return tuple(
        sorted(shifts, key=lambda one: (np.nan_to_num(one.pvalue, nan=2.0), -one.difference))
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
    marks = column.texts(edges, DIGITS)
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


def from_to(first: float, second: float) -> str:
    """Two shares in per cent, with more digits where they would look alike."""
    texts = percent(first), percent(second)
    if texts[0] == texts[1] and first != second:
        texts = f"{100 * first:.5g}%", f"{100 * second:.5g}%"
    return " -> ".join(texts)


def _above(expected: np.ndarray, observed: np.ndarray, levels: list[int]) -> float | None:
    """P(batch above reference) + P(level) / 2 of counts (C,) in levels that ascend.

    None where a side has none of these, or the others, whose place is not known, may turn the direction.
    """
    a, b = expected[levels], observed[levels]
    if not a.sum() or not b.sum():
        return None
    # share of pairs with two known places
    placed = float(a.sum() / expected.sum() * (b.sum() / observed.sum()))
    a, b = a / a.sum(), b / b.sum()
    above = float(b @ (np.cumsum(a) - a / 2))
    may_turn = placed * above < 0.5 if above > 0.5 else 1 - placed * (1 - above) > 0.5
    return None if abs(above - 0.5) >= CLEAR and may_turn else above
