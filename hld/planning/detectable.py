"""Which change of a level is large enough to be found, level by level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pcircuit
from hld.planning.alternatives import NUM_DRAWN, SEED, compared, own_mean, under_level
from hld.planning.power import MOST_ROWS, Rejections
from hld.references.circuit import CircuitReference
from pcircuit.arguments import check_fraction, check_whole_number

LEAST_SHARE = 0.01  # levels that are rarer are left out
ENOUGH = 400  # drawn rows with a level, else more are drawn
STEPS = 10
NUM_NORMAL = 1000  # of which a power of 0.9 is known to 0.01
MOST_LEVELS = 100


@dataclass(frozen=True)
class Detectable:
    """The smallest change of a level that is found."""

    column: int
    level: int
    share: float
    by: float | None


def detectable(
    test: Any, T: int, power: float = 0.9, alpha: float = 0.05, *, per_column: int = 3
) -> tuple[Any, ...]:
    """For the most frequent levels of each variable, how much more frequent they have to get to be found."""
    T, alpha = (
        check_whole_number(T, "T", 1, MOST_ROWS),
        check_fraction(alpha, "alpha"),
    )

    def draws(
        covariance: np.ndarray, is_relative: bool, num_draws: int, rows: np.ndarray
    ) -> Callable[..., Any]:
        batches = Rejections(
            test, covariance, T, alpha, is_relative=is_relative, num_draws=num_draws
        )

        def shares(slope: np.ndarray, inside: np.ndarray, p: float) -> Callable[[float], float]:
            rejected = batches.along(slope)
            return lambda h: float(rejected(h).mean())

        return shares

    return detectable_levels(test, power, per_column, draws)


def detectable_levels(
    test: Any, power: float, per_column: int, draws: Callable[..., Any]
) -> tuple[Any, ...]:
    """`detectable` for any way to draw batches and to move them."""
    power = check_fraction(power, "power")
    per_column = check_whole_number(per_column, "per_column", 1)
    kept, found, mean = test.calibration.kept, [], own_mean(test)
    has_rows = kept is not None and len(kept.covariance) > 0
    covariance = (
        kept.covariance
        if has_rows
        else CircuitReference(test.circuit, test.nodes, mean).covariance()
    )
    rows = pcircuit.sample(test.circuit, NUM_DRAWN, rng=np.random.default_rng([SEED, 1]))
    shares, vectors = draws(covariance, has_rows, NUM_NORMAL, rows), test.vectors.rows(rows)
    for variable, level, p in _levels(test.circuit, per_column):
        own = rows[:, variable] == level
        is_enough = own.sum() >= ENOUGH
        inside = rows[own] if is_enough else under_level(test.circuit, variable, level, ENOUGH)
        given = vectors[own].mean(axis=0) if is_enough else test.vectors.mean(inside)
        slope = (compared(test, given) - mean) / (1 - p)
        found.append(Detectable(variable, level, p, _least(shares(slope, inside, p), 1 - p, power)))
    return tuple(sorted(found, key=lambda one: np.inf if one.by is None else one.by))


def _levels(circuit: pcircuit.Circuit, per_column: Any) -> list[Any]:
    """(variable, level, probability) of the most frequent levels."""
    result = []
    for v, table in enumerate(pcircuit.marginal_tables(circuit)):
        order = np.argsort(-table, kind="stable")[:per_column].tolist()
        result += [
            (v, a, float(table[a])) for a in order if LEAST_SHARE <= table[a] <= 1 - LEAST_SHARE
        ]
    return (
        result
        if len(result) <= MOST_LEVELS
        else sorted(result, key=lambda one: -one[2])[:MOST_LEVELS]
    )


def _least(share: Callable[[float], float], most: float, power: float) -> float | None:
    """The smallest h up to `most` with which enough draws are rejected."""
    if share(most) < power:
        return None
    low, high = 0.0, most
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if share(middle) >= power else (middle, high)
    return high
