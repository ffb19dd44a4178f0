r"""Values inside bins: what a column of numbers looked like, in 65 quantiles.

A circuit draws the bin of a number.  The number within the bin follows the training rows: with Q the piecewise
linear quantile function through the k/64-quantiles, and F(x) = P(X < x) its inverse, a value of the bin [a, b) is

.. math:: Q(U), \qquad U \text{ uniform on } [F(a), F(b)),

so a value that very many rows have, such as zero, is drawn equally often.  It is rounded to the unit that all training
values are multiples of, a day or a millionth: whole numbers stay whole, and dates stay without a time.  The part [a, c)
of a bin [a, b) has the share (F(c) - F(a)) / (F(b) - F(a)).

Of values that many rows share, knots lie at each of them in turn, so that Q passes the middle of the step that the
quantile function of the rows has there.  Where values are rounded to a unit u, a, b and c, which are multiples of it,
stand therefore for a - u/2, b - u/2 and c - u/2 in these formulas: the numbers from there on are rounded to a or more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.io.archive import finite_array

GRID = 64
ROWS_PER_KNOT = 10  # a model file shall not hold each value of a small table
UNITS = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
LONG_UNITS = (86400.0, 3600.0, 60.0)  # of times, which are seconds
UNROUNDED = 0.0
CLOSE = 1e-6  # of a unit
LARGEST = 2.0**40
WIDEST = 2.0**64  # of columns of integers
LAST = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class ValueTables:
    """Quantiles and units of the columns with bins, in their order; shapes quantiles (n, 65), units (n,)."""

    quantiles: np.ndarray
    units: np.ndarray

    def to_arrays(self) -> dict[str, Any]:
        """For a file."""
        return {"quantiles": self.quantiles, "units": self.units}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], num_columns: int) -> ValueTables:
        """Tables that `to_arrays` wrote, for so many columns with bins; ValueError where they do not fit."""
        quantiles = finite_array(arrays, "quantiles", (num_columns, GRID + 1))
        units = finite_array(arrays, "units", (num_columns,))
        known = (*LONG_UNITS, *UNITS, UNROUNDED)
        if (quantiles[:, 1:] < quantiles[:, :-1]).any() or not np.isin(units, known).all():
            raise ValueError(
                f"the quantiles of values must ascend, and their units be out of {', '.join(map(str, known))}"
            )
        return cls(quantiles, units)


def is_binned(column: Any) -> bool:
    """Whether a column is cut into bins: of numbers or of times."""
    return hasattr(column, "edges")


def value_tables(columns: tuple[Any, ...], arrays: list[Any]) -> ValueTables:
    """Quantiles and units of the columns of a table that are cut into bins."""
    quantiles, units = [], []
    for column, cells in zip(columns, arrays, strict=True):
        if is_binned(column):
            numbers = np.sort(cells[np.isfinite(cells)])
            numbers = numbers if len(numbers) else np.array([column.low, column.high])
            units.append(_unit(numbers, column.kind != "continuous"))
            quantiles.append(_quantiles(numbers, units[-1]))
    return ValueTables(
        np.array(quantiles, dtype=np.float64).reshape(-1, GRID + 1),
        np.array(units, dtype=np.float64),
    )


def _quantiles(numbers: np.ndarray, unit: float) -> np.ndarray:
    """(65,) quantiles of ascending numbers; of few rows only every tenth number is kept, and lines between these."""
    knots = np.linspace(
        0, len(numbers) - 1, 1 + int(np.clip(len(numbers) // ROWS_PER_KNOT, 1, GRID))
    )
    kept = numbers[np.floor(knots + 0.5).astype(int)]
    between = np.interp(np.linspace(0, 1, GRID + 1), np.linspace(0, 1, len(kept)), kept)
    return between if unit == UNROUNDED or len(kept) > GRID else np.round(between / unit) * unit


def steps(numbers: Any, unit: float) -> Any:
    """Numbers in units."""
    return numbers / unit if unit >= 1 else numbers * np.round(1 / unit)


def of_steps(counts: Any, unit: float) -> Any:
    """Whole numbers of units as numbers, as near to the decimal text as doubles are."""
    return counts * unit if unit >= 1 else counts / np.round(1 / unit)


@dataclass(frozen=True, eq=False)
class Grid:
    """The values of one column with bins, and what is known of them inside; shapes quantiles (65,)."""

    quantiles: np.ndarray
    unit: float

    def below(self, x: ArrayLike) -> np.ndarray:
        """F(x) = P(X < x) of numbers of any shape."""
        x, quantiles = np.asarray(x, dtype=np.float64), self.quantiles
        at = np.searchsorted(quantiles, x, side="left")
        upper, lower = quantiles[np.minimum(at, GRID)], quantiles[np.maximum(at - 1, 0)]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(upper > lower, (x - lower) / (upper - lower), 0.0)
        return np.where(at == 0, 0.0, np.where(at > GRID, 1.0, (at - 1 + part) / GRID))

    def cut(self, x: float, above: bool) -> float:
        """Where to cut for "x and larger", or with `above` for "larger than x": the next value that can be drawn."""
        x = math.nextafter(x, math.inf) if above else x
        if self.unit == UNROUNDED or abs(x) >= LARGEST:
            return float(x)
        count = steps(x, self.unit)
        near = np.round(count)
        if above and abs(count - near) < CLOSE:
            return float(of_steps(near + 1, self.unit))
        return float(of_steps(np.ceil(count - CLOSE), self.unit))

    def shares(self, marks: np.ndarray) -> np.ndarray:
        """Shares of a bin [m_0, m_n) that its parts [m_k, m_k+1) have."""
        F = self.below(self.starts(marks))
        if F[-1] <= F[0]:
            F = np.minimum(self.starts(marks), LAST)
        return np.diff(F) / (F[-1] - F[0]) if len(F) > 2 else np.ones(1)

    def starts(self, marks: ArrayLike) -> np.ndarray:
        """Where the numbers begin that are rounded to marks, of any shape, or above them."""
        marks = np.asarray(marks, dtype=np.float64)
        if self.unit == UNROUNDED:
            return marks
        return of_steps(np.ceil(steps(marks, self.unit) - CLOSE) - 0.5, self.unit)

    def draw(self, low: np.ndarray, high: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Numbers in [low, high) from uniforms on [0, 1), all (N,)."""
        starts, ends = self.starts(low), self.starts(high)
        a, b = self.below(starts), self.below(ends)
        last = np.minimum(ends, LAST)
        inside = np.interp((a + uniforms * (b - a)) * GRID, np.arange(GRID + 1), self.quantiles)
        x = np.where(b > a, inside, starts + uniforms * (last - starts))
        x = np.clip(x, low, np.nextafter(high, -np.inf))
        if self.unit == UNROUNDED:
            return x
        first, last = (np.ceil(steps(one, self.unit) - CLOSE) for one in (low, high))
        rounded = of_steps(np.clip(np.round(steps(x, self.unit)), first, last - 1), self.unit)
        return np.where(last > first, rounded, x) + 0.0  # no -0.0


def grids(columns: Any, tables: ValueTables) -> list[Any]:
    """A `Grid` for each column with bins, None for the others."""
    known = iter(zip(tables.quantiles, tables.units.tolist(), strict=True))
    return [Grid(*next(known)) if is_binned(column) else None for column in columns]


def drawable(columns: Any, grids: Any) -> tuple[Any, ...]:
    """The same columns with each edge at the smallest value of its bin that can be drawn, and high above the largest.

    Edges lie between training values.  The part of a bin below the first multiple of the column's unit holds no value,
    and a condition that cuts there would give it a share.
    """
    found = []
    for column, grid in zip(columns, grids, strict=True):
        if grid is not None:
            edges = tuple(grid.cut(edge, False) for edge in column.edges)
            marks = (column.low, *edges, high := grid.cut(column.high, True))
            is_apart = all(a < b for a, b in pairwise(marks))
            column = replace(column, edges=edges if is_apart else column.edges, high=high)
        found.append(column)
    return tuple(found)


def _unit(numbers: np.ndarray, is_time: bool) -> float:
    """What all numbers are multiples of, as far as doubles tell; 0 for none of the known units."""
    largest = np.abs(numbers).max()
    if largest >= LARGEST:  # too large for fractions
        is_whole = largest <= WIDEST and np.array_equal(np.round(numbers), numbers)
        return 1.0 if is_whole and not is_time else UNROUNDED
    for unit in (LONG_UNITS if is_time else ()) + UNITS:
        if np.array_equal(of_steps(np.round(steps(numbers, unit)), unit), numbers):
            return unit
    return UNROUNDED
