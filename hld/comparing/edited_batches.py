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

import re
from decimal import Decimal
from typing import Any

import numpy as np

from hld.comparing.adapters import column_of
from hld.planning.alternatives import Edit, share_after
from hld.tables.single_cells import EXACT
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
    """Which cells hold a level.

    Returns (N,).
    """
    cells = list(cells)
    known: dict[Any, tuple[bool, bool, bool]] = {}
    found = np.zeros((len(cells), 3), dtype=bool)
    for i, cell in enumerate(cells):
        key = type(cell), str(cell)
        if key not in known:
            known[key] = (
                (False,) * 3
                if is_missing(cell)
                else (
                    _kind(cell) == _kind(level) and bool(cell == level),
                    key[1] == str(level),
                    _means(cell, level),
                )
            )
        found[i] = known[key]
    return next((column for column in found.T if column.any()), found[:, 0])


def _kind(value: Any) -> Any:
    """What values must share to be equal: numbers of all types are of one kind, and truth values of another."""
    if isinstance(value, (bool, np.bool_)):
        return bool
    if isinstance(value, (int, float, Decimal, np.number)):
        return float
    return str if isinstance(value, str) else type(value)


def _means(cell: Any, level: Any) -> bool:
    """Whether a cell means a level that is written in another way, or of another type."""
    if _text(cell) == _text(level):
        return True
    if _kind(cell) is not float:  # of texts "1e3" and "1000" are two
        return False
    try:  # from 2^53 on doubles are equal for several whole numbers
        number = float(cell)
        return number == float(level) and (
            abs(number) < EXACT or Decimal(str(cell)) == Decimal(str(level))
        )
    except (TypeError, ValueError, ArithmeticError):
        return False


def _text(cell: Any) -> str:
    """A cell as text, the same whether a table holds it as a number or a truth value, or as it is written."""
    text = str(cell)
    if re.fullmatch(r"[+-]?\d+\.0", text):
        return text[:-2]
    return (
        text.capitalize() if text.lower() in ("true", "false") else text.removesuffix(" 00:00:00")
    )
