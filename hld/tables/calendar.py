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

Amounts that are text have two parts, a number in place of their column and a unit (`hld.tables.amounts`).

Times with a zone are converted to UTC: remove the zone first where hours should be local.
"""

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hld.tables.amounts import UNIT, amounts_of, units_of
from hld.tables.cells import Columns
from hld.tables.factored import Factored, object_cells
from hld.tables.times import as_seconds

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# how people write a part of a date in a column of its own
DAY_FORMS = ("%d", "%a", "%A", "%j", "%u", "%w", "%b %d", "%Y-%m-%d")
MONTH_FORMS = ("%m", "%b", "%B", "%Y-%m", "%Y%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y")
FORMS = (*DAY_FORMS, *MONTH_FORMS, "%Y", "%V", "%G-W%V", "W%V")
EPOCH = datetime.date(1970, 1, 1)
PARTS = {"weekday": WEEKDAYS, "hour": tuple(range(24)), "month": tuple(range(1, 13))}


class Derived(NamedTuple):
    """A column that is a part of another one, or, under the name of that, stands in its place."""

    name: str
    source: str
    part: str


def with_parts(columns: Columns, derived: Any, table_names: Any, by_name: bool) -> Columns:
    """A table with its derived columns behind the others; one that it has under that name already stays."""
    names = columns.names if by_name and columns.names is not None else tuple(table_names)
    if not derived or len(names) != len(columns.arrays):
        return columns
    arrays = dict(zip(names, columns.arrays, strict=True))
    new = {
        one.name: part_of(arrays[one.source], one.part)
        for one in derived
        if one.source in arrays and (one.name not in arrays or one.name == one.source)
    }
    arrays |= new
    added = len(arrays) - len(names)
    return Columns(
        tuple(arrays), columns.num_rows, [*arrays.values()], [*columns.declared, *[False] * added]
    )


def part_of(values: Any, part: str) -> Any:
    """A part of each date, or amount, of a column (N,), missing where the cell is none."""
    if part not in PARTS:
        return units_of(values) if part == UNIT else amounts_of(values, part)
    if values.dtype.kind == "M":  # as a double, 23:59:59.999999999 would be the next day
        values = values.astype("M8[s]")
    seconds = as_seconds(values, "date")[0]
    is_known = np.isfinite(seconds)
    whole = np.floor(np.where(is_known, seconds, 0)).astype(np.int64)
    if part == "weekday":
        codes = (whole // 86400 + 3) % 7
    elif part == "hour":
        codes = whole // 3600 % 24
    else:
        codes = whole.astype("M8[s]").astype("M8[M]").astype(np.int64) % 12
    return Factored(np.where(is_known, codes, -1).astype(np.intp), object_cells(PARTS[part]))


def is_written_of(pairs: Sequence[tuple[float, Any]]) -> bool:
    """Whether a cell is what is written of its day (a number since 1970), in one of `FORMS` for all pairs."""
    try:
        days = [EPOCH + datetime.timedelta(days=day) for day, _ in pairs]
    except OverflowError:  # beyond the years of Python
        return False
    cells = [_plain(cell) for _, cell in pairs]
    return bool(pairs) and any(
        all(_plain(day.strftime(form)) == cell for day, cell in zip(days, cells, strict=True))
        for form in FORMS
    )


def _plain(cell: Any) -> str:
    """The text of a cell: 2, 2.0 and "02" alike."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).lstrip("0")
