"""Small circuits on which the kernels take every branch: rescale points of all kinds, sparse and dense weights.

They are so small that the kernels may also run as plain Python (NUMBA_DISABLE_JIT=1).
"""

import numpy as np
import scipy.sparse
import zoo

from pcircuit import Circuit, InnerRegion, InputRegion, VTree

RARE, RARER = 1e-200, 1e-250  # two of the former pass the range of a plan, one of the latter does


def chain(V, rare, *, zeros=False, sparse=False, units=2):
    """A v-tree as deep as it can be, with a probability `rare` under each variable: a rescale point per region."""
    rng, regions = np.random.default_rng(V), []
    vtree = VTree.right_linear(V)
    for r, variable in enumerate(vtree.variables.tolist()):
        if variable >= 0:
            first = rng.uniform(0.3, 0.7, units)
            table = np.stack([first, 1 - first], axis=1)
            table[0] = rare, 1 - rare
            regions.append(InputRegion(variable, table))
            continue
        K = 1 if r == vtree.root else units
        weights = rng.dirichlet(np.ones(units), size=K)
        if zeros and K > 1:
            weights[0] = np.eye(units)[0]
        products = np.repeat(np.arange(units)[:, None], 2, axis=1)
        regions.append(
            InnerRegion(products, scipy.sparse.csr_array(weights) if sparse else weights)
        )
    return Circuit(vtree, regions)


def hub(V, rare, *, weights, last=True):
    """One region over V leaf children, under a root with one more variable."""
    rng, K = np.random.default_rng(V), np.shape(weights)[0]
    regions = []
    for v in range(V):
        first = rng.uniform(0.3, 0.7, K)
        first[v % K] = rare
        regions.append(InputRegion(v, np.stack([first, 1 - first], axis=1)))
    inner = InnerRegion(np.repeat(np.arange(K)[:, None], V, axis=1), weights)
    top = InputRegion(V, rng.dirichlet(np.ones(3), size=K))
    root = InnerRegion(np.repeat(np.arange(K)[:, None], 2, axis=1), [np.full(K, 1 / K)])
    return Circuit(VTree.from_nested([list(range(V)), V]), [*regions, inner, top, root])


MIXING = [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]
ONE_HOT = [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
CIRCUITS = {
    "chain": chain(6, RARE),
    "chain, zero weights": chain(6, RARE, zeros=True),
    "chain, risky": chain(5, RARER),
    "chain, risky, zero weights": chain(5, RARER, zeros=True),
    "chain, sparse": chain(6, RARE, zeros=True, sparse=True),
    "chain, five units": chain(4, RARE, units=5),
    "hub": hub(6, RARE, weights=MIXING),
    "hub, zero weights": hub(6, RARE, weights=ONE_HOT),
    "hub, risky": hub(5, RARER, weights=MIXING),
    "hub, risky, zero weights": hub(5, RARER, weights=ONE_HOT),
    "hub, sparse": hub(6, RARE, weights=scipy.sparse.csr_array(ONE_HOT)),
    **zoo.circuits(),
    **{f"unnormalized {name}": c for name, c in zoo.unnormalized_circuits().items()},
}


def rows(circuit, rng):
    """Few rows, so that every value of every variable and every pattern of holes occurs, likely ones among them."""
    V = circuit.num_variables
    data = rng.integers(-1, circuit.num_categories, size=(24, V))
    data[:8] = np.minimum(1, np.asarray(circuit.num_categories) - 1)
    data[np.arange(8), np.arange(8) % V] = 0
    data[8:12] = 0
    data[9, ::2], data[10] = np.minimum(1, np.asarray(circuit.num_categories)[::2] - 1), -1
    return data
