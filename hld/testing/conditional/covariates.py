r"""Which columns are covariates, functions of them, and counts of rows with the same.

Positions are those in the table that was given to `fit`, also where columns of it were left out, such as ids: the third
column stays the third.  A column that is known by parts alone, such as dates by the day of the week and the hour,
stands for all of them.

**Functions of the covariates**, that residuals are regressed on.  A circuit is wrong about P(Y | x) by a b(x) that
differs from one x to another (`conditional.conditional_test`). What a regression on these functions takes off is
the part of b that is a sum of functions of single covariates and of pairs:

* phi_0 = 1;
* an indicator of each value of each covariate; a hole is one value more;
* an indicator of each pair of values of each pair of covariates.  A covariate with more than eight values has them put
  into eight groups of about equal numbers of reference rows for this, neighbours together, because pairs of single
  values would be more than there are rows to learn from; into four or two where all pairs are still too many.  Coarse
  pairs of all covariates take off more of b than fine pairs of some (`benchmarks/bench_covariates.py`).

Pairs that are too many even so are left out, those with most values first.

**Counts** of rows with the covariates of a batch are what its counts are compared with.
Shares of missing cells, of new values, of categories and of odd rows may differ with the covariates, which may move.
With phi(x) the functions of the covariates and y whether a row of the reference is in an
event, the regression of y on phi predicts the share of a batch with the mean function phi,

.. math:: \hat y = \bar\phi^t (\Phi^t \Phi)^+ \Phi^t y = \sum_i w_i y_i, \qquad \sum_i w_i = 1, \quad \sum_i w_i^2 = h,

a weighted mean of the reference's rows, with h the leverage of the batch.  It varies as the share of 1 / h rows does
(Kish 1965, section 11.7), so the batch is compared with 1 / h rows of which a share y is in the event, rounded: as many
as have its covariates.  If phi are the indicators of the values of one covariate, w_i is the share of the batch over
that of the reference, and rows are as in a table that is stratified by the covariate.

Given the covariates a count varies less than among rows that are drawn at random, as is assumed then, so the exact
tests are on the safe side, but for what phi does not explain, and for the rounding.

Reference: L. Kish (1965), Survey Sampling, Wiley.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

import pcircuit
from hld.features.row_scores import BINS
from hld.tables.column_names import is_sequence
from hld.tables.schemas.columns import NEW
from hld.tables.shown_names import listed

NUM_GROUPS = (
    8,
    4,
    2,
)  # of the values of a covariate in pairs, the first with which all pairs are few enough


def covariate_mask(
    names: Sequence[Any],
    covariates: Any,
    reference: str,
    table_names: Sequence[Any] = (),
    derived: Sequence[Any] = (),
) -> np.ndarray | None:
    """(V,) bool; None without covariates."""
    if covariates is None:
        return None
    if not is_sequence(covariates):
        raise TypeError(
            f"`covariates` is {covariates!r}, expected a sequence of column names or positions"
        )
    places = [place for one in covariates for place in _places(names, one, table_names, derived)]
    if not places:
        raise ValueError("`covariates` names no column: give at least one, or None")
    if len(set(places)) == len(names):
        every = f"all {len(names)} columns" if len(names) > 1 else "the only column"
        raise ValueError(
            f"`covariates` names {every}: leave out those that are tested given the others"
        )
    if reference not in ("auto", "held-out", "training"):
        raise ValueError(
            "`covariates` need rows to compare with, as the circuit is only nearly right about the rest "
            f"given them: use reference='held-out', found reference={reference!r}"
        )
    return np.isin(np.arange(len(names)), places)


def _places(
    names: Sequence[Any], column: Any, table_names: Sequence[Any], derived: Sequence[Any]
) -> list[int]:
    """Positions among the fitted columns of a column that is named, or numbered as in the table."""
    known, name = list(table_names or names), column
    is_number = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    if is_number and 0 <= column < len(known):
        name = known[column]
    if isinstance(name, str) and name in names:
        return [list(names).index(name)]
    parts = [one.name for one in derived if one.source == name]
    if not parts:
        said = f" ({name!r}, which is left out of what is learned)" if name in known else ""
        raise ValueError(
            f"`covariates` names the column {column!r}{said}, expected one of {listed(names, near=name)}, or a "
            f"position from 0 to {len(known) - 1}"
        )
    return [v for v, one in enumerate(names) if one in parts]


@dataclass(frozen=True, eq=False)
class CovariateFunctions:
    """Functions of the covariates of a row; shapes variables (c,)."""

    variables: np.ndarray
    groups: tuple[np.ndarray, ...]
    num_functions: int

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """(n, f) values of the functions for rows (n, V), -1 for a hole."""
        codes = rows[:, self.variables].astype(np.int64) + 1
        found, start = np.zeros((len(rows), self.num_functions)), 1
        found[:, 0] = 1.0
        for places, sizes in self._parts:
            if start + math.prod(sizes) > self.num_functions:
                break
            values = [codes[:, i] for i in places]
            if len(places) > 1:
                values = [self.groups[i][own] for i, own in zip(places, values, strict=True)]
            found[np.arange(len(rows)), start + np.ravel_multi_index(values, sizes)] = 1.0
            start += math.prod(sizes)
        return found

    @property
    def ends(self) -> list[int]:
        """Numbers of functions that there may be: a constant, all covariates, and one pair more after the other."""
        found = 1 + np.cumsum([math.prod(sizes) for _, sizes in self._parts], dtype=np.int64)
        return [1, *found[len(self.groups) - 1 :].tolist()]

    @property
    def _parts(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Places in `variables`, and numbers of values with a hole, of each covariate and of pairs, small first."""
        few = [int(one[-1]) + 1 for one in self.groups]
        pairs = [((i, j), (few[i], few[j])) for i, j in combinations(range(len(few)), 2)]
        pairs.sort(key=lambda pair: math.prod(pair[1]))
        return [*(((i,), (len(one),)) for i, one in enumerate(self.groups)), *pairs]


def choose_functions(
    rows: np.ndarray, given: np.ndarray, num_categories: Sequence[int], most: int
) -> CovariateFunctions:
    """At most so many functions of the covariates; a constant at the least.

    Shapes: rows (k, V), given (V,), num_categories (V,).
    """
    variables = np.flatnonzero(given)
    counts = [
        np.bincount(rows[:, v].astype(np.int64) + 1, minlength=num_categories[v] + 1)
        for v in variables.tolist()
    ]
    for num_groups in NUM_GROUPS:
        functions = CovariateFunctions(
            variables, tuple(value_groups(one, num_groups) for one in counts), 1
        )
        if functions.ends[-1] <= most:
            break
    number = max(end for end in functions.ends if end <= max(most, 1))
    return CovariateFunctions(variables, functions.groups, number)


def value_groups(counts: np.ndarray, num_groups: int) -> np.ndarray:
    """(C + 1,) groups of the values of a variable: 0 for a hole, then neighbours together, from 1 without gaps."""
    values = counts[1:].astype(np.float64)
    if len(values) <= num_groups:
        return np.arange(len(counts))
    values += 1 / len(values)  # values that no reference row has belong to their neighbours
    middle = (values.cumsum() - values / 2) / values.sum()
    return np.concatenate(
        [[0], 1 + np.unique((middle * num_groups).astype(np.int64), return_inverse=True)[1]]
    )


def event_sizes(circuit: pcircuit.Circuit, num_events: int) -> list[int]:
    """How many events exclude one another: categories of columns and missing cells, new or not, bins of odd rows."""
    sizes = [C + 1 for C in circuit.num_categories] + [2] * circuit.num_variables
    return sizes + [BINS] * ((num_events - sum(sizes)) // BINS)


def row_events(codes: np.ndarray, marks: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """(n, 2 V + S) the event of each row in each block, given bins of odd rows; -1 stands for the last event.

    Shapes: codes, marks (n, V), odd (n, S).
    """
    return np.hstack([codes.astype(np.int64), marks & NEW, odd])


def event_sums(
    circuit: pcircuit.Circuit,
    rows: np.ndarray,
    given: np.ndarray,
    functions: np.ndarray,
    events: Any,
) -> np.ndarray:
    """(E, f) sums of the functions of the covariates over the rows in each event; none for the covariates themselves.

    Shapes: rows (n, V), given (V,), functions (n, f), events (n, 2 V + S).
    """
    none = np.zeros(rows.shape, np.uint8)
    found = row_events(rows, none, none[:, :0]) if events is None else events
    V = rows.shape[1]
    num_odd = found.shape[1] - 2 * V
    num_events = sum(C + 3 for C in circuit.num_categories) + num_odd * BINS
    sums = []
    for block, size in enumerate(event_sizes(circuit, num_events)):
        is_tested = block >= 2 * V or not given[block % V]
        own = np.arange(size)[:, None] == found[:, block] % size
        sums.append((own * is_tested) @ functions)
    return np.concatenate(sums).astype(np.int64)
