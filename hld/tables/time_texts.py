r"""Texts that stand for dates, durations and times of the day.

========  ===================================================================================
date      2026-01-31, 2026-01-31T12:30:00.5+01:00 (ISO 8601); 2026/01/31; 31.01.2026 12:30
duration  2 days 03:04:05.6, 2 days, 3:04:05 (as data frames and Python write them), 36:30:00,
          P2DT3H4M5.6S, -PT75600S (ISO 8601, as data frames write them into JSON)
time      12:30, 12:30:05.6
========  ===================================================================================

01/02/2026 is the first of February to some and the second of January to others: such texts stay texts.  A column holds
times if all its distinct cells are times and there is more than one: a single date may be anything.  "12:30:05" may be
a time of day or a duration; it is a duration if another cell of the column is longer than a day.  P1D and P2D may be
codes; they are durations beside one with a time, such as PT3H.  In a batch, whose columns are known to hold times,
every text that is one counts, such as the dates of JSON, which has only texts.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np

from hld.tables.factored import object_cells

EPOCH = datetime.datetime(1970, 1, 1)
ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII
)
DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?=$|[ T])", re.ASCII)
SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?=$|[ T])", re.ASCII)
CLOCK = r"(?P<hours>\d{1,6}):(?P<minutes>[0-5]\d)(:(?P<seconds>[0-5]\d(\.\d{1,9})?))?"
DURATION = re.compile(rf"((?P<days>-?\d{{1,8}}) days?,? ?)?(?P<sign>[+-])?({CLOCK})?", re.ASCII)
# each part may have a sign of its own: -3 hours are P-1DT21H to data frames
PERIOD = re.compile(
    r"(?P<sign>[+-])?P(?=[T\d+-])((?P<weeks>[+-]?\d{1,8})W)?((?P<days>[+-]?\d{1,8})D)?"
    r"(?P<clock>T(?=[\d+-])((?P<hours>[+-]?\d{1,12})H)?((?P<minutes>[+-]?\d{1,12})M)?"
    r"((?P<seconds>[+-]?\d{1,15}([.,]\d{1,9})?)S)?)?",
    re.ASCII,
)
DAY = 86400
NANO = 9  # digits


def text_kind(cells: Any) -> str | None:
    """One of "date", "duration", "time" for distinct texts (n,) all of which are such, else None."""
    if len(cells) < 2:
        return None
    if all(ISO.fullmatch(in_iso(cell)) for cell in cells):
        return "date"
    seconds = [_seconds(cell) for cell in cells]
    if None in seconds or not any(map(_is_with_time, cells)):
        return None
    return "time" if all(map(_is_clock, cells)) and max(seconds) < DAY else "duration"


def times_of_texts(cells: Any, kind: str) -> np.ndarray:
    """(n,) objects: the times that texts stand for, and the texts that stand for none, as they are.

    Returns (n,).
    """
    return object_cells(_dates(cells) if kind == "date" else [_time(cell, kind) for cell in cells])


def seconds_of_text(cell: str, kind: str) -> float | None:
    """The number for one text that stands for a time (`hld.tables.times`); None if it stands for none."""
    cell = cell.strip()
    if kind != "date":
        seconds = _seconds(cell)
        return (
            None
            if seconds is None or (kind == "time" and not (_is_clock(cell) and seconds < DAY))
            else seconds
        )
    moment = _moment(cell)
    start = (
        EPOCH
        if moment is None or moment.tzinfo is None
        else EPOCH.replace(tzinfo=datetime.timezone.utc)
    )
    return None if moment is None else (moment - start).total_seconds()


def in_iso(cell: str) -> str:
    """A date in one of the other forms as ISO 8601 writes it, anything else as it is."""
    found = DOTTED.match(cell)
    year, month, day = found.group(3, 2, 1) if found else (None,) * 3
    if not found and (found := SLASHED.match(cell)):
        year, month, day = found.groups()
    return f"{year}-{month:0>2}-{day:0>2}{cell[found.end() :]}" if found else cell


def _moment(cell: str) -> datetime.datetime | None:
    """The date that a text stands for, with its zone; None if it stands for none."""
    text = in_iso(cell)
    try:  # older Pythons read neither Z nor a fraction of other than three or six digits
        return datetime.datetime.fromisoformat(_plain_iso(text)) if ISO.fullmatch(text) else None
    except ValueError:
        return None


def _plain_iso(text: str) -> str:
    """A text of `ISO` with a fraction of six digits and a zone with a colon."""
    text = re.sub(r"\.(\d+)", lambda found: f".{found[1][:6]:0<6}", text.replace("Z", "+00:00"))
    return re.sub(r"([+-]\d{2})(\d{2})$", r"\1:\2", text) if ":" in text else text


def _dates(cells: Any) -> list[Any]:
    """Dates in UTC without a zone; texts where they are no dates."""
    import pandas

    texts = [
        in_iso(cell) for cell in cells
    ]  # those of the forms above alone: 20240501 is a number elsewhere
    texts = pandas.Series([text if ISO.fullmatch(text) else None for text in texts], dtype=object)
    found = pandas.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
    dates = found.dt.tz_localize(None).to_numpy().astype("M8[us]")
    return [
        moment if isinstance(moment, datetime.datetime) else _lone_date(cell)
        for cell, moment in zip(cells, dates.tolist(), strict=True)
    ]


def _lone_date(cell: str) -> Any:
    """A date that pandas does not read: Python's, or NumPy's beyond the years that Python has; a text that is none."""
    moment = _moment(cell)
    if moment is None:
        return cell
    day, ahead = moment.replace(tzinfo=None), moment.utcoffset() or datetime.timedelta(0)
    try:
        return day - ahead
    except OverflowError:
        return np.datetime64(day, "us") - np.timedelta64(ahead, "us")


def _time(cell: str, kind: str) -> Any:
    """A duration, or a time of the day; the text if it is none."""
    seconds = _seconds(cell)
    if seconds is None or (kind == "time" and not (_is_clock(cell) and seconds < DAY)):
        return cell
    try:
        step = datetime.timedelta(microseconds=round(seconds * 1e6))
    except OverflowError:
        return cell
    return step if kind == "duration" else (datetime.datetime.min + step).time()


def _seconds(cell: str) -> Any:
    """Seconds of a duration or a time of the day as text; None if it is neither."""
    nanoseconds = nanoseconds_of(cell)
    return None if nanoseconds is None else nanoseconds / 10**NANO


def nanoseconds_of(text: str) -> int | None:
    """The exact length of a duration, or of a time of the day since midnight; None for a text that is neither."""
    text = text.strip()
    if "P" in text[:2]:
        return _of_period(text)
    found = DURATION.fullmatch(text)
    if not found or (found["days"] is None and found["hours"] is None):
        return None
    clock = 3600 * int(found["hours"] or 0) + 60 * int(found["minutes"] or 0)
    nanoseconds = clock * 10**NANO + _of_seconds(found["seconds"])
    return DAY * 10**NANO * int(found["days"] or 0) + (
        -nanoseconds if found["sign"] == "-" else nanoseconds
    )


def _of_period(text: str) -> int | None:
    """Nanoseconds of a duration in ISO 8601; None for any other text, also for months, which have no fixed length."""
    found = PERIOD.fullmatch(text)
    if not found:
        return None
    weeks, days, hours, minutes = (
        int(found[part] or 0) for part in ("weeks", "days", "hours", "minutes")
    )
    whole = DAY * (7 * weeks + days) + 3600 * hours + 60 * minutes
    nanoseconds = whole * 10**NANO + _of_seconds(found["seconds"])
    return -nanoseconds if found["sign"] == "-" else nanoseconds


def _of_seconds(text: str | None) -> int:
    """Nanoseconds of seconds as text, with or without a fraction; 0 for none."""
    whole, _, digits = (text or "0").replace(",", ".").partition(".")
    return int(f"{whole}{digits:0<{NANO}}")


def _is_with_time(cell: str) -> bool:
    """Whether a text for a duration can be no code: P2D can be one."""
    found = PERIOD.fullmatch(cell.strip())
    return not found or found["clock"] is not None


def _is_clock(cell: str) -> bool:
    """Whether a text is hours and minutes alone."""
    return bool(re.fullmatch(CLOCK, cell.strip(), re.ASCII))
