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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.answers.adjust import holm
from hld.answers.column_shifts import from_to, is_ordered, labels_of
from hld.answers.profile import Profile
from hld.gchi2.three_moments import upper_gamma
from hld.tables.schemas.columns import LevelColumn
from hld.tables.shown_names import visible

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
        """How the dependence changed, in words: reversed, weaker or stronger, and the cell that changed most."""
        low, high = sorted(self.correlations or (0.0, 0.0))
        weak, strong = f"{self.expected:.2f}", f"{self.observed:.2f}"
        if low < -CLEAR and high > CLEAR:
            how = "reversed, correlation {:.2f} -> {:.2f}".format(*self.correlations or ())
        elif weak == strong:
            but = ", but between other values" * (self.pvalue < LIKELY)
            how = f"as strong as before ({strong}){but}"
        else:
            change = "weaker" if self.observed < self.expected else "stronger"
            how = f"{change}, {weak} -> {strong}"
        change = np.abs(self.observed_table - self.expected_table)
        i, j = np.unravel_index(np.argmax(change), change.shape)
        if not change[i, j]:
            return how
        shares = from_to(self.expected_table[i, j], self.observed_table[i, j])
        return f"{how}; {visible(self.labels[0][i])} with {visible(self.labels[1][j])} {shares}"

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
    columns: Sequence[LevelColumn],
    reference: Profile,
    batch: Profile,
    num_columns: int = 0,
    tests: Mapping[tuple[int, int], Any] | None = None,
) -> tuple[PairShift, ...]:
    """Whether the dependence along each edge changed, the smallest p-value first; with `tests` the edges of these.

    `tests` has p-value and adjusted p-value of pairs of columns.  Without them p-values are adjusted for the edges, or
    for all pairs of `num_columns`, of which the edges were chosen by the rows of the reference.
    """
    edges = [(u, v) for u, v in reference.edges.tolist()]
    groups = _groups_of_edges(columns, reference, batch)
    if tests is not None:
        groups = {e: own for e, own in groups.items() if edges[e] in tests}
    counts = {e: np.array([reference.pairs[e], batch.pairs[e]], dtype=float) for e in groups}
    pvalues, grouped, correlations = {}, {}, {}
    for some, tables in _of_one_shape(counts):
        for e, both, E in zip(some, tables, fitted(tables), strict=True):
            (rows, _), (cols, _) = groups[e]
            total = E.sum(axis=0)
            spread = np.divide(E[0] * E[1], total, out=np.zeros_like(total), where=total > 0)
            R, B, expected, spread = (_grouped(one, rows, cols) for one in (*both, E[1], spread))
            pvalues[e], grouped[e] = _pvalue(B - expected, spread), np.array([R, B])
            pair = [columns[v] for v in edges[e]]
            correlations[e] = _correlations(pair, both, rows, cols)
    shown: dict[int, np.ndarray] = {}
    for some, tables in _of_one_shape(grouped):
        shown |= dict(zip(some, as_in_reference(tables[:, 0], tables[:, 1]), strict=True))
    places = sorted(groups)
    if tests is None:
        adjusted = holm([pvalues[e] for e in places], math.comb(num_columns, 2)).tolist()
    else:
        pvalues = {e: tests[edges[e]][0] for e in places}
        adjusted = [tests[edges[e]][1] for e in places]
    shifts = []
    for e, q in zip(places, adjusted, strict=True):
        R, B = grouped[e]
        shifts.append(
            PairShift(
                tuple(columns[v].name for v in edges[e]),
                cramers_v(R),
                cramers_v(B),
                pvalues[e],
                float(q),
                tuple(labels for _, labels in groups[e]),
                shown[e],
                B / B.sum(),
                correlations[e],
            )
        )
    return tuple(sorted(shifts, key=lambda one: (one.pvalue, -abs(one.observed - one.expected))))


def _groups_of_edges(columns: Any, reference: Profile, batch: Profile) -> dict[int, Any]:
    """Groups and labels of both columns of each edge that has enough rows to compare."""
    found = {}
    for e, (u, v) in enumerate(reference.edges.tolist()):
        R, B = reference.pairs[e], batch.pairs[e]
        most = min(MOST_GROUPS, math.isqrt(int(min(R.sum(), B.sum())) // ROWS_PER_CELL))
        if most >= 2:
            ends = ((u, (R + B).sum(axis=1)), (v, (R + B).sum(axis=0)))
            sides = [_groups(columns[one], totals, most) for one, totals in ends]
            if min(len(labels) for _, labels in sides) >= 2:
                found[e] = sides
    return found


def _of_one_shape(tables: Mapping[int, np.ndarray]) -> Iterator[tuple[list[int], np.ndarray]]:
    """Tables of one shape together, at most `TOGETHER` cells at a time, and whose they are."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for e, table in tables.items():
        alike.setdefault(table.shape, []).append(e)
    for shape, places in alike.items():
        step = max(TOGETHER // math.prod(shape), 1)
        for some in (places[i : i + step] for i in range(0, len(places), step)):
            yield some, np.stack([tables[e] for e in some])


def as_in_reference(R: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Shares (n, a, b) of batches of counts B with their own marginals, and the odds ratios of the reference counts R.

    One row, spread as if the columns were independent, is added to the reference, so that every level of the batch has
    a place.
    """
    total, shares = R + B, B / B.sum(axis=(1, 2), keepdims=True)
    alone = total.sum(axis=2, keepdims=True) * total.sum(axis=1, keepdims=True)
    start = R + alone / total.sum(axis=(1, 2), keepdims=True) ** 2
    return _proportional(start, {k: shares.sum(axis=k, keepdims=True) for k in (2, 1)})


def fitted(tables: np.ndarray) -> np.ndarray:
    """Expected counts without a three-way interaction, for each of n times two pair tables (n, 2, a, b)."""
    sums = {k: tables.sum(axis=k, keepdims=True) for k in (1, 2, 3)}
    return _proportional(np.ones(tables.shape), sums)


def _proportional(start: np.ndarray, sums: dict[int, np.ndarray]) -> np.ndarray:
    """Tables (n, ...) of the interactions of others, with given sums along some axes: proportional fitting."""
    result, going = start.copy(), np.arange(len(start))  # the tables that still change
    rest = tuple(range(1, start.ndim))
    size = next(iter(sums.values())).sum(axis=rest)
    for _ in range(ROUNDS):
        found = result[going]
        for k, wanted in sums.items():
            own = found.sum(axis=k, keepdims=True)
            found = found * np.divide(wanted[going], own, out=np.zeros_like(own), where=own > 0)
        change = np.abs(found - result[going]).max(axis=rest)
        result[going] = found
        going = going[change > CLOSE * size[going]]
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


def cramers_v(table: np.ndarray) -> float:
    """Cramer's V of a pair table (a, b) of counts: sqrt(X^2 / (N (min(a, b) - 1))) over the rows and columns in use."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0
    N = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / N
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / N / (min(table.shape) - 1)))


def _correlations(
    pair: Sequence[LevelColumn], tables: np.ndarray, rows: np.ndarray, cols: np.ndarray
) -> tuple[float, float] | None:
    """Of both tables (2, a, b) in groups, without unseen whole numbers; None without an order or other rows."""
    if not all(map(is_ordered, pair)):
        return None
    a, b = (None if hasattr(column, "edges") else -1 for column in pair)
    R, B = (_grouped(one[:a, :b], rows[:a], cols[:b]) for one in tables)
    return (_correlation(R), _correlation(B)) if R.any() and B.any() else None


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
    if is_ordered(column):
        own = np.arange(len(used))
        if len(used) > most:
            middle = ((np.cumsum(totals) - totals / 2) / totals.sum())[used]
            own = np.minimum((middle * most).astype(np.int64), most - 1)
        groups = own[np.minimum(np.searchsorted(used, np.arange(C)), len(used) - 1)]
    else:
        groups = np.full(C, min(len(used), most) - 1)
        order = used[np.argsort(-totals[used], kind="stable")][:most]
        groups[order] = np.arange(len(order))
    numbers, groups = np.unique(groups, return_inverse=True)
    named = [[labels[c] for c in used.tolist() if groups[c] == g] for g in range(len(numbers))]
    return groups, tuple(_label(names, hasattr(column, "edges")) for names in named)


def _label(names: list[str], are_bins: bool) -> str:
    """The label of a group of categories; neighbouring bins are one."""
    if not are_bins or len(names) <= 1:
        return f"{names[0]} ... {names[-1]}" if len(names) > 2 else " or ".join(names)
    low, high = names[0].split(" to ")[0], names[-1].split(" to ")[-1]
    if low.startswith("< "):
        return "any" if high.startswith(">= ") else f"< {high}"
    return f">= {low}" if high.startswith(">= ") else f"{low} to {high}"


def _grouped(table: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """A pair table with the categories of each group added up."""
    grouped = np.zeros((rows.max() + 1, cols.max() + 1))
    np.add.at(grouped, (rows[:, None], cols[None, :]), table)
    return grouped
