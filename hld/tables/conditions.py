r"""Conditions as text: ``age > 40 and sex == "F"``, read by a small grammar and never run.

    condition    comparison  and  comparison  and  ...
    comparison   column op value,   column in (value, value, ...);   op is one of  ==  !=  <  <=  >  >=
    column       as in the table, in backquotes where it has blanks or signs: `hours per week`
    value        a number, a text in quotes, True or False; a time is a text: "2026-01-31", "12:30", "1 day, 6:00:00"

Everything else is refused, with its place.  The result is one *box*: for some columns the set of levels or bins that
they may have, so that a circuit gives its probability exactly (`pcircuit.condition`).  Bins are cut where the text
compares with a number inside one (`Condition.cuts`); a comparison is then an interval of whole parts.
"""

import contextlib
import math
import operator
import re
from typing import Any, NamedTuple

import numpy as np

from hld.tables.shown_names import listed
from hld.tables.times import TIMES, levels_of_text, seconds_of_text
from hld.tables.values import is_binned

LONGEST = 10_000  # characters
SHOWN = 8  # levels in a message
WORD = r"""[^\s"'`=!<>(),]+"""
VALUE = rf"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|{WORD})"""
COMPARISON = re.compile(
    rf"\s*(?:`(?P<quoted>[^`]*)`|(?P<name>{WORD}))"
    rf"\s*(?:(?P<sign>==|!=|<=|>=|<|>)\s*(?P<value>{VALUE})|in\s*\((?P<values>\s*{VALUE}(?:\s*,\s*{VALUE})*)\s*\))"
    r"\s*(?P<end>and\b|$)",
    re.DOTALL,
)
ESCAPED = re.compile(r"\\([\\\"'])")
EXPECTED = (
    'expected comparisons such as age > 40, sex == "F" or sex in ("F", "M"), joined by `and` alone'
)


class Condition(NamedTuple):
    """A condition that was read: cut points by column, and the categories over the cut bins that it leaves."""

    cuts: dict[int, tuple[float, ...]]
    box: dict[int, frozenset[int]]

    @property
    def is_possible(self) -> bool:
        """Whether each column is left with a category."""
        return all(self.box.values())


class Comparison(NamedTuple):
    """One comparison: the number of its column, its sign (== for membership), and its values."""

    v: int
    sign: str
    values: list[Any]


def read_condition(text: Any, columns: Any, grids: Any) -> Condition:
    """The condition that a text says of columns, which have a `Grid` where they are cut into bins."""
    if not isinstance(text, str):
        raise TypeError(f"`where` is {text!r}, expected a condition as text, such as 'age > 40'")
    if len(text) > LONGEST:
        raise ValueError(f"`where` has {len(text)} characters, expected at most {LONGEST}")
    found = _comparisons(text, [column.name for column in columns])
    ends = [_ends(columns[one.v], grids[one.v], one) for one in found]
    cuts: dict[int, set[float]] = {}
    for one, intervals in zip(found, ends, strict=True):
        if intervals:
            cuts.setdefault(one.v, set()).update(mark for pair in intervals for mark in pair)
    kept: dict[int, np.ndarray] = {}
    for one, intervals in zip(found, ends, strict=True):
        if intervals:
            starts = cut_edges(columns[one.v], cuts[one.v])[:-1, None]
            low, high = np.array(intervals).T
            holds = ((starts >= low) & (starts < high)).any(axis=1) ^ (one.sign == "!=")
        else:
            holds = _levels(columns[one.v], one)
        kept[one.v] = kept.get(one.v, True) & holds
    box = {v: frozenset(np.flatnonzero(holds).tolist()) for v, holds in kept.items()}
    return Condition({v: tuple(sorted(points)) for v, points in cuts.items()}, box)


def cut_edges(column: Any, cuts: set[float] | tuple[float, ...]) -> np.ndarray:
    """(n,) ascending marks of the bins of a continuous column: low, its edges and the cuts between, and the end."""
    end = math.nextafter(column.high, math.inf)
    inside = [c for c in cuts if column.low < c < end]
    return np.array(sorted({column.low, *column.edges, *inside, end}))


def _ends(column: Any, grid: Any, one: Comparison) -> list[tuple[float, float]]:
    """The intervals [a, b) of numbers that a comparison speaks of; none for a column of levels."""
    if not is_binned(column):
        return []
    numbers = [_number(column, value) for value in one.values]
    if one.sign in ("==", "!="):
        return [(grid.cut(x, False), grid.cut(x, True)) for x in numbers]
    cut = grid.cut(numbers[0], one.sign in (">", "<="))
    return [(cut, math.inf)] if one.sign[0] == ">" else [(-math.inf, cut)]


def _levels(column: Any, one: Comparison) -> np.ndarray:
    """(C,) flags of the categories of a column of levels for which a comparison holds."""
    holds = np.zeros(column.num_categories, dtype=bool)
    if one.sign in ("==", "!="):
        for value in one.values:
            holds[_equal(column, value)] = True
        return holds ^ (one.sign == "!=")
    value = one.values[0]
    if any(isinstance(x, str) for x in (value, *column.levels)) or isinstance(value, bool):
        raise ValueError(
            f"`where` compares column {column.name!r} with {value!r} by size, which is for "
            "numbers alone, expected ==, != or in"
        )
    compare = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}[one.sign]
    holds[: len(column.levels)] = [compare(level, value) for level in column.levels]
    return holds


def _equal(column: Any, value: Any) -> list[int]:
    """The categories of the levels that a value is."""
    times = levels_of_text(value) if isinstance(value, str) else []
    found = [c for c, level in enumerate(column.levels) if level in (value, *times)]
    if not found:
        raise ValueError(
            f"`where` compares column {column.name!r} with {value!r}, which is none of its levels, "
            f"expected one of {listed(column.levels, SHOWN, near=value)}"
        )
    return found


def _number(column: Any, value: Any) -> float:
    """A value as the numbers of a column with bins are, times in seconds."""
    is_time = column.kind in TIMES
    number = seconds_of_text(value, column.kind) if is_time and isinstance(value, str) else value
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    if is_number and (column.kind in ("continuous", "duration") or number is not value):
        return float(number)  # type: ignore[arg-type]
    expected = (
        f"a {column.kind} such as {column.texts([column.low])[0]!r}" if is_time else "a number"
    )
    raise ValueError(f"`where` compares column {column.name!r} with {value!r}, expected {expected}")


def _comparisons(text: str, names: list[str]) -> list[Comparison]:
    """The comparisons of a text."""
    found, at, end = [], 0, "and"
    while end == "and":
        match = COMPARISON.match(text, at)
        if match is None:
            raise ValueError(
                f"`where` {text!r} cannot be read from character {at + 1} on: {EXPECTED}"
            )
        name = match["name"] if match["quoted"] is None else match["quoted"]
        values = [_value(one) for one in re.findall(VALUE, match["values"] or match["value"])]
        found.append(Comparison(_place(name, names), match["sign"] or "==", values))
        at, end = match.end(), match["end"]
    return found


def _value(token: str) -> Any:
    """A text, a flag or a number."""
    if token[0] in "\"'":
        return ESCAPED.sub(r"\1", token[1:-1])
    if token in ("True", "False"):
        return token == "True"
    with contextlib.suppress(ValueError, OverflowError):
        number: float = int(token) if token.lstrip("+-").isdecimal() else float(token)
        if math.isfinite(float(number)):
            return number
    raise ValueError(
        f"`where` has the value {token:.40}, expected a number that double precision can hold, a text in quotes, "
        "True or False"
    )


def _place(name: str, names: list[str]) -> int:
    """The number of the column with a name."""
    if name not in names:
        raise ValueError(
            f"`where` names the column {name!r}, expected one of {listed(names, near=name)}; text goes in "
            "quotes, names with blanks or signs in backquotes"
        )
    return names.index(name)
