r"""Parts of a date as columns of their own: the day of the week, the hour, the month.

A date never comes back: every later batch lies beyond the range of training, and a column of dates says only
that time has passed.  What does come back is the calendar, so that "as many visits on Saturdays as ever" can be
learned and tested.  A part is derived from its column whenever a table is read, in training and later:

========  =================================  ===================================================
part      values                             at time s, in seconds since 1970
========  =================================  ===================================================
weekday   Mon, Tue, Wed, Thu, Fri, Sat, Sun  (floor(s / 86400) + 3) mod 7, counted from Monday
hour      0 .. 23                            floor(s / 3600) mod 24
month     1 .. 12                            of the Gregorian calendar
========  =================================  ===================================================

Times with a zone are converted to UTC: remove the zone first where hours should be local.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hld.tables.cells import Columns
from hld.tables.factored import Factored, object_cells, whole_cells
from hld.tables.times import as_seconds

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PARTS = {"weekday": WEEKDAYS, "hour": tuple(range(24)), "month": tuple(range(1, 13))}


class Derived(NamedTuple):
    """A column that is a part of another one."""

    name: str
    source: str
    part: str


def with_parts(columns: Columns, derived: Any, table_names: Any, by_name: bool) -> Columns:
    """A table with its derived columns behind the others; one that it has under that name already stays."""
    names = columns.names if by_name and columns.names is not None else tuple(table_names)
    if not derived or len(names) != len(columns.arrays):
        return columns
    at = {name: v for v, name in enumerate(names)}
    new = [one for one in derived if one.source in at and one.name not in at]
    arrays = [part_of(columns.arrays[at[one.source]], one.part) for one in new]
    return Columns(
        (*names, *(one.name for one in new)),
        columns.num_rows,
        [*columns.arrays, *arrays],
        [*columns.declared, *[False] * len(new)],
    )


def part_of(values: Any, part: str) -> Factored:
    """A part of each date of a column (N,), missing where the cell is no date.

    Shapes: values (N,).
    """
    cells = whole_cells(values)
    if cells.dtype.kind == "M":  # as a double, 23:59:59.999999999 would be the next day
        cells = cells.astype("M8[s]")
    seconds = as_seconds(cells, "date")[0]
    is_known = np.isfinite(seconds)
    whole = np.floor(np.where(is_known, seconds, 0)).astype(np.int64)
    if part == "weekday":
        codes = (whole // 86400 + 3) % 7
    elif part == "hour":
        codes = whole // 3600 % 24
    else:
        codes = whole.astype("M8[s]").astype("M8[M]").astype(np.int64) % 12
    return Factored(np.where(is_known, codes, -1).astype(np.intp), object_cells(PARTS[part]))
