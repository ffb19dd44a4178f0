r"""Which segment each row of a table is in, by the values of a column, and the labels of the segments in order.

Labels ascend: numbers as numbers, also those within texts, so that "day 9" is before "day 10", and texts all of which
are dates, or all durations, as such, so that "10:00:00" is before "1 day, 0:00:00".  Missing cells are the last.

A period (year, month, day, hour, minute) of a date is the beginning of its text in ISO 8601.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import reprlib
from typing import Any

import numpy as np

from hld.answers.column_shifts import level_texts
from hld.tables.factored import whole_cells
from hld.tables.single_cells import TIME_TYPES, plain_value
from hld.tables.times import in_iso, in_utc, is_missing, seconds_of_text, times_as_objects

MISSING = "(missing)"
MIDNIGHT = " 00:00:00"  # days are written without it
NUMBER, DIGITS = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII), re.compile(r"(\d+)", re.ASCII)


def numbered(cells: Any, every: str | None, name: str) -> tuple[Any, ...]:
    """(N,) the number of each row's segment, and the labels of the segments in order."""
    cells = whole_cells(cells)
    cells = (
        times_as_objects(cells) if cells.dtype.kind in "mM" else cells
    )  # nanoseconds would become plain numbers
    if cells.dtype.kind in "biu" and every is None:
        distinct, groups = np.unique(cells, return_inverse=True)
        return groups, tuple(map(str, distinct.tolist()))
    found, numbers = {}, np.empty(len(cells), dtype=np.int64)  # type: ignore[var-annotated]
    for i, cell in enumerate(cells.tolist()):
        if is_missing(cell):
            value = None
        else:
            value = str(in_utc(cell)) if isinstance(cell, TIME_TYPES) else plain_value(cell, name)
            value = value if every is None else period_of(value, every, name)
        numbers[i] = found.setdefault((value, isinstance(value, bool)), len(found))  # true equals 1
    times = _times([value for value, _ in found if isinstance(value, str)])
    keys = sorted(
        found,
        key=lambda key: (
            key[0] is None,
            isinstance(key[0], str),
            _place(key[0], times),
            not key[1],
        ),
    )
    position = np.empty(len(keys), dtype=np.int64)
    position[[found[key] for key in keys]] = np.arange(len(keys))
    return position[numbers], _labels([value for value, _ in keys])


def _labels(values: list[Any]) -> tuple[str, ...]:
    """The texts of distinct values, in quotes where a text looks like another value: 1 and '1'.

    Whole numbers are written as such, also where missing ones among them have made floats of them.
    """
    if all(
        value.is_integer() and abs(value) < 2**53 for value in values if isinstance(value, float)
    ):
        values = [int(value) if isinstance(value, float) else value for value in values]
    if values and all(value is None or str(value).endswith(MIDNIGHT) for value in values):
        values = [value and value.removesuffix(MIDNIGHT) for value in values]
    known = iter(
        level_texts([value for value in values if value is not None], [MISSING] * (None in values))
    )
    return tuple(MISSING if value is None else next(known) for value in values)


def group_numbers(cells: Any, name: str) -> np.ndarray:
    """(N,) the number of each row's group, 0..G - 1 in the order of the labels."""
    missing = sum(map(is_missing, whole_cells(cells).tolist()))
    if missing:
        raise ValueError(
            f"`groups` has {missing} rows without a group: leave them out, or give them one"
        )
    return np.asarray(numbered(cells, None, name)[0])


def _times(texts: list[str]) -> dict[str, Any]:
    """What texts are in order by if all stand for durations, or all for dates; nothing for others."""
    for kind in ("duration", "date"):
        found = {text: seconds_of_text(text, kind) for text in texts}
        if None not in found.values():
            return found
    return {}


def _place(value: Any, times: dict[str, Any]) -> Any:
    """What labels are sorted by: texts as a person would, "9" before "10" and "day 9" before "day 10"."""
    if not isinstance(value, str):
        return 0 if value is None else value
    if times:
        return times[value], value
    if NUMBER.fullmatch(value):
        return (0, float(value), value)
    parts = enumerate(DIGITS.split(value))  # numbers of any length
    return (1, [(len(one := part.lstrip("0")), one) if k % 2 else part for k, part in parts], value)


PERIODS = {
    "year": 4,
    "month": 7,
    "day": 10,
    "hour": 13,
    "minute": 16,
}  # characters of a date as text
WHOLE_DAY = 10  # characters of a date without a time of day, which is enough for hours and minutes
ZONE = r" ?([A-Z]{3,5}|Z|[+-]\d{2}(:?\d{2}(:\d{2})?)?)"  # two letters are AM or PM
PERIOD_DATE = re.compile(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3])(:[0-5]\d(:\d{2}([.,]\d+)?)?"
    rf"({ZONE})?)?)?)?)?",
    re.ASCII,
)


def period_of(cell: Any, every: str, name: str) -> str | None:
    """The label of the period of one date, None for an empty text."""
    text = f"{cell:.15g}" if isinstance(cell, float) else in_iso(str(cell).strip())
    if not text:
        return None
    if PERIOD_DATE.fullmatch(text) and len(text) >= min(PERIODS[every], WHOLE_DAY):
        with contextlib.suppress(ValueError):  # such as a 30th of February
            datetime.date(int(text[:4]), int(text[5:7] or 1), int(text[8:10] or 1))
            return text[: PERIODS[every]].replace("T", " ")
    raise ValueError(
        f"`every` needs dates such as 2026-01-31 12:30, found {reprlib.repr(cell)} in {name!r}: write "
        "them so"
    )
