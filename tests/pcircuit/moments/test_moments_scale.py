"""Exact moments where they are hard: cancellation against fifty digits, underflow, size, memory."""

import tracemalloc

import numpy as np
import precise
import pytest

from hld import exact_moments, select_nodes
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

pytestmark = pytest.mark.thorough

TINY_STEPS = [2.0**-10, 2.0**-20, 2.0**-26]  # how far from degenerate


def latent_tree(parent, num_units, inputs, weights):
    """Shape of a Hidden Chow-Liu tree; `inputs()` makes (K, C) tables, `weights(K, P)` weight matrices."""
    vtree = VTree.from_tree(parent)
    return on_vtree(vtree, num_units, inputs, weights)


def on_vtree(vtree, num_units, inputs, weights):
    """Regions with `num_units` units on any v-tree, product p multiplying unit p of every child."""
    regions = []
    for r, variable in enumerate(vtree.variables):
        if variable >= 0:
            regions.append(InputRegion(variable, inputs()))
            continue
        products = np.repeat(np.arange(num_units)[:, None], len(vtree.children(r)), axis=1)
        regions.append(
            InnerRegion(products, weights(1 if r == vtree.root else num_units, num_units))
        )
    return Circuit(vtree, regions)


def balanced_parents(num_variables):
    """Parent of each variable in a complete binary tree."""
    return (np.arange(num_variables) - 1) // 2


# -- cancellation ------------------------------------------------------------------------------------------------------


def near_uniform(rng, K, C, step):
    """(K, C) rows that differ from the uniform one by at most `step` / C; multiples of 2**-52 that sum to one."""
    rows = np.round((1 + step * rng.uniform(-1, 1, (K, C)) / 2) / C * 2.0**52) / 2.0**52
    rows[:, -1] = 1 - rows[:, :-1].sum(axis=1)
    return rows


def near_deterministic(rng, K, C, step):
    """(K, 2) rows with one probability of the order of `step`."""
    small = rng.integers(1, 9, K) / 8 * step
    rows = np.stack([small, 1 - small], axis=1)
    return np.where(np.arange(K)[:, None] % 2, rows, rows[:, ::-1])


def near_identical(rng, K, C, step):
    """(K, 2) rows that differ from each other by `step`."""
    first = 0.25 + step / 4 * np.arange(K)
    return np.stack([first, 1 - first], axis=1)


@precise.precisely
def exact_traces(circuit, nodes):
    """tr(S) and tr(S^2), by enumeration."""
    _, S, _ = precise.moments(circuit, nodes)
    return np.trace(S), (S * S).sum()


DEGENERATE = {
    "likelihoods that hardly vary": (near_uniform, 0.5),
    "states that hardly occur": (near_deterministic, 0.5),
    "units that hardly differ": (near_identical, 0.5),
    "sums that hardly differ": (near_uniform, None),
}


def degenerate_circuit(name, step, seed):
    """Four variables with four latent states each, `step` away from degenerate."""
    rng = np.random.default_rng(seed)
    table, weight_step = DEGENERATE[name]
    return latent_tree(
        balanced_parents(4),
        4,
        lambda: table(rng, 4, 2, step if weight_step else 0.5),
        lambda k, P: near_uniform(rng, k, P, weight_step or step),
    )


@pytest.mark.parametrize("step", TINY_STEPS)
@pytest.mark.parametrize("name", DEGENERATE)
def test_near_degenerate_circuits_keep_their_digits(name, step):
    """Relative errors against fifty digits stay under 1e-12, where E[l l'] - mu mu' has no digit left."""
    circuit = degenerate_circuit(name, step, seed=7)
    for nodes in (select_nodes(circuit), select_nodes(circuit, ("product", "sum"))):
        exact = exact_traces(circuit, nodes)
        found = exact_moments(circuit, nodes)
        errors = precise.relative_errors([found.trace, found.trace_sq], np.array(exact))
        assert (errors < 1e-12).all()


def test_units_that_exclude_each_other_leave_no_rounding_error():
    """A product that is zero everywhere has variance 0, not 1e-17, although its factors have means of 1/2."""
    indicators = np.eye(2)
    circuit = Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            InputRegion(0, indicators),
            InputRegion(1, indicators),
            InnerRegion(
                [[0, 1], [1, 0], [0, 0]], [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]
            ),  # product 2 never occurs
            InputRegion(2, [[0.5, 0.5]]),
            InnerRegion([[0, 0], [1, 0]], [[0.5, 0.5]]),
        ],
    )
    moments = exact_moments(circuit, [6])
    assert moments.mean[0] == 0
    assert moments.trace == 0
    assert moments.trace_sq == 0


# -- size and underflow ------------------------------------------------------------------------------------------------


def assert_sound(moments, *, dense=True):
    """Finite, non-negative, and consistent with each other, with a block of S if `dense`."""
    for array in (moments.mean, moments.diagonal()):
        assert np.isfinite(array).all()
        assert (array >= 0).all()
    assert 0 <= moments.trace_sq <= moments.trace**2 * (1 + 1e-12)
    assert moments.trace_sq >= np.sum(moments.diagonal() ** 2) * (1 - 1e-12)
    some = np.linspace(0, len(moments.nodes) - 1, 12).astype(int)
    unit = np.zeros(len(moments.nodes))
    unit[some[0]] = 1
    column = moments.operator() @ unit
    assert np.isfinite(column).all()
    variance = moments.diagonal()[some[0]]
    assert column[some[0]] == pytest.approx(variance, rel=1e-12, abs=1e-15)
    if dense:  # NumPy walks over all regions for it
        block = moments.covariance(moments.nodes[some])
        np.testing.assert_allclose(
            np.diag(block), moments.diagonal()[some], rtol=1e-12, atol=1e-13 * block.max()
        )
        np.testing.assert_allclose(
            column[some], block[:, 0], rtol=0, atol=1e-12 * np.abs(block).max()
        )


def dirichlet(rng, num_categories):
    """Random inputs and weights for `on_vtree`, each from a stock of 50."""

    def inputs(K):
        stock = rng.dirichlet(np.ones(num_categories), (50, K))
        return lambda: stock[rng.integers(50)]

    stock = {}

    def weights(K, P):
        if (K, P) not in stock:
            stock[K, P] = rng.dirichlet(np.ones(P), (50, K))
        return stock[K, P][rng.integers(50)]

    return inputs, weights


VTREES = {
    "chain": lambda V: VTree.from_tree(np.arange(V) - 1),
    "star": lambda V: VTree.from_tree(np.minimum(np.arange(V) - 1, 0)),
    "balanced": VTree.balanced,
    "right_linear": lambda V: VTree.right_linear(min(V, 2_000)),
}


@pytest.mark.parametrize("V", [400, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", VTREES)
def test_hundreds_of_binary_variables(name, V, rng):
    inputs, weights = dirichlet(rng, 2)
    assert_sound(exact_moments(on_vtree(VTREES[name](V), 4, inputs(4), weights)), dense=False)


@pytest.mark.parametrize("make", [VTree.right_linear, VTree.balanced])
def test_zero_probabilities_everywhere(make, rng):
    def one_hot(K, n):
        return np.eye(n)[rng.integers(0, n, K)]

    assert_sound(
        exact_moments(
            on_vtree(
                make(300),
                4,
                lambda: one_hot(4, 3),
                lambda K, P: (one_hot(K, P) + one_hot(K, P)) / 2,
            )
        )
    )


def test_weights_bring_likelihoods_of_large_scopes_into_range(rng):
    """With w = 1 / mu the coordinates are of order one, also where E[l^2] alone is below the smallest double."""
    inputs, weights = dirichlet(rng, 16)
    circuit = on_vtree(VTree.balanced(256), 3, inputs(3), weights)
    plain = exact_moments(circuit)
    smallest = plain.mean[plain.mean > 0].min()
    assert smallest < 1e-170
    used = plain.nodes[plain.mean > 0]
    moments = exact_moments(circuit, used, node_weights=1 / plain.mean[plain.mean > 0])
    np.testing.assert_allclose(moments.mean, 1, rtol=1e-9)
    assert_sound(moments)
    root = circuit.num_nodes - 1
    assert plain.diagonal()[-1] == 0  # E[l^2] underflows
    # the coefficient of variation of the root, from the scaled overlaps of pcircuit
    from pcircuit import overlap

    log_second, log_third = (
        overlap(circuit, circuit, log=True),
        overlap(circuit, circuit, circuit, log=True),
    )
    expected = np.exp(log_third - 2 * log_second) - 1
    at_root = exact_moments(circuit, [root], node_weights=[np.exp(-log_second)])
    assert at_root.trace == pytest.approx(expected, rel=1e-9)


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "vtree",
    [VTree.from_tree(np.arange(150) - 1), VTree.right_linear(150), VTree.balanced(150)],
    ids=["chain", "right_linear", "balanced"],
)
def test_tables_are_freed_once_used(vtree, monkeypatch, rng):
    """One H takes 36^2 numbers, 10 kB, and the triples 5 kB: 150 regions at a time would take over 2 MB."""
    monkeypatch.setattr("pcircuit.moments.plan.OPEN", 0)  # of small subtrees that are taken at once
    inputs, weights = dirichlet(rng, 2)
    circuit = on_vtree(vtree, 8, inputs(8), weights)
    assert circuit.is_normalized
    exact_moments(circuit)  # imports, and what the circuit keeps
    tracemalloc.start()
    exact_moments(circuit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7e5
