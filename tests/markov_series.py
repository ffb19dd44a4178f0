"""Series whose rows resemble those before them: correlations of stay^h, of which the variances of means are known."""
import numpy as np

import pcircuit


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
    return 1 + 2 * ((1 - h / T) * stay ** h).sum()
