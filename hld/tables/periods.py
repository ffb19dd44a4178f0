"""The year, month, day, hour or minute that a date falls into: the beginning of its text in ISO 8601."""

from __future__ import annotations

import datetime
import re
import reprlib
from typing import Any

from hld.tables.time_texts import in_iso

PERIODS = {
    "year": 4,
    "month": 7,
    "day": 10,
    "hour": 13,
    "minute": 16,
}  # characters of a date as text
WHOLE_DAY = 10  # characters of a date without a time of day, which is enough for hours and minutes
ZONE = r" ?([A-Z]{3,5}|Z|[+-]\d{2}(:?\d{2}(:\d{2})?)?)"  # two letters are AM or PM
DATE = re.compile(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-4])(:[0-5]\d(:\d{2}([.,]\d+)?)?"
    rf"({ZONE})?)?)?)?)?",
    re.ASCII,
)
END_OF_DAY = re.compile(
    r"(:00(:00([.,]0+)?)?)?(?![\d:.,])", re.ASCII
)  # what may follow the hour 24


def period_of(cell: Any, every: str, name: str) -> str | None:
    """The label of the period of one date, None for an empty text."""
    text = f"{cell:.15g}" if isinstance(cell, float) else in_iso(str(cell).strip())
    if not text:
        return None
    is_date = DATE.fullmatch(text) and len(text) >= min(PERIODS[every], WHOLE_DAY)
    moment = _on_its_day(text) if is_date else None
    if moment is None:
        raise ValueError(
            f"`every` needs dates such as 2026-01-31 12:30, found {reprlib.repr(cell)} in {name!r}: write "
            "them so"
        )
    return moment[: PERIODS[every]].replace("T", " ")


def _on_its_day(text: str) -> str | None:
    """A text of `DATE` with 0:00 of the next day in place of 24:00; None if there is no such day or time."""
    try:
        day = datetime.date(int(text[:4]), int(text[5:7] or 1), int(text[8:10] or 1))
        if text[11:13] != "24":
            return text
        return (
            f"{day + datetime.timedelta(days=1)}{text[10]}00{text[13:]}"
            if END_OF_DAY.match(text[13:])
            else None
        )
    except (ValueError, OverflowError):
        return None
