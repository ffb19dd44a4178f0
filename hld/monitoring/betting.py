"""The bets of the monitor, row by row, in NumPy: the formulas of `hld.monitoring.bets` as array operations.

`hld.monitoring.kernel` is the compiled twin.  Both change the wealth in place; they agree to rounding.
"""

from __future__ import annotations

import numpy as np

from hld.monitoring.bets import EPS, LEAST_LENGTH, Bets, Wealth


def advance(values: np.ndarray, bets: Bets, wealth: Wealth, log_values: np.ndarray) -> None:
    """Bet on rows of node likelihoods, one after the other.

    Shapes: values (n, m), log_values (n,).
    O(m) a row, and O(m^2 + number of parameters) every 16th.  Sums are written out, not left to BLAS, so that they do
    not depend on the processor.
    """
    for t, row in enumerate(values):
        deviation, doubt = row - bets.mean, bets.doubts * (row + bets.mean)
        _bet_on_directions(bets, wealth, deviation * bets.scale, doubt * bets.scale)
        _bet_on_nodes(bets, wealth, deviation, doubt)
        total = wealth.cash[0] + wealth.on_directions.sum() + wealth.on_nodes.sum()
        won = np.log(total)
        wealth.log[0] += won - bets.least_drop - 2 * EPS * (abs(wealth.log[0]) + abs(won))
        log_values[t] = wealth.log[0]
        wealth.num_rows[0] += 1
        _share(bets, wealth, total)
        _learn(bets, wealth, deviation * bets.scale)
        if wealth.num_rows[0] % bets.refresh == 0:
            _refresh(bets, wealth)


def _bet_on_directions(
    bets: Bets, wealth: Wealth, scaled: np.ndarray, scaled_doubt: np.ndarray
) -> None:
    """Multiply the money on directions, from y (m,) and its doubts (m,)."""
    scores = (
        scaled[:, None] * wealth.directions - scaled_doubt[:, None] * np.abs(wealth.directions)
    ).sum(axis=0)
    scores = (scores - wealth.tolls) * wealth.gains
    wealth.on_directions[:] *= 1.0 + scores[:, None] * bets.direction_stakes


def _bet_on_nodes(bets: Bets, wealth: Wealth, deviation: np.ndarray, doubt: np.ndarray) -> None:
    """Multiply the money on nodes, up and down."""
    num_stakes = len(bets.node_stakes)
    rise = (deviation - doubt - bets.margin) * bets.rise
    fall = (-deviation - doubt - bets.margin) * bets.fall
    wealth.on_nodes[:, :num_stakes] *= 1.0 + rise[:, None] * bets.node_stakes
    wealth.on_nodes[:, num_stakes:] *= 1.0 + fall[:, None] * bets.node_stakes


def _share(bets: Bets, wealth: Wealth, total: float) -> None:
    """Divide by the total, and give a share of it back to the bets in their first proportions."""
    moved = bets.share / (wealth.num_rows[0] + 1.0)
    kept = (1.0 - moved) / total
    wealth.cash[:] = wealth.cash * kept + moved * bets.cash
    wealth.on_directions[:] = wealth.on_directions * kept + moved * bets.on_direction
    wealth.on_nodes[:] = wealth.on_nodes * kept + moved * bets.on_node[:, None]


def _learn(bets: Bets, wealth: Wealth, scaled: np.ndarray) -> None:
    """Move the running means of y towards this row."""
    rates = np.maximum(bets.rates, 1.0 / wealth.num_rows[0])
    wealth.means[:] += rates[:, None] * (scaled - wealth.means)


def _refresh(bets: Bets, wealth: Wealth) -> None:
    """New directions from the running means: two for each of them."""
    for h, mean in enumerate(wealth.means):
        take_direction(bets, wealth, 2 * h, bets.euclidean * mean)
        whitened = np.zeros(len(mean))
        whitened[bets.kept] = mean[bets.kept]
        if len(bets.whitening):
            whitened[bets.kept] = (bets.whitening * mean[bets.kept, None]).sum(axis=0)
        take_direction(bets, wealth, 2 * h + 1, whitened)


def take_direction(bets: Bets, wealth: Wealth, d: int, direction: np.ndarray) -> None:
    """Install direction d, at length 1, with its largest possible loss; one of the size of rounding is not bet on.

    Shapes: direction (m,).
    """
    largest = np.abs(direction).max()
    wealth.directions[:, d], wealth.tolls[d], wealth.gains[d] = 0.0, 0.0, 0.0
    if not largest > LEAST_LENGTH:
        return
    direction = direction / largest
    wealth.directions[:, d] = direction
    wealth.tolls[d], wealth.gains[d] = toll_and_gain(bets, direction)


def toll_and_gain(bets: Bets, direction: np.ndarray) -> tuple[float, float]:
    """What a direction (m,) pays in every row for the margin, and one over its largest possible loss.

    Shapes: direction (m,).
    """
    expected = (direction * bets.scaled_mean).sum()
    spare = (np.abs(direction) * bets.doubts * (bets.scaled_bound + bets.scaled_mean)).sum()
    toll = bets.margin * np.sqrt(np.square(direction * bets.scale).sum()) * (1.0 + bets.least_drop)
    loss = max(expected - _floor(bets, direction), 0.0) + bets.spare * spare + toll
    return toll, 1.0 / loss


def _floor(bets: Bets, direction: np.ndarray) -> float:
    """Lower bound of direction . (L / sigma) over all states: the least row of each group, summed over the groups."""
    row = np.repeat(np.arange(len(bets.starts) - 1), np.diff(bets.starts))
    products = np.bincount(
        row, weights=bets.values * direction[bets.columns], minlength=len(bets.starts) - 1
    )
    return np.minimum.reduceat(products, bets.groups[:-1]).sum() if len(bets.groups) > 1 else 0.0
