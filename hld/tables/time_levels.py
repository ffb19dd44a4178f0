"""One text for each time that is used as a level, whatever form the table has it in.

The same day is ``datetime.date(2026, 1, 31)`` in one table, a time stamp in another and "31.01.2026" in a file of text.
As a level it is one text, that of Python's ``date``, ``datetime`` or ``timedelta``, with a finer fraction where there
is one:

=========  =====================================================================
date       2026-01-31, 2026-01-31 12:30:00, 2026-01-31 12:30:00.500000; with a zone, in UTC
duration   3:00:00, 1 day, 0:00:01
time       03:00:00
=========  =====================================================================

Texts stay as they are in the table, and so do the levels of older model files; `same_time` finds out which of them
stand for the same time.
"""
from __future__ import annotations

import datetime
from typing import Any

from hld.tables.time_texts import DAY, DURATION, ISO, in_iso

SHOWN = 6   # digits of a fraction that Python writes, if it writes one
NANO = 9


def time_level(cell: Any) -> str:
    """The level of a date, a duration or a time of the day.

    Parameters
    ----------
    cell : datetime.date, datetime.timedelta or datetime.time
        Those of pandas included.

    Returns
    -------
    str

    Examples
    --------
    >>> time_level(datetime.date(2026, 1, 31)), time_level(datetime.timedelta(hours=3))
    ('2026-01-31', '3:00:00')
    >>> time_level(datetime.datetime(2026, 1, 31, tzinfo=datetime.timezone(datetime.timedelta(hours=1))))
    '2026-01-30 23:00:00'
    """
    if isinstance(cell, datetime.time):
        return str(cell)
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        try:
            cell = cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        except (OverflowError, ValueError):     # the first or the last day that there is
            return str(cell)
    text = str(cell)
    return same_time(text) or text


def same_time(text: str) -> str | None:
    """The text that all texts for a time share, exact to the last digit; None for a text that stands for no time.

    Times of the day and durations are not told apart, since texts do not tell.

    Parameters
    ----------
    text : str

    Returns
    -------
    str or None

    Examples
    --------
    >>> same_time("31.01.2026"), same_time("2026-01-31T01:00:00.000+01:00"), same_time("0 days 03:00:00.5")
    ('2026-01-31', '2026-01-31', '3:00:00.500000')
    >>> same_time("Saturday") is None
    True
    """
    text = text.strip()
    if not text or text[0] not in "+-0123456789":   # most texts, at once
        return None
    iso = in_iso(text)
    return _of_date(iso) if ISO.fullmatch(iso) else _of_duration(text)


def other_forms(text: str) -> list[str]:
    """Texts that levels for the same time may have, in older model files or in files of text; none if it is no time.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> other_forms("31.01.2026"), other_forms("3:00"), other_forms("Saturday")
    (['2026-01-31', '2026-01-31 00:00:00'], ['3:00:00', '03:00:00'], [])
    """
    same = same_time(text)
    if same is None:
        return []
    return [same, f"{same} 00:00:00" if same[4] == "-" else f"{same:0>8}"]


def _of_date(iso: str) -> str | None:
    """The shared text of a date in ISO 8601."""
    rest = iso[10:].replace("Z", "+00:00")
    at = max(rest.find("+"), rest.find("-"))
    clock, zone = (rest, "") if at < 0 else (rest[:at], rest[at:])
    clock, _, digits = clock.partition(".")
    zone = f"{zone[:3]}:{zone[-2:]}" if zone else ""    # Python before 3.11 reads no zone without a colon
    try:
        moment = datetime.datetime.fromisoformat(f"{iso[:10]}{clock}{zone}")
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    except (OverflowError, ValueError):     # a 30th of February
        return None
    return f"{moment}{_fraction(digits)}".removesuffix(" 00:00:00")


def _of_duration(text: str) -> str | None:
    """The shared text of a duration or a time of the day."""
    found = DURATION.fullmatch(text)
    if not found or (found["days"] is None and found["hours"] is None):
        return None
    seconds, _, digits = (found["seconds"] or "0").partition(".")
    clock = 3600 * int(found["hours"] or 0) + 60 * int(found["minutes"] or 0) + int(seconds)
    total = clock * 10 ** NANO + int(f"{digits:0<{NANO}}")
    total = DAY * int(found["days"] or 0) * 10 ** NANO + (-total if found["sign"] == "-" else total)
    whole, rest = divmod(total, 10 ** NANO)
    try:
        return f"{datetime.timedelta(seconds=whole)}{_fraction(f'{rest:0{NANO}d}')}"
    except OverflowError:
        return None


def _fraction(digits: str) -> str:
    """Digits behind the seconds as Python writes them, more where there are more; nothing for none but zeros."""
    digits = digits.rstrip("0")
    return f".{digits:0<{SHOWN}}" if digits else ""
