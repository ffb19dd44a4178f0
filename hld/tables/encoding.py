"""Cells to categories, column by column, each by the way that suits it; and a count of what was met.

Three ways lead to the same codes.  Whole numbers for levels 0, 1, ... in all columns are their own categories; numbers
go by step functions (`hld.tables.number_codes`); text, objects and what has rare levels by look-up
(`hld.tables.level_codes`).
"""
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hld.tables.cells import NUMERIC, as_numbers, plain_value
from hld.tables.level_codes import level_lookup, look_up
from hld.tables.number_codes import StepTables, step_codes, step_tables
from hld.tables.rare_levels import seen_once


@dataclass(frozen=True, eq=False)
class EncodingReport:
    """What an encoder met in a table of N rows; the counts are read-only int arrays (V,), one entry a column.

    Attributes
    ----------
    num_rows : int
        Number of rows N.
    num_missing : (V,) int array
        Missing cells (code -1).
    num_unseen : (V,) int array
        Cells in the last category of a column of levels: levels not seen at fitting. Zero for continuous columns.
        In columns of older model files that merge rare levels with the unseen ones, those too.
    num_out_of_range : (V,) int array
        Numbers of a continuous column outside the range of the finite training values, infinities included.

    Examples
    --------
    >>> from hld import fit_encoder
    >>> _, report = fit_encoder([["a"], ["b"]]).encode([["a"], ["c"], [None]])
    >>> report.num_rows, report.num_missing, report.num_unseen, report.num_out_of_range
    (3, array([1]), array([1]), array([0]))
    """

    num_rows: int
    num_missing: np.ndarray
    num_unseen: np.ndarray
    num_out_of_range: np.ndarray

    def __post_init__(self):
        for counts in (self.num_missing, self.num_unseen, self.num_out_of_range):
            counts.flags.writeable = False


class CodeTables(NamedTuple):
    """What the codes of V columns are read from, prepared once."""

    steps: StepTables
    lookups: tuple              # a `LevelLookup` for each column of levels
    unseen: np.ndarray          # (V,) the category of unseen levels, -2 where there is none
    is_counting: bool           # all columns have the levels 0, 1, ...


def code_tables(columns) -> CodeTables:
    """Prepare V columns: `LevelColumn` and `BinColumn`."""
    levels = [None if column.kind == "continuous" else column for column in columns]
    unseen = np.array([-2 if one is None else one.num_categories - 1 for one in levels])
    unseen.flags.writeable = False
    return CodeTables(step_tables(columns), tuple(None if one is None else level_lookup(one) for one in levels), unseen,
                      all(one and not one.rare and one.levels == tuple(range(len(one.levels))) for one in levels))


def encoded(columns, tables, arrays, num_rows, whole, *, leave_one_out=False):
    """Codes (N, V) of arrays (N,) and their `EncodingReport`.

    With `leave_one_out` a rare level that is in one row only counts as unseen there: see `hld.tables.rare_levels`.
    """
    codes = np.empty((num_rows, len(arrays)), dtype=_code_dtype(max(c.num_categories for c in columns), arrays))
    beyond = np.zeros(len(arrays), dtype=np.int64)
    if tables.is_counting and whole is not None and whole.dtype.kind in "biu":
        _copy_counting(whole, tables.unseen, codes)
        return codes, _report(codes, tables.unseen, beyond)
    numbers = {}
    for v, (column, values) in enumerate(zip(columns, arrays, strict=True)):
        if column.kind == "continuous" or (values.dtype.kind in NUMERIC and tables.steps.breaks[v] is not None):
            numbers[v] = as_numbers(values, column.name)
            continue
        codes[:, v] = look_up(column, tables.lookups[v], values)
        if leave_one_out and column.rare:
            rows = np.flatnonzero(codes[:, v] == len(column.levels))
            once = seen_once([plain_value(cell, column.name) for cell in values[rows].tolist()])
            codes[rows[once], v] = tables.unseen[v]
    if numbers:
        which = list(numbers)
        beyond[which] = step_codes(tables.steps, which, list(numbers.values()), codes)
    return codes, _report(codes, tables.unseen, beyond)


def _code_dtype(num_categories, arrays):
    """Smallest dtype for codes below num_categories, signed where columns (N,) can hold missing values."""
    if any(values.dtype.kind in "fO" for values in arrays):
        return np.int16 if num_categories <= 2 ** 15 else np.int32
    return np.uint8 if num_categories <= 2 ** 8 else np.uint16 if num_categories <= 2 ** 16 else np.int32


def _copy_counting(numbers, num_levels, codes):
    """Write numbers (N, V) whose levels are 0..n_v - 1 into codes (N, V): they are their own categories."""
    np.copyto(codes, numbers, casting="unsafe")
    unseen = numbers >= num_levels
    if numbers.dtype.kind == "i":
        unseen |= numbers < 0
    if unseen.any():
        np.copyto(codes, num_levels, where=unseen, casting="unsafe")


def _report(codes, unseen, beyond):
    """`EncodingReport` of codes (N, V), the codes (V,) of unseen categories, the counts out of range (V,)."""
    missing = np.zeros_like(beyond) if codes.dtype.kind == "u" else np.count_nonzero(codes == -1, axis=0)
    return EncodingReport(len(codes), missing, np.count_nonzero(codes == unseen, axis=0), beyond)
