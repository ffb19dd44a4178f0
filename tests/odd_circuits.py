"""Random circuits of every size and temper, to measure round-off on: name of a family, seed -> circuit.

Most are so small that all their states can be enumerated; a few are as large as circuits get.  Their numbers are the
ones that make arithmetic fail: probabilities of 1e-300 beside others of 1, a state of probability 4e-16, rows that
differ in their last digits, zeros, sums far from one.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import zoo

from pcircuit import Circuit, InnerRegion, InputRegion, VTree

MOST_STATES = 256  # of the small families
RARE = 2.0**-51  # 4.4e-16: one minus it is a double


def small(rng, **options):
    """A circuit of at most six variables and four units, as `zoo.random_circuit` draws them."""
    return zoo.random_circuit(
        rng,
        num_variables=int(rng.integers(1, 8) if rng.random() < 0.1 else rng.integers(2, 7)),
        max_units=int(rng.integers(1, 5)),
        max_categories=2 if rng.random() < 0.5 else 3,
        **options,
    )


def tiny(rng):
    """Probabilities and weights down to 1e-300, one of order 1 in each row."""
    return _refilled(
        small(rng, nary=True),
        rng,
        lambda shape: 10.0 ** -rng.uniform(0, 300, shape) * (rng.random(shape) < 0.9),
    )


def all_tiny(rng):
    """As `tiny`, and half of the categories so improbable under every unit that whole rows are."""

    def rows(shape):
        table = 10.0 ** -rng.uniform(0, 1, shape)
        table[:, rng.random(shape[1]) < 0.5] *= 10.0 ** -rng.uniform(100, 300)
        return table

    return _refilled(small(rng, nary=True), rng, rows)


def rare_state(rng):
    """One state of probability 4e-16, or a little more, under each input unit; plain weights."""
    return _refilled(
        small(rng, nary=True),
        rng,
        lambda shape: rng.gamma(1.0, size=shape) + 0.1,
        inputs=lambda K, C: _nearly_one_hot(rng, K, C),
    )


def rare_everywhere(rng):
    """The same with weights of that kind, too."""
    return _refilled(
        small(rng, sparse=rng.random() < 0.3), rng, lambda shape: _nearly_one_hot(rng, *shape)
    )


def nearly_alike(rng):
    """Rows that differ from each other by 1e-3 to 1e-14: likelihoods that hardly vary."""
    step = 10.0 ** -rng.uniform(3, 14)
    return _refilled(small(rng), rng, lambda shape: 1 + step * rng.uniform(-1, 1, shape))


def medium(rng):
    """Thirty to fifty variables: too many states to enumerate, few enough units for a dense covariance."""
    return zoo.random_circuit(
        rng,
        num_variables=int(rng.integers(30, 51)),
        max_units=3,
        max_categories=4,
        sparse=rng.random() < 0.5,
        nary=rng.random() < 0.5,
        zeros=rng.random() < 0.3,
    )


def many_units(rng):
    """Regions of up to 128 units over three variables."""
    K = int(rng.choice([16, 64, 128]))
    vtree, regions = VTree.from_nested([[0, 1], 2]), []
    for r, variable in enumerate(vtree.variables.tolist()):
        if variable >= 0:
            regions.append(InputRegion(variable, _shares(rng.gamma(0.3, size=(K, 3)) + 1e-9)))
            continue
        products = np.stack([rng.permutation(K) for _ in range(2)], axis=1)
        weights = _shares(rng.gamma(0.3, size=(1 if r == vtree.root else K, K)) + 1e-9)
        regions.append(InnerRegion(products, weights))
    return Circuit(vtree, regions)


def many_children(rng):
    """A region with up to 1,000 leaf children, beside another variable."""
    V, K = int(rng.integers(100, 1001)), int(rng.integers(2, 5))
    tables = _shares(10.0 ** -rng.uniform(0, 6 if rng.random() < 0.5 else 250, (V, K, 2)))
    regions = [InputRegion(v, tables[v]) for v in range(V)]
    hub = InnerRegion(
        np.repeat(np.arange(K)[:, None], V, axis=1), _shares(rng.gamma(1.0, size=(2, K)) + 1e-3)
    )
    last = InputRegion(V, _shares(rng.gamma(1.0, size=(2, 2)) + 1e-3))
    return Circuit(
        VTree.from_nested([list(range(V)), V]),
        [*regions, hub, last, InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])],
    )


def many_variables(rng, V=None):
    """1,000 to 10,000 variables with two units each, over a balanced or a linear v-tree."""
    V = int(rng.choice([1000, 3000, 10_000])) if V is None else V
    vtree = VTree.balanced(V) if rng.random() < 0.5 else VTree.right_linear(V)
    stock = _shares(rng.gamma(1.0, size=(50, 2, 2)) + 1e-3)
    regions = []
    for r, variable in enumerate(vtree.variables.tolist()):
        table = stock[rng.integers(50)]
        regions.append(
            InputRegion(variable, table)
            if variable >= 0
            else InnerRegion([[0, 0], [1, 1]], table[:1] if r == vtree.root else table)
        )
    return Circuit(vtree, regions)


def unnormalized(rng):
    """Rows whose sums are anything between 1e-100 and 1e+100."""
    circuit = small(rng, zeros=rng.random() < 0.3, nary=True)
    size = float(rng.choice([1, 20, 100]))
    regions = [
        InputRegion(
            region.variable, region.probs * 10.0 ** rng.uniform(-size, size, (region.num_units, 1))
        )
        if isinstance(region, InputRegion)
        else InnerRegion(
            region.products,
            region.weights * 10.0 ** rng.uniform(-size, size, (region.num_units, 1)),
        )
        for region in circuit.regions
    ]
    return Circuit(circuit.vtree, regions)


SMALL = {
    "dense": small,
    "sparse": lambda rng: small(rng, sparse=True),
    "n-ary": lambda rng: small(rng, nary=True, sparse=rng.random() < 0.3),
    "zeros": lambda rng: small(rng, zeros=True, sparse=rng.random() < 0.3),
    "tiny": tiny,
    "all tiny": all_tiny,
    "rare state": rare_state,
    "rare everywhere": rare_everywhere,
    "nearly alike": nearly_alike,
    "unnormalized": unnormalized,
}
LARGE = {  # family: circuits with this remainder when their number is divided by that
    "medium": (medium, 9, 200),
    "many units": (many_units, 18, 500),
    "many children": (many_children, 27, 400),
    "many variables": (many_variables, 36, 1500),
}


def draw(number: int):
    """Family and circuit number 0, 1, ...; the same for ever."""
    rng = np.random.default_rng([2026, number])
    for name, (make, remainder, every) in LARGE.items():
        if number % every == remainder:
            return name, make(rng)
    name = list(SMALL)[number % len(SMALL)]
    while True:
        circuit = SMALL[name](rng)
        if np.prod(circuit.num_categories) <= MOST_STATES:
            return name, circuit


def rows_for(circuit, rng, N):
    """Random rows, some of them drawn from the most probable categories, with holes, and an empty one."""
    data = rng.integers(0, circuit.num_categories, size=(N, circuit.num_variables))
    leaf = circuit.vtree.leaf_of().tolist()
    likely = np.array([int(circuit.regions[r].probs.max(axis=0).argmax()) for r in leaf])
    data[N // 2 :] = np.where(rng.random((N - N // 2, len(likely))) < 0.9, likely, data[N // 2 :])
    data[::3][rng.random(data[::3].shape) < 0.3] = -1
    data[-1] = -1
    return data


def _refilled(circuit, rng, rows, inputs=None):
    """The structure with new tables: `rows(shape)`, or `inputs(K, C)` at leaves, scaled to sum to one."""
    regions = []
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            K, C = region.probs.shape
            regions.append(
                InputRegion(
                    region.variable, _shares(rows((K, C)) if inputs is None else inputs(K, C))
                )
            )
            continue
        weights = _shares(rows(region.weights.shape))
        regions.append(
            InnerRegion(
                region.products, scipy.sparse.csr_array(weights) if region.is_sparse else weights
            )
        )
    return Circuit(circuit.vtree, regions)


def _shares(rows):
    """Rows (..., C) divided by their sums; a row of zeros becomes a one and zeros."""
    rows = np.array(rows, dtype=np.float64)
    rows[..., 0] += rows.sum(axis=-1) == 0
    return rows / rows.sum(axis=-1, keepdims=True)


def _nearly_one_hot(rng, K, C):
    """Rows with one entry of nearly 1; the others are small multiples of 4e-16, so that sums are exact."""
    table = RARE * rng.integers(0, 3, (K, C)) * rng.choice([1.0, 2.0**10, 2.0**30], (K, 1))
    column = rng.integers(0, C, K)
    table[np.arange(K), column] = 0.0
    table[np.arange(K), column] = 1 - table.sum(axis=1)
    return table
