"""Both texts of the bets, against the definition with one array operation a formula."""

import naive
import numpy as np
import pytest
from streams import bet, floor, shifted

from hld import likelihood_vectors
from hld.monitoring import bets
from hld.monitoring.bounds import floor_rows, unit_bounds
from hld.monitoring.monitor import Monitor
from pcircuit import rat_spn, sample


@pytest.fixture(scope="module")
def circuit():
    return rat_spn([2, 3, 2, 2, 4, 2], num_units=3, depth=2, rng=5)


def wealth_by_definition(monitor, rows):
    """log W after each row, with one array operation per formula."""
    circuit, nodes, mu, sigma = monitor.circuit, monitor.nodes, monitor.mean, monitor.stds
    L, u, margin = (
        likelihood_vectors(circuit, rows, nodes),
        unit_bounds(circuit)[nodes],
        monitor.margin,
    )
    node_stakes, stakes = np.array(bets.NODE_STAKES), np.array(bets.DIRECTION_STAKES)
    on_nodes = np.full(
        (len(nodes), 2, len(node_stakes)), bets.ON_NODES / (len(nodes) * 2 * len(node_stakes))
    )
    on_directions = np.full((4, len(stakes)), bets.ON_DIRECTIONS / (4 * len(stakes)))
    cash, directions, log, logs = bets.CASH, [None] * 4, 0.0, []
    first = (cash, on_directions, on_nodes)
    kept = bets.kept_nodes(u, mu, sigma, np.zeros(len(nodes)))
    R = (naive.hlv_moments(circuit, nodes)[1] / sigma / sigma[:, None])[np.ix_(kept, kept)]
    inverse = np.linalg.inv(R + bets.RIDGE * np.linalg.eigvalsh(R)[-1] * np.eye(len(kept)))
    means = np.zeros((2, len(nodes)))
    rows_of_floor = floor_rows(circuit, nodes, np.ones(len(nodes)), unit_bounds(circuit))
    for t in range(1, len(L) + 1):
        x = L[t - 1] - mu
        up, down = (x - margin) / (mu + margin), (-x - margin) / (u - mu + margin)
        on_nodes = on_nodes * (1 + node_stakes * np.stack([up, down], axis=1)[:, :, None])
        for d, a in enumerate(directions):
            if a is not None:
                toll = margin * np.linalg.norm(a)
                score = (a @ x - toll) / (a @ mu - floor(rows_of_floor, a) + toll)
                on_directions[d] = on_directions[d] * (1 + stakes * score)
        total = cash + on_directions.sum() + on_nodes.sum()
        log += np.log(total)
        logs.append(log)
        s = 1 / (2 * (t + 1))
        cash, on_directions, on_nodes = (
            (1 - s) * now / total + s * then
            for now, then in zip((cash, on_directions, on_nodes), first, strict=True)
        )
        for h, rate in enumerate((1 / t, max(1 / t, 1 / 64))):
            means[h] += rate * (x / sigma - means[h])
        if t % 16 == 0:
            for h in range(2):
                c = np.zeros(len(nodes))
                c[kept] = inverse @ means[h, kept]
                directions[2 * h : 2 * h + 2] = [sigma * means[h], c / sigma]
    return np.array(logs)


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_wealth_is_that_of_the_definition(circuit, engine, margin):
    monitor = Monitor(circuit, margin=margin)
    rows = np.concatenate([sample(circuit, 150, rng=1), sample(shifted(circuit), 100, rng=2)])
    # the definition neither pays for rounding nor spares for it: a row moves log W by some e u / (u - mu) or e u / mu
    range_of = np.minimum(monitor.mean, unit_bounds(circuit)[monitor.nodes] - monitor.mean)
    error = monitor._bets.doubts * unit_bounds(circuit)[monitor.nodes] / range_of
    np.testing.assert_allclose(
        monitor.update(rows).log_e_values,
        wealth_by_definition(monitor, rows),
        rtol=0,
        atol=4 * bets.SPARE * len(rows) * error.sum(),
    )


def test_cutting_rows_changes_nothing(circuit, engine):
    monitor = Monitor(circuit)
    values = likelihood_vectors(circuit, sample(circuit, 50, rng=1), monitor.nodes)
    whole, parts = bets.new_wealth(monitor._bets), bets.new_wealth(monitor._bets)
    log, log_of_parts = np.empty(50), np.empty(50)
    bet(values, monitor._bets, whole, log)
    for start, stop in ((0, 13), (13, 14), (14, 50)):
        bet(values[start:stop], monitor._bets, parts, log_of_parts[start:stop])
    np.testing.assert_array_equal(log, log_of_parts)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
