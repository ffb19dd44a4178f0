"""Mixtures of circuits on different v-trees, and rows for them."""

import numpy as np

from pcircuit import Mixture, hclt


def groups(rng, N, V=6):
    """Rows of two groups: columns that agree with a hidden bit nine times in ten."""
    hidden = rng.integers(2, size=(N, 1))
    return (rng.random((N, V)) < 0.1 + 0.8 * hidden).astype(np.int64)


def mixed(rng, V=5):
    """A mixture of two trees on different v-trees, and rows for it."""
    rows = groups(rng, 60, V)
    chain, star = np.arange(-1, V - 1), np.array([-1] + [0] * (V - 1))
    return Mixture(
        [hclt(rows, 2, 2, tree=chain, rng=1), hclt(rows, 3, 2, tree=star, rng=2)], [0.3, 0.7]
    ), rows
