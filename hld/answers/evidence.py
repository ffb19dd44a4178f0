"""What a result keeps of a batch to say how it moved: counts, no rows.

The shifts of columns and pairs are computed on first use, because most results are never asked for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hld.answers.column_shifts import NewValues, column_shifts
from hld.answers.dependences import are_opposed, changes_of_associations, likeliest_first
from hld.answers.pair_shifts import pair_shifts
from hld.answers.profile import Profile


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts of a batch and of what it is compared with; shapes num_unseen, num_out_of_range (V,), tests (2, V)."""

    fitted: tuple[Any, ...]
    reference: Profile
    batch: Profile
    num_unseen: np.ndarray
    num_out_of_range: np.ndarray
    seed: int
    tests: np.ndarray | None = None
    new: tuple[NewValues | None, ...] | None = None
    are_chosen: bool = False
    missing: tuple[float | None, ...] | None = None
    numbers: tuple[int, ...] | None = None
    pair_tests: Mapping[tuple[int, int], Any] | None = None

    def name_of(self, v: int) -> str:
        """The name of column v of the encoder."""
        name: str = self.fitted[v if self.numbers is None else self.numbers.index(v)].name
        return name

    def of_columns(self, shown: list[int]) -> Evidence:
        """The evidence of some of the columns, ascending, as if there were no others."""
        tests = None if self.tests is None else self.tests[:, shown]
        new = None if self.new is None else tuple(self.new[v] for v in shown)
        missing = None if self.missing is None else tuple(self.missing[v] for v in shown)
        return Evidence(
            tuple(self.fitted[v] for v in shown),
            self.reference.of_columns(shown),
            self.batch.of_columns(shown),
            self.num_unseen[shown],
            self.num_out_of_range[shown],
            self.seed,
            tests,
            new,
            self.are_chosen,
            missing,
            tuple(v if self.numbers is None else self.numbers[v] for v in shown),
            {
                (shown.index(u), shown.index(v)): found
                for (u, v), found in (self.pair_tests or {}).items()
                if u in shown and v in shown
            },
        )

    @cached_property
    def columns(self) -> tuple[Any, ...]:
        """A `ColumnShift` for each column, the smallest p-value first."""
        return column_shifts(
            self.fitted, self.reference, self.batch, self.seed, self.tests, self.new, self.missing
        )

    def moved_first(self, alpha: float) -> tuple[Any, ...]:
        """The columns of a batch that is rejected at level alpha: the likeliest first if none moved by itself."""
        if (
            not self.columns
            or self.columns[0].adjusted <= alpha
            or not (self.pairs or self.associations)
        ):
            return self.columns
        return likeliest_first(
            self.columns,
            self.pairs,
            (self.reference.num_rows, self.batch.num_rows),
            self.associations,
        )

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
        return pair_shifts(
            self.fitted,
            self.reference,
            self.batch,
            are_chosen=self.are_chosen,
            tests=None if self.tests is None else self.pair_tests or {},
        )

    def is_opposed(self, names: list[str]) -> bool:
        """Whether values of two columns go together in the batch that do not in the reference: see `are_opposed`."""
        if self.reference.associations is None:
            return False
        e = [[self.fitted[v].name for v in edge] for edge in self.reference.edges.tolist()].index(
            names
        )
        return are_opposed(self.reference.associations[e], self.batch.pairs[e])

    def odd_cells(self) -> list[Any]:
        """(name, missing, unseen, out of range) of each column that has such cells."""
        counts = zip(
            self.fitted,
            self.batch.counts,
            self.num_unseen.tolist(),
            self.num_out_of_range.tolist(),
            strict=True,
        )
        odd = [
            (column.name, int(own[-1]), unseen, beyond) for column, own, unseen, beyond in counts
        ]
        return [one for one in odd if any(one[1:])]
