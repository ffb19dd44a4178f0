"""A circuit of five variables of which two are covariates, and rows with other covariates than its own."""

import numpy as np

import pcircuit

CIRCUIT = pcircuit.rat_spn([3] * 5, num_units=3, depth=2, rng=3)
GIVEN = np.arange(5) < 2


def moved(T, rng, changed=False):
    """T rows with other covariates; the fourth variable changed given them, if that is asked for."""
    rows = pcircuit.sample(CIRCUIT, 8 * T, rng=rng)
    weights = np.exp(1.2 * (rows[:, 0] == 0) + 0.8 * (rows[:, 1] == 1))
    rows = rows[rng.choice(len(rows), T, replace=False, p=weights / weights.sum())]
    if changed:
        rows[rng.random(T) < 0.7, 3] = 0
    return rows
