r"""Pairs of columns: whether their dependence has changed.

Reference rows have the pair table R_ij, a batch B_ij.  Whether the two columns themselves have moved is tested
elsewhere; the question here is whether, beyond that, the *dependence* changed.  In the log-linear model without a
three-way interaction,

.. math:: \ln E_{ijg} = a_{ij} + b_{ig} + c_{jg},  \qquad g = \text{reference, batch},

odds ratios are the same in both, and each has its own marginals.  Its expected counts have the pooled table and the
marginals of both; iterative proportional fitting finds them.  The statistic is

.. math:: X^2 = \sum_{IJ} \frac{(\sum_{ij} B_{ij} - E_{ij2})^2}{\max(\sum_{ij} v_{ij}, 1)},
          \qquad v_{ij} = \frac{E_{ij1} E_{ij2}}{E_{ij1} + E_{ij2}},

over a x b groups I x J of cells: neighbouring bins, or rare levels, are merged until there are ROWS_PER_CELL rows of
the smaller side for each group.  (The model is fitted before, because grouping does not preserve it.)  Without groups
this is Pearson's statistic, and its law chi-square with (a - 1)(b - 1) degrees of freedom; groups only make it smaller,
as does the 1 in the denominator, which keeps nearly empty cells from deciding.  The law is good at 0.01, but p-values
below 1e-4 would come up to four times too often, ten at the worst: those below 0.01 are computed with 3 instead of 1.

What is shown as expected has the odds ratios of the reference alone and the marginals of the batch (`as_in_reference`):
the pooled ones of a batch that is longer than the reference are nearly its own.

Cramer's V of the two grouped tables measures the strength of the dependence, from 0 (none) to 1 (one column determines
the other).  It has no sign; where both columns have an order, the correlation of the numbers of their groups has one,
and tells a dependence that was reversed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.answers.adjust import holm
from hld.answers.column_shifts import from_to, is_ordered, labels_of, percent
from hld.gchi2.three_moments import upper_gamma
from hld.tables.shown_names import visible

if TYPE_CHECKING:
    from hld.answers.profile import Profile
    from hld.tables.schemas.columns import LevelColumn

ROWS_PER_CELL = 8
MOST_GROUPS = 6
ROUNDS = 100  # of proportional fitting
CLOSE = 1e-7
APPROXIMATE = 0.01  # down to which the chi-square law decides with the smaller
SPREADS = 1.0, 3.0  # least variances of a group of cells
TOGETHER = 50_000  # cells of pair tables that are fitted at once
LIKELY = 0.5  # p-value from which on nothing hints at a change
CLEAR = 0.1  # size of two correlations of opposite signs, of which the words say that the dependence was reversed


@dataclass(frozen=True, eq=False)
class PairShift:
    """Whether the dependence of two columns changed; shapes expected_table, observed_table (a, b)."""

    names: tuple[Any, ...]
    expected: float
    observed: float
    pvalue: float
    adjusted: float
    labels: tuple[Any, ...]
    expected_table: np.ndarray
    observed_table: np.ndarray
    correlations: tuple[float, float] | None

    def describe(self) -> str:
        """How the dependence changed, in words."""
        place = self._clearest_cell()
        if place is None:
            return self._how()
        return (
            f"{self._how()}; {visible(self.labels[0][place[0]])} with {visible(self.labels[1][place[1]])} "
            f"{from_to(self.expected_table[place], self.observed_table[place])}"
        )

    def _clearest_cell(self) -> tuple[int, int] | None:
        """The cell that changed most; where its shares look alike, the one that changed most for its size, or none."""
        change = np.abs(self.observed_table - self.expected_table)
        for size in (change, change / np.sqrt(np.maximum(self.expected_table, 1e-300))):
            i, j = np.unravel_index(np.argmax(size), size.shape)
            if percent(self.expected_table[i, j]) != percent(self.observed_table[i, j]):
                return int(i), int(j)
        return None

    def _how(self) -> str:
        """Reversed, weaker or stronger, and by how much."""
        if (
            self.correlations is not None
            and min(self.correlations) < -CLEAR
            and max(self.correlations) > CLEAR
        ):
            return "reversed, correlation {:.2f} -> {:.2f}".format(*self.correlations)
        if f"{self.expected:.2f}" == f"{self.observed:.2f}":
            return f"as strong as before ({self.observed:.2f})" + ", but between other values" * (
                self.pvalue < LIKELY
            )
        change = "weaker" if self.observed < self.expected else "stronger"
        return f"{change}, {self.expected:.2f} -> {self.observed:.2f}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        return {
            "columns": list(self.names),
            "expected_association": self.expected,
            "observed_association": self.observed,
            "pvalue": self.pvalue,
            "adjusted_pvalue": self.adjusted,
            "labels": [list(one) for one in self.labels],
            "expected": self.expected_table.tolist(),
            "observed": self.observed_table.tolist(),
            "correlations": None if self.correlations is None else list(self.correlations),
        }


def pair_shifts(
    columns: tuple[LevelColumn, ...],
    reference: Profile,
    batch: Profile,
    *,
    are_chosen: bool = False,
    tests: Mapping[tuple[int, int], Any] | None = None,
) -> tuple[Any, ...]:
    """Whether the dependence along each edge changed, the smallest p-value first; with `tests` the edges of these.

    `tests` has p-value and adjusted p-value of pairs of columns.
    """
    compared = _compared(columns, reference, batch)
    if tests is None:
        found = [compared[e] for e in sorted(compared)]
        adjusted = holm(
            [one["pvalue"] for one in found], math.comb(len(columns), 2) if are_chosen else 0
        ).tolist()
    else:
        edges = {e: tuple(reference.edges[e].tolist()) for e in sorted(compared)}
        tested = {e: tests[pair] for e, pair in edges.items() if pair in tests}
        found = [compared[e] | {"pvalue": p} for e, (p, _) in tested.items()]
        adjusted = [q for _, q in tested.values()]
    shifts = [PairShift(adjusted=float(q), **one) for one, q in zip(found, adjusted, strict=True)]
    return tuple(
        sorted(
            shifts,
            key=lambda one: (
                float(f"{one.pvalue:.9g}"),
                -round(abs(one.observed - one.expected), 9),
            ),
        )
    )


def _compared(
    columns: tuple[LevelColumn, ...], reference: Profile, batch: Profile
) -> dict[int, dict[str, Any]]:
    """Fields of a PairShift by edge, if it has something to compare; tables of one shape are fitted together."""
    groups: dict[int, Any] = {}
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for e, ((u, v), R, B) in enumerate(
        zip(reference.edges.tolist(), reference.pairs, batch.pairs, strict=True)
    ):
        most, total = (
            min(MOST_GROUPS, math.isqrt(int(min(R.sum(), B.sum())) // ROWS_PER_CELL)),
            R + B,
        )
        if most >= 2:
            sides = (
                _groups(columns[u], total.sum(axis=1), most),
                _groups(columns[v], total.sum(axis=0), most),
            )
            if min(len(labels) for _, labels in sides) >= 2:
                groups[e] = (columns[u], columns[v]), sides
                by_shape.setdefault(R.shape, []).append(e)
    found: dict[int, dict[str, Any]] = {}
    for shape, edges in by_shape.items():
        step = max(TOGETHER // math.prod(shape), 1)
        for some in (edges[i : i + step] for i in range(0, len(edges), step)):
            tables = np.array(
                [[reference.pairs[e], batch.pairs[e]] for e in some], dtype=np.float64
            )
            for e, both, expected in zip(some, tables, fitted(tables), strict=True):
                pair, sides = groups[e]
                found[e] = _comparison(pair, sides, both, expected)
    alike: dict[Any, list[Any]] = {}  # tables of one shape once more, now of groups
    for e in sorted(found):
        alike.setdefault(found[e]["expected_table"].shape, []).append(found[e])
    for ones in alike.values():
        both = [
            np.array([one[f"{side}_table"] for one in ones]) for side in ("expected", "observed")
        ]
        for one, expected in zip(ones, as_in_reference(*both), strict=True):
            one["expected_table"] = expected
            one["observed_table"] = one["observed_table"] / one["observed_table"].sum()
    return found


def _comparison(
    pair: tuple[LevelColumn, LevelColumn], groups: Any, tables: np.ndarray, E: np.ndarray
) -> dict[str, Any]:
    """Fields of a PairShift of two columns with groups and labels, pair tables (2, a, b) and expected counts E."""
    (rows, row_labels), (cols, col_labels) = groups
    spread = np.divide(E[0] * E[1], E[0] + E[1], out=np.zeros_like(E[0]), where=E[0] + E[1] > 0)
    R, B, expected, spread = (_grouped(one, rows, cols) for one in (*tables, E[1], spread))
    return {
        "names": (pair[0].name, pair[1].name),
        "expected": cramers_v(R),
        "observed": cramers_v(B),
        "pvalue": _pvalue(B - expected, spread),
        "labels": (row_labels, col_labels),
        "expected_table": R,  # both are counts here
        "observed_table": B,
        "correlations": _correlations(pair, tables, rows, cols)
        if all(map(is_ordered, pair))
        else None,
    }


def as_in_reference(R: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Shares (n, a, b) of batches of counts B with their own marginals, and the odds ratios of the reference counts R.

    One row, spread as if the columns were independent, is added to the reference, so that every level of the batch has
    a place.

    Shapes: R, B (n, a, b) -> (n, a, b).
    """
    total, shares = R + B, B / B.sum(axis=(1, 2), keepdims=True)
    alone = total.sum(axis=2, keepdims=True) * total.sum(axis=1, keepdims=True)
    result: np.ndarray = R + alone / total.sum(axis=(1, 2), keepdims=True) ** 2
    wanted, going = {k: shares.sum(axis=k, keepdims=True) for k in (2, 1)}, np.arange(len(R))
    for _ in range(ROUNDS):
        found = before = result[going]
        for k in (2, 1):
            own = found.sum(axis=k, keepdims=True)
            found = found * np.divide(wanted[k][going], own, out=np.zeros_like(own), where=own > 0)
        result[going] = found
        going = going[np.abs(found - before).max(axis=(1, 2)) > CLOSE]
        if not len(going):
            break
    return result


def _pvalue(difference: np.ndarray, spread: np.ndarray) -> float:
    """By the chi-square law, from differences (a, b) and their variances."""
    freedom = (spread.shape[0] - 1) * (spread.shape[1] - 1)
    usual, careful = (
        upper_gamma(freedom / 2, float((difference**2 / np.maximum(spread, least)).sum()) / 2)
        for least in SPREADS
    )
    return usual if usual >= APPROXIMATE else max(careful, usual)


def fitted(tables: np.ndarray) -> np.ndarray:
    """Expected counts without a three-way interaction, for each of n times two pair tables (n, 2, a, b)."""
    result, going = np.ones(tables.shape), np.arange(len(tables))  # the tables that still change
    for _ in range(ROUNDS):
        counts, E = tables[going], result[going]
        for k in (1, 2, 3):
            own, wanted = E.sum(axis=k, keepdims=True), counts.sum(axis=k, keepdims=True)
            E *= np.divide(wanted, own, out=np.zeros_like(own), where=own > 0)
        change = np.abs(E - result[going]).max(axis=(1, 2, 3))
        result[going] = E
        going = going[change > CLOSE * counts.sum(axis=(1, 2, 3))]
        if not len(going):
            break
    return result


def cramers_v(table: np.ndarray) -> float:
    """Cramer's V of a pair table (a, b) of counts: sqrt(X^2 / (N (min(a, b) - 1))) over the rows and columns in use."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0
    N = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / N
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / N / (min(table.shape) - 1)))


def _correlations(
    pair: tuple[LevelColumn, LevelColumn], tables: np.ndarray, rows: np.ndarray, cols: np.ndarray
) -> tuple[float, float] | None:
    """Of both tables (2, a, b) in groups, without unseen whole numbers; None where a side has no other rows."""
    ends = [None if hasattr(column, "edges") else -1 for column in pair]
    placed = [
        _grouped(one[: ends[0], : ends[1]], rows[: ends[0]], cols[: ends[1]]) for one in tables
    ]
    return (
        (_correlation(placed[0]), _correlation(placed[1]))
        if all(one.any() for one in placed)
        else None
    )


def _correlation(table: np.ndarray) -> float:
    """Correlation of the row and the column number of the rows of a pair table (a, b); 0 where one is constant."""
    p, i, j = table / table.sum(), np.arange(table.shape[0]), np.arange(table.shape[1])
    i, j = i - p.sum(axis=1) @ i, j - p.sum(axis=0) @ j
    spread = math.sqrt((p.sum(axis=1) @ i**2) * (p.sum(axis=0) @ j**2))
    return float(i @ p @ j) / spread if spread > 0 else 0.0


def _groups(column: LevelColumn, totals: np.ndarray, most: int) -> tuple[Any, ...]:
    """(C,) the group of each category, and the labels of the groups: neighbours where there is an order.

    Categories that no row has are in a group of others: one of their own would be a degree of freedom more.
    """
    labels, C = labels_of(column)[:-1], len(totals)
    used = np.flatnonzero(totals)
    groups = np.zeros(C, dtype=np.int64)
    if is_ordered(column):
        middle = ((np.cumsum(totals) - totals / 2) / max(totals.sum(), 1))[used]
        own = (
            np.minimum((middle * most).astype(np.int64), most - 1)
            if len(used) > most
            else np.arange(len(used))
        )
        groups = own[np.minimum(np.searchsorted(used, np.arange(C)), len(used) - 1)]
    else:
        order = used[np.argsort(-totals[used], kind="stable")]
        groups[:] = min(len(used), most) - 1
        groups[order[:most]] = np.arange(len(order[:most]))
    numbers, groups = np.unique(groups, return_inverse=True)
    named = [[labels[c] for c in used.tolist() if groups[c] == g] for g in range(len(numbers))]
    return groups, tuple(_label(names, hasattr(column, "edges")) for names in named)


def _label(names: list[str], are_bins: bool = False) -> str:
    """The label of a group of categories; neighbouring bins are one."""
    if len(names) <= 1:
        return "".join(names)
    if are_bins:
        low, high = names[0].split(" to ")[0], names[-1].split(" to ")[-1]
        if names[0].startswith("< ") != names[-1].startswith(">= "):
            return f"< {high}" if names[0].startswith("< ") else f">= {low}"
        return f"{low} to {high}" if not names[0].startswith("< ") else "any"
    return f"{names[0]} ... {names[-1]}" if len(names) > 2 else " or ".join(names)


def _grouped(table: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """A pair table with the categories of each group added up."""
    grouped = np.zeros((rows.max() + 1, cols.max() + 1))
    np.add.at(grouped, (rows[:, None], cols[None, :]), table)
    return grouped
