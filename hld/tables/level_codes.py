"""Cells to categories, by looking values up in a dictionary.

The way for text and objects (numbers go by `hld.tables.number_codes`). Python's dictionaries compare by value, which is
the equality wanted: 1, 1.0 and True find one entry, "1" another. One look-up per cell decides nearly all
cells; only those that it does not find are examined: they may be missing (NaN), a level in another guise (a
date, bytes, a decimal), or unseen.

Functions: `level_lookup` (levels to dictionary), `look_up` (cells to categories).
"""
import numpy as np

from hld.tables.cells import first_unhashable, is_missing, not_a_level, not_a_number, plain_value

_UNKNOWN = -2


def level_lookup(levels):
    """Dictionary from level to category, with the usual missing values at -1."""
    # np.nan is a key because data frames fill holes with this one object; other NaNs are found one by one.
    return {None: -1, np.nan: -1, **{level: code for code, level in enumerate(levels)}}


def look_up(column, lookup, values):
    """Categories (N,) of the cells (N,) of a `LevelColumn`; TypeError for what cannot be its level."""
    cells = values.tolist()
    try:
        codes = np.array([lookup.get(cell, _UNKNOWN) for cell in cells], dtype=np.int32)
    except TypeError:
        raise not_a_level(first_unhashable(cells), column.name) from None
    for i in np.flatnonzero(codes == _UNKNOWN):
        codes[i] = _code_of(column, lookup, cells[i])
    return codes


def _code_of(column, lookup, cell):
    """Category of one cell that is not a key as it stands."""
    if is_missing(cell):
        return -1
    value = plain_value(cell, column.name)
    if isinstance(value, str) and column.kind != "categorical":
        raise not_a_number(cell, column.name)
    return lookup.get(value, len(column.levels))
