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

Rows of which all occur twice break it at k = 2: many pairs, and none alone.  Each expectation is bounded by the
quantiles of the Poisson law, whose tails are no thinner than those of f_k (Anderson and Samuels 1967); a fixed n makes
an event at most e sqrt(n) times as likely as that law does, and the bounds of all k together fail with a probability of
at most `CHANCE`.

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
from hld.tables.derived import UNIT
from hld.tables.factored import whole_cells
from hld.tables.schemas.learn_schema import AS_TEXT, EMPTY, NEARLY_ALL, ORDERING, ROW_NUMBERS
from hld.tables.schemas.schema import LEFT_OUT

MOST_NAMED = 8  # columns that a warning names
MOST_LEVELS = 11_000  # of a column
FEWEST_TEXTS = 10  # levels of a text column that is reported to hold numbers, or dates
MOST_ODD = 0.01  # of the cells of a column of fewer texts
UNREAD_DATE = re.compile(r"\d{1,2}([/-])\d{1,2}\1(19|20)\d\d(?=$|[ T])", re.ASCII)
CAUSES = (EMPTY, ORDERING, AS_TEXT, NEARLY_ALL, ROW_NUMBERS)  # for which columns are left out
SHOWN = 3  # texts among numbers that a warning shows


def examine_columns(
    schema: Any, columns: Columns, given: Any, categorical: Any, continuous: Any
) -> None:
    """Warnings that name columns left out without having been asked for, numbers and dates that are text."""
    for column in schema.columns:
        if len(column.levels or ()) > MOST_LEVELS:
            raise ValueError(
                f"`table` column {column.name!r} has {len(column.levels)} levels, expected at most "
                f"{MOST_LEVELS}: lower `max_categories`, the rarest then share a category"
            )
    names = column_names(None, columns.names, len(columns.arrays))
    arrays = dict(zip(names, columns.arrays, strict=True))
    asked = {*column_roles(names, categorical, continuous)}
    asked |= {one.name for one in given.columns} if given is not None else set()
    texts, amounts, dates, left = [], [], [], []
    for column in schema.columns:
        name = column.name
        if name in asked:
            continue
        if column.part == UNIT:
            amounts.append(f"{column.source!r} (such as {_first_text(arrays[column.source])})")
        elif column.source is None and (date := _unread_date(column, arrays[name])):
            dates.append(date)
        elif column.kind == LEFT_OUT and column.note.startswith(CAUSES):
            odd = ""
            if column.note.startswith(AS_TEXT):
                odd = f"; {_texts_among_numbers(name, arrays[name])}"
            left.append(f"{name!r} ({column.note}{odd})")
        elif column.source is None and _are_numbers(column, arrays[name]):
            texts.append(f"{name!r} ({_texts_among_numbers(name, arrays[name])})")
    _warn(
        texts,
        "of text most of which are numbers: {}; each text is learned as a level of its own: convert them to "
        "numbers (rows are counted from 0), or name them in `categorical`",
    )
    _warn(
        amounts,
        "of amounts that are text, which are read as numbers: {}; their units are columns of their own",
    )
    _warn(
        dates,
        "of dates in a form that is not read, as 01/02/2026 may be one of two days: {}; write them as 2026-02-01",
    )
    _warn(
        left,
        "that are left out: {}; to keep numbers and dates name them in `continuous`, others in `categorical`; for "
        "weekdays and hours of dates: `calendar_columns`",
    )


def _warn(found: list[str], said: str) -> None:
    """A warning about the line that called `fit`, if there is any such column."""
    if found:
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        said = said.format(", ".join(found[:MOST_NAMED]) + more)
        warnings.warn(f"`table` has columns {said}", UserWarning, stacklevel=5)


def _are_numbers(column: Any, values: Any) -> bool:
    """Whether a person would read most levels of a column of text as numbers: of many, or in all rows but few."""
    levels = column.levels if column.kind == "categorical" else ()
    num_texts = sum(isinstance(level, str) for level in levels)
    if not num_texts or sum(map(_reads, levels)) <= len(levels) / 2:
        return False
    if num_texts >= FEWEST_TEXTS:
        return True
    levels, counts = distinct_values(values, column.name)
    odd = sum(n for level, n in zip(levels, counts.tolist(), strict=True) if not _reads(level))
    return 0 < odd <= max(1, MOST_ODD * counts.sum()) and counts.sum() > FEWEST_TEXTS


def _reads(level: Any) -> bool:
    """Whether a level is a number, or a text that a person would read as one."""
    return reads_as_number(level) if isinstance(level, str) else not isinstance(level, bool)


def _unread_date(column: Any, values: Any) -> str:
    """A column most of whose texts are dates with slashes or dashes, the year behind, and an example; else nothing."""
    is_left = column.kind == LEFT_OUT and column.note.startswith(NEARLY_ALL)
    levels = distinct_values(values, column.name)[0] if is_left else column.levels
    found = [one for one in levels or () if isinstance(one, str) and UNREAD_DATE.match(one)]
    if len(found) < FEWEST_TEXTS or 2 * len(found) <= len(levels):
        return ""
    return f"{column.name!r} (such as {found[0]!r})"


def _first_text(values: Any) -> str:
    """The first text of a column."""
    return reprlib.repr(next(cell for cell in values.tolist() if isinstance(cell, str)))


def _texts_among_numbers(name: str, values: Any) -> str:
    """What makes the numbers of a column text: the other cells and the first row of each, or the first number."""
    levels, counts = distinct_values(values, name)
    odd = [levels[i] for i in np.argsort(-counts, kind="stable").tolist() if not _reads(levels[i])]
    if not odd:
        return f"such as {reprlib.repr(levels[0])}"
    cells = whole_cells(values).tolist()
    shown = [f"{reprlib.repr(one)} in row {cells.index(one)}" for one in odd[:SHOWN]]
    return f"others are {', '.join(shown)}{', ...' * (len(odd) > SHOWN)}"


CHANCE = 1e-4  # probability of a warning about independent rows


def warn_of_repeated(rows: np.ndarray) -> None:
    """A warning if rows (n, V) occur together that independent rows would not, so that p-values are too small."""
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
    """How often each of the different rows (n, V) occurs, told apart by a random linear hash modulo 2^64."""
    rng, sums = np.random.default_rng(0), np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        sums += column.astype(np.int64).view(np.uint64) * rng.integers(2**64, dtype=np.uint64)
    return np.unique(sums, return_counts=True)[1]


def is_repeated(counts: np.ndarray) -> bool:
    """Whether rows occur so often as no independent rows do, but for a probability of at most `CHANCE`."""
    from scipy.special import gammainccinv, gammaincinv

    found = np.append(np.bincount(counts, minlength=2), 0)
    for k in (np.flatnonzero(found[2:]) + 2).tolist():
        chance = CHANCE / (3 * k * (k - 1) * math.e * math.sqrt(counts.sum()))
        least = gammaincinv(found[k], chance)  # expectations with which counts as far are as rare
        most = gammainccinv(found[[k - 1, k + 1]] + 1, chance)
        if least**2 > (k + 1) / k * most.prod():
            return True
    return False
