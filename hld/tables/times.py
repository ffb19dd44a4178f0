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
import functools
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
_MOST_MICROS, _MOST_SECONDS = 9e12, 9e18  # seconds that 64 bits count
_CALENDAR = {"Y": (31_556_952, 1), "M": (2_629_746, 1)}  # seconds of each on average
_SECONDS = _CALENDAR | {
    "W": (604_800, 1),
    "D": (86_400, 1),
    "h": (3_600, 1),
    "m": (60, 1),
    "s": (1, 1),
    "ms": (1, 10**3),
    "us": (1, 10**6),
    "ns": (1, 10**9),
    "ps": (1, 10**12),
    "fs": (1, 10**15),
    "as": (1, 10**18),
}
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
    # an empty text is missing; floats are missing if they are NaN, and no times otherwise
    cells = [cell for cell in cells if not isinstance(cell, str) or cell]
    types = {type(cell) for cell in cells if not isinstance(cell, (type(None), float, np.floating))}
    types = {one for one in types if one.__name__ not in ("NaTType", "NAType")}
    if not types or any(isinstance(cell, (float, np.floating)) and cell == cell for cell in cells):
        return None
    if all(issubclass(one, str) for one in types):
        texts = list(dict.fromkeys(cell for cell in cells if isinstance(cell, str)))
        # the first one is most often enough to tell
        return None if same_time(texts[0]) is None else text_kind(texts)
    return next((name for name, known in _OF if all(issubclass(one, known) for one in types)), None)


def as_seconds(values: np.ndarray, kind: str) -> Any:
    """(N,) seconds of a column of times, NaN where missing; (N,) flags of cells that are no such times.

    Shapes: values (N,) -> seconds (N,), odd (N,).
    """
    code = values.dtype.kind
    if code in "Mm" and (code == "M") == (kind == "date"):
        return _counted_seconds(values), np.zeros(len(values), dtype=bool)
    seconds, odd = np.full(len(values), np.nan), np.zeros(len(values), dtype=bool)
    read = functools.cache(lambda text: seconds_of_text(text, kind))
    for i, cell in enumerate(values.tolist() if code in "OU" else values):
        found = read(cell) if isinstance(cell, str) else _seconds_of(cell, kind)
        if found is not None:
            seconds[i] = found
        elif not isinstance(cell, str) or cell:
            odd[i] = not is_missing(cell)
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


def duration_text(nanoseconds: int) -> str:
    """The text of a duration to the nanosecond, with as many digits as Python writes at the least."""
    whole, rest = divmod(nanoseconds, 10**NANO)
    return f"{datetime.timedelta(seconds=whole)}{_fraction(f'{rest:0{NANO}d}')}"


def times_of(numbers: Sequence[float], kind: str, *, to_nanoseconds: bool = False) -> list[Any]:
    """Python objects, or text, for numbers of seconds, not before them; texts of durations to the nanosecond."""
    if not to_nanoseconds:
        return [from_seconds(number, kind) for number in numbers]
    counts = [(round(number * 10**NANO), number) for number in numbers]
    return [duration_text(n + (n / 10**NANO < number)) for n, number in counts]


def are_close(marks: Sequence[float], kind: str) -> bool:
    """Whether numbers of seconds are durations that microseconds hardly tell apart."""
    steps = np.diff(sorted({0.0, *marks}))
    return kind == "duration" and 0 < min(steps, default=0) < CLOSE and max(map(abs, marks)) < LONG


def time_texts(marks: Sequence[float], kind: str) -> list[str]:
    """Short texts for numbers of seconds: to the nanosecond for durations that microseconds hardly tell apart."""
    times = times_of(marks, kind, to_nanoseconds=are_close(marks, kind))
    return [str(time).removesuffix(" 00:00:00" if kind == "date" else "") for time in times]


def times_as_objects(values: Any) -> np.ndarray:
    """Dates or durations (any shape) as Python objects or text, NaT as None."""
    values = np.asarray(values)
    kind, is_missing = values.dtype.kind, np.isnat(values)
    is_near = np.abs(_counted_seconds(values)) < _MOST_MICROS  # which microseconds of 64 bits hold
    near = np.where(is_near, values, np.array("NaT", dtype=values.dtype))
    rounded = near.astype(f"{kind}8[us]")
    is_held = rounded.astype(values.dtype) == values
    if kind == "M":
        is_held &= (rounded >= _FIRST) & (rounded <= _LAST)
    objects = np.where(is_held, rounded, np.array("NaT", dtype=rounded.dtype)).astype(object)
    for place in np.argwhere(~is_held & ~is_missing):
        objects[tuple(place)] = _text_of(values[tuple(place)])
    return objects


def _counted_seconds(values: np.ndarray) -> np.ndarray:
    """Seconds of an array of NumPy's dates or durations; NaN where these have no unit."""
    unit, count = np.datetime_data(values.dtype)
    up, down = _SECONDS.get(unit, (np.nan, 1))
    numbers = values.astype(np.int64).astype(np.float64) * (count * up) / down
    if (
        unit in _CALENDAR
    ):  # whose lengths differ; those beyond the seconds of 64 bits are average ones
        near = np.abs(numbers) < _MOST_SECONDS
        numbers[near] = values[near].astype(f"{values.dtype.kind}8[s]").astype(np.int64)
    return np.where(np.isnat(values), np.nan, numbers)


def _seconds_of(cell: Any, kind: Any) -> Any:
    """Seconds of one cell, None if it is no such time or missing."""
    if not isinstance(cell, dict(_OF)[kind]) or is_missing(cell):
        return None
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        found = float(_counted_seconds(np.array([cell]))[0])
        return None if math.isnan(found) else found
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
    if np.datetime_data(value.dtype) == ("ns", 1) and value.dtype.kind == "m":
        return duration_text(int(value.astype(np.int64)))
    text = str(value).replace("T", " ")
    return same_time(text) or text


EPOCH = datetime.datetime(1970, 1, 1)
ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII
)
DOTTED = re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?=$|[ T])", re.ASCII)
SLASHED = re.compile(r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?=$|[ T])", re.ASCII)
BEGINS = re.compile(r"P|\s*[-+0-9P]", re.ASCII)
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
    return object_cells([_time(cell, kind) for cell in cells])


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
    found = DOTTED.match(cell) or SLASHED.match(cell)
    if not found:
        return cell
    return f"{found['year']}-{found['month']:0>2}-{found['day']:0>2}{cell[found.end() :]}"


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


def _time(cell: str, kind: str) -> Any:
    """A date in UTC, a duration, or a time of the day; the text if it is none."""
    if kind == "date":
        moment = _moment(cell)
        return cell if moment is None else in_utc(moment)
    seconds = seconds_of_text(cell, kind)
    try:
        step = None if seconds is None else datetime.timedelta(microseconds=round(seconds * 1e6))
    except OverflowError:
        return cell
    if step is None or kind == "duration":
        return cell if step is None else step
    return (datetime.datetime.min + step).time()


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
    text = str(in_utc(cell))
    return text if isinstance(cell, datetime.time) else same_time(text) or text


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
    if not BEGINS.match(text):  # most texts, at once
        return None
    text = text.strip()
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
    with contextlib.suppress(OverflowError):
        return None if total is None else duration_text(total)
    return None


def _fraction(digits: str) -> str:
    """Digits behind the seconds as Python writes them, more where there are more; nothing for none but zeros."""
    digits = digits.rstrip("0")
    return f".{digits:0<{SHOWN}}" if digits else ""
