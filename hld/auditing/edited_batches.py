"""Batches of the rows of a table in which a level of a column is more frequent, or less.

Whole rows are drawn, so that everything else given the column stays as it is.  The change is one of the share p of the
level among the cells that are there, as in plans (`hld.planning.alternatives.Edit`): of T rows as many lack the cell as
in the table, on average, and of the others p + h have the level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.auditing.adapters import column_of
from hld.auditing.levels import has_level
from hld.planning.alternatives import Edit, share_after
from hld.tables.single_cells import is_missing


def edited_batches(
    table: Any, edit: Edit, T: int, B: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Positions of the rows of B batches, drawn with replacement inside the three groups."""
    cells = column_of(table, edit.column)
    has, is_hole = (
        has_level(cells, edit.level),
        np.array([is_missing(cell) for cell in cells], dtype=bool),
    )
    share = float(has.sum() / max((~is_hole).sum(), 1))
    after = share_after(share, edit.by)
    if not 0 < share < 1 or after is None:
        raise ValueError(
            f"`edits` has {edit}, but the level has a share of {share:.4g} of the cells in `held_out`: "
            "expected one that some rows have and others not, and a result from 0 to 1"
        )
    with_level, others, holes = map(np.flatnonzero, (has, ~has & ~is_hole, is_hole))
    batches = []
    for _ in range(B):
        without = rng.binomial(T, len(holes) / len(cells)) if len(holes) else 0
        h = rng.binomial(T - without, after)
        parts = ((with_level, h), (others, T - without - h), (holes, without))
        batches.append(
            np.concatenate([rng.choice(rows, size) for rows, size in parts if len(rows)])
        )
    return batches
