r"""Which columns are covariates: named by the user, found among those that were fitted.

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
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.tables.column_names import is_sequence
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
    places = [
        place
        for one in covariates
        for place in column_places(names, one, "covariates", table_names, derived)
    ]
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


def column_places(
    names: Sequence[Any],
    column: Any,
    argument: str,
    table_names: Sequence[Any] = (),
    derived: Sequence[Any] = (),
) -> list[int]:
    """Positions among the fitted columns of a column that is named or numbered."""
    names = list(names)
    all_names = list(table_names) or names
    name = column
    if (
        isinstance(column, (int, np.integer))
        and not isinstance(column, bool)
        and 0 <= column < len(all_names)
    ):
        name = all_names[column]
    elif not isinstance(column, str):
        name = None
    if name is not None and name in names:
        return [names.index(name)]
    if name is not None and (
        parts := [names.index(one.name) for one in derived if one.source == name]
    ):
        return parts
    said = (
        ""
        if name is None or name not in all_names
        else (
            ", which is left out of what is learned"
            if isinstance(column, str)
            else f" ({name!r}), which is left out of what is learned"
        )
    )
    raise ValueError(
        f"`{argument}` names the column {column!r}{said}, expected one of {listed(names, near=column)}, or a "
        f"position from 0 to {len(all_names) - 1}"
    )


@dataclass(frozen=True, eq=False)
class CovariateFunctions:
    """Functions of the covariates of a row; shapes variables (c,)."""

    variables: np.ndarray
    groups: tuple[np.ndarray, ...]
    num_functions: int

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """(n, f) values of the functions for rows (n, V), -1 for a hole."""
        found, codes = (
            np.zeros((len(rows), self.num_functions)),
            rows[:, self.variables].astype(np.int64) + 1,
        )
        found[:, 0], start = 1.0, 1
        for parts, end in self.ends:
            if not start < end <= self.num_functions:
                continue
            for part in parts:
                place = np.zeros(len(rows), dtype=np.int64)
                for i in part:
                    place = place * self._num_values(i, part) + (
                        codes[:, i] if len(part) == 1 else self.groups[i][codes[:, i]]
                    )
                found[np.arange(len(rows)), start + place] = 1.0
                start += self._size(part)
        return found

    @property
    def ends(self) -> list[tuple[Any, int]]:
        """(sets of places in `variables`, functions up to these): a constant, all covariates, pairs, small first."""
        single: list[tuple[int, ...]] = [(i,) for i in range(len(self.variables))]
        pairs: list[tuple[int, ...]] = [(i, j) for (i,) in single for (j,) in single if i < j]
        pairs.sort(key=self._size)
        found: list[tuple[Any, int]] = [((), 1)]
        end = 1
        for parts in [single, *([pair] for pair in pairs)] if single else []:
            end += sum(self._size(part) for part in parts)
            found.append((parts, end))
        return found

    def _size(self, part: tuple[int, ...]) -> int:
        """Functions of one covariate or a pair."""
        return math.prod(self._num_values(i, part) for i in part)

    def _num_values(self, i: int, part: tuple[int, ...]) -> int:
        """Values, or groups of these, of a covariate alone or in a pair, a hole included."""
        return len(self.groups[i]) if len(part) == 1 else int(self.groups[i][-1]) + 1


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
        if functions.ends[-1][1] <= most:
            break
    return CovariateFunctions(
        variables,
        functions.groups,
        max(end for parts, end in functions.ends if not parts or end <= most),
    )


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
