"""Which fitted columns a user means by the name or the position of a column of the training table.

Positions are those in the table that was given to `fit`, also where columns of it were left out (ids, constants that a
schema names): the third column stays the third.  A column that is known by parts alone, such as dates by the day of the
week and the hour, stands for all of them.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from hld.tables.column_names import is_sequence
from hld.tables.shown_names import listed


def column_places(names: Sequence[Any], column: Any, argument: str, table_names: Sequence[Any] = (),
                  derived: Sequence[Any] = ()) -> list[int]:
    """Positions among the fitted columns of a column that is named or numbered.

    Parameters
    ----------
    names : sequence of V str
        Of the fitted columns.
    column : str or int
        A name, or a position in the training table.
    argument : str
        Name of the argument in error messages.
    table_names : sequence of str
        Of all columns of the training table, by default `names`.
    derived : sequence of hld.tables.calendar.Derived
        Which of `names` are parts of another column.

    Returns
    -------
    list of int
        One, or several for the parts of a column.

    Raises
    ------
    ValueError
        For what is no column, or one that was left out; it lists the columns.

    Examples
    --------
    >>> column_places(("age", "sex"), "sex", "label"), column_places(("age", "sex"), 1, "label", ("id", "age", "sex"))
    ([1], [0])
    """
    names = list(names)
    all_names = list(table_names) or names
    name = column
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(all_names):
        name = all_names[column]
    elif not isinstance(column, str):
        name = None
    if name is not None and name in names:
        return [names.index(name)]
    if name is not None and (parts := [names.index(one.name) for one in derived if one.source == name]):
        return parts
    said = "" if name is None or name not in all_names else (
        ", which is left out of what is learned" if isinstance(column, str) else f" ({name!r}), which is left out of "
        "what is learned")
    raise ValueError(f"`{argument}` names the column {column!r}{said}, expected one of {listed(names)}, or a "
                     f"position from 0 to {len(all_names) - 1}")


def without_column(chosen: Any, argument: str, names: Sequence[Any] | None, num_columns: int, at: int) -> Any:
    """Columns that are chosen in a table, as they are chosen in the table without one of its columns.

    Parameters
    ----------
    chosen : sequence of str or int, or object
        What is no sequence, or no column, comes back as it is, for others to refuse.
    argument : str
        Name of the argument in error messages.
    names : sequence of str, or None
        Of the columns, if they have names.
    num_columns : int
    at : int
        Position of the column of groups, which is taken out.

    Returns
    -------
    list or object

    Raises
    ------
    ValueError
        If that column is chosen.

    Examples
    --------
    >>> without_column([0, 2, "x1"], "categorical", None, 3, 1)
    [0, 1, 'x1']
    >>> without_column([0, 2], "categorical", ("a", "b", "c"), 3, 1)
    ['a', 'c']
    """
    if chosen is None or not is_sequence(chosen):
        return chosen
    return [_without(one, argument, names, num_columns, at) for one in chosen]


def _without(one: Any, argument: str, names: Sequence[Any] | None, num_columns: int, at: int) -> Any:
    """One of them."""
    if isinstance(one, (str, bool, np.bool_)):
        return one
    try:
        position = operator.index(one)
    except TypeError:
        return one
    if not 0 <= position < num_columns:
        raise ValueError(f"`{argument}` holds position {position}, expected 0..{num_columns - 1}: whole numbers are "
                         "positions, names are given as text")
    if position == at:
        raise ValueError(f"`{argument}` holds position {position}, the column of `groups`, which is not learned: leave "
                         "it out")
    return names[position] if names is not None else position - (position > at)
