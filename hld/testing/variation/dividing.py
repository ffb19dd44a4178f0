"""Which rows a detector learns from, and which it keeps for the reference: by chance, by groups, or in order of time.

A batch and rows that nothing was learned from are exchangeable as long as there is no shift; a batch and the rows that
the circuit was fitted to are not, since it fits these better.  So half of the rows are held out, unless the user asks
for something else or there are too few.
"""

import reprlib
from typing import Any

import numpy as np

from hld.answers.segments import group_numbers, split_off
from hld.references.groups import split_groups
from hld.references.stretches import FEWEST_ROWS as FEWEST_IN_TIME
from hld.testing.variation.clock import warn_of_clock

FEWEST_ROWS = 4  # so that two are held out


def divide(
    columns: Any, groups: Any, order: str | None, reference: str, rng: np.random.Generator
) -> tuple[Any, ...]:
    """A table without its column of groups, positions of the rows to learn from and of the reference, and labels.

    Without groups the labels are None, and the positions those of `split_rows`; in order of time the first half is
    learned from.
    """
    if order is not None:
        halves = _halves(columns.num_rows, groups, order, reference)
        warn_of_clock(columns)
        return columns, halves, None
    if groups is None:
        return columns, split_rows(columns.num_rows, reference, rng), None
    if reference not in ("auto", "held-out"):
        raise ValueError(
            "`groups` are compared with groups that nothing was learned from: use reference='held-out', "
            f"found reference={reference!r}"
        )
    columns, cells, name = split_off(columns, groups, argument="groups")
    labels = group_numbers(cells, name)
    if not columns.arrays:
        raise ValueError("`groups` names the only column of `table`: there must be others to learn")
    return columns, split_groups(labels, rng), labels


def _halves(
    num_rows: int, groups: Any, order: str | None, reference: str
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the earlier and of the later half of the rows."""
    if not isinstance(order, str) or order != "time":
        raise ValueError(
            "`order` must be 'time' (the rows are in order of time, without gaps) or None, found "
            f"{reprlib.repr(order)}"
        )
    if groups is not None:
        raise ValueError(
            "`order` and `groups` are two ways to say how rows depend on one another: give one of them"
        )
    if reference not in ("auto", "held-out"):
        raise ValueError(
            "`order` compares with rows that nothing was learned from: use reference='held-out', found "
            f"reference={reference!r}"
        )
    if num_rows < 2 * FEWEST_IN_TIME:
        raise ValueError(
            f"`table` has {num_rows} rows, expected at least {2 * FEWEST_IN_TIME} with order='time'"
        )
    return np.arange(num_rows // 2), np.arange(num_rows // 2, num_rows)


def split_rows(num_rows: int, reference: str, rng: np.random.Generator) -> tuple[Any, ...]:
    """Positions of the rows to learn from and of those of the reference."""
    if reference == "auto":
        reference = "held-out" if num_rows >= FEWEST_ROWS else "training"
    if reference != "held-out":
        return np.arange(num_rows), np.arange(num_rows) if reference == "training" else None
    if num_rows < FEWEST_ROWS:
        raise ValueError(
            f"`table` has {num_rows} rows: with reference='held-out' half of them are held out, "
            f"which needs at least {FEWEST_ROWS}"
        )
    rows = rng.permutation(num_rows)
    return np.sort(rows[num_rows // 2 :]), np.sort(rows[: num_rows // 2])
