r"""What a user should know about the columns of a table before a circuit is learned from them.

**Repeated rows.** A table may repeat whole rows more often than independent rows would.  The test counts every row as
a draw of its own.  Where each row was written twice, a row that is held out has its copy among those that were learned
from, and k held-out rows tell no more than k / 2: p-values of later batches, whose rows are new, are too small.  Few
levels make independent rows equal, too, so that copies alone say nothing; how many rows occur once, twice, three
times, ... does.  Let f_k be the number of different rows that occur k times.  If n rows are independent draws of any
distribution whatever, and lambda_x is the expected count of row x, then, as nearly as counts are Poisson,

.. math:: a_k = k!\, E f_k = \sum_x \lambda_x^k e^{-\lambda_x}

are moments of one measure, and by the inequality of Cauchy and Schwarz

.. math:: a_k^2 \le a_{k-1} a_{k+1}, \qquad (E f_k)^2 \le \frac{k+1}{k}\, E f_{k-1}\, E f_{k+1}.

Rows of which all occur twice break it at k = 2: many pairs, and none alone.  Each expectation is bounded by Chernoff's
inequality for sums of independent indicators; a fixed n makes an event at most e sqrt(n) times as likely as the Poisson
law does, and the bounds of all k together fail with a probability of at most `CHANCE`.

References
----------
Good (1953), The population frequencies of species and the estimation of population parameters, Biometrika 40, 237.
"""

import math
import re
import reprlib
import warnings
from typing import Any

import numpy as np

from hld.tables.cells import Columns, distinct_values, reads_as_number
from hld.tables.column_names import column_names, column_roles
from hld.tables.factored import whole_cells
from hld.tables.schemas.learn_schema import AS_TEXT, EMPTY, NEARLY_ALL, ORDERING, ROW_NUMBERS
from hld.tables.schemas.schema import LEFT_OUT
from hld.tables.times import time_kind

MOST_NAMED = 8  # columns that a warning names
MOST_LEVELS = 11_000  # of a column
FEWEST_NUMBERS = (
    10  # levels of a text column that is reported to hold numbers, or cells where few are odd
)
MOST_ODD = 0.01  # of the cells of a column of few levels
UNREAD_DATE = re.compile(r"\d{1,2}([/-])\d{1,2}\1(19|20)\d\d(?=$|[ T])", re.ASCII)
TELLING = (NEARLY_ALL, ROW_NUMBERS)  # notes of columns that only tell rows apart
SHOWN = 3  # texts among numbers that a warning shows


def examine_columns(
    schema: Any, columns: Columns, given: Any, categorical: Any, continuous: Any
) -> None:
    """Warnings that name columns left out without having been asked for, numbers that are text, and clocks."""
    for column in schema.columns:
        if len(column.levels or ()) > MOST_LEVELS:
            raise ValueError(
                f"`table` column {column.name!r} has {len(column.levels)} levels, expected at most "
                f"{MOST_LEVELS}: lower `max_categories`, the rarest then share a category"
            )
    names, about = (
        column_names(None, columns.names, len(columns.arrays)),
        given.columns if given is not None else (),
    )
    known = {*column_roles(names, categorical, continuous), *(column.name for column in about)}
    arrays = dict(zip(names, columns.arrays, strict=True))
    unasked = [
        column
        for column in schema.left_out
        if all(column.name != one.name or one.kind != LEFT_OUT for one in about)
    ]
    dates = {
        column.name: text
        for column in (*schema.columns, *unasked)
        if column.name not in known and (text := _unread_dates(column, names, columns))
    }
    for said, found in (
        (
            "of text most of which are numbers: {}; each text is learned as a level of its own: convert them to "
            "numbers (rows are counted from 0), or name them in `categorical`",
            [
                _texts_among_numbers(column.name, arrays[column.name])
                for column in schema.columns
                if column.name not in known
                and column.source is None
                and _are_numbers(column, arrays[column.name])
            ],
        ),
        (
            "without a value, which are left out: {}; name them in `categorical` to be told of values in batches",
            [repr(column.name) for column in unasked if column.note == EMPTY],
        ),
        (
            "that order its rows, which are left out, as later batches lie beyond them whatever else they show: {}"
            + _how_to_keep(unasked, (ORDERING,), arrays),
            [
                f"{column.name!r} ({column.note.removeprefix(ORDERING)})"
                for column in unasked
                if column.note.startswith(ORDERING)
            ],
        ),
        (
            "of dates in a form that is not read, as 01/02/2026 may be one of two days: {}; write them as 2026-02-01",
            list(dates.values()),
        ),
        (
            "of numbers that are text, most of them in one row only, and are left out: {}; if they are no "
            "identifiers, convert them to numbers, and all other texts to missing values (in files: `na_values`)",
            [
                _texts_among_numbers(column.name, arrays[column.name])
                for column in unasked
                if column.note.startswith(AS_TEXT)
            ],
        ),
        (
            "that only tell rows apart and are left out: {}"
            + _how_to_keep(unasked, TELLING, arrays),
            [
                f"{column.name!r} ({column.note})"
                for column in unasked
                if column.note.startswith(TELLING) and column.name not in dates
            ],
        ),
    ):
        if found:
            warnings.warn(
                f"`table` has columns {said.format(_some(found))}", UserWarning, stacklevel=4
            )


def _are_numbers(column: Any, values: Any) -> bool:
    """Whether a person would read most levels of a column of text as numbers: of many, or in all rows but few."""
    levels = column.levels if column.kind == "categorical" else ()
    texts = [level for level in levels if isinstance(level, str)]
    numbers = sum(map(_reads, levels))
    if not texts or numbers <= len(levels) / 2:
        return False
    if len(texts) >= FEWEST_NUMBERS:
        return True
    levels, counts = distinct_values(values, column.name)
    odd = int(sum(counts[i] for i, level in enumerate(levels) if not _reads(level)))
    return 0 < odd <= max(1, MOST_ODD * counts.sum()) and counts.sum() > FEWEST_NUMBERS


def _reads(level: Any) -> bool:
    """Whether a level is a number, or a text that a person would read as one."""
    return reads_as_number(level) if isinstance(level, str) else not isinstance(level, bool)


def _unread_dates(column: Any, names: Any, columns: Columns) -> str:
    """A column most of whose texts are dates with slashes or dashes, the year behind, and an example; else nothing."""
    levels = column.levels
    if column.kind == LEFT_OUT and column.note.startswith(NEARLY_ALL):
        levels = distinct_values(columns.arrays[list(names).index(column.name)], column.name)[0]
    elif column.kind != "categorical":
        return ""
    found = [level for level in levels if isinstance(level, str) and UNREAD_DATE.match(level)]
    if len(found) < FEWEST_NUMBERS or 2 * len(found) <= len(levels):
        return ""
    done = (
        "left out, as most are in one row only"
        if column.kind == LEFT_OUT
        else "each text a level of its own"
    )
    return f"{column.name!r} (such as {found[0]!r}; {done})"


def _how_to_keep(columns: list[Any], notes: tuple[str, ...], arrays: dict[str, Any]) -> str:
    """The options that keep the columns left out for one of some reasons, and what else may be done with dates."""
    names = [one.name for one in columns if one.note.startswith(notes)][:MOST_NAMED]
    kinds = {name: time_kind(arrays[name]) for name in names}
    numbers = [name for name in names if kinds[name] or arrays[name].dtype.kind in "iuf"]
    texts = [name for name in names if name not in numbers]
    kept = [f"`continuous={numbers}`"] * bool(numbers) + [f"`categorical={texts}`"] * bool(texts)
    dates = [name for name in names if kinds[name] == "date"]
    parts = f"; for weekdays and hours: `calendar_columns({dates[0]!r})`" if dates else ""
    return f"; to keep them: {', '.join(kept)}{parts}"


def _texts_among_numbers(name: str, values: Any) -> str:
    """A column with what makes its numbers text: the other cells and the first row of each, or the first number."""
    levels, counts = distinct_values(values, name)
    odd = [levels[i] for i in np.argsort(-counts, kind="stable").tolist() if not _reads(levels[i])]
    if not odd:
        return f"{name!r} (such as {reprlib.repr(levels[0])})"
    cells = whole_cells(values).tolist()
    shown = ", ".join(
        f"{reprlib.repr(one)} in row {cells.index(one)}" if one in cells else reprlib.repr(one)
        for one in odd[:SHOWN]
    )
    return f"{name!r} (others are {shown}{', ...' * (len(odd) > SHOWN)})"


def _some(names: list[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


CHANCE = 1e-4  # probability of a warning about independent rows


def warn_of_repeated(rows: np.ndarray) -> None:
    """A warning if rows occur together that independent rows would not, so that p-values are too small.

    Shapes: rows (n, V).
    """
    counts = multiplicities(rows)
    if is_repeated(counts):
        warnings.warn(
            f"`table` has copies of rows: of {len(rows):,} rows {len(counts):,} are different (numbers by "
            "their bins), and they are repeated as independent rows are not; copies count as rows of their "
            "own, so p-values are too small: leave out those that are errors, and keep one row of each "
            "customer",
            UserWarning,
            stacklevel=4,
        )


def multiplicities(rows: np.ndarray) -> np.ndarray:
    """How often each of the different rows occurs.

    Shapes: rows (n, V) -> (number of different rows,).
    O(n V + n log n).  Rows are told apart by a sum of their entries with random weights, modulo 2^64.
    """
    rng, sums = np.random.default_rng(0), np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        sums += column.astype(np.int64).view(np.uint64) * rng.integers(2**64, dtype=np.uint64)
    return np.unique(sums, return_counts=True)[1]


def is_repeated(counts: np.ndarray) -> bool:
    """Whether rows occur so often as no independent rows do, but for a probability of at most `CHANCE`.

    Shapes: counts (number of different rows,).
    """
    found = np.bincount(counts, minlength=2)
    for k in (np.flatnonzero(found[2:]) + 2).tolist():
        sure = math.log(3 * k * (k - 1) / CHANCE) + 1 + math.log(int(counts.sum())) / 2
        after = int(found[k + 1]) if k + 1 < len(found) else 0
        around = _most(int(found[k - 1]), sure) * _most(after, sure)
        if _least(int(found[k]), sure) ** 2 > (k + 1) / k * around:
            return True
    return False


def _least(count: int, sure: float) -> float:
    """The smallest expectation of a count that has more than a probability of exp(-sure)."""
    return max(count - math.sqrt(2 * count * sure), 0.0)


def _most(count: int, sure: float) -> float:
    """The largest one."""
    if not count:
        return sure
    return ((math.sqrt(2 * sure) + math.sqrt(2 * sure + 4 * count)) / 2) ** 2
