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
as does the 1 in the denominator, which keeps nearly empty cells from deciding.

Cramer's V of the two grouped tables measures the strength of the dependence, from 0 (none) to 1 (one column determines
the other).
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hld.answers.adjust import holm
from hld.answers.column_shifts import is_ordered, labels_of, percent

if TYPE_CHECKING:
    from hld.answers.profile import Profile
    from hld.schemas.columns import LevelColumn

ROWS_PER_CELL = 8
MOST_GROUPS = 6
ROUNDS = 100  # of proportional fitting
CLOSE = 1e-7


@dataclass(frozen=True, eq=False)
class PairShift:
    """Whether the dependence of two columns changed.

    Attributes
    ----------
    names : tuple of two str
    expected, observed : float
        Cramer's V in the reference and in the batch, of the grouped tables.
    pvalue, adjusted : float
        p-value for equal odds ratios: unadjusted, and adjusted for the number of pairs (Holm).
    labels : tuple of two tuples of str
        The groups of levels or bins.
    expected_table, observed_table : (a, b) float arrays
        Shares of the batch's rows: with the dependence of the reference and the batch's own marginals, and as found.
    """

    names: tuple[Any, ...]
    expected: float
    observed: float
    pvalue: float
    adjusted: float
    labels: tuple[Any, ...]
    expected_table: np.ndarray
    observed_table: np.ndarray

    def describe(self) -> str:
        """How the dependence changed, in words."""
        change = self.observed_table - self.expected_table
        i, j = np.unravel_index(np.argmax(np.abs(change)), change.shape)
        how = "weaker" if self.observed < self.expected else "stronger"
        return (f"{how}, {self.expected:.2f} -> {self.observed:.2f}; {self.labels[0][i]} with {self.labels[1][j]} "
                f"{percent(self.expected_table[i, j])} -> {percent(self.observed_table[i, j])}")

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        return {"columns": list(self.names), "expected_association": self.expected,
                "observed_association": self.observed, "pvalue": self.pvalue, "adjusted_pvalue": self.adjusted,
                "labels": [list(one) for one in self.labels], "expected": self.expected_table.tolist(),
                "observed": self.observed_table.tolist()}


def pair_shifts(columns: tuple[LevelColumn, ...], reference: Profile, batch: Profile) -> tuple[Any, ...]:
    """Whether the dependence along each edge changed, the smallest p-value first.

    Parameters
    ----------
    columns : sequence of V columns
        Columns of the encoder.
    reference, batch : Profile
        Both profiles have the same edges.

    Returns
    -------
    tuple of PairShift
        One for each edge with enough rows and more than one group in both columns.

    References
    ----------
    Deming and Stephan (1940), Annals of Mathematical Statistics 11, 427 (proportional fitting); Bishop, Fienberg and
    Holland (1975), Discrete Multivariate Analysis; Cramer (1946), Mathematical Methods of Statistics, section 21.9.
    """
    compared = [_compared(columns[u], columns[v], R, B)
                for (u, v), R, B in zip(reference.edges.tolist(), reference.pairs, batch.pairs, strict=True)]
    found = [one for one in compared if one is not None]
    adjusted = holm([one["pvalue"] for one in found])
    shifts = [PairShift(adjusted=float(q), **one) for one, q in zip(found, adjusted, strict=True)]
    return tuple(sorted(shifts, key=lambda one: (one.pvalue, -abs(one.observed - one.expected))))


def _compared(first: LevelColumn, second: LevelColumn, R: np.ndarray, B: np.ndarray) -> dict[str, Any] | None:
    """Fields of a PairShift of two columns with pair tables (a, b); None where there is nothing to compare."""
    least = min(R.sum(), B.sum())
    most = min(MOST_GROUPS, math.isqrt(int(least) // ROWS_PER_CELL))
    if most < 2:
        return None
    rows, row_labels = _groups(first, (R + B).sum(axis=1), most)
    cols, col_labels = _groups(second, (R + B).sum(axis=0), most)
    if min(len(row_labels), len(col_labels)) < 2:
        return None
    E = fitted(np.stack([R, B]))
    spread = np.divide(E[0] * E[1], E[0] + E[1], out=np.zeros_like(E[0]), where=E[0] + E[1] > 0)
    R, B, expected, spread = (_grouped(one, rows, cols) for one in (R, B, E[1], spread))
    squared = float(((B - expected) ** 2 / np.maximum(spread, 1)).sum())
    from scipy.special import chdtrc
    return {"names": (first.name, second.name), "expected": cramers_v(R), "observed": cramers_v(B),
            "pvalue": float(chdtrc((R.shape[0] - 1) * (R.shape[1] - 1), squared)), "labels": (row_labels, col_labels),
            "expected_table": expected / B.sum(), "observed_table": B / B.sum()}


def fitted(tables: np.ndarray) -> np.ndarray:
    """Expected counts without a three-way interaction of two pair tables (2, a, b).

    Examples
    --------
    >>> import numpy as np
    >>> fitted(np.array([[[30.0, 10.0], [10.0, 30.0]], [[15.0, 5.0], [5.0, 15.0]]])).round(9).tolist()
    [[[30.0, 10.0], [10.0, 30.0]], [[15.0, 5.0], [5.0, 15.0]]]
    """
    E, sides = np.ones_like(tables, dtype=np.float64), [tables.sum(axis=k) for k in range(3)]
    for _ in range(ROUNDS):
        before = E.copy()
        for k in range(3):
            own = E.sum(axis=k)
            E *= np.expand_dims(np.divide(sides[k], own, out=np.zeros_like(own), where=own > 0), k)
        if np.abs(E - before).max() <= CLOSE * tables.sum():
            break
    return E


def cramers_v(table: np.ndarray) -> float:
    """Cramer's V of a pair table (a, b) of counts: sqrt(X^2 / (N (min(a, b) - 1))) over the rows and columns in use.

    Examples
    --------
    >>> import numpy as np
    >>> cramers_v(np.array([[10, 0], [0, 10]])), cramers_v(np.array([[5, 5], [5, 5]]))
    (1.0, 0.0)
    """
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0
    N = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / N
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / N / (min(table.shape) - 1)))


def _groups(column: LevelColumn, totals: np.ndarray, most: int) -> tuple[Any, ...]:
    """(C,) the group of each category, and the labels of the groups: neighbours where there is an order."""
    labels, C = labels_of(column)[:-1], len(totals)
    used = np.flatnonzero(totals)
    groups = np.zeros(C, dtype=np.int64)
    if is_ordered(column):
        middle = (np.cumsum(totals) - totals / 2) / max(totals.sum(), 1)
        groups = np.minimum((middle * most).astype(np.int64), most - 1) if len(used) > most else np.arange(C)
    else:
        order = used[np.argsort(-totals[used], kind="stable")]
        groups[:] = min(len(used), most) - 1
        groups[order[:most]] = np.arange(len(order[:most]))
    numbers, groups = np.unique(groups, return_inverse=True)
    named = [[labels[c] for c in used.tolist() if groups[c] == g] for g in range(len(numbers))]
    return groups, tuple(_label(names) for names in named)


def _label(names: list[str]) -> str:
    """The label of a group of categories."""
    if len(names) <= 1:
        return "".join(names)
    return f"{names[0]} ... {names[-1]}" if len(names) > 2 else " or ".join(names)


def _grouped(table: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """A pair table with the categories of each group added up."""
    grouped = np.zeros((rows.max() + 1, cols.max() + 1))
    np.add.at(grouped, (rows[:, None], cols[None, :]), table)
    return grouped
