"""What families learn from a column before EM: its mean and spread, how far it is rounded, and which family fits it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Floats, check_numbers

LEAST_SPREAD = 0.02  # of a unit, relative to the standard deviation of its column
SMALLEST_SPREAD = 1e-9  # of a column, relative to the size of its numbers: a constant one
MIDDLE = 0.01  # of the rows beyond it on either side
FEW_VALUES = 20  # up to so many whole numbers are categories
OFTEN = 5  # rows with a category: less often seen numbers foretell unseen ones
TINY = 1e-150  # its square is still a double
HEAPED = 0.08  # share of the rows that makes a value of a column of numbers an atom
MOST_ATOMS = 16
RATE_OF_ROUNDING = (
    1e-6  # relative to the unit of rounding: how far numbers may be from its multiples
)


def keep(leaves: Any, **fields: Any) -> None:
    """Set fields of a frozen object; arrays become read-only."""
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(leaves, name, value)


def unit_array(values: ArrayLike, name: str, num_units: int | None = None, **limits: Any) -> Floats:
    """A copy of one finite number for each unit; shapes values (K,) -> (K,)."""
    expected = f"{num_units or 'K, at least one,'} finite numbers, one for each unit"
    if "above" in limits:
        expected += f", above {limits['above']:g}"
    array = np.array(check_numbers(values, name, expected, **limits), dtype=np.float64)
    if array.ndim != 1 or not len(array) or (num_units or len(array)) != len(array):
        raise ValueError(f"`{name}` must be {expected}, found shape {array.shape}")
    return array


def prior_array(values: ArrayLike) -> Floats:
    """Mean, spread and least spread of a column, (3,), or none, (0,)."""
    expected = "mean, standard deviation and least standard deviation, the second positive, or none"
    array = np.array(check_numbers(values, "prior", expected), dtype=np.float64)
    if array.shape not in ((0,), (3,)) or (len(array) and not (array[1] > 0 and array[2] >= 0)):
        raise ValueError(f"`prior` must be {expected}, found {array}")
    return array


def column_prior(x: Any, atoms: Any = ()) -> Floats:
    """(3,) mean and deviation of a column without its atoms, the least one of a unit: half a rounding unit, or 2 %.

    Outliers count as far out as the numbers in the middle reach twice.  Shapes: x (N,), atoms (A,) -> (3,).
    """
    column = np.asarray(x, dtype=float)
    column = column[~np.isnan(column)]
    others = column[~np.isin(column, atoms)]
    seen = others if len(others) > 1 else column
    if not len(seen):
        raise ValueError(
            "`data` has a column of missing values only, expected some numbers to learn from: leave it out"
        )
    low, high = np.quantile(seen, [MIDDLE, 1 - MIDDLE])
    if high > low:
        seen = np.clip(seen, low - (high - low), high + (high - low))
    mean, spread = float(seen.mean()), float(seen.std())
    least = max(0.5 * rounding_unit(column), SMALLEST_SPREAD * abs(mean), TINY)
    if spread <= SMALLEST_SPREAD * abs(mean):  # a constant tells no scale but its own size
        spread = abs(mean) or 1.0
    return np.array([mean, max(spread, least), max(LEAST_SPREAD * spread, least)])


def rounding_unit(x: Floats) -> float:
    """The smallest gap between values, a simple part of it or a power of ten, if all gaps are multiples; else 0.

    Shapes: x (N,).
    """
    values = np.unique(x)
    if len(values) < 2 or len(values) > max(0.5 * len(x), 2):  # hardly any value occurs twice
        return 0.0
    gap = float(np.diff(values).min())
    for unit in (gap, gap / 2, gap / 3, 10.0 ** np.floor(np.log10(gap) + 1e-9)):
        multiples = (values - values[0]) / unit
        if np.abs(multiples - np.rint(multiples)).max() < RATE_OF_ROUNDING:
            return float(unit)
    return 0.0


def heaped_values(x: Floats) -> Floats:
    """(A,) values of a column that more than 8 % of its rows have, ascending, at most 16; shapes x (N,)."""
    values, counts = np.unique(x[~np.isnan(x)], return_counts=True)
    often = np.flatnonzero(counts > max(HEAPED * counts.sum(), 1))
    often = often[np.argsort(-counts[often], kind="stable")[:MOST_ATOMS]]
    return np.sort(values[often])


def are_categories(x: Floats) -> bool:
    """Whether a column holds the whole numbers from 0 to below 20, and each of them often; shapes x (N,)."""
    seen = x[~np.isnan(x)]
    if (seen < 0).any() or (seen >= FEW_VALUES).any() or (seen != np.floor(seen)).any():
        return False
    return bool(np.bincount(seen.astype(np.int64)).min() >= OFTEN)
