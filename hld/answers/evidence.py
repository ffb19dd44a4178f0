"""What a result keeps of a batch to say how it moved: counts, no rows.

The shifts of columns and pairs are computed on first use, because most results are never asked for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hld.answers.column_shifts import column_shifts
from hld.answers.dependences import changes_of_associations, likeliest_first
from hld.answers.pair_shifts import pair_shifts
from hld.answers.profile import Profile


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts of a batch and of what it is compared with, without those of the columns that are `hidden`.

    `tests` (2, V) and `pair_tests` are of a judge that tests columns itself; `more` are the p-values of missing and
    new values of each column, `beyond` its shares of rows beyond the training range, expected and observed.
    """

    fitted: tuple[Any, ...]
    reference: Profile
    batch: Profile
    seed: int
    tests: np.ndarray | None = None
    pair_tests: Mapping[tuple[int, int], Any] | None = None
    more: tuple[tuple[float, ...], ...] | None = None
    beyond: tuple[tuple[float, float] | None, ...] | None = None
    are_chosen: bool = False
    hidden: tuple[int, ...] = ()

    def name_of(self, v: int) -> str:
        """The name of column v of the encoder."""
        name: str = self.fitted[v].name
        return name

    @cached_property
    def columns(self) -> tuple[Any, ...]:
        """A `ColumnShift` for each column, the smallest p-value first."""
        shown = [v for v in range(len(self.fitted)) if v not in self.hidden]
        return column_shifts(
            [self.fitted[v] for v in shown],
            [(self.reference.counts[v], self.batch.counts[v]) for v in shown],
            self.seed,
            None if self.tests is None else self.tests[:, shown],
            [() if self.more is None else self.more[v] for v in shown],
            [None if self.beyond is None else self.beyond[v] for v in shown],
        )

    def moved_first(self, alpha: float) -> tuple[Any, ...]:
        """The columns of a batch that is rejected at level alpha: the likeliest first if none moved by itself."""
        columns, pairs, associations = self.columns, self.pairs, self.associations
        if not columns or columns[0].adjusted <= alpha or not (pairs or associations):
            return columns
        sizes = self.reference.num_rows, self.batch.num_rows
        return likeliest_first(columns, pairs, sizes, associations)

    @cached_property
    def associations(self) -> tuple[Any, ...]:
        """Two names, p-value and noncentrality of each edge: see `hld.answers.dependences`."""
        if self.tests is not None:
            return ()
        edges = self.reference.edges.tolist()
        return tuple(
            (tuple(self.fitted[v].name for v in edges[e]), pvalue, lost)
            for e, pvalue, lost in changes_of_associations(self.reference, self.batch)
        )

    @cached_property
    def pairs(self) -> tuple[Any, ...]:
        """A `PairShift` for each edge of the tree with enough rows, the smallest p-value first; of tests, if given."""
        tests = None if self.tests is None else self.pair_tests or {}
        num_columns = len(self.fitted) - len(self.hidden) if self.are_chosen else 0
        return pair_shifts(self.fitted, self.reference, self.batch, num_columns, tests)
