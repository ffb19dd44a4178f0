"""Columns whose kind is given, in a table of which the column that names the groups is taken out before learning."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from hld.tables.column_names import is_sequence


def without_column(
    chosen: Any, argument: str, names: Sequence[Any] | None, num_columns: int, at: int
) -> Any:
    """Columns that are chosen in a table, as they are chosen in the table without one of its columns."""
    if chosen is None or not is_sequence(chosen):
        return chosen
    return [_without(one, argument, names, num_columns, at) for one in chosen]


def _without(
    one: Any, argument: str, names: Sequence[Any] | None, num_columns: int, at: int
) -> Any:
    """One of them."""
    if isinstance(one, (str, bool, np.bool_)):
        return one
    try:
        position = operator.index(one)
    except TypeError:
        return one
    if not 0 <= position < num_columns:
        raise ValueError(
            f"`{argument}` holds position {position}, expected 0..{num_columns - 1}: whole numbers are "
            "positions, names are given as text"
        )
    if position == at:
        raise ValueError(
            f"`{argument}` holds position {position}, the column of `groups`, which is not learned: leave "
            "it out"
        )
    return names[position] if names is not None else position - (position > at)
