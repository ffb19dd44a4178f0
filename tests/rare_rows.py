"""Rows of which few are unlike the others, with a covariate or as columns of rare flags, and tests of them."""

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


def flags(shares):
    """Independent columns that are 1 in so many rows, each with a unit that likes the 1 and one that likes the 0."""
    V = len(shares)
    leaves = [pcircuit.InputRegion(v, [[1 - p, p], [p, 1 - p]]) for v, p in enumerate(shares)]
    root = pcircuit.InnerRegion([[0] * V], [[1.0]])
    return pcircuit.Circuit(pcircuit.VTree([V] * V + [-1], [*range(V), -1]), [*leaves, root])


def is_called(result):
    """Whether some node is called at level 0.05."""
    return min(node.pvalue for node in result.localize(top=None).nodes) <= 0.05
