"""Which columns are covariates: named by the user, found among those that were fitted.

Positions are those in the table that was given to `fit`, also where columns of it were left out, such as ids: the third
column stays the third.  A column that is known by parts alone, such as dates by the day of the week and the hour,
stands for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hld.tables.column_names import is_sequence
from hld.tables.shown_names import listed


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
