"""The year, month, day, hour or minute that a date falls into: the beginning of its text in ISO 8601."""
from __future__ import annotations

import re
import reprlib
from typing import Any

from hld.tables.time_texts import in_iso

PERIODS = {"year": 4, "month": 7, "day": 10, "hour": 13, "minute": 16}  # characters of a date as text
WHOLE_DAY = 10  # characters of a date without a time of day, which is enough for hours and minutes
ZONE = r" ?([A-Z]{3,5}|Z|[+-]\d{2}(:?\d{2}(:\d{2})?)?)"  # two letters are AM or PM
DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-4])(:[0-5]\d(:\d{2}([.,]\d+)?)?"
                  rf"({ZONE})?)?)?)?)?", re.ASCII)


def period_of(cell: Any, every: str, name: str) -> str | None:
    """The label of the period of one date, None for an empty text.

    Parameters
    ----------
    cell : datetime, date, str or number
        A text as `hld.tables.time_texts` knows dates, also with less behind what the period needs, or the name of a
        zone; a number only for a year.
    every : str
        One of `PERIODS`.
    name : str
        Name of the column, for errors.

    Returns
    -------
    str or None

    Raises
    ------
    ValueError
        A cell that is no such date.

    Examples
    --------
    >>> period_of("2026-03-07T12:30:05+01:00", "hour", "when"), period_of("7.3.2026 12:30", "month", "when")
    ('2026-03-07 12', '2026-03')
    >>> period_of("03/07/2026", "month", "when")
    Traceback (most recent call last):
    ValueError: `every` needs dates such as 2026-01-31 12:30, found '03/07/2026' in 'when': write them so
    """
    text = f"{cell:.15g}" if isinstance(cell, float) else in_iso(str(cell).strip())
    if not text:
        return None
    if not DATE.fullmatch(text) or len(text) < min(PERIODS[every], WHOLE_DAY):
        raise ValueError(f"`every` needs dates such as 2026-01-31 12:30, found {reprlib.repr(cell)} in {name!r}: write "
                         "them so")
    return text[:PERIODS[every]].replace("T", " ")
