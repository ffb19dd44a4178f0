"""What tests of monitored streams share: another distribution, and what each state would do to the wealth."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import prod

import numpy as np

from hld import likelihood_vectors
from hld.monitoring.bets import EPS
from hld.monitoring.betting import advance
from pcircuit import Circuit, InnerRegion, InputRegion
from pcircuit.engine import engine_is_numpy


def shifted(circuit, seed=9):
    """Another distribution on the same v-tree."""
    rng = np.random.default_rng(seed)
    return Circuit(
        circuit.vtree,
        [
            InputRegion(
                region.variable,
                rng.dirichlet(np.ones(region.num_categories), size=region.num_units),
            )
            if isinstance(region, InputRegion)
            else InnerRegion(region.products, region.weights)
            for region in circuit.regions
        ],
    )


def floor(rows, a):
    """The lower bound of a . L that the rows of `floor_rows` give."""
    products = np.array(
        [
            rows.values[lo:hi] @ a[rows.columns[lo:hi]]
            for lo, hi in zip(rows.starts[:-1], rows.starts[1:], strict=True)
        ]
    )
    return sum(
        products[lo:hi].min() for lo, hi in zip(rows.groups[:-1], rows.groups[1:], strict=True)
    )


def bet(values, bets, wealth, log_values):
    """The text that the monitor runs under the engine that is chosen."""
    if engine_is_numpy():
        return advance(values, bets, wealth, log_values)
    from hld.monitoring.kernel import advance as compiled

    return compiled(values, bets, wealth, log_values)


def next_logs(monitor, states):
    """log W after each of the states; the monitor stays as it is."""
    logs = np.empty(len(states))
    values = likelihood_vectors(monitor.circuit, states, monitor.nodes)
    for i in range(len(states)):
        copy = monitor._wealth.copy()
        bet(values[i : i + 1], monitor._bets, copy, logs[i : i + 1])
    return logs


def next_factors(monitor, states):
    """W after each of the states, in units of W now."""
    return np.exp(next_logs(monitor, states) - float(monitor._wealth.log[0]))


def exact_probabilities(circuit, states):
    """[P(x)] as fractions: each row of `probs` and `weights` divided by its sum, as a sampler reads them."""
    tables = [
        [
            _normalized(row)
            for row in (region.probs if isinstance(region, InputRegion) else region.dense_weights())
        ]
        for region in circuit.regions
    ]
    return [_exact_probability(circuit, tables, state) for state in states.tolist()]


def _normalized(row):
    """A row of numbers as fractions that sum to one."""
    exact = [Fraction(float(value)) for value in row]
    return [value / sum(exact) for value in exact]


def _exact_probability(circuit, tables, state):
    """P(x) of one state."""
    shown = []
    for r, (region, table) in enumerate(zip(circuit.regions, tables, strict=True)):
        if isinstance(region, InputRegion):
            shown.append([row[state[region.variable]] for row in table])
            continue
        children = circuit.vtree.children(r).tolist()
        products = [
            prod(shown[c][unit] for c, unit in zip(children, units, strict=True))
            for units in region.products.tolist()
        ]
        shown.append(
            [sum(w * value for w, value in zip(row, products, strict=True) if w) for row in table]
        )
    return shown[-1][0]


def exact_expectation(monitor, states, probabilities):
    """E[W_t / W_{t-1}] - 1 of the computed log W to 60 digits, under exact probabilities of all states."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**6, -(10**6)
        before = Decimal(float(monitor._wealth.log[0]))
        factors = [(Decimal(float(log)) - before).exp() for log in next_logs(monitor, states)]
        return (
            sum(
                Decimal(p.numerator) / p.denominator * f
                for p, f in zip(probabilities, factors, strict=True)
            )
            - 1
        )


def paid_for_rounding(monitor):
    """What the bets of one row pay for rounding in expectation, in units of the wealth."""
    bets, wealth = monitor._bets, monitor._wealth
    doubt = 2 * bets.doubts * bets.mean
    up, down = np.split(wealth.on_nodes * np.tile(bets.node_stakes, 2), 2, axis=1)
    nodes = doubt @ (bets.rise * up.sum(axis=1) + bets.fall * down.sum(axis=1))
    directions = (doubt * bets.scale) @ np.abs(wealth.directions) * wealth.gains
    sizes = 1 + abs(float(wealth.log[0]))
    return (
        nodes
        + directions @ (wealth.on_directions @ bets.direction_stakes)
        + bets.least_drop
        + 4 * EPS * sizes
    )


def noisy_copies(n, rng, flip=0.2):
    """(n, 5) copies of one coin, each turned with some probability."""
    return (rng.integers(0, 2, size=(n, 1)) ^ (rng.random((n, 5)) < flip)).astype(int)
