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
stand for the same time.  But a text is not a time because it looks like one: beside "2.0-beta", 1.2.2024 is a version,
and 1:30 beside "none" may be a ratio.  So a level is found by its time only if all levels of its column are times, or
if it can be nothing else: a date in ISO 8601, or a duration in days (`found_by_time`).
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from hld.tables.time_texts import ISO, NANO, PERIOD, in_iso, nanoseconds_of

SHOWN = 6  # digits of a fraction that Python writes, if it writes one


def time_level(cell: Any) -> str:
    """The level of a date, a duration or a time of the day."""
    if isinstance(cell, datetime.time):
        return str(cell)
    cell = in_utc(cell)
    text = str(cell)
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        return text
    return same_time(text) or text


def in_utc(cell: Any) -> Any:
    """A date without its zone, in UTC, as Arrow and polars hold it; any other time as it is."""
    if not isinstance(cell, datetime.datetime) or cell.tzinfo is None:
        return cell
    try:
        return cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    except (OverflowError, ValueError):  # the first or the last day that there is
        return cell


def same_time(text: str) -> str | None:
    """The text that all texts for a time share, exact to the last digit; None for a text that stands for no time.

    Times of the day and durations are not told apart, since texts do not tell.
    """
    if text[:1].isalpha() and text[0] != "P":  # most texts, at once
        return None
    text = text.strip()
    if not text or text[0] not in "+-0123456789P":
        return None
    iso = in_iso(text)
    return _of_date(iso) if ISO.fullmatch(iso) else _of_duration(text)


def found_by_time(levels: Sequence[Any]) -> dict[str, list[int]]:
    """The places of the levels of a column that every text for their time finds, by `same_time`."""
    times = [same_time(level) if isinstance(level, str) else None for level in levels]
    places: dict[str, list[int]] = {}
    for place, time in enumerate(times):
        if time is not None and (None not in times or _is_surely_a_time(levels[place])):
            places.setdefault(time, []).append(place)
    return places


def are_times(levels: Sequence[Any]) -> bool:
    """Whether all levels of a column, and there are some, stand for times."""
    return bool(levels) and all(
        isinstance(level, str) and same_time(level) is not None for level in levels
    )


def other_forms(text: str, of_times: bool = True) -> list[str]:
    """Texts that levels for the same time may have, in older model files or in files of text; none if it is no time."""
    same = same_time(text)
    if same is None or not (of_times or _is_surely_a_time(same)):
        return []
    return [same, f"{same} 00:00:00" if same[4] == "-" else f"0{same}" if same[1] == ":" else same]


def _is_surely_a_time(text: str) -> bool:
    """Whether a text for a time can be nothing else: 2026-01-31, 1 day, 0:30:00 and PT30M, not 31.1.2026 or 0:30."""
    text = text.strip()
    period = PERIOD.fullmatch(text)
    return (
        "day" in text
        or ISO.fullmatch(text) is not None
        or (period is not None and period["clock"] is not None)
    )


def _of_date(iso: str) -> str | None:
    """The shared text of a date in ISO 8601."""
    rest = iso[10:].replace("Z", "+00:00")
    at = max(rest.find("+"), rest.find("-"))
    clock, zone = (rest, "") if at < 0 else (rest[:at], rest[at:])
    clock, _, digits = clock.partition(".")
    zone = (
        f"{zone[:3]}:{zone[-2:]}" if zone else ""
    )  # Python before 3.11 reads no zone without a colon
    try:
        moment = datetime.datetime.fromisoformat(f"{iso[:10]}{clock}{zone}")
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    except (OverflowError, ValueError):  # a 30th of February
        return None
    return f"{moment}{_fraction(digits)}".removesuffix(" 00:00:00")


def _of_duration(text: str) -> str | None:
    """The shared text of a duration or a time of the day."""
    total = nanoseconds_of(text)
    if total is None:
        return None
    whole, rest = divmod(total, 10**NANO)
    try:
        return f"{datetime.timedelta(seconds=whole)}{_fraction(f'{rest:0{NANO}d}')}"
    except OverflowError:
        return None


def _fraction(digits: str) -> str:
    """Digits behind the seconds as Python writes them, more where there are more; nothing for none but zeros."""
    digits = digits.rstrip("0")
    return f".{digits:0<{SHOWN}}" if digits else ""
