"""The bets of the monitor, row by row, compiled: `hld.monitoring.betting` is the same text on NumPy.

A row's sums run in a fixed order and nothing is reassociated, so cutting the rows into several calls changes no bit.
Loops stand where array expressions would be shorter: these take three times as long to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hld.monitoring.bets import EPS, LEAST_LENGTH
from pcircuit.startup import compile_kernel


@compile_kernel
def advance(values: Any, bets: Any, wealth: Any, log_values: Any) -> None:
    """Bet on the rows `values` (n, m) of node likelihoods, one after the other; fills log W_t (n,) after each.

    Changes the arrays of `wealth` in place.

    Shapes: values (n, m), log_values (n,).
    """
    m, D = wealth.directions.shape
    G, N = len(bets.direction_stakes), len(bets.node_stakes)
    scores, deviation, doubt = np.empty(D), np.empty(m), np.empty(m)
    for t in range(len(values)):
        for d in range(D):
            scores[d] = 0.0
        for j in range(m):
            deviation[j] = values[t, j] - bets.mean[j]
            doubt[j] = bets.doubts[j] * (values[t, j] + bets.mean[j])
            scaled, scaled_doubt = deviation[j] * bets.scale[j], doubt[j] * bets.scale[j]
            for d in range(D):
                scores[d] += scaled * wealth.directions[j, d] - scaled_doubt * abs(
                    wealth.directions[j, d]
                )
        total = wealth.cash[0]
        for d in range(D):
            score = (scores[d] - wealth.tolls[d]) * wealth.gains[d]
            for g in range(G):
                wealth.on_directions[d, g] *= 1.0 + bets.direction_stakes[g] * score
                total += wealth.on_directions[d, g]
        for j in range(m):
            rise = (deviation[j] - doubt[j] - bets.margin) * bets.rise[j]
            fall = (-deviation[j] - doubt[j] - bets.margin) * bets.fall[j]
            for g in range(N):
                wealth.on_nodes[j, g] *= 1.0 + bets.node_stakes[g] * rise
                wealth.on_nodes[j, N + g] *= 1.0 + bets.node_stakes[g] * fall
                total += wealth.on_nodes[j, g] + wealth.on_nodes[j, N + g]
        won = np.log(total)
        wealth.log[0] += won - bets.least_drop - 2 * EPS * (abs(wealth.log[0]) + abs(won))
        log_values[t] = wealth.log[0]
        wealth.num_rows[0] += 1
        _share(bets, wealth, total)
        _learn(bets, wealth, deviation)
        if wealth.num_rows[0] % bets.refresh == 0:
            _refresh(bets, wealth, doubt, deviation)


@compile_kernel
def _share(bets: Any, wealth: Any, total: Any) -> None:
    """Divide by the total, and give a share of it back to the bets in their first proportions."""
    moved = bets.share / (wealth.num_rows[0] + 1.0)
    kept = (1.0 - moved) / total
    wealth.cash[0] = wealth.cash[0] * kept + moved * bets.cash
    for d in range(wealth.on_directions.shape[0]):
        for g in range(wealth.on_directions.shape[1]):
            wealth.on_directions[d, g] = (
                wealth.on_directions[d, g] * kept + moved * bets.on_direction
            )
    for j in range(wealth.on_nodes.shape[0]):
        for g in range(wealth.on_nodes.shape[1]):
            wealth.on_nodes[j, g] = wealth.on_nodes[j, g] * kept + moved * bets.on_node[j]


@compile_kernel
def _learn(bets: Any, wealth: Any, deviation: Any) -> None:
    """Move the running means of the standardised deviations towards this row."""
    for h in range(len(bets.rates)):
        rate = max(bets.rates[h], 1.0 / wealth.num_rows[0])
        for j in range(len(deviation)):
            wealth.means[h, j] += rate * (deviation[j] * bets.scale[j] - wealth.means[h, j])


@compile_kernel
def _refresh(bets: Any, wealth: Any, direction: Any, part: Any) -> None:
    """New directions from the running means: two for each of them.  `direction` and `part` (m,) are scratch."""
    m, w, is_identity = len(bets.mean), len(bets.kept), len(bets.whitening) == 0
    for h in range(len(bets.rates)):
        for j in range(m):
            direction[j] = bets.euclidean[j] * wealth.means[h, j]
        _take(bets, wealth, 2 * h, direction)
        for k in range(w):
            part[k] = wealth.means[h, bets.kept[k]] if is_identity else 0.0
        for i in range(0 if is_identity else w):
            mean = wealth.means[h, bets.kept[i]]
            for k in range(w):
                part[k] += bets.whitening[i, k] * mean
        for j in range(m):
            direction[j] = 0.0
        for k in range(w):
            direction[bets.kept[k]] = part[k]
        _take(bets, wealth, 2 * h + 1, direction)


@compile_kernel
def _take(bets: Any, wealth: Any, d: Any, direction: Any) -> None:
    """Install direction d with its largest possible loss; one of the size of rounding is not bet on."""
    largest = 0.0
    for j in range(len(direction)):
        largest = max(largest, abs(direction[j]))
    wealth.tolls[d], wealth.gains[d] = 0.0, 0.0
    expected, spare, squared = 0.0, 0.0, 0.0
    for j in range(len(direction)):
        direction[j] = direction[j] / largest if largest > LEAST_LENGTH else 0.0
        wealth.directions[j, d] = direction[j]
        expected += direction[j] * bets.scaled_mean[j]
        spare += abs(direction[j]) * bets.doubts[j] * (bets.scaled_bound[j] + bets.scaled_mean[j])
        squared += (direction[j] * bets.scale[j]) ** 2
    if largest > LEAST_LENGTH:
        toll = bets.margin * np.sqrt(squared) * (1.0 + bets.least_drop)
        loss = max(expected - _floor(bets, direction), 0.0) + bets.spare * spare + toll
        wealth.tolls[d], wealth.gains[d] = toll, 1.0 / loss


@compile_kernel
def _floor(bets: Any, direction: Any) -> Any:
    """Lower bound of direction . (L / sigma) over all states."""
    total = 0.0
    for g in range(len(bets.groups) - 1):
        lowest = np.inf
        for row in range(bets.groups[g], bets.groups[g + 1]):
            value = 0.0
            for k in range(bets.starts[row], bets.starts[row + 1]):
                value += bets.values[k] * direction[bets.columns[k]]
            lowest = min(lowest, value)
        total += lowest
    return total
