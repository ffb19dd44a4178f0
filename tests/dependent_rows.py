"""Rows that depend on one another: of groups that each mix two laws in their own way, and of series with a memory."""

import numpy as np
import zoo

import pcircuit

GROUPED = zoo.circuits()["hclt_like"]  # whose rows groups mix with others
IN_SERIES = pcircuit.rat_spn([2] * 3, num_units=2, depth=1, rng=0)  # whose rows stay for a while


def varied_rows(G, n, seed):
    """(G, n, V) rows of G circuits whose parameters vary: mixtures of two that every group mixes in its own way."""
    rng = np.random.default_rng(seed)
    first, second = (pcircuit.sample(GROUPED, G * n, rng=rng).reshape(G, n, -1) for _ in range(2))
    second = np.where(rng.random(second.shape) < 0.5, second, 0)
    return np.where(rng.random((G, n, 1)) < rng.beta(2, 2, size=(G, 1, 1)), first, second)


def markov(circuit, n, stay, rng, trials=1):
    """(trials, n, V) rows that are the one before with probability `stay`, else fresh: correlations stay^h."""
    fresh = pcircuit.sample(circuit, trials * n, rng=rng).reshape(trials, n, -1)
    new = rng.random((trials, n)) >= stay
    new[:, 0] = True
    last = np.maximum.accumulate(np.where(new, np.arange(n), 0), axis=1)
    return np.take_along_axis(fresh, last[..., None], axis=1)


def variance_ratio(T, stay):
    """T Var(mean) / Var(row) for correlations stay^h."""
    h = np.arange(1, T)
    return 1 + 2 * ((1 - h / T) * stay**h).sum()


def uneven(n, stays, rng):
    """(n, V) rows of independent columns that stay as they were with probabilities of their own."""
    fresh, new = rng.integers(0, 3, size=(n, len(stays))), rng.random((n, len(stays))) >= stays
    new[0] = True
    last = np.maximum.accumulate(np.where(new, np.arange(n)[:, None], 0), axis=0)
    return np.take_along_axis(fresh, last, axis=0)
