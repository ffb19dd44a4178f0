"""Batches of the rows of a table in which a level of a column is more frequent, or less.

Whole rows are drawn, so that everything else given the column stays as it is.  The change is one of the share p of the
level among the cells that are there, as in plans (`hld.planning.alternatives.Edit`): of T rows as many lack the cell as
in the table, on average, and of the others p + h have the level.

An edit may come from a shell, where every level is text, and a table from anywhere, with numbers or texts for the same
thing.  So a level is looked for in three steps, and the first one that finds cells decides:

1. what equals it and is of its kind, so that text "1" is not the number 1, nor true, where a column holds both;
2. what is written as it is: ``1`` finds "1" and not "1.0", which are two versions of a program, say;
3. what means the same: 3.0 and "3", true and "true", the midnight of a day and the day, 1e16 and its digits.

A missing cell holds no level, whatever stands for it.
"""

from __future__ import annotations

import contextlib
import re
from decimal import Decimal
from typing import Any

import numpy as np

from hld.comparing.adapters import column_of
from hld.planning.alternatives import Edit, share_after
from hld.tables.times import is_missing


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


def has_level(cells: Any, level: object) -> np.ndarray:
    """(N,) whether cells hold a level, by the first of three ways that finds any."""
    found = np.zeros(len(cells), dtype=bool)
    for holds in (_is_equal, lambda cell, level: str(cell) == str(level), _means):
        for i, cell in enumerate(cells):
            found[i] = not is_missing(cell) and holds(cell, level)
        if found.any():
            break
    return found


def _is_equal(cell: Any, level: Any) -> bool:
    """Whether values are equal, and neither only one of them is text nor a truth."""
    kinds = [(isinstance(one, str), isinstance(one, (bool, np.bool_))) for one in (cell, level)]
    return kinds[0] == kinds[1] and bool(cell == level)


def _means(cell: Any, level: Any) -> bool:
    """Whether a cell means the same as a level: numbers by their value, of texts "1e3" and "1000" are two."""
    if not isinstance(cell, str):
        with contextlib.suppress(ArithmeticError):
            return Decimal(str(cell)) == Decimal(str(level))
    return _text(cell) == _text(level)


def _text(cell: Any) -> str:
    """The text of a value, shared by the forms of whole numbers, truths and midnights."""
    text = str(cell)
    if re.fullmatch(r"[+-]?\d+\.0", text):
        return text[:-2]
    is_truth = text.lower() in ("true", "false")
    return text.capitalize() if is_truth else text.removesuffix(" 00:00:00")
