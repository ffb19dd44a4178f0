r"""Drawing rows of a table under a condition, exactly and without rejection.

A condition is a box.  Its bins may be cut, so the input tables of the circuit are cut alike: a part of a bin has its
share of the bin's probability.  Then P(box) is exact, and rows are drawn from p(x | box) (`pcircuit.condition`): every
row that is drawn satisfies the condition.

**Conditions** are text, such as ``age > 40 and sex == "F"``, read by a small grammar and never run.

    condition    comparison  and  comparison  and  ...
    comparison   column op value,   column in (value, value, ...);   op is one of  ==  !=  <  <=  >  >=
    column       as in the table, in backquotes where it has blanks or signs: `hours per week`
    value        a number, a text in quotes, True or False; a time is a text: "2026-01-31", "12:30", "1 day, 6:00:00"

Everything else is refused, with its place.  The result is one *box*: for some columns the set of levels or bins that
they may have, so that a circuit gives its probability exactly (`pcircuit.condition`).  Bins are cut where the text
compares with a number inside one (`Condition.cuts`); a comparison is then an interval of whole parts.
"""

from __future__ import annotations

import contextlib
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import pcircuit
from hld.tables.derived import UNIT, written
from hld.tables.factored import object_cells
from hld.tables.shown_names import listed
from hld.tables.times import TIMES, from_seconds, levels_of_text, seconds_of_text
from hld.tables.values import drawable, grids, is_binned
from pcircuit.arguments import check_generator, check_whole_number

if TYPE_CHECKING:
    from hld.tables.schemas.encoder import TableEncoder
    from hld.tables.values import Grid, ValueTables

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
# whether a comparison holds for what lies below its value, at it, above it, and for what is none of these
TRUTH = {
    sign: np.array(holds)
    for sign, holds in {
        "==": [False, True, False, False],
        "!=": [True, False, True, True],
        "<": [True, False, False, False],
        "<=": [True, True, False, False],
        ">": [False, False, True, False],
        ">=": [False, True, True, False],
    }.items()
}


def draw_rows(
    circuit: pcircuit.Circuit,
    columns: tuple[Any, ...],
    tables: ValueTables,
    num_samples: Any,
    *,
    where: Any = None,
    rng: Any = None,
) -> np.ndarray:
    """(N, V) rows of a table drawn from a circuit."""
    num_samples = check_whole_number(num_samples, "num_samples", 0)
    rng = check_generator(rng)
    finer, columns, inside, condition = _conditioned(circuit, columns, tables, where)
    box = condition.box
    if not condition.is_possible or pcircuit.log_probability(finer, box) == -np.inf:
        raise ValueError(
            "`where` has probability zero under the model, so there are no such rows to draw"
        )
    given = pcircuit.condition(finer, box, keep_known=True) if box else finer
    codes = pcircuit.sample(given, num_samples, rng=rng).astype(np.int64)
    rows = np.empty((num_samples, len(columns)), dtype=object)
    for v, (column, grid) in enumerate(zip(columns, inside, strict=True)):
        if grid is None:
            rows[:, v] = object_cells(column.values(None, None))[codes[:, v]]
            continue
        marks = cut_edges(column, condition.cuts.get(v, ()))
        numbers = grid.draw(marks[codes[:, v]], marks[codes[:, v] + 1], rng.random(num_samples))
        rows[:, v] = _plain(numbers, column.kind, grid.unit)
    return rows


def as_learned(
    encoder: TableEncoder, tables: ValueTables, rows: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Names and cells of drawn rows as their table has them: numbers and units as one column of amounts.

    Shapes: rows (N, V) -> (N, V').
    """
    names, inside = [*encoder.names], grids(encoder.columns, tables)
    rows = rows.copy()
    units = {one.source: names.index(one.name) for one in encoder.derived if one.part == UNIT}
    for one in encoder.derived:
        if one.name in units:
            v, u = names.index(one.name), units[one.name]
            step = getattr(inside[v], "unit", 1.0)
            rows[:, v] = [written(x, unit, one.part, step) for x, unit in rows[:, [v, u]].tolist()]
    kept = [v for v in range(len(names)) if v not in units.values()]
    return [names[v] for v in kept], rows[:, kept]


def condition_probability(
    circuit: pcircuit.Circuit, columns: Any, tables: Any, where: Any
) -> float:
    """P(where) under the circuit, exact up to the values inside bins."""
    finer, _, _, condition = _conditioned(circuit, columns, tables, where)
    if not condition.is_possible:
        return 0.0
    return min(float(np.exp(pcircuit.log_probability(finer, condition.box))), 1.0)  # rounded sums


def _conditioned(circuit: pcircuit.Circuit, columns: Any, tables: Any, where: Any) -> Any:
    """The circuit over bins that a condition cuts, the columns as they are drawn, their grids, and the condition."""
    inside = grids(columns, tables)
    columns = drawable(columns, inside)
    condition = Condition({}, {}) if where is None else read_condition(where, columns, inside)
    return cut_circuit(circuit, columns, inside, condition.cuts), columns, inside, condition


def cut_circuit(
    circuit: pcircuit.Circuit, columns: tuple[Any, ...], grids: list[Grid | None], cuts: Any
) -> pcircuit.Circuit:
    """The circuit over bins that are cut: every part of a bin has its share of the bin's probability."""
    if not cuts:
        return circuit
    regions = []
    for region in circuit.regions:
        v = getattr(region, "variable", None)
        if v is None or v not in cuts:
            regions.append(region)
            continue
        coarse, fine = cut_edges(columns[v], ()), cut_edges(columns[v], cuts[v])
        bins = np.searchsorted(coarse, fine[:-1], side="right") - 1
        shares = np.concatenate(
            [
                grids[v].shares(np.append(fine[:-1][bins == k], coarse[k + 1]))
                for k in range(len(coarse) - 1)
            ]
        )
        regions.append(pcircuit.InputRegion(v, region.probs[:, bins] * shares))  # type: ignore[union-attr]
    return pcircuit.Circuit(circuit.vtree, regions)


def _plain(numbers: np.ndarray, kind: str, unit: float) -> list[Any]:
    """Numbers (N,) as Python has them: whole ones, floats, or times."""
    if kind != "continuous":
        return [from_seconds(number, kind) for number in numbers.tolist()]
    return [int(x) for x in numbers] if unit == 1 else numbers.tolist()


# -- conditions --------------------------------------------------------------------------------------------------------


class Condition(NamedTuple):
    """A condition that was read: cut points by column, and the categories over the cut bins that it leaves."""

    cuts: dict[int, tuple[float, ...]]
    box: dict[int, frozenset[int]]

    @property
    def is_possible(self) -> bool:
        """Whether each column is left with a category."""
        return all(self.box.values())


def read_condition(text: Any, columns: Any, grids: Any) -> Condition:
    """The condition that a text says of columns, which have a `Grid` where they are cut into bins."""
    if not isinstance(text, str):
        raise TypeError(f"`where` is {text!r}, expected a condition as text, such as 'age > 40'")
    if len(text) > LONGEST:
        raise ValueError(f"`where` has {len(text)} characters, expected at most {LONGEST}")
    found = _comparisons(text, [column.name for column in columns])
    cuts: dict[int, set[float]] = {}
    for v, _, values in found:
        for value in values if is_binned(columns[v]) else ():
            cuts.setdefault(v, set()).update(_ends(columns[v], grids[v], value))
    kept: dict[int, np.ndarray] = {}
    for v, sign, values in found:
        if v in cuts:
            starts = cut_edges(columns[v], cuts[v])[:-1]
            ends = [_ends(columns[v], grids[v], value) for value in values]
            sides = [(starts >= first) * 1 + (starts >= end) for first, end in ends]
        else:
            sides = [_sides(columns[v], sign, value) for value in values]
        holds = np.any([TRUTH[sign][one] for one in sides], axis=0)
        kept[v] = kept.get(v, True) & holds
    box = {v: frozenset(np.flatnonzero(holds).tolist()) for v, holds in kept.items()}
    return Condition({v: tuple(sorted(points)) for v, points in cuts.items()}, box)


def cut_edges(column: Any, cuts: set[float] | tuple[float, ...]) -> np.ndarray:
    """(n,) ascending marks of the bins of a continuous column: low, its edges and the cuts between, and high."""
    inside = [c for c in cuts if column.low < c < column.high]
    return np.array(sorted({column.low, *column.edges, *inside, column.high}))


def _ends(column: Any, grid: Any, value: Any) -> tuple[float, float]:
    """The interval [a, b) of numbers that count as a value."""
    number = _number(column, value)
    return grid.cut(number, False), grid.cut(number, True)


def _sides(column: Any, sign: str, value: Any) -> np.ndarray:
    """(C,) where the categories of a column of levels lie: 0 below a value, 1 at it, 2 above, 3 for none of these."""
    sides = np.full(column.num_categories, 3)
    if sign in ("==", "!="):
        sides[_equal(column, value)] = 1
        return sides
    if any(isinstance(x, str) for x in (value, *column.levels)) or isinstance(value, bool):
        raise ValueError(
            f"`where` compares column {column.name!r} with {value!r} by size, which is for "
            "numbers alone, expected ==, != or in"
        )
    sides[: len(column.levels)] = [1 + (one > value) - (one < value) for one in column.levels]
    return sides


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


def _comparisons(text: str, names: list[str]) -> list[tuple[int, str, list[Any]]]:
    """The comparisons of a text: the number of a column, a sign (== for membership), and values."""
    found, at, end = [], 0, "and"
    while end == "and":
        match = COMPARISON.match(text, at)
        if match is None:
            raise ValueError(
                f"`where` {text!r} cannot be read from character {at + 1} on: {EXPECTED}"
            )
        name = match["name"] if match["quoted"] is None else match["quoted"]
        values = [_value(one) for one in re.findall(VALUE, match["values"] or match["value"])]
        found.append((_place(name, names), match["sign"] or "==", values))
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
