"""Cells to categories, by looking values up in a dictionary.

This is for text and objects (for numbers see `hld.schemas.number_codes`). Python's dictionaries compare by value, which
is the equality wanted: 1, 1.0 and True find one entry, "1" another. One look-up per cell decides nearly all
cells; only those not found are examined: they may be missing (NaN, or an empty text that is no level), a level in
another form (a date, bytes, a decimal, a number of four bytes), rare, or unseen.
Levels that are times are found by their time: "31.01.2026" is the level 2026-01-31, but 1:30 is not 01:30:00 unless
all levels of the column are times (`hld.tables.time_levels`).

Functions: `level_lookup` (column to `LevelLookup`), `look_up` (cells to categories).
"""

from __future__ import annotations

import math
import numbers
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hld.schemas.number_codes import LARGEST
from hld.schemas.rare_levels import digest_set, is_rare
from hld.schemas.single_precision import spans
from hld.tables.single_cells import (
    as_keys,
    first_unhashable,
    is_missing,
    not_a_level,
    not_a_number,
    plain_value,
)
from hld.tables.time_levels import are_times, found_by_time, same_time

if TYPE_CHECKING:
    from hld.schemas.columns import LevelColumn

_UNKNOWN, _ODD = -2, -3


class LevelLookup(NamedTuple):
    """Categories of levels, the usual missing values at -1; digests of rare ones; numbers, times taken for a level."""

    categories: dict[str, Any]
    rare: frozenset[str]
    near: list[tuple[float, float, int]]
    times: dict[str, int]
    of_times: bool


def level_lookup(column: LevelColumn) -> LevelLookup:
    """`LevelLookup` of a `LevelColumn`."""
    # np.nan is a key because data frames fill holes with this one object; other NaNs are found one by one.
    categories = {None: -1, np.nan: -1, **{level: code for code, level in enumerate(column.levels)}}
    short = {
        level: code
        for code, level in enumerate(column.levels)
        if not isinstance(level, str) and abs(level) < LARGEST
    }
    near = sorted(
        (first, last, code)
        for (first, last), code in zip(spans(list(short)), short.values(), strict=True)
        if first < last
    )
    times = {time: codes[0] for time, codes in found_by_time(column.levels).items()}
    return LevelLookup(categories, digest_set(column.rare), near, times, are_times(column.levels))


def are_doubles(levels: Any) -> bool:
    """Whether large whole numbers among levels are all doubles, as earlier versions rounded decimals to; so a batch's
    decimals are, too.
    """
    return all(
        not isinstance(level, int)
        or abs(level) <= LARGEST
        or (abs(level) <= sys.float_info.max and float(level) == level)
        for level in levels
    )


def look_up(
    column: LevelColumn,
    lookup: LevelLookup,
    values: np.ndarray,
    *,
    is_strict: bool = True,
    used: np.ndarray | None = None,
) -> tuple[np.ndarray, list[int]]:
    """Categories (N,) of the cells (N,) of a `LevelColumn`, and the positions of cells of another type.

    These are text in a column of numbers: a TypeError if `is_strict`, as is what cannot be a level at all; else the
    category of unseen levels.  Of cells that stand for several, `used` says for how many; those of 0 are not looked at.

    Shapes: values (N,), used (N,) -> codes (N,).
    """
    cells = values.tolist()
    try:
        codes = _keys_among(cells, lookup)
    except (TypeError, ValueError):
        cells = as_keys(cells)
        if (unknown := first_unhashable(cells)) is not None:
            raise not_a_level(unknown, column.name) from None
        codes = _keys_among(cells, lookup)
    known, odd = {}, []  # cells that repeat are examined once; their type is part of them
    for i in np.flatnonzero(
        codes == _UNKNOWN if used is None else (codes == _UNKNOWN) & (used > 0)
    ).tolist():
        key = type(cells[i]), cells[i]
        if key not in known:
            known[key] = _code_of(column, lookup, cells[i], is_strict)
        codes[i] = known[key]
        if codes[i] == _ODD:
            codes[i] = column.num_categories - 1
            odd.append(i)
    return np.where(codes == _UNKNOWN, -1, codes), odd


def _keys_among(cells: list[Any], lookup: LevelLookup) -> np.ndarray:
    """Categories (N,) of the cells that are keys as they stand, `_UNKNOWN` for others, which bytes always are."""
    find = lookup.categories.get
    if bytes in set(
        map(type, cells)
    ):  # the texts that they stand for have the same hash: Python would compare both
        return np.array(
            [_UNKNOWN if type(cell) is bytes else find(cell, _UNKNOWN) for cell in cells],
            dtype=np.int32,
        )
    return np.array([find(cell, _UNKNOWN) for cell in cells], dtype=np.int32)


def _code_of(column: Any, lookup: Any, cell: str, is_strict: bool) -> int:
    """Category of one cell that is not a key as it stands; `_ODD` for text among numbers."""
    if is_missing(cell):
        return -1
    value = plain_value(cell, column.name)
    known = is_rare(value, lookup.rare, lookup.of_times)
    if value == "" and not known:  # files of text cannot tell it from a missing cell
        return lookup.categories.get(value, -1)
    if isinstance(value, str) and column.kind != "categorical":
        if is_strict:
            raise not_a_number(cell, column.name)
        return _ODD
    if value in lookup.categories:
        return lookup.categories[value]
    is_large_decimal = isinstance(value, int) and not isinstance(cell, numbers.Integral)
    if is_large_decimal and float(value) in lookup.categories and are_doubles(column.levels):
        return lookup.categories[float(value)]
    if (
        isinstance(value, float)
        and (i := bisect_right(lookup.near, (value, math.inf)))
        and value <= lookup.near[i - 1][1]
    ):
        return lookup.near[i - 1][2]
    if (
        isinstance(value, str)
        and lookup.times
        and (code := lookup.times.get(same_time(value) or "")) is not None
    ):
        return code
    # categories after the levels: rare ones, if there are any, and last the unseen ones
    return len(column.levels) if known else column.num_categories - 1
