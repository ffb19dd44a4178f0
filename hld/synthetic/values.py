r"""Values inside bins: what a column of numbers looked like, in 65 quantiles.

A circuit draws the bin of a number.  Which number of the bin it is, follows the training rows: with Q the piecewise
linear quantile function through the k/64-quantiles, and F(x) = P(X < x) its inverse, a value of the bin [a, b) is

.. math:: Q(U), \qquad U \text{ uniform on } [F(a), F(b)),

so a value that very many rows have, such as zero, is drawn as often.  It is rounded to the decimals that the training
values had: whole numbers stay whole.  Of a bin [a, b), the part [a, c) has the share (F(c) - F(a)) / (F(b) - F(a)).
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GRID = 64
MOST_DECIMALS = 6
UNROUNDED = -1


@dataclass(frozen=True, eq=False)
class ValueTables:
    """Quantiles and decimals of the continuous columns, in their order.

    Attributes
    ----------
    quantiles : (n, 65) float array
        Ascending.
    decimals : (n,) int array
        Digits behind the point; -1 where the values are not round.
    """

    quantiles: np.ndarray
    decimals: np.ndarray

    def to_arrays(self) -> dict:
        """For a file."""
        return {"quantiles": self.quantiles, "decimals": self.decimals}

    @classmethod
    def from_arrays(cls, arrays: dict, num_columns: int) -> ValueTables:
        """Tables that `to_arrays` wrote, for so many continuous columns; ValueError where they do not fit."""
        quantiles, decimals = arrays["quantiles"], arrays["decimals"]
        fits = quantiles.shape == (num_columns, GRID + 1) and quantiles.dtype == np.float64
        if not fits or not np.isfinite(quantiles).all() or (np.diff(quantiles, axis=1) < 0).any():
            raise ValueError(f"the quantiles of values must be {num_columns} rows of {GRID + 1} ascending numbers")
        if decimals.shape != (num_columns,) or decimals.dtype != np.int64 or (
                (decimals < UNROUNDED) | (decimals > MOST_DECIMALS)).any():
            raise ValueError(f"the decimals of values must be {num_columns} whole numbers from -1 to {MOST_DECIMALS}")
        return cls(quantiles, decimals)


def value_tables(columns, arrays) -> ValueTables:
    """Quantiles and decimals of the continuous columns of a table.

    Parameters
    ----------
    columns : sequence of V columns
        Of the encoder.
    arrays : sequence of V (N,) arrays
        The cells of the rows that the encoder was fitted to, numbers in the continuous columns.

    Returns
    -------
    ValueTables
    """
    quantiles, decimals = [], []
    for column, cells in zip(columns, arrays, strict=True):
        if column.kind == "continuous":
            numbers = np.sort(cells[np.isfinite(cells)])
            numbers = numbers if len(numbers) else np.array([column.low, column.high])
            ranks = np.linspace(0, len(numbers) - 1, GRID + 1)
            quantiles.append(numbers[np.floor(ranks + 0.5).astype(int)])
            decimals.append(_decimals(numbers))
    return ValueTables(np.array(quantiles, dtype=np.float64).reshape(-1, GRID + 1), np.array(decimals, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Grid:
    """The values of one continuous column: the bins of its encoder, and what is known inside.

    Attributes
    ----------
    low, high : float
        Range of the training values.
    quantiles : (65,) float array
    decimals : int
    """

    low: float
    high: float
    quantiles: np.ndarray
    decimals: int

    def below(self, x):
        """F(x) = P(X < x) of numbers of any shape."""
        x = np.asarray(x, dtype=np.float64)
        at = np.searchsorted(self.quantiles, x, side="left")
        upper, lower = self.quantiles[np.minimum(at, GRID)], self.quantiles[np.maximum(at - 1, 0)]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(upper > lower, (x - lower) / (upper - lower), 0.0)
        return np.where(at == 0, 0.0, np.where(at > GRID, 1.0, (at - 1 + part) / GRID))

    def cut(self, x: float, above: bool) -> float:
        """Where to cut for "x and larger", or with `above` for "larger than x": the next value that can be drawn."""
        x = np.nextafter(x, np.inf) if above else x
        if self.decimals == UNROUNDED:
            return float(x)
        return float(np.ceil(np.round(x * 10.0 ** self.decimals, 9) if not above else x * 10.0 ** self.decimals)
                     / 10.0 ** self.decimals)

    def shares(self, marks) -> np.ndarray:
        """Shares of a bin [m_0, m_n) that its parts [m_k, m_k+1) have."""
        F = self.below(marks)
        if F[-1] <= F[0]:
            F = np.asarray(marks, dtype=np.float64)
        return np.diff(F) / (F[-1] - F[0])

    def draw(self, low, high, uniforms) -> np.ndarray:
        """Numbers in [low, high) from uniforms on [0, 1), all (N,)."""
        a, b = self.below(low), self.below(high)
        x = np.where(b > a, np.interp((a + uniforms * (b - a)) * GRID, np.arange(GRID + 1), self.quantiles),
                     low + uniforms * (high - low))
        x = np.clip(x, low, np.nextafter(high, -np.inf))
        if self.decimals == UNROUNDED:
            return x
        unit = 10.0 ** self.decimals
        least, most = np.ceil(low * unit - 1e-9), np.ceil(high * unit - 1e-9) - 1
        rounded = np.clip(np.round(x * unit), least, most) / unit
        return np.where(most >= least, rounded, x)


def grids(columns, tables: ValueTables | None) -> list:
    """A `Grid` for each continuous column, None for the others; uniform in each bin without tables."""
    found, at = [], 0
    for column in columns:
        if column.kind != "continuous":
            found.append(None)
        elif tables is None:
            marks = np.array([column.low, *column.edges, column.high])
            found.append(Grid(column.low, column.high, _uniform(marks), UNROUNDED))
        else:
            found.append(Grid(column.low, column.high, tables.quantiles[at], int(tables.decimals[at])))
            at += 1
    return found


def _uniform(marks) -> np.ndarray:
    """(65,) quantiles of values that are uniform between marks, as many between each two."""
    return np.interp(np.linspace(0, 1, GRID + 1), np.linspace(0, 1, len(marks)), marks)


def _decimals(numbers) -> int:
    """Digits behind the point that all numbers have at most, -1 for more than six."""
    if np.abs(numbers).max() >= 2 ** 40:
        return UNROUNDED
    for digits in range(MOST_DECIMALS + 1):
        if np.array_equal(np.round(numbers, digits), numbers):
            return digits
    return UNROUNDED
