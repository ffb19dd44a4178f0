"""Which columns are covariates: named by the user, found among those that were fitted."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hld.tables.column_names import is_sequence
from hld.tables.column_places import column_places


def covariate_mask(names: Sequence[Any], covariates: Any, reference: str, table_names: Sequence[Any] = (),
                   derived: Sequence[Any] = ()) -> np.ndarray | None:
    """(V,) bool; None without covariates.

    Parameters
    ----------
    names : sequence of V str
    covariates : sequence of str or int, or None
        Columns by name, or by position in the training table.
    reference : str
        The option of the detector.
    table_names, derived : see `hld.tables.column_places.column_places`

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
    places = [place for one in covariates for place in column_places(names, one, "covariates", table_names, derived)]
    if not places:
        raise ValueError("`covariates` names no column: give at least one, or None")
    if len(set(places)) == len(names):
        every = f"all {len(names)} columns" if len(names) > 1 else "the only column"
        raise ValueError(f"`covariates` names {every}: leave out those that are tested given the others")
    if reference not in ("auto", "held-out", "training"):
        raise ValueError("`covariates` need rows to compare with, as the circuit is only nearly right about the rest "
                         f"given them: use reference='held-out', found reference={reference!r}")
    return np.isin(np.arange(len(names)), places)
