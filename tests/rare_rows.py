"""Rows of which few are unlike the others, with a covariate, and the test of their columns, to be taken given it."""

import numpy as np

import hld
import pcircuit

GIVEN = np.arange(6) < 1


def rare(n, rng, share=0.05):
    """(n, 6) a covariate that half of the rows have, and five columns of which each is one in such a share of them."""
    return np.concatenate([rng.random((n, 1)) < 0.5, rng.random((n, 5)) < share], axis=1).astype(
        int
    )


def inner_of(draw):
    """The test of all columns, of a circuit learned from 200 rows that `draw(n, rng)` gives."""
    rng = np.random.default_rng(0)
    start = pcircuit.hclt(rng.integers(0, 2, (50, 6)), num_latents=2, rng=0)
    circuit, _ = pcircuit.fit_em(start, draw(200, rng), num_epochs=10)
    return hld.HLDTest(
        circuit,
        metric="euclidean",
        null="exact",
        reference="training",
        training_data=draw(200, rng),
        rng=0,
    )
