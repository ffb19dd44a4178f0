"""Whether a summary can be one of rows at all: whoever sends it may send any numbers.

A likelihood is from 0 to 1, and a feature of the score has a bound (`RowVectors.bounds`); so the sum over the rows that
show it is at most their number times b_j, and differences from the mean are at most 2 b_j.  That bounds what `Spread`
holds: with r the reach of a metric for 2 b and c = |R F| 2 b,

    squares <= T r^2,     fourths <= squares^2 <= T fourths,     |sketch_kl| <= T c_k c_l.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.summaries.spread import sketches_of
from hld.summaries.summary import BatchSummary, Spread
from hld.vectors.row_vectors import RowVectors

SLACK = 1e-3  # roundings, and likelihoods of units whose parameters sum to a little more than 1


def check_possible(
    vectors: RowVectors, metrics: tuple[Any, ...], summary: BatchSummary, name: str = "summary"
) -> None:
    """Raise unless the sums of a summary can be those of so many rows."""
    if len(summary.sums) != vectors.size:
        raise ValueError(
            f"`{name}` has {len(summary.sums)} sums, expected {vectors.size}: make the summary again"
        )
    most = summary.seen * vectors.bounds * (1 + SLACK)
    least = (
        np.where(np.arange(vectors.size) < len(vectors.nodes), 0.0, -most) - 1e-9 * summary.num_rows
    )
    spread = summary.spread
    if ((summary.sums > most) | (summary.sums < least)).any() or not (
        spread is None or _is_of_rows(spread, summary.num_rows, metrics, vectors.bounds)
    ):
        raise ValueError(
            f"`{name}` holds sums that {summary.num_rows} rows cannot have: make the summary again"
        )


def _is_of_rows(spread: Spread, T: int, metrics: tuple[Any, ...], bounds: np.ndarray) -> bool:
    """Whether sums of squares, and what goes with them, can be those of T rows of numbers with such bounds."""
    reach = np.array([metric.reach(2 * bounds) for metric in metrics])
    corners = np.array([np.abs(signs).T @ (2 * bounds) for signs in sketches_of(metrics)])
    squares, fourths, most = spread.squares, spread.fourths, 1 + SLACK
    if squares.shape != reach.shape or spread.sketch.shape[1:] != corners.shape[1:] * 2:
        return False
    with np.errstate(over="ignore"):  # infinite is too large
        fits = (squares <= T * reach**2 * most) & (squares**2 <= T * fourths * most)
        fits &= fourths <= squares**2 * most
    products = corners[:, :, None] * corners[:, None, :]
    return bool(fits.all() and (np.abs(spread.sketch) <= T * products * most).all())
