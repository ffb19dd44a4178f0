r"""Dates, durations and times of the day: as numbers of seconds, as Python objects, as texts, as levels.

**Numbers.**  A column of times is continuous: what was learned from one year says something of the next only if a
time stamp is a number, and not a name.  The numbers are

=========  ==================================================================================
date       seconds since 1970-01-01 00:00 UTC; a time without a zone counts as UTC
duration   seconds
time       seconds since midnight
=========  ==================================================================================

as doubles: a date of this century is right to a quarter of a microsecond.

NumPy counts time in units from years to attoseconds, Python in microseconds, in the years 1 to 9999.  Where a cell is
needed as it is written (a time stamp used as a category), what Python can represent becomes its ``datetime`` or
``timedelta``, and what it cannot becomes the text that it would have if Python could: "2020-01-01
00:00:00.000000001", as data frames write it, too.

**Texts** that stand for times:

========  ===================================================================================
date      2026-01-31, 2026-01-31T12:30:00.5+01:00 (ISO 8601); 2026/01/31; 31.01.2026 12:30
duration  2 days 03:04:05.6, 2 days, 3:04:05 (as data frames and Python write them), 36:30:00,
          P2DT3H4M5.6S, -PT75600S (ISO 8601, as data frames write them into JSON)
time      12:30, 12:30:05.6
========  ===================================================================================

01/02/2026 is the first of February to some and the second of January to others: such texts stay texts. A column holds
times if all its distinct cells are times and there is more than one: a single date may be anything. "12:30:05" may be
a time of day or a duration; it is a duration if another cell of the column is longer than a day. P1D and P2D may be
codes; they are durations beside one with a time, such as PT3H. In a batch, whose columns are known to hold times,
every text that is one counts, such as the dates of JSON, which has only texts.

**Levels:** one text for each time, whatever form the table has it in.  The same day is ``datetime.date(2026, 1, 31)``
in one table, a time stamp in another and "31.01.2026" in a file of text. As a level it is one text, that of Python's
``date``, ``datetime`` or ``timedelta``, with a finer fraction where there is one:

=========  =====================================================================
date       2026-01-31, 2026-01-31 12:30:00, 2026-01-31 12:30:00.500000; with a zone, in UTC
duration   3:00:00, 1 day, 0:00:01
time       03:00:00
=========  =====================================================================

Texts stay as they are in the table; `same_time` finds out which of them stand for the same time. But a text is not a
time because it looks like one: beside "2.0-beta", 1.2.2024 is a version, and 1:30 beside "none" may be a ratio. So a
level is found by its time only if all levels of its column are times, or if it can be nothing else: a date in ISO
8601, or a duration in days (`found_by_time`).
"""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from hld.tables.factored import object_cells

TIMES = ("date", "duration", "time")
CLOSE, LONG = (
    1e-5,
    1e6,
)  # seconds: durations that are shown to the nanosecond, and such as no double tells so well
_FIRST, _LAST = np.datetime64("0001-01-01", "us"), np.datetime64("9999-12-31T23:59:59.999999", "us")
_UNITS = {
    "ns": 10**9,
    "ps": 10**12,
    "fs": 10**15,
    "as": 10**18,
}  # units in a second, finer than Python's
_FINE = {"s": 1, "ms": 10**3, "us": 10**6, **_UNITS}
_AVERAGE = {
    "Y": 31_556_952.0,
    "M": 2_629_746.0,
    "W": 604_800.0,
    "D": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
}  # seconds
_OF: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("date", (datetime.date, np.datetime64)),
    ("duration", (datetime.timedelta, np.timedelta64)),
    ("time", (datetime.time,)),
)


def time_kind(values: Any) -> str | None:
    """One of "date", "duration", "time" for a column (N,) all of whose values are such, else None.

    Texts are if all of them stand for such, and there are two different ones (`hld.tables.times`).
    """
    kind = values.dtype.kind
    if kind in "Mm":
        return "date" if kind == "M" else "duration"
    cells = getattr(values, "levels", values).tolist() if kind in "OU" else []
    cells = [
        cell for cell in cells if not isinstance(cell, str) or cell
    ]  # an empty text is missing
    types = set(map(type, cells))
    # what is missing has types of its own, which are no times, but for pandas.NaT; floats are missing if they are NaN
    types = {
        one for one in types if one is not type(None) and one.__name__ not in ("NaTType", "NAType")
    }
    floats = {one for one in types if issubclass(one, (float, np.floating))}
    if floats and any(type(cell) in floats and cell == cell for cell in cells):
        return None
    types -= floats
    if types and all(issubclass(one, str) for one in types):
        return _kind_of_texts([cell for cell in cells if isinstance(cell, str)])
    return next(
        (name for name, known in _OF if types and all(issubclass(one, known) for one in types)),
        None,
    )


def _kind_of_texts(cells: list[str]) -> str | None:
    """That of texts all of which stand for times, else None; the first one is most often enough to tell."""
    if same_time(cells[0]) is None:
        return None
    distinct = list(dict.fromkeys(cells))
    kind = text_kind(distinct)
    return (
        kind if kind and all(seconds_of_text(cell, kind) is not None for cell in distinct) else None
    )


def as_seconds(values: np.ndarray, kind: str) -> Any:
    """(N,) seconds of a column of times, NaN where missing; (N,) flags of cells that are no such times.

    Shapes: values (N,) -> seconds (N,), odd (N,).
    """
    code = values.dtype.kind
    if code in "Mm" and (code == "M") == (kind == "date"):
        return _counted_seconds(values), np.zeros(len(values), dtype=bool)
    seconds, odd = np.full(len(values), np.nan), np.zeros(len(values), dtype=bool)
    known: dict[str, Any] = {}  # texts that occurred
    for i, cell in enumerate(values.tolist() if code in "OU" else values):
        if isinstance(cell, str):
            found = (
                known[cell]
                if cell in known
                else known.setdefault(cell, seconds_of_text(cell, kind))
            )
        else:
            found = _seconds_of(cell, kind)
        if found is None:
            odd[i] = not (is_missing(cell) or (isinstance(cell, str) and not cell))
        else:
            seconds[i] = found
    return seconds, odd


def from_seconds(seconds: float, kind: str) -> Any:
    """The Python object for a number of seconds, not before it; text where Python has no such date."""
    try:
        whole = math.floor(seconds)
        micros = round(
            (seconds - whole) * 1e6
        )  # 4.463 is no double: the nearest one is a little more
        step = datetime.timedelta(seconds=whole, microseconds=micros)
        if step.total_seconds() < seconds:
            step = datetime.timedelta(seconds=whole, microseconds=micros + 1)
        if kind == "duration":
            return step
        moment = EPOCH + step
        return moment if kind == "date" else moment.time()
    except OverflowError:
        is_counted = kind == "date" and abs(seconds) < 2.0**63  # by NumPy, in 64 bits
        return str(np.datetime64(whole, "s")).replace("T", " ") if is_counted else f"{seconds} s"


def time_text(seconds: float, kind: str) -> str:
    """A short text for a number of seconds."""
    text = str(from_seconds(seconds, kind))
    return text.removesuffix(" 00:00:00") if kind == "date" else text


def time_in_bin(start: float, middle: float, end: float, kind: str) -> Any:
    """The Python object for the middle of a bin, or for its start where rounding would leave the bin; else text."""
    for seconds in (middle, start):
        found = from_seconds(seconds, kind)
        if (
            not isinstance(found, datetime.timedelta)
            or found.total_seconds() < end
            or seconds >= end
        ):
            return found
    return duration_text(middle)


def duration_text(seconds: float) -> str:
    """The text of a duration to the nanosecond, not before it, with as many digits as Python writes at the least."""
    nanoseconds = round(seconds * _UNITS["ns"])
    nanoseconds += nanoseconds / _UNITS["ns"] < seconds
    whole, rest = divmod(nanoseconds, _UNITS["ns"])
    text = f"{datetime.timedelta(seconds=whole)}.{rest:09d}"
    return same_time(text) or text


def time_texts(marks: Sequence[float], kind: str) -> list[str]:
    """Short texts for numbers of seconds: to the nanosecond for durations that microseconds hardly tell apart."""
    steps = np.diff(sorted({0.0, *marks}))
    if kind == "duration" and len(steps) and steps.min() < CLOSE and max(map(abs, marks)) < LONG:
        return [duration_text(mark) for mark in marks]
    return [time_text(mark, kind) for mark in marks]


def times_as_objects(values: Any) -> np.ndarray:
    """Dates or durations (any shape) as Python objects or text, NaT as None."""
    kind = values.dtype.kind
    rounded = _converted(values, f"{kind}8[us]")
    is_held = _converted(rounded, values.dtype) == values
    if kind == "M":
        is_held &= (rounded >= _FIRST) & (rounded <= _LAST)
    is_missing = np.isnat(values)
    objects = np.where(is_held | is_missing, rounded, np.array("NaT", dtype=rounded.dtype)).astype(
        object
    )
    for place in np.argwhere(~is_held & ~is_missing):
        objects[tuple(place)] = _text_of(values[tuple(place)])
    return objects


def _converted(values: np.ndarray, unit: Any) -> np.ndarray:
    """Dates or durations in another unit; what does not fit wraps around, or is NaT from NumPy 2.5 on."""
    try:
        with np.errstate(over="ignore"):
            return values.astype(unit)
    except OverflowError:  # by one of them at least
        found = np.full(values.shape, "NaT", dtype=unit)
        for place in np.ndindex(values.shape):
            with contextlib.suppress(OverflowError):
                found[place] = values[place].astype(unit)
        return found


def _counted_seconds(values: np.ndarray) -> np.ndarray:
    """Seconds of an array of NumPy's dates or durations."""
    unit, count = np.datetime_data(values.dtype)
    if unit == "generic":
        if not np.isnat(values).all():
            raise TypeError(
                "`table` holds durations without a unit (timedelta64), expected timedelta64[s] or another "
                "unit: convert them, for example with astype('m8[s]')"
            )
        return np.full(len(values), np.nan)
    if unit in _FINE:
        numbers = values.astype(np.int64).astype(np.float64)
        numbers *= count
        numbers /= _FINE[unit]
    else:  # years and months have no fixed length
        exact = _converted(values, f"{values.dtype.kind}8[s]")
        numbers = exact.astype(np.int64).astype(np.float64)
        beyond = _converted(exact, values.dtype) != values
        numbers[beyond] = values[beyond].astype(np.int64) * (count * _AVERAGE[unit])
    numbers[np.isnat(values)] = np.nan
    return numbers


def _seconds_of(cell: Any, kind: Any) -> Any:
    """Seconds of one cell, None if it is no such time or missing."""
    known = dict(_OF)[kind]
    if not isinstance(cell, known) or is_missing(cell):
        return None
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return float(_counted_seconds(np.array([cell]))[0])
    if kind == "duration":
        return cell.total_seconds()
    if kind == "time":
        return cell.hour * 3600.0 + cell.minute * 60 + cell.second + cell.microsecond / 1e6
    if not isinstance(cell, datetime.datetime):
        return (cell - EPOCH.date()).total_seconds()
    return cell.timestamp() if cell.tzinfo is not None else (cell - EPOCH).total_seconds()


def is_missing(cell: Any) -> bool:
    """Whether a cell holds no value: None, NaN, NaT or pandas.NA (masked entries have become None)."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # pandas.NA answers with NA, which is not a truth
        return type(cell).__name__ == "NAType"
    except ArithmeticError:  # a decimal that signals that it is none
        return isinstance(cell, Decimal)


def _text_of(value: Any) -> str:
    """Text of one date or duration that Python cannot hold."""
    if value.dtype.kind == "M":
        text = str(value).replace("T", " ")
        return same_time(text) or text
    unit = np.datetime_data(value.dtype)[0]
    count = int(value.astype(np.int64)) * np.datetime_data(value.dtype)[1]
    if unit not in _UNITS:
        return f"{count} {unit}"
    seconds, rest = divmod(count, _UNITS[unit])
    return f"{datetime.timedelta(seconds=seconds)}.{rest * (10**18 // _UNITS[unit]):018d}".rstrip(
        "0"
    )


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
    seconds: list[Any] = [seconds_of_text(cell, "duration") for cell in cells]
    if None in seconds or not any(map(_is_with_time, cells)):
        return None
    return "time" if all(map(_is_clock, cells)) and max(seconds) < DAY else "duration"


def times_of_texts(cells: Any, kind: str) -> np.ndarray:
    """(n,) objects: the times that texts stand for, and the texts that stand for none, as they are.

    Returns (n,).
    """
    return object_cells(_dates(cells) if kind == "date" else [_time(cell, kind) for cell in cells])


def seconds_of_text(cell: str, kind: str) -> float | None:
    """The number for one text that stands for a time; None if it stands for none."""
    cell = cell.strip()
    if kind == "date":
        moment = _moment(cell)
        return None if moment is None else _seconds_of(moment, kind)
    nanoseconds = nanoseconds_of(cell)
    seconds = None if nanoseconds is None else nanoseconds / 10**NANO
    is_other = kind == "time" and not (_is_clock(cell) and (seconds or 0) < DAY)
    return None if is_other else seconds


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
    seconds = seconds_of_text(cell, kind)
    if seconds is None:
        return cell
    try:
        step = datetime.timedelta(microseconds=round(seconds * 1e6))
    except OverflowError:
        return cell
    return step if kind == "duration" else (datetime.datetime.min + step).time()


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
    """Texts that levels for the same time may have; none if it is no time."""
    same = same_time(text)
    if same is None or not (of_times or _is_surely_a_time(same)):
        return []
    return [same, f"0{same}"]  # of a clock


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
    moment = _moment(iso)
    moment = None if moment is None else in_utc(moment)
    if moment is None or moment.tzinfo is not None:
        return None
    digits = re.search(r"\.(\d+)", iso)
    fraction = _fraction(digits[1]) if digits else ""
    return f"{moment.replace(microsecond=0)}{fraction}".removesuffix(" 00:00:00")


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
