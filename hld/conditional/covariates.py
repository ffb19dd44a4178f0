"""Which columns are covariates: named by the user, found among those that were fitted."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hld.tables.column_names import is_sequence
from hld.tables.shown_names import listed


def covariate_mask(names: Sequence[Any], covariates: Any, reference: str) -> np.ndarray | None:
    """(V,) bool; None without covariates.

    Parameters
    ----------
    names : sequence of V str
    covariates : sequence of str or int, or None
        Columns by name or position.
    reference : str
        The option of the detector.

    Raises
    ------
    TypeError, ValueError
        If `covariates` is no sequence, a column is unknown, all are named or none is, or `reference` has no rows.

    Examples
    --------
    >>> covariate_mask(("age", "sex", "income"), ["sex", 0], "auto")
    array([ True,  True, False])
    >>> covariate_mask(("age", "sex"), ["age", "sex"], "auto")
    Traceback (most recent call last):
    ValueError: `covariates` names all 2 columns: leave out those that are tested given the others
    """
    if covariates is None:
        return None
    if not is_sequence(covariates):
        raise TypeError(f"`covariates` is {covariates!r}, expected a sequence of column names or positions")
    places = [column_position(names, one, "covariates") for one in covariates]
    if not places:
        raise ValueError("`covariates` names no column: give at least one, or None")
    if len(set(places)) == len(names):
        every = f"all {len(names)} columns" if len(names) > 1 else "the only column"
        raise ValueError(f"`covariates` names {every}: leave out those that are tested given the others")
    if reference not in ("auto", "held-out", "training"):
        raise ValueError("`covariates` need rows to compare with, as the circuit is only nearly right about the rest "
                         f"given them: use reference='held-out', found reference={reference!r}")
    return np.isin(np.arange(len(names)), places)


def column_position(names: Sequence[Any], column: Any, argument: str) -> int:
    """The position of a column that is named or numbered; ValueError lists the columns.

    Parameters
    ----------
    names : sequence of V str
    column : str or int
    argument : str
        Name of the argument in error messages.

    Returns
    -------
    int
    """
    names = list(names)
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(names):
        return int(column)
    raise ValueError(f"`{argument}` names the column {column!r}, expected one of {listed(names)}, or a "
                     f"position from 0 to {len(names) - 1}")
