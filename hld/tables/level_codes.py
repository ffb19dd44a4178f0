"""Cells to categories, by looking values up in a dictionary.

The way for text and objects (numbers go by `hld.tables.number_codes`). Python's dictionaries compare by value, which is
the equality wanted: 1, 1.0 and True find one entry, "1" another. One look-up per cell decides nearly all
cells; only those that it does not find are examined: they may be missing (NaN), a level in another guise (a
date, bytes, a decimal), rare, or unseen.

Functions: `level_lookup` (column to `LevelLookup`), `look_up` (cells to categories).
"""
from typing import NamedTuple

import numpy as np

from hld.tables.cells import first_unhashable, is_missing, not_a_level, not_a_number, plain_value
from hld.tables.rare_levels import digest, digest_set

_UNKNOWN = -2


class LevelLookup(NamedTuple):
    """Categories of levels, with the usual missing values at -1; digests of rare levels."""

    categories: dict
    rare: frozenset


def level_lookup(column):
    """`LevelLookup` of a `LevelColumn`."""
    # np.nan is a key because data frames fill holes with this one object; other NaNs are found one by one.
    categories = {None: -1, np.nan: -1, **{level: code for code, level in enumerate(column.levels)}}
    return LevelLookup(categories, digest_set(column.rare))


def look_up(column, lookup, values):
    """Categories (N,) of the cells (N,) of a `LevelColumn`; TypeError for what cannot be its level."""
    cells = values.tolist()
    try:
        codes = np.array([lookup.categories.get(cell, _UNKNOWN) for cell in cells], dtype=np.int32)
    except TypeError:
        raise not_a_level(first_unhashable(cells), column.name) from None
    known = {}                  # cells that repeat are examined once; their type is part of them
    for i in np.flatnonzero(codes == _UNKNOWN).tolist():
        key = type(cells[i]), cells[i]
        if key not in known:
            known[key] = _code_of(column, lookup, cells[i])
        codes[i] = known[key]
    return codes


def _code_of(column, lookup, cell):
    """Category of one cell that is not a key as it stands."""
    if is_missing(cell):
        return -1
    value = plain_value(cell, column.name)
    if isinstance(value, str) and column.kind != "categorical":
        raise not_a_number(cell, column.name)
    if value in lookup.categories:
        return lookup.categories[value]
    # categories after the levels: rare ones, if there are any, and last the unseen ones
    return len(column.levels) if lookup.rare and digest(value) in lookup.rare else column.num_categories - 1
