"""Small circuits of every kind that occurs, to run each test over.

All are normalised and have at most 8 variables and about 2000 joint states, so that `naive` can enumerate
them; those of `unnormalized_circuits` have rows with other sums, also zero.  Every run has the same numbers.
"""

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree


def circuits():
    """Name -> normalised circuit."""
    return {
        "two_coins": two_coins(),
        "hclt_like": hclt_like(),
        "rat_like": rat_like(),
        "irregular_csr": irregular_csr(),
        "nary": nary(),
        "one_region": one_region(),
        "deterministic": deterministic(),
        "mixed_categories": mixed_categories(),
        "zero_rows": zero_rows(),
        "single_units": single_units(),
        "deep_chain": deep_chain(),
        "unary": unary(),
    }


def unnormalized_circuits():
    """Name -> circuit whose rows have other sums than one, as products of circuits have."""
    vtree = VTree.from_nested([[0, 1], 2])
    inputs = [
        InputRegion(0, [[0.81, 0.01], [0.18, 0.08]]),
        InputRegion(1, [[0.5, 2.0], [0.0, 0.0]]),
        InputRegion(2, [[1.5, 0.25, 0.0]]),
    ]
    dense = np.array([[0.5, 3.0], [0.0, 0.0], [0.0, 0.25]])  # the second row is empty
    csr, pair, triple = scipy.sparse.csr_array, [[0, 0], [1, 0]], [[0, 0], [1, 0], [2, 0]]
    return {
        "dense": Circuit(
            vtree,
            [
                *inputs[:2],
                InnerRegion(pair, dense),
                inputs[2],
                InnerRegion(triple, [[2.0, 1.0, 0.5]]),
            ],
        ),
        "sparse": Circuit(
            vtree,
            [
                *inputs[:2],
                InnerRegion(pair, csr(dense)),
                inputs[2],
                InnerRegion(triple, csr([[2.0, 0.0, 0.5]])),
            ],
        ),
        "zero": Circuit(
            VTree.from_nested([0, 1]),
            [
                InputRegion(0, [[0.5, 0.5]]),
                InputRegion(1, [[0.0, 0.0]]),
                InnerRegion([[0, 0]], [[1.0]]),
            ],
        ),
    }


def all_circuits():
    """Both kinds in one."""
    return {
        **circuits(),
        **{f"unnormalized {name}": circuit for name, circuit in unnormalized_circuits().items()},
    }


def learned_tree(seed, V=5, C=3):
    """A deterministic circuit over a learned tree."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, C, (200, V))
    data[:, 1] = (data[:, 0] + (rng.random(200) < 0.3)) % C
    return pcircuit.chow_liu_circuit(data, num_categories=[C] * V)


def two_coins():
    """Mixture of two independent pairs of coins."""
    return Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[0.9, 0.1], [0.2, 0.8]]),
            InputRegion(1, [[0.7, 0.3], [0.4, 0.6]]),
            InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]]),
        ],
    )


def hclt_like():
    """Shape of a Hidden Chow-Liu tree with 3 latent states over 6 ternary variables; 729 states."""
    rng = np.random.default_rng(1)
    vtree = VTree.from_tree([1, -1, 1, 2, 2, 4])
    return _filled(vtree, rng, units=3, categories=[3] * 6, products=_same_unit)


def rat_like():
    """Shape of a RAT-SPN with 4 units: random halving twice, then products of the inputs; 128 states."""
    rng = np.random.default_rng(2)
    vtree = VTree.from_nested([[[5, 0], [3, 6]], [[1, 4], 2]])

    def shuffled(r, shown):
        return np.stack([rng.permutation(K) for K in shown], axis=1)

    return _filled(vtree, rng, units=4, categories=[2] * 7, products=shuffled)


def irregular_csr():
    """Other counts everywhere: sparse weights, products listed twice, units unused; 216 states."""

    def csr(rows, num_products):
        dense = np.zeros((len(rows), num_products))
        for k, row in enumerate(rows):
            for p, weight in row.items():
                dense[k, p] = weight
        return scipy.sparse.csr_array(dense)

    vtree = VTree.from_nested([[2, [0, 4]], [3, 1]])
    return Circuit(
        vtree,
        [
            InputRegion(2, [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]),
            InputRegion(0, [[0.5, 0.5], [0.9, 0.1], [0.05, 0.95], [0.6, 0.4]]),
            InputRegion(4, [[0.2, 0.8]]),
            InnerRegion(
                [[0, 0], [3, 0], [2, 0], [3, 0], [0, 0]],  # unit 1 of the first child is not used
                csr(
                    [{0: 0.5, 4: 0.5}, {1: 1.0}, {1: 0.25, 2: 0.5, 3: 0.25}, {2: 0.125, 4: 0.875}],
                    5,
                ),
            ),
            InnerRegion(
                [[0, 3], [1, 0], [0, 0], [1, 2], [0, 1], [0, 2]],
                csr([{0: 0.1, 5: 0.9}, {1: 0.3, 2: 0.3, 3: 0.4}, {0: 1.0}], 6),
            ),  # product 4 is in no sum
            InputRegion(3, [[0.3, 0.3, 0.4], [0.6, 0.2, 0.2]]),
            InputRegion(
                1, [[0.25, 0.25, 0.25, 0.125, 0.0625, 0.0625], [0.0, 0.5, 0.0, 0.5, 0.0, 0.0]]
            ),
            InnerRegion(
                [[0, 0], [1, 1], [0, 1]], [[0.2, 0.5, 0.3], [0.0, 1.0, 0.0]]
            ),  # a dense one
            InnerRegion([[0, 0], [1, 1], [2, 0], [1, 0]], csr([{0: 0.4, 1: 0.1, 3: 0.5}], 4)),
        ],
    )


def nary():
    """Inner v-tree nodes with 2, 3 and 4 children over 8 binary variables; 256 states."""
    rng = np.random.default_rng(3)
    vtree = VTree.from_nested([[7, 0, 3], 5, [1, [2, 4]], 6])
    return _filled(vtree, rng, units=3, categories=[2] * 8, products=_random_products(rng, 5))


def one_region():
    """One input unit and nothing else."""
    return Circuit(VTree.from_nested(0), [InputRegion(0, [[0.2, 0.3, 0.5]])])


def deterministic():
    """Sums whose products exclude each other, inputs of one category; 9 of 16 states are impossible."""

    def indicators(variable):
        return InputRegion(variable, [[1.0, 0.0], [0.0, 1.0]])

    return Circuit(
        VTree.from_nested([[0, 1], [2, 3]]),
        [
            indicators(0),
            indicators(1),
            InnerRegion([[0, 0], [0, 1], [1, 1]], [[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]),
            indicators(2),
            indicators(3),
            InnerRegion([[0, 1], [1, 0], [1, 1]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]),
            InnerRegion([[0, 0], [1, 1], [1, 0]], [[0.3, 0.3, 0.4]]),
        ],
    )


def mixed_categories():
    """Variables with 1, 2, 3, 4, 5 and 7 categories; 840 states."""
    rng = np.random.default_rng(4)
    vtree = VTree.from_nested([[3, [0, 5]], [[1, 4], 2]])
    return _filled(
        vtree, rng, units=2, categories=[4, 1, 7, 2, 5, 3], products=_random_products(rng, 3)
    )


def zero_rows():
    """Rows of likelihood zero, sums that are zero on some rows, units that no sample reaches; 54 states."""
    return Circuit(
        VTree.from_nested([[0, 1], [2, 3]]),
        [
            InputRegion(0, [[0.0, 1.0], [0.5, 0.5]]),
            InputRegion(1, [[0.0, 0.0, 1.0], [0.4, 0.6, 0.0], [0.2, 0.3, 0.5]]),
            InnerRegion(
                [[0, 0], [0, 1], [1, 1], [1, 2]],
                [[1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.25, 0.25, 0.25, 0.25]],
            ),
            InputRegion(2, [[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]]),
            InputRegion(3, [[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]]),
            InnerRegion([[0, 0], [1, 1], [0, 1]], [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]),
            InnerRegion([[0, 0], [1, 1], [2, 0], [1, 0]], [[0.5, 0.5, 0.0, 0.0]]),
        ],
    )  # sum 2 below is dead


def single_units():
    """One unit of each kind everywhere: the variables are independent; 64 states."""
    rng = np.random.default_rng(5)
    return _filled(VTree.balanced(6), rng, units=1, categories=[2] * 6, products=_same_unit)


def unary():
    """Inner nodes with a single child, above a leaf, above one another and at the root; 12 states."""
    rng = np.random.default_rng(12)
    return _filled(
        VTree.from_nested([[[[0]], [[1, 2]]]]),
        rng,
        units=2,
        categories=[2, 3, 2],
        products=_same_unit,
    )


def deep_chain():
    """A v-tree as deep as 8 variables allow, 2 units; 256 states."""
    rng = np.random.default_rng(6)
    return _filled(VTree.right_linear(8), rng, units=2, categories=[2] * 8, products=_same_unit)


def _mixed_to_uniform(rng, num_units, num_categories):
    """(K, C) rows whose average is uniform, up to rounding."""
    rows = rng.dirichlet(np.full(num_categories, 5.0), size=num_units - 1)
    while (last := num_units / num_categories - rows.sum(axis=0)).min() < 0:
        rows = (rows + 1 / num_categories) / 2
    return np.vstack([rows, last])


def with_constants(seed):
    """A circuit in which the first sum of every inner region but the root is constant, and which units are."""
    rng = np.random.default_rng(seed)
    K, C, depth = rng.integers(2, 4), rng.integers(2, 6), rng.integers(2, 4)
    vtree = VTree.balanced(2**depth)
    regions, constant = [], []
    for r, variable in enumerate(vtree.variables.tolist()):
        if variable >= 0:
            regions.append(InputRegion(variable, _mixed_to_uniform(rng, K, C)))
            constant += [False] * K
            continue
        products = np.stack(
            np.meshgrid(np.arange(K), np.arange(K), indexing="ij"), axis=-1
        ).reshape(-1, 2)
        weights = rng.dirichlet(np.ones(len(products)), size=K)
        over_inputs = vtree.variables[vtree.children(r)[0]] >= 0
        weights[0] = 1 / len(products) if over_inputs else np.arange(len(products)) == 0
        if r == vtree.root:
            weights = rng.dirichlet(np.ones(len(products)), size=1)
        regions.append(InnerRegion(products, weights))
        constant += [not over_inputs, *[False] * (len(products) - 1)]
        constant += [r != vtree.root, *[False] * (len(weights) - 1)]
    return Circuit(vtree, regions), np.array(constant)


def random_circuit(
    rng, *, num_variables=5, max_units=3, max_categories=3, sparse=False, zeros=False, nary=False
):
    """A normalised circuit drawn with `rng` (seed or Generator): random v-tree, numbers of units and tables.

    `sparse` stores the weights as CSR with random patterns, `zeros` sets some probabilities and weights to
    exactly zero, `nary` lets inner v-tree nodes have more than two children.
    """
    rng = np.random.default_rng(rng)
    vtree = _random_nary_vtree(rng, num_variables) if nary else VTree.random(num_variables, rng=rng)
    regions = []
    for r, variable in enumerate(vtree.variables):
        K = 1 if r == vtree.root else int(rng.integers(1, max_units + 1))
        if variable >= 0:
            C = int(rng.integers(2, max_categories + 1))
            regions.append(InputRegion(variable, _random_rows(rng, K, C, zeros)))
            continue
        shown = [regions[c].num_units for c in vtree.children(r)]
        P = int(rng.integers(1, max_units + 2))
        products = np.stack([rng.integers(0, units, size=P) for units in shown], axis=1)
        weights = _random_rows(rng, K, P, zeros or sparse)
        regions.append(
            InnerRegion(products, scipy.sparse.csr_array(weights) if sparse else weights)
        )
    return Circuit(vtree, regions)


def circuit_strategy(
    *,
    min_variables=1,
    max_variables=5,
    max_units=3,
    max_categories=3,
    sparse=None,
    zeros=None,
    nary=None,
):
    """Hypothesis strategy for `random_circuit`; an option that is None is drawn."""

    def option(value):
        return st.booleans() if value is None else st.just(value)

    return st.builds(
        random_circuit,
        st.integers(0, 2**32 - 1),
        num_variables=st.integers(min_variables, max_variables),
        max_units=st.just(max_units),
        max_categories=st.just(max_categories),
        sparse=option(sparse),
        zeros=option(zeros),
        nary=option(nary),
    )


def _filled(vtree, rng, *, units, categories, products):
    """Circuit with equal numbers of units; `products(r, shown)` gives the (P, A) array of region r."""
    regions = []
    for r, variable in enumerate(vtree.variables):
        K = 1 if r == vtree.root else units
        if variable >= 0:
            regions.append(InputRegion(variable, _random_rows(rng, K, categories[variable], False)))
            continue
        chosen = products(r, [regions[c].num_units for c in vtree.children(r)])
        regions.append(InnerRegion(chosen, _random_rows(rng, K, len(chosen), False)))
    return Circuit(vtree, regions)


def _same_unit(r, shown):
    """(K, A) product k multiplies unit k of each child, as in a Hidden Chow-Liu tree."""
    return np.stack([np.arange(K) for K in shown], axis=1)


def _random_products(rng, P):
    """Function that draws P products over the children's units."""
    return lambda r, shown: np.stack([rng.integers(0, K, size=P) for K in shown], axis=1)


def _random_rows(rng, K, C, zeros):
    """(K, C) rows that sum to one, with some exact zeros if asked for."""
    rows = rng.gamma(1.0, size=(K, C)) + 1e-3
    if zeros:
        keep = rng.random((K, C)) < 0.6
        keep[np.arange(K), rng.integers(0, C, size=K)] = True  # at least one entry stays
        rows = rows * keep
    return rows / rows.sum(axis=1, keepdims=True)


def _random_nary_vtree(rng, num_variables):
    """V-tree whose inner nodes have 2 to 4 children."""

    def grow(variables):
        if len(variables) == 1:
            return int(variables[0])
        arity = int(rng.integers(2, min(4, len(variables)) + 1))
        cuts = np.sort(rng.choice(np.arange(1, len(variables)), size=arity - 1, replace=False))
        return [grow(part) for part in np.split(variables, cuts)]

    return VTree.from_nested(grow(rng.permutation(num_variables)))


def rows_with_holes(circuit, rng, N=60):
    """Random rows, the states of a small circuit among them, entries missing at random, one row all missing."""
    data = rng.integers(0, circuit.num_categories, size=(N, circuit.num_variables))
    data[rng.random(data.shape) < 0.3] = -1
    data[0] = -1
    return data


def independent(probs):
    """Product of V independent categorical variables, as a chain."""
    V = len(probs)
    vtree = VTree.right_linear(V)
    regions = [
        InputRegion(vtree.variables[r], [probs[vtree.variables[r]]])
        if vtree.variables[r] >= 0
        else InnerRegion([[0, 0]], [[1.0]])
        for r in range(vtree.num_nodes)
    ]
    return Circuit(vtree, regions)


def mixture_of_two(first, second):
    """0.5 prod_v first[v] + 0.5 prod_v second[v]: two components that never mix on the way up."""
    vtree = VTree.right_linear(len(first))
    regions = []
    for r in range(vtree.num_nodes):
        v = vtree.variables[r]
        weights = [[0.5, 0.5]] if r == vtree.root else np.eye(2)
        regions.append(
            InputRegion(v, [first[v], second[v]])
            if v >= 0
            else InnerRegion([[0, 0], [1, 1]], weights)
        )
    return Circuit(vtree, regions)
