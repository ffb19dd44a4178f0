r"""Conditions as text: ``age > 40 and sex == "F"``, read by a small grammar and never run.

    condition    comparison  and  comparison  and  ...
    comparison   column op value,   column in (value, value, ...);   op is one of  ==  !=  <  <=  >  >=
    column       as in the table, in backquotes where it has blanks or signs: `hours per week`
    value        a number, a text in quotes, True or False; a time is a text: "2026-01-31", "12:30", "1 day, 6:00:00"

Everything else is refused, with its place.  The result is one *box*: for some columns the set of levels or bins that
they may have, so that a circuit gives its probability exactly (`pcircuit.condition`).  Bins are cut where the text
compares with a number inside one (`Condition.cuts`); a comparison is then an interval of whole parts.
"""

import math
import re
import unicodedata
from typing import Any, NamedTuple

import numpy as np

from hld.tables.shown_names import listed
from hld.tables.times import TIMES, levels_of_text, seconds_of_text
from hld.tables.values import is_binned

LONGEST = 10_000  # characters
SHOWN = 8  # levels in a message
TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|`(?P<name>[^`]*)`|(?P<op>[=!<>]=|[=<>])"""
    r"""|(?P<mark>[(),])|(?P<word>[^\s"'`=!<>(),]+)|(?P<end>$))""",
    re.DOTALL,
)
ESCAPED = re.compile(r"\\([\\\"'])")
COMPARED = ("==", "!=", "<", "<=", ">", ">=")
EXPECTED = 'expected comparisons such as age > 40 or sex in ("F", "M"), joined by `and` alone'


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
    starts = {v: cut_edges(columns[v], points)[:-1] for v, points in cuts.items()}
    kept: dict[int, np.ndarray] = {}
    for one, intervals in zip(found, ends, strict=True):
        if one.v in starts:
            at = starts[one.v][:, None]
            low, high = np.array(intervals).T
            holds = ((at >= low) & (at < high)).any(axis=1) ^ (one.sign == "!=")
        else:
            holds = _levels(columns[one.v], one)
        kept[one.v] = kept.get(one.v, True) & holds
    return Condition(
        {v: tuple(sorted(points)) for v, points in cuts.items()},
        {v: frozenset(np.flatnonzero(holds).tolist()) for v, holds in kept.items()},
    )


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
    signs = [(level > value) - (level < value) for level in column.levels]
    wanted = {">": (1,), ">=": (0, 1), "<": (-1,), "<=": (-1, 0)}[one.sign]
    holds[: len(signs)] = np.isin(signs, wanted)
    return holds


def _equal(column: Any, value: Any) -> list[int]:
    """The categories of the levels that a value is."""
    found = [
        c
        for c, level in enumerate(column.levels)
        if level == value and isinstance(level, str) == isinstance(value, str)
    ]
    if not found and isinstance(value, str):
        times = levels_of_text(value)
        found = [c for c, level in enumerate(column.levels) if level in times]
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
    tokens = _Tokens(text)
    found = []
    while True:
        name = tokens.take("name", "word")
        sign = tokens.take("op", "word")
        if sign == "=":
            raise tokens.refuse("write == to compare")
        if sign not in (*COMPARED, "in"):
            raise tokens.refuse(EXPECTED)
        v = _place(name, names)
        if sign == "in":
            tokens.take("mark", only="(")
            values = [tokens.value()]
            while tokens.take("mark", only=",)") == ",":
                values.append(tokens.value())
            found.append(Comparison(v, "==", values))
        else:
            found.append(Comparison(v, sign, [tokens.value()]))
        if tokens.take("end", "word", only=("", "and")) != "and":
            return found


class _Tokens:
    """The tokens of a text, one after the other; `at` is where the one that was taken last begins."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.next = text, 0, 0

    def take(self, *kinds: str, only: Any = None) -> str:
        """The next token, which must be of one of some kinds, and one of some."""
        found = TOKEN.match(self.text, self.next)
        kind = None if found is None else found.lastgroup
        blanks = self.text[self.next :]
        self.at = self.next + len(blanks) - len(blanks.lstrip())
        if found is None or kind not in kinds or (only is not None and found[kind] not in only):
            raise self.refuse(EXPECTED)
        self.next = found.end()
        return found[kind]

    def value(self) -> Any:
        """The value of the next token: a text, a flag or a number."""
        token = self.take("text", "word")
        if token[0] in "\"'":
            return ESCAPED.sub(r"\1", token[1:-1])
        if token in ("True", "False"):
            return token == "True"
        try:
            number: float = int(token) if token.lstrip("+-").isdecimal() else float(token)
            is_held = math.isfinite(float(number))
        except (ValueError, OverflowError):
            is_held = False
        if not is_held:
            raise self.refuse(
                "expected a number that double precision can hold, a text in quotes, True or False"
            )
        return number

    def refuse(self, expected: str) -> ValueError:
        """The error for the token that was taken last."""
        return ValueError(
            f"`where` {self.text!r} cannot be read at character {self.at + 1}: {expected}"
        )


def _place(name: str, names: list[str]) -> int:
    """The number of the column with a name, or of the only one whose letters look the same."""
    alike = [v for v, one in enumerate(names) if _look(one) == _look(name)]
    if name not in names and len(alike) != 1:
        raise ValueError(
            f"`where` names the column {name!r}, expected one of {listed(names, near=name)}; text goes in "
            "quotes, names with blanks or signs in backquotes"
        )
    return names.index(name) if name in names else alike[0]


def _look(name: str) -> str:
    """A name without differences of encoding that nobody sees."""
    return unicodedata.normalize("NFKC", name)
