r"""Conditions as text: ``age > 40 and sex == "F"``, read by Python's grammar and never run.

=====================  ===============================================================
comparison             ``age > 40``, ``20 <= age < 30``, ``sex == "F"``, ``sex != "F"``
membership             ``colour in ("red", "blue")``, ``colour not in ["red"]``
times                  ``day >= "2026-01-31"``, ``clock < "12:30"``, ``stay > "1 day, 6:00:00"``, ``stay > 108000``
together               ``and``, ``or``, ``not``, parentheses
names                  as in the table; in backquotes if not identifiers: ```hours-per-week` > 40``
=====================  ===============================================================

Anything else is refused, with its place.  The result is a list of *disjoint boxes*: a box says for some columns
which levels or bins they have, so that a circuit gives its probability exactly (`pcircuit.condition`).  With A, B lists
of disjoint boxes,

    A and B = all intersections of two,   not A = the intersection of the complements of its boxes,
    A or B = A, and B and not A,          not {v in S, w in R, ...} = {v not in S}, {v in S, w not in R}, ...

Bins are cut where the text compares with a number inside one, before anything else (`cuts`).
"""

from __future__ import annotations

import ast
import math
import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hld.synthetic.values import is_binned
from hld.tables.shown_names import listed
from hld.tables.time_levels import found_by_time, same_time
from hld.tables.time_texts import seconds_of_text
from hld.tables.times import TIMES

if TYPE_CHECKING:
    from hld.synthetic.values import Grid

MOST_BOXES = 512
LONGEST = 10_000  # characters
SHOWN = 8  # levels in a message
TEXTS_AND_QUOTED = re.compile(
    r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`([^`]*)`"""
)  # backquotes in texts are text
FLIPPED = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
EXPECTED = "expected comparisons of columns with values, joined by and, or, not"


class Condition(NamedTuple):
    """A condition that was read: cut points by column, and disjoint boxes over the cut bins."""

    cuts: dict[int, tuple[float, ...]]
    boxes: list[dict[int, frozenset[int]]]


def read_condition(text: str, columns: Any, grids: Any) -> Condition:
    """Read a condition."""
    if not isinstance(text, str):
        raise TypeError(f"`where` is {text!r}, expected a condition as text, such as 'age > 40'")
    tree, names, place = _parsed(text, {column.name: v for v, column in enumerate(columns)})
    reader = _Reader(text, columns, grids, names, {}, place)
    reader.boxes(tree)  # finds the cuts
    cuts = {v: tuple(sorted(points)) for v, points in reader.cuts.items()}
    return Condition(cuts, _Reader(text, columns, grids, names, reader.cuts, place).boxes(tree))


def cut_edges(column: Any, cuts: set[float] | tuple[float, ...]) -> np.ndarray:
    """Ascending marks of the bins of a continuous column: low, its edges and the cuts between, and the end.

    Returns (n,).
    """
    end = math.nextafter(column.high, math.inf)
    inside = [c for c in cuts if column.low < c < end]
    return np.array(sorted({column.low, *column.edges, *inside, end}))


class _Reader:
    """Turns parts of a condition into boxes; `cuts` collects where bins are to be cut, `place` is for errors."""

    def __init__(
        self,
        text: str,
        columns: tuple[Any, ...],
        grids: list[Grid | None],
        names: dict[str, int],
        cuts: dict[int, Any],
        place: Callable[[Any], int],
    ) -> None:
        self.text, self.columns, self.grids, self.names, self.place = (
            text,
            columns,
            grids,
            names,
            place,
        )
        self.cuts = {v: set(points) for v, points in cuts.items()}

    def boxes(self, node: Any) -> list[Any]:
        """Disjoint boxes of a part."""
        if isinstance(node, ast.BoolOp):
            parts = [self.boxes(part) for part in node.values]
            join = _both if isinstance(node.op, ast.And) else self._either
            found = parts[0]
            for part in parts[1:]:
                found = _checked(join(found, part))
            return found
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._complement(self.boxes(node.operand))
        if isinstance(node, ast.Compare):
            sides, found = [node.left, *node.comparators], [{}]
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
                found = _both(found, self._atom(left, op, right, node))
            return found
        raise self._refuse(node, EXPECTED)

    def _atom(self, left: Any, op: Any, right: Any, node: Any) -> list[Any]:
        """Boxes of one comparison."""
        kind = type(op)
        if self._is_name(right) and not self._is_name(left) and kind in FLIPPED:
            left, right, kind = right, left, FLIPPED[kind]
        if not self._is_name(left):
            raise self._refuse(
                node, "expected the name of a column on one side and values on the other"
            )
        v = self.names[left.id]
        if kind in (ast.In, ast.NotIn):
            if not isinstance(right, (ast.List, ast.Tuple, ast.Set)):
                raise self._refuse(node, "expected a list of values behind `in`, such as (1, 2)")
            values = [self._value(one) for one in right.elts]
            found = frozenset().union(*(self._equal(v, value) for value in values))
            kind = ast.Eq if kind is ast.In else ast.NotEq
        elif kind in (ast.Eq, ast.NotEq):
            found = self._equal(v, self._value(right))
        elif kind in FLIPPED:
            value = self._value(right)
            at_least = self._at_least(v, value, above=kind in (ast.Gt, ast.LtE))
            return self._box(
                v, at_least if kind in (ast.Gt, ast.GtE) else self._numbers(v) - at_least
            )
        else:
            raise self._refuse(node, "expected ==, !=, <, <=, >, >=, in or not in")
        return self._box(v, found if kind is ast.Eq else self._all(v) - found)

    def _equal(self, v: int, value: Any) -> frozenset[int]:
        """Categories with a value."""
        column = self.columns[v]
        if is_binned(column):
            return self._at_least(v, value, above=False) - self._at_least(v, value, above=True)
        matches = [
            c
            for c, level in enumerate(column.levels)
            if level == value and isinstance(level, str) == isinstance(value, str)
        ]
        if not matches and isinstance(value, str) and (time := same_time(value)):
            matches = found_by_time(column.levels).get(time, [])
        if not matches:
            raise ValueError(
                f"`where` compares column {column.name!r} with {value!r}, which is none of its levels, "
                f"expected one of {listed(column.levels, SHOWN)}"
            )
        return frozenset(matches)

    def _at_least(self, v: Any, value: Any, above: Any) -> frozenset[int]:
        """Categories of numbers that are at least a value, or above it."""
        column = self.columns[v]
        if not is_binned(column):
            if any(isinstance(level, str) for level in column.levels) or isinstance(
                value, (str, bool)
            ):
                raise ValueError(
                    f"`where` compares column {column.name!r} with {value!r} by size, which is for "
                    "numbers alone, expected ==, != or in"
                )
            return frozenset(
                c
                for c, level in enumerate(column.levels)
                if (level > value if above else level >= value)
            )
        cut = self.grids[v].cut(_number(column, value), above)
        self.cuts.setdefault(v, set()).add(cut)
        starts = cut_edges(column, self.cuts[v])[:-1]
        return frozenset(np.flatnonzero(starts >= cut).tolist())

    def _all(self, v: int) -> frozenset[int]:
        """All categories of a column."""
        column = self.columns[v]
        count = (
            len(cut_edges(column, self.cuts.get(v, ()))) - 1
            if is_binned(column)
            else column.num_categories
        )
        return frozenset(range(count))

    def _numbers(self, v: Any) -> frozenset[int]:
        """Categories that a comparison by size can be true or false of: not those of rare and unseen levels."""
        column = self.columns[v]
        return self._all(v) if is_binned(column) else frozenset(range(len(column.levels)))

    def _box(self, v: int, categories: Any) -> list[Any]:
        """A box on one column, or none."""
        return [{v: categories}] if categories else []

    def _complement(self, boxes: list[dict[int, Any]]) -> list[Any]:
        """Disjoint boxes of what is in none of some."""
        found: list[dict[int, Any]] = [{}]
        for box in boxes:
            outside: list[dict[int, Any]] = []
            inside: dict[int, Any] = {}
            for v, categories in box.items():
                rest = self._all(v) - categories
                if rest:
                    outside.append({**inside, v: rest})
                inside[v] = categories
            found = _checked(_both(found, outside))
        return found

    def _either(self, one: list[dict[int, Any]], other: list[dict[int, Any]]) -> list[Any]:
        """Disjoint boxes of what is in either."""
        return one + _both(other, self._complement(one))

    def _is_name(self, node: Any) -> bool:
        """Whether a part is the name of a column; an unknown name is refused."""
        if not isinstance(node, ast.Name):
            return False
        if node.id not in self.names:
            known = listed(column.name for column in self.columns)
            raise ValueError(
                f"`where` names the column {node.id!r}, expected one of {known}; text goes in quotes, "
                "names that are no words in backquotes"
            )
        return True

    def _value(self, node: Any) -> Any:
        """The constant of a part."""
        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            sign, node = (-1 if isinstance(node.op, ast.USub) else 1), node.operand
            if not isinstance(node, ast.Constant) or isinstance(node.value, (str, bool)):
                raise self._refuse(node, "expected a number behind the sign")
        if not isinstance(node, ast.Constant) or not isinstance(
            node.value, (str, bool, int, float)
        ):
            raise self._refuse(node, "expected a number, a text in quotes, True or False")
        if isinstance(node.value, int) and abs(node.value) >= 2**1023:
            raise self._refuse(node, "expected a number that double precision can hold")
        return sign * node.value if sign < 0 else node.value

    def _refuse(self, node: Any, expected: str) -> Any:
        """The error for a part that is none of the grammar."""
        return ValueError(
            f"`where` {self.text!r} cannot be read at character {self.place(node)}: {expected}"
        )


def _number(column: Any, value: Any) -> float:
    """A value as the numbers of a column with bins are, times in seconds."""
    seconds = (
        seconds_of_text(value, column.kind)
        if column.kind in TIMES and isinstance(value, str)
        else None
    )
    if seconds is not None:
        return seconds
    if column.kind in TIMES and (column.kind != "duration" or isinstance(value, (str, bool))):
        raise ValueError(
            f"`where` compares column {column.name!r} with {value!r}, expected a {column.kind} such "
            f"as {column.texts([column.low])[0]!r}"
        )
    if isinstance(value, (str, bool)):
        raise ValueError(
            f"`where` compares column {column.name!r} with {value!r}, expected a number"
        )
    return value


def _parsed(text: Any, numbers: dict[str, int]) -> tuple[Any, ...]:
    """The syntax tree of a text, column numbers by the names in it, of which backquoted ones are replaced, and a
    function from a part of the tree to its first character, from 1 on.
    """
    if len(text) > LONGEST:
        raise ValueError(f"`where` has {len(text)} characters, expected at most {LONGEST}")
    names = dict(numbers)
    prefix = "column_"
    while any(prefix in one for one in (text, *numbers)):
        prefix += "_"
    shifts = [(0, 0)]  # where stretches begin in what Python reads, and in the text

    def word(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        v = _number_of_name(match[1], numbers)
        if v is None:
            raise ValueError(
                f"`where` names the column {match[1]!r}, expected one of {listed(numbers)}"
            )
        stand_in = f"{prefix}{v}_".ljust(len(match[0]), "_")
        names[stand_in] = v
        start = match.start() + shifts[-1][0] - shifts[-1][1]
        shifts.extend([(start, match.start()), (start + len(stand_in), match.end())])
        return stand_in

    source = ""
    try:
        source = TEXTS_AND_QUOTED.sub(word, text)
        tree = _as_written(ast.parse(source.strip(), mode="eval").body, source.strip(), names)
        return (
            tree,
            names,
            lambda node: _place(source, shifts, node.lineno, node.col_offset, are_bytes=True),
        )
    except SyntaxError as error:  # an offset of 0 stands for the end
        end = len(text) + 1  # also where Python counts what it has put in the place of a line's end
        place = (
            min(_place(source, shifts, error.lineno or 1, error.offset - 1), end)
            if error.offset
            else end
        )
        raise ValueError(
            f"`where` {text!r} cannot be read at character {place}: {EXPECTED}"
        ) from None
    except ValueError as error:
        raise ValueError(f"`where` {text!r} cannot be read: {error}") from None
    except (MemoryError, RecursionError):
        raise ValueError("`where` is nested too deeply: write it with fewer parentheses") from None


def _place(
    source: str, shifts: list[tuple[int, int]], line: int, before: int, *, are_bytes: bool = False
) -> int:
    """The character of a text, from 1 on, at a line of its source without outer blanks and so many letters, or bytes
    of UTF-8, before it.
    """
    read = source.strip()
    starts = [0, *(end.end() for end in re.finditer(r"\r\n?|\n", read))]
    start = starts[min(line, len(starts)) - 1]
    letters = len(read[start:].encode()[:before].decode(errors="ignore")) if are_bytes else before
    at = len(source) - len(source.lstrip()) + start + letters
    begin, in_text = max(one for one in shifts if one[0] <= at)
    return in_text + at - begin + 1


def _as_written(tree: Any, source: str, names: dict[str, int]) -> Any:
    """The tree with names as the text has them: Python's grammar normalises their letters (NFKC)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            written = ast.get_source_segment(source, node) or node.id
            v = _number_of_name(written, names)
            node.id = (
                written
                if v is None
                else next(name for name, number in names.items() if number == v)
            )
    return tree


def _number_of_name(name: str, names: dict[str, int]) -> int | None:
    """The number of the column with a name, or of the only one whose name looks the same."""
    if name in names:
        return names[name]
    alike = {
        v
        for one, v in names.items()
        if unicodedata.normalize("NFKC", one) == unicodedata.normalize("NFKC", name)
    }
    return alike.pop() if len(alike) == 1 else None


def _both(one: list[Any], other: list[dict[int, Any]]) -> list[Any]:
    """Intersections of two lists of disjoint boxes, empty ones left out."""
    found = []
    for a in one:
        for b in other:
            box = {**a, **{v: categories & a.get(v, categories) for v, categories in b.items()}}
            if all(box.values()):
                found.append(box)
    return found


def _checked(boxes: Any) -> list[Any]:
    """Boxes, if they are not too many."""
    if len(boxes) > MOST_BOXES:
        raise ValueError(
            f"`where` splits into more than {MOST_BOXES} parts: write it with fewer `or`"
        )
    return boxes
