r"""Dates, durations and times of the day: as numbers of seconds, as Python objects, as texts.

**Numbers.**  A column of times is continuous: what was learned from one year says something of the next only if a
time stamp is a number, and not a name.  The numbers are

=========  ==================================================================================
date       seconds since 1970-01-01 00:00 UTC; a time without a zone counts as UTC
duration   seconds
time       seconds since midnight
=========  ==================================================================================

as doubles: a date of this century is right to a quarter of a microsecond.

**Texts** that stand for times:

========  ===================================================================================
date      2026-01-31, 2026-01-31T12:30:00.5+01:00 (ISO 8601); 2026/01/31; 31.01.2026 12:30
duration  2 days 03:04:05.6, 2 days, 3:04:05 (as data frames and Python write them), 36:30:00
time      12:30, 12:30:05.6
========  ===================================================================================

01/02/2026 is the first of February to some and the second of January to others: such texts stay texts. A column holds
times if all its distinct cells are times and there is more than one: a single date may be anything. "12:30:05" may be
a time of day or a duration; it is a duration if another cell of the column is longer than a day. In a batch, whose
columns are known to hold times, every text that is one counts, such as the dates of JSON, which has only texts.

**Levels.**  A time that is a category is the text of Python's ``date``, ``datetime`` (in UTC), ``timedelta`` or
``time``, to the microsecond: 2026-01-31, 2026-01-31 12:30:00, 1 day, 0:00:01.  Texts are the levels that they are, and
one that is no level is looked up as the time that it stands for, such as 31.01.2026 (`levels_of_text`).
"""

import datetime
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from hld.tables.factored import Factored, object_cells

TIMES = ("date", "duration", "time")
EPOCH, DAY = datetime.datetime(1970, 1, 1), 86_400
ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII
)
DOTTED = re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?=$|[ T])", re.ASCII)
SLASHED = re.compile(r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?=$|[ T])", re.ASCII)
CLOCK = r"(?P<hours>\d{1,6}):(?P<minutes>[0-5]\d)(:(?P<seconds>[0-5]\d(\.\d{1,9})?))?"
DURATION = re.compile(rf"((?P<days>-?\d{{1,8}}) days?,? ?)?(?P<sign>[+-])?({CLOCK})?", re.ASCII)
_OF: dict[str, tuple[Any, ...]] = {
    "date": (datetime.date, np.datetime64),
    "duration": (datetime.timedelta, np.timedelta64),
    "time": (datetime.time,),
}


def time_kind(values: Any) -> str | None:
    """One of "date", "duration", "time" for a column (N,) all of whose values are such, else None.

    Texts are if all of them stand for such, and there are two different ones (`hld.tables.times`).
    """
    if values.dtype.kind in "Mm":
        return "date" if values.dtype.kind == "M" else "duration"
    levels = values.levels.tolist() if isinstance(values, Factored) else []
    cells = [cell for cell in levels if not is_empty(cell)]
    if all(isinstance(cell, str) for cell in cells):
        return text_kind([*dict.fromkeys(cells)])
    kinds = [kind for kind, types in _OF.items() if all(isinstance(one, types) for one in cells)]
    return kinds[0] if kinds else None


def as_seconds(values: Any, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """(N,) seconds of a column of times, NaN where missing; (N,) flags of cells that are no such times."""
    if isinstance(values, Factored):
        cells = values.levels.tolist()
        found = [None if is_empty(cell) else _seconds_of(cell, kind) for cell in cells]
        is_odd = [
            one is None and not is_empty(cell) for one, cell in zip(found, cells, strict=True)
        ]
        odd = np.array(is_odd, dtype=bool)
        return values.spread(np.array(found, dtype=np.float64), np.nan), values.spread(odd, False)
    if values.dtype.kind == {"date": "M", "duration": "m"}.get(kind):
        return _counted_seconds(values), np.zeros(len(values), dtype=bool)
    return np.full(len(values), np.nan), values == values


def from_seconds(seconds: float, kind: str) -> Any:
    """The Python object for a number of seconds, to the microsecond; text where Python has no such date."""
    try:
        step = datetime.timedelta(seconds=seconds)
        if kind == "duration":
            return step
        moment = EPOCH + step
        return moment if kind == "date" else moment.time()
    except OverflowError:
        return f"{seconds} s"


def time_texts(marks: Sequence[float], kind: str) -> list[str]:
    """Short texts for numbers of seconds."""
    return [str(from_seconds(mark, kind)).removesuffix(" 00:00:00") for mark in marks]


def times_as_objects(values: Any) -> np.ndarray:
    """Dates or durations (any shape) as Python objects to the microsecond, text beyond Python's years, NaT as None."""
    values = np.asarray(values)
    objects = np.asarray(values.astype(f"{values.dtype.kind}8[us]").astype(object))
    for place in np.ndindex(objects.shape):
        if isinstance(objects[place], int):
            objects[place] = str(values[place]).replace("T", " ")
    return objects


def _counted_seconds(values: np.ndarray) -> np.ndarray:
    """Seconds of an array of NumPy's dates or durations."""
    if values.dtype.kind == "M":
        values = values - np.datetime64(0, "s")
    return np.asarray(values / np.timedelta64(1, "s"), dtype=np.float64)


def _seconds_of(cell: Any, kind: str) -> float | None:
    """Seconds of one cell, None if it is no such time."""
    if isinstance(cell, str):
        return seconds_of_text(cell, kind)
    if not isinstance(cell, _OF[kind]):
        return None
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return float(_counted_seconds(np.array([cell]))[0])
    if kind == "duration":
        return float(cell.total_seconds())
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
    except (
        TypeError,
        ValueError,
        ArithmeticError,
    ):  # pandas.NA answers with NA, which is not a truth
        return type(cell).__name__ == "NAType"


def is_empty(cell: Any) -> bool:
    """Whether a cell is missing, or a text, or bytes, without a letter."""
    return not cell if isinstance(cell, (str, bytes)) else is_missing(cell)


# -- texts -------------------------------------------------------------------------------------------------------------


def text_kind(cells: Sequence[str]) -> str | None:
    """One of "date", "duration", "time" for distinct texts (n,) all of which are such, else None."""
    if len(cells) > 1:
        for kind in ("date", "time", "duration"):
            if all(seconds_of_text(cell, kind) is not None for cell in cells):
                return kind
    return None


def times_of_texts(cells: Any, kind: str) -> np.ndarray:
    """(n,) objects: the times that texts stand for, and the texts that stand for none, as they are."""
    return object_cells([_time(cell, kind) for cell in cells])


def seconds_of_text(cell: str, kind: str) -> float | None:
    """The number for one text that stands for a time; None if it stands for none."""
    cell = cell.strip()
    if kind == "date":
        moment = _moment(cell)
        return None if moment is None else _seconds_of(moment, kind)
    found = DURATION.fullmatch(cell)
    if not found or (found["days"] is None and found["hours"] is None):
        return None
    clock = 3600.0 * int(found["hours"] or 0) + 60 * int(found["minutes"] or 0)
    clock += float(found["seconds"] or 0)
    seconds = DAY * int(found["days"] or 0) + (-clock if found["sign"] == "-" else clock)
    return None if kind == "time" and not (_is_clock(cell) and seconds < DAY) else seconds


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
    found = None if seconds is None else from_seconds(seconds, kind)
    return cell if found is None or isinstance(found, str) else found


def _is_clock(cell: str) -> bool:
    """Whether a text is hours and minutes alone."""
    return bool(re.fullmatch(CLOCK, cell.strip(), re.ASCII))


def time_level(cell: Any) -> str:
    """The level of a date, a duration or a time of the day."""
    text = str(in_utc(cell))
    return text.removesuffix(" 00:00:00") if isinstance(cell, datetime.date) else text


def levels_of_text(text: str) -> list[str]:
    """The levels of the times that a text may stand for: a date, or a duration and a time of the day."""
    times = [_time(text, kind) for kind in TIMES]
    return [time_level(time) for time in times if not isinstance(time, str)]


def in_utc(cell: Any) -> Any:
    """A date without its zone, in UTC, as Arrow and polars hold it; any other time as it is."""
    if not isinstance(cell, datetime.datetime) or cell.tzinfo is None:
        return cell
    try:
        return cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    except (OverflowError, ValueError):  # the first or the last day that there is
        return cell
