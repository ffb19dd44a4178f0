"""Columns that only identify rows: identifiers, free text, row numbers.

No distribution can be learned from such a column: fresh rows bring new values.  It is recognised by

* text or other levels of which at least nine in ten occur in one row only, where they are too many to be kept as
  levels; most of them may read as numbers, and were hardly meant to be left out (the note then begins with AS_TEXT)
* whole numbers that are all different and without a gap, or in ascending or descending order of the rows

and left out of a learned schema, unless its kind is given.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from hld.tables.cells import distinct_values
from hld.tables.factored import Factored
from hld.tables.single_cells import reads_as_number

AS_TEXT, NEARLY_ALL, EMPTY = "numbers as text", "nearly unique", "no value in training"
NEARLY_UNIQUE = 0.9
FEWEST_CELLS, FEWEST_NUMBERS = (
    50,
    100,
)  # below which different levels, and different whole numbers, say nothing


def identifier_note(name: str, values: Any, column: Any) -> str:
    """Why a fitted column is taken for an identifier; empty if it is not.

    Shapes: values (N,).
    """
    if column.kind == "categorical" and column.rare:
        levels, counts = distinct_values(values, name)
        once, present = int((counts == 1).sum()), int(counts.sum())
        if present >= FEWEST_CELLS and once >= NEARLY_UNIQUE * present:
            read = sum(
                int(count)
                for level, count in zip(levels, counts, strict=True)
                if isinstance(level, str) and reads_as_number(level)
            )
            if 2 * read > present:
                return f"{AS_TEXT}: {read} of {present} values read as numbers, {once} occur in one row only"
            return f"{NEARLY_ALL}: {once} of {present} values occur in one row only"
    return _row_numbers(values) if column.kind == "continuous" and _are_whole(values) else ""


def _are_whole(values: Any) -> bool:
    """Whether a column holds whole numbers only, as an array of these or as objects."""
    if isinstance(values, Factored) or values.dtype.kind != "O":
        return not isinstance(values, Factored) and values.dtype.kind in "iu"
    return all(
        isinstance(cell, Integral) and not isinstance(cell, bool) for cell in values.tolist()
    )


def _row_numbers(numbers: Any) -> str:
    """A note on whole numbers that number the rows; empty for others."""
    if len(numbers) < FEWEST_NUMBERS or int(numbers.max()) - int(numbers.min()) < len(numbers) - 1:
        return ""
    later, earlier = numbers[1:], numbers[:-1]
    if (later > earlier).all() or (later < earlier).all():
        return "row numbers: whole numbers in the order of the rows, all different"
    is_dense = int(numbers.max()) - int(numbers.min()) == len(numbers) - 1
    return (
        "row numbers: whole numbers, all different, without a gap"
        if (is_dense and len(np.unique(numbers)) == len(numbers))
        else ""
    )
