"""What the tests of all formats share: circuits that every format holds, and equality of all their values."""

import naive
import numpy as np

import pcircuit
from pcircuit import VTree


def same_values(circuit, other):
    """Both have the same value for every state and for every pattern of holes in the first states."""
    rows = naive.states(circuit)
    holes = np.where(np.random.default_rng(0).random(rows.shape) < 0.4, -1, rows)
    for table in (rows, holes):
        expected = np.exp(naive.log_likelihood(circuit, table))
        np.testing.assert_allclose(
            np.exp(naive.log_likelihood(other, table)), expected, rtol=1e-12, atol=1e-300
        )


def read_text(tmp_path, text, reader, name="a"):
    path = tmp_path / name
    path.write_text(text)
    return reader(path)


def binary_circuit(seed, num_variables=6, K=3):
    """HCLT-like circuit of binary variables on a random binary v-tree, with certain inputs among its units."""
    rng = np.random.default_rng(seed)
    tree, regions = VTree.random(num_variables, rng=seed), []
    for r, v in enumerate(tree.variables.tolist()):
        if v >= 0:
            p = rng.random(K)
            p[0] = rng.integers(0, 2)
            regions.append(pcircuit.InputRegion(v, np.stack([1 - p, p], axis=1)))
        else:
            weights = rng.dirichlet(np.ones(5), 1 if r == tree.root else K)
            regions.append(pcircuit.InnerRegion(rng.integers(0, K, (5, 2)), weights))
    return pcircuit.Circuit(tree, regions)
