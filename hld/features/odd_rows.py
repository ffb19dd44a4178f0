r"""How odd a row is: numbers of whole rows, of which larger ones are odder, each listed in one line.

* "magnitude"    how far the row's most extreme number lies beyond the range of training, in units of the width of a
                 normal score there (`BinColumn.ends`); 0 for all rows in the range.
* "likelihood"   minus the logarithm of how typical the row is, of its likelihood under the circuit with tails: every
                 number that lies e units beyond the range multiplies it by exp(-e), the tail of an exponential law.

Means of numbers without bound keep no level, ranks do.  So rows are only counted, in bins that the rows learned from
have fixed (`hld.features.row_scores`): of N = n + T rows with K in some bin or beyond it the batch has a hypergeometric
number (`hld.witnesses.row_ranks`), and a stream bets on ranks.  A row that is beyond all others has the rank 1 / N;
by ranks alone one such row among T of a batch cannot be told from chance below T / N.

A function added to `ODDNESS` is heard wherever rows are (``docs/extending.md``).
"""

import reprlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import pcircuit
from hld.tables.schemas.columns import FAR
from pcircuit.io.archive import finite_array

MOST = 1e30  # in place of minus the logarithm of 0
BULK, HALVES = 32, 12  # edges at equal shares of the rows learned from; halves of their upper tail
BEYOND = 16  # edges beyond all of these, at distances that double
STEP = 0.375  # the first distance where rows do not differ, and thrice its part of their upper half elsewhere
EXCESS = np.append(0.0, 2.0 ** np.arange(-1, 31))  # units beyond the range, by what a mark says


class Oddness(NamedTuple):
    """A number of a row: its function of circuit, codes (n, V) and marks (n, V) or None, and its part of the level."""

    values: Callable[[pcircuit.Circuit, np.ndarray, np.ndarray | None], np.ndarray]
    share: float


def excess(codes: np.ndarray, marks: np.ndarray | None) -> np.ndarray:
    """(n, V) units by which each cell lies beyond the range of training, as `BinColumn.ends` has them."""
    if marks is None:
        return np.zeros(codes.shape)
    return np.where(codes >= 0, EXCESS[marks >> FAR], 0.0)


def log_typicality(
    circuit: pcircuit.Circuit, codes: np.ndarray, marks: np.ndarray | None = None
) -> np.ndarray:
    """(n,) natural log-likelihoods of rows under a circuit with exponential tails beyond the range of training."""
    return pcircuit.log_likelihood(circuit, codes) - excess(codes, marks).sum(axis=1)


def magnitude(circuit: pcircuit.Circuit, codes: np.ndarray, marks: np.ndarray | None) -> np.ndarray:
    """(n,) units by which the most extreme number of each row lies beyond the range of training."""
    return excess(codes, marks).max(axis=1)


def unlikelihood(
    circuit: pcircuit.Circuit, codes: np.ndarray, marks: np.ndarray | None
) -> np.ndarray:
    """(n,) minus the log-typicality of rows; NaN where a cell is missing, as fewer cells are more likely."""
    found = np.minimum(-log_typicality(circuit, codes, marks), MOST)
    return np.where((codes < 0).any(axis=1), np.nan, found)


ODDNESS: dict[str, Oddness] = {
    "magnitude": Oddness(magnitude, 0.05),  # shares: `benchmarks.power.trials`
    "likelihood": Oddness(unlikelihood, 0.05),
}


def array_of_names(names: tuple[str, ...]) -> np.ndarray:
    """Names of numbers of rows as an array of a file."""
    return np.frombuffer(",".join(names).encode(), np.uint8)


def names_of_array(arrays: dict[str, Any]) -> tuple[str, ...]:
    """The names in the array "odd" of a file; ValueError for one that is not known."""
    text = finite_array(arrays, "odd", (None,), np.uint8).tobytes().decode("ascii", "replace")
    names = tuple(text.split(",")) if text else ()
    if unknown := [name for name in names if name not in ODDNESS]:
        raise ValueError(
            f"rows are ranked by {reprlib.repr(unknown[0])}, which is none of {', '.join(ODDNESS)}: "
            "import what adds it to `hld.features.odd_rows.ODDNESS`"
        )
    return names


def odd_edges(values: np.ndarray) -> np.ndarray:
    """Ascending edges at quantiles of the numbers of rows, closer at the upper end, and beyond all of them.

    Shapes: values (n,).
    """
    shown = np.sort(values[~np.isnan(values)])
    if not len(shown):
        return shown
    distinct = np.unique(shown)
    shares = np.append(np.arange(BULK) / BULK, 1 - 0.5 ** np.arange(6, HALVES + 1))
    places = np.unique(np.searchsorted(distinct, shown[(len(shown) * shares).astype(np.int64)]))
    places = places[places < len(distinct) - 1]
    middles = (distinct[places] + distinct[places + 1]) / 2
    most, middle = distinct[-1], shown[len(shown) // 2]
    step = STEP / 3 * (most - middle) if most > middle else STEP
    return np.concatenate([middles, most + step * 2.0 ** np.arange(BEYOND)])
