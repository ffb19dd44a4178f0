r"""The encoder as SQL: for each column an expression of whole numbers, the slots, and what each slot stands for.

A slot is a category, refined so as to separate what the encoder also counts:

============  ==================================================================================================
column        slots
============  ==================================================================================================
any           -1 missing; -2 of another type than the column's
levels        0..n-1 the levels, n every other value
bins          0 below the training range, 1..E+1 the bins, E+2 above the range
============  ==================================================================================================

No value of the table appears in the text of a query; levels and edges of the model do, as literals that `ibis` writes
and quotes for the dialect in use; names of columns likewise.  Three things need care.

* Doubles are written as text and cast: ``0.30000000000000004`` would be read as a decimal by some databases, and cast
  with a rounding of its own.
* Times are compared as times.  The encoder counts seconds as doubles; an edge e becomes the first microsecond that
  is no smaller than e as a double, found by bisection, so that both agree on every microsecond.
* NaN is missing; databases sort it above infinity.

Rare levels are known by digests only (`schemas.columns`), which no database computes: they share the slot of
unseen levels, and the reference's counts of the two are added up as well.
"""

import bisect
import datetime
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.tables.derived import PARTS
from hld.tables.schemas.columns import BINNED, WHOLE, BinColumn, LevelColumn, spans
from hld.tables.times import EPOCH, TIMES, time_level

MISSING, ODD = -1, -2
MICROSECONDS = 10**6
DAY = 86_400 * MICROSECONDS
FIRST = (datetime.datetime.min - EPOCH) // datetime.timedelta(microseconds=1)
LAST = (datetime.datetime.max - EPOCH) // datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class MergedColumn(LevelColumn):
    """A column of levels as a database counts it: the last category is that of rare and of unseen ones."""

    merged = True


def counted_column(column: LevelColumn | BinColumn) -> Any:
    """The column as a database counts it: rare levels are unseen ones."""
    if not getattr(column, "rare", b""):
        return column
    if column.policy != "keep":
        raise ValueError(
            f"column {column.name!r} has rare levels, and unseen ones are to be treated otherwise "
            f"({column.policy!r}): a database cannot tell them apart, so leave the column out"
        )
    return MergedColumn(column.name, column.kind, column.levels)


def codes_of_slots(column: LevelColumn | BinColumn) -> np.ndarray:
    """Category of each slot, -2 and -1 first; -1 for a value beyond the range, or unseen, that counts as missing."""
    if column.kind not in BINNED:
        n = len(column.levels)
        codes, beyond = np.array([n, -1, *range(n + 1)]), [0, -1]
    else:
        last = len(column.edges)
        codes, beyond = np.array([-1, -1, 0, *range(last + 1), last]), [2, -1]
    if column.policy != "keep":
        codes[beyond] = -1
    return codes


def slot_expression(column: LevelColumn | BinColumn, value: Any) -> Any:
    """The slots of a column of a table, as an expression of ibis."""
    import ibis

    dtype = value.type()
    if dtype.is_null():
        return ibis.literal(MISSING, type="int32")
    what = " ".join(str(getattr(dtype, "raw_type", dtype)).split())
    if column.kind == "duration":  # seconds would be numbers, and so all missing
        raise TypeError(
            f"column {column.name!r} of the model holds durations, which databases do not compare, and is "
            f"of type {what} there: fit the model to seconds, as numbers, and convert it in the query"
        )
    # the text of another type is a level, such as that of an ENUM in PostgreSQL, but no number and no time
    is_unknown = dtype.is_unknown() and column.kind != "categorical"
    if (
        dtype.is_nested()
        or dtype.is_binary()
        or dtype.is_interval()
        or dtype.is_json()
        or is_unknown
    ):
        raise TypeError(
            f"column {column.name!r} of the database is of type {what}, expected numbers, booleans, text, "
            "dates or times: convert it in the query (an interval to seconds), or leave it out"
        )
    hole = value.isnull()
    if dtype.is_floating() or (dtype.is_decimal() and _backend(value) == "postgres"):
        hole = hole | value.cast("float64").isnan()
    if dtype.is_string() and "" not in getattr(column, "levels", ()):
        hole = hole | (value == "")  # as in files of text
    branches = (
        _bin_branches(column, value) if column.kind in BINNED else _level_branches(column, value)
    )
    if branches is None:
        return ibis.cases((hole, MISSING), else_=ODD).cast("int32")
    other = 0 if column.kind in BINNED else len(column.levels)
    return ibis.cases((hole, MISSING), *branches, else_=other).cast("int32")


def part_expression(value: Any, part: str) -> Any:
    """A part of a date (`hld.tables.derived`) as an expression; None where the column holds no dates."""
    import ibis

    if part not in PARTS:
        raise ValueError(
            f"column {value.get_name()!r} holds amounts that are text, which no database reads as the model does: "
            "test its rows, or fit a model to a table of numbers"
        )
    if not (value.type().is_timestamp() or value.type().is_date()):
        return ibis.null(str if part == "weekday" else int)
    if part == "weekday":
        return ibis.cases(
            *[(value.day_of_week.index() == day, name) for day, name in enumerate(PARTS[part])]
        )
    if part == "month":
        return value.month()
    return (
        value.hour()
        if value.type().is_timestamp()
        else ibis.ifelse(value.isnull(), ibis.null(int), 0)
    )


def _bin_branches(column: Any, value: Any) -> list[Any] | None:
    """Conditions and slots of a binned column, the largest first; None for values of another type."""
    import ibis

    if column.kind in TIMES:
        marks = _time_marks(column, value.type())
        if marks is None:
            return None
        low, *edges, high = marks
        value = value.cast("timestamp") if value.type().is_date() else value
        above = [] if high is None else [(value >= high, len(edges) + 2)]
    else:
        if not (value.type().is_numeric() or value.type().is_boolean()):
            return None
        value = (ibis.ifelse(value, 1, 0) if value.type().is_boolean() else value).cast("float64")
        low, *edges, high = map(double, column.marks)
        above = [(value > high, len(edges) + 2)]
    steps = [(value >= edge, k + 2) for k, edge in enumerate(edges)]
    return [*above, *steps[::-1], (value >= low, 1)]


def _level_branches(column: Any, value: Any) -> list[Any] | None:
    """Conditions and slots of a column of levels; None for values of another type."""
    import ibis

    dtype = value.type()
    if dtype.is_floating() or dtype.is_decimal():
        return _span_branches(column.levels, value.cast("float64"))
    if dtype.is_numeric() or dtype.is_boolean():
        bounds = dtype.bounds if dtype.is_integer() else (0, 1)
        literals = [_number(level, *bounds) for level in column.levels]
        value = ibis.ifelse(value, 1, 0) if dtype.is_boolean() else value
    elif column.kind != "categorical":
        return None
    elif dtype.is_temporal():
        value = value.cast("timestamp") if dtype.is_date() else value
        literals = [_moment(level, dtype) for level in column.levels]
    else:
        compared = _bytes if _backend(value) == "duckdb" else ibis.literal
        value = _bytes(value.cast("string")) if compared is _bytes else value.cast("string")
        literals = [
            compared(level) if isinstance(level, str) and "\0" not in level else None
            for level in column.levels
        ]
    return [
        (value == literal, code) for code, literal in enumerate(literals) if literal is not None
    ]


def _bytes(text: Any) -> Any:
    """A text of DuckDB as bytes, which no collation compares; a cast to text would keep that of the column."""
    import ibis

    def encode(text):  # type: ignore[no-untyped-def]
        ...

    encode.__annotations__.update(text=str, **{"return": bytes})
    return ibis.udf.scalar.builtin(encode)(text)


def double(number: float) -> Any:
    """A double as a literal that every database reads exactly."""
    import ibis

    return ibis.literal(repr(float(number))).cast("float64")


def _span_branches(levels: Any, value: Any) -> list[Any]:
    """Conditions and slots of levels for a column of doubles: those that four bytes can have made of them, too."""
    numbers = {
        code: level
        for code, level in enumerate(levels)
        if not isinstance(level, str)
        and abs(level) <= np.finfo(float).max
        and float(level) == level
    }
    near = [code for code, level in numbers.items() if abs(level) < WHOLE]
    taken = dict(zip(near, spans([numbers[code] for code in near]), strict=True))
    ends = {code: taken.get(code, (level, level)) for code, level in numbers.items()}
    return [
        (
            (value == double(first))
            if first == last
            else value.between(double(first), double(last)),
            code,
        )
        for code, (first, last) in ends.items()
    ]


def _number(level: Any, least: int, most: int) -> Any:
    """A level as a literal for a column of whole numbers; None if no number of its type is equal to it.

    ibis compares no unsigned 64 bits with a negative number.
    """
    import ibis

    if isinstance(level, str) or not math.isfinite(level) or level != math.floor(level):
        return None
    whole = int(level)
    return (
        ibis.literal(whole, type="uint64" if whole >= 2**63 else None)
        if least <= whole <= most
        else None
    )


def _moment(level: Any, dtype: Any) -> Any:
    """The time of which a level is the text; None if it is of none, or has a zone, which no text of a cell has."""
    kind = datetime.time if dtype.is_time() else datetime.datetime
    try:
        found = kind.fromisoformat(level)
    except (TypeError, ValueError):
        return None
    is_text = found.tzinfo is None and level == time_level(found)
    return _literal(found, dtype) if is_text else None


def _time_marks(column: Any, dtype: Any) -> list[Any] | None:
    """The first moment no smaller than low and each edge, and the first one above high (None: there is none)."""
    fits = dtype.is_time() if column.kind == "time" else dtype.is_timestamp() or dtype.is_date()
    if not fits:
        return None
    # the first number of microseconds that the encoder reads as at least so many seconds
    is_time = column.kind == "time"
    counts = range(DAY) if is_time else range(FIRST, LAST + 1)
    seconds = _seconds_of_day if is_time else _seconds
    marks = []
    for mark in (column.low, *column.edges, math.nextafter(column.high, math.inf)):
        place = bisect.bisect_left(counts, mark, key=seconds)
        moment = (
            EPOCH + datetime.timedelta(microseconds=counts[place]) if place < len(counts) else None
        )
        marks.append(moment)
    if None in marks[:-1]:
        raise ValueError(
            f"column {column.name!r} of the model has edges outside the years 1 to 9999, which databases "
            "do not hold: leave the column out"
        )
    return [
        None if mark is None else _literal(mark.time() if is_time else mark, dtype)
        for mark in marks
    ]


def _seconds(count: int) -> float:
    """Microseconds as seconds, as dates are read (`hld.tables.times`)."""
    return count / MICROSECONDS


def _seconds_of_day(count: int) -> float:
    """The same as times of the day are read: whole seconds and the fraction rounded on its own."""
    return float(count // MICROSECONDS) + count % MICROSECONDS / MICROSECONDS


def _literal(moment: Any, dtype: Any) -> Any:
    """A moment without a zone, or a time of the day, as a literal; of a column with a zone in UTC."""
    import ibis

    if isinstance(moment, datetime.time):
        return ibis.literal(moment.isoformat()).cast("time")
    if dtype.is_timestamp() and dtype.timezone is not None:
        return ibis.literal(moment.isoformat(sep=" ") + "+00:00").cast("timestamp('UTC')")
    return ibis.literal(moment.isoformat(sep=" ")).cast("timestamp")


def _backend(value: Any) -> str:
    """The name of the database's kind; empty for an expression without a connection."""
    try:
        return value.get_backend().name
    except Exception:  # of several kinds
        return ""
