"""The theory of the HLD paper (K, S and Krishnan 2026), statement by statement, exactly, on circuits with few states.

P and Q range over arbitrary distributions on the states, not over circuits: the statements are about distributions.  A
distribution with rational weights is also a table with repeated rows, which `hld.distance` takes.
"""

import itertools

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial

import hld
import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

EXACT = 1e-11  # sums of at most some thousand terms in double precision
CIRCUITS = zoo.circuits()
FEW_STATES = ("two_coins", "unary", "deterministic")


def likelihoods(circuit):
    """(S, m) vectors L(x) of all states, for the default nodes."""
    return naive.node_values(circuit, naive.states(circuit))[:, hld.select_nodes(circuit)]


def distributions(circuit, rng, how_many):
    """Random distributions (S,) with rational weights, some of them with few states, and tables that have them."""
    states = naive.states(circuit)
    for concentration in np.resize([0.05, 1.0], how_many):
        counts = rng.multinomial(60, rng.dirichlet(np.full(len(states), concentration)))
        yield counts / 60, np.repeat(states, counts, axis=0)


def invisible(L, rng):
    """A direction of unit length in which all weights of states can move while total and all means of L stay."""
    fixed = np.linalg.qr(np.column_stack([np.ones(len(L)), L]))[0]
    direction = rng.normal(size=len(L))
    for _ in range(2):
        direction -= fixed @ (fixed.T @ direction)
    return direction / np.linalg.norm(direction)


# -- the distance ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CIRCUITS)
def test_node_likelihoods_are_probabilities(name):
    values = naive.node_values(CIRCUITS[name], naive.states(CIRCUITS[name]))
    assert (values >= 0).all()
    assert (values <= 1 + EXACT).all()


@pytest.mark.parametrize("name", CIRCUITS)
def test_pseudo_metric_on_all_distributions(name, rng):
    circuit = CIRCUITS[name]
    L = likelihoods(circuit)
    (p, x), (q, y), (_, z) = distributions(circuit, rng, 3)
    d = hld.distance(circuit, x, y)
    assert d == pytest.approx(np.linalg.norm((p - q) @ L), rel=EXACT, abs=1e-14)
    assert d >= 0
    assert hld.distance(circuit, x, x) == 0
    assert d == pytest.approx(hld.distance(circuit, y, x), rel=EXACT)
    assert d <= hld.distance(circuit, x, z) + hld.distance(circuit, z, y) + EXACT


def test_distance_zero_without_equality():
    """Two coins that always agree against two independent ones: input units do not see it, the root does."""
    circuit = CIRCUITS["two_coins"]
    agree, independent = [[0, 0], [1, 1]], [[0, 0], [0, 1], [1, 0], [1, 1]]
    inputs = hld.select_nodes(circuit, ("input",))
    assert hld.distance(circuit, agree, independent, nodes=inputs) == pytest.approx(0, abs=1e-15)
    assert hld.distance(circuit, agree, independent) > 0.01
    circuit = CIRCUITS[
        "hclt_like"
    ]  # 729 states: all 30 nodes together cannot see everything either
    L, p = likelihoods(circuit), naive.likelihood(circuit, naive.states(circuit))
    direction = invisible(L, np.random.default_rng(0))
    q = p + direction * (p / np.maximum(np.abs(direction), 1e-300)).min()
    assert q.min() >= -1e-18
    assert np.linalg.norm((p - q) @ L) == pytest.approx(0, abs=1e-15)
    assert np.abs(p - q).sum() > 1e-4


@pytest.mark.parametrize("name", ["hclt_like", "rat_like", "mixed_categories"])
def test_distance_sees_node_means_only(name, rng):
    """Moving P where no node mean moves leaves the distance to every Q as it is; any other move changes one."""
    circuit = CIRCUITS[name]
    L = likelihoods(circuit)
    (p, _), (q, _) = distributions(circuit, rng, 2)
    moved = p + 0.1 * invisible(L, rng)
    assert np.linalg.norm((moved - q) @ L) == pytest.approx(np.linalg.norm((p - q) @ L), rel=EXACT)
    visible = L[:, 0] - L[:, 0].mean()
    assert np.linalg.norm((p + 0.1 * visible - p) @ L) > 0


@pytest.mark.parametrize("name", CIRCUITS)
def test_integral_probability_metric_identity(name, rng):
    """Theorem 1: sup over |a| <= 1 of E_P f_a - E_Q f_a, f_a(x) = a . L(x), is d, attained at the mean difference."""
    circuit = CIRCUITS[name]
    L = likelihoods(circuit)
    (p, x), (q, y) = distributions(circuit, rng, 2)
    d, difference = hld.distance(circuit, x, y), (p - q) @ L
    witness = L @ (difference / np.linalg.norm(difference))  # f_a on all states
    assert p @ witness - q @ witness == pytest.approx(d, rel=EXACT)
    directions = np.vstack(
        [
            np.eye(L.shape[1]),
            rng.normal(size=(300, L.shape[1])),
            difference + 0.01 * np.linalg.norm(difference) * rng.normal(size=(300, L.shape[1])),
        ]
    )
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    gaps = np.abs((p - q) @ (L @ directions.T))
    assert (gaps <= d * (1 + EXACT)).all()


@pytest.mark.parametrize("name", CIRCUITS)
def test_total_variation_bounds_each_coordinate(name, rng):
    circuit = CIRCUITS[name]
    L = likelihoods(circuit)
    (p, x), (q, y) = distributions(circuit, rng, 2)
    total_variation = 0.5 * np.abs(p - q).sum()
    assert (np.abs((p - q) @ L) <= total_variation + EXACT).all()
    assert hld.distance(circuit, x, y) <= np.sqrt(L.shape[1]) * total_variation + EXACT


def test_the_total_variation_bound_is_attained():
    """Nodes that tell the two states of a coin apart: each coordinate differs by TV = 1, and d^2 = m TV^2."""
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, [[1.0, 0.0], [0.0, 1.0]]),
            InputRegion(1, [[1.0]]),
            InnerRegion([[0, 0], [1, 0]], [[0.5, 0.5]]),
        ],
    )
    inputs = hld.select_nodes(circuit, ("input",))[:2]
    assert hld.distance(circuit, [[0, 0]], [[1, 0]], nodes=inputs) == pytest.approx(
        np.sqrt(2), rel=EXACT
    )


@pytest.mark.parametrize("name", CIRCUITS)
def test_kullback_leibler_bound(name, rng):
    """d^2 <= (m / 2) KL(P, Q) for far and for close distributions: close ones leave the least room."""
    circuit = CIRCUITS[name]
    L = likelihoods(circuit)
    q = rng.dirichlet(np.ones(len(L)))
    for step in (1.0, 0.1, 1e-3):
        p = q * np.exp(step * rng.normal(size=len(L)))
        p /= p.sum()
        divergence = p @ np.log(p / q)
        assert np.sum(((p - q) @ L) ** 2) <= 0.5 * L.shape[1] * divergence * (1 + 1e-6)
    assert divergence > 0


def test_total_variation_is_half_of_the_unit_ball(rng):
    """Over 0 <= f <= 1 the largest E_P f - E_Q f is TV, over |f| <= 1 it is 2 TV: checked at every vertex."""
    for S in (2, 5, 8):
        p, q = rng.dirichlet(np.ones(S), size=2)
        total_variation = 0.5 * np.abs(p - q).sum()
        vertices = np.array(list(itertools.product([0.0, 1.0], repeat=S)))
        assert (vertices @ (p - q)).max() == pytest.approx(total_variation, rel=EXACT)
        assert ((2 * vertices - 1) @ (p - q)).max() == pytest.approx(2 * total_variation, rel=EXACT)


# -- scopes ------------------------------------------------------------------------------------------------------------


def unit_scopes(circuit):
    """Scope of each unit in node-id order, from the variables below it; smoothness and decomposability on the way."""
    shown, scopes = [], []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            shown.append([frozenset([region.variable])] * region.num_units)
            scopes += shown[-1]
            continue
        products = []
        for units in region.products:
            factors = [
                shown[child][unit]
                for child, unit in zip(circuit.vtree.children(r), units, strict=True)
            ]
            products.append(frozenset().union(*factors))
            assert len(products[-1]) == sum(map(len, factors))  # decomposable
        sums = []
        for weights in region.dense_weights():
            below = {products[p] for p in np.flatnonzero(weights)}
            assert len(below) == 1  # smooth
            sums.append(below.pop())
        shown.append(sums)
        scopes += products + sums
    return scopes


@given(zoo.circuit_strategy(max_variables=6))
def test_scope_trichotomy_of_all_units(circuit):
    """Lemma 1 for every pair of units: disjoint, equal, or one strictly inside the other, and only one of the three."""
    for a, b in itertools.combinations(unit_scopes(circuit), 2):
        assert (not a & b) + (a == b) + (a < b or b < a) == 1


# -- the statistic -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FEW_STATES)
def test_first_two_moments_of_the_statistic(name):
    """E d^2 = tr(S) / T;  Var d^2 = 2 tr(S^2) / T^2 + (E|Y|^4 - tr(S)^2 - 2 tr(S^2)) / T^3, over all batches."""
    circuit = CIRCUITS[name]
    moments, p, L = (
        hld.exact_moments(circuit),
        naive.likelihood(circuit, naive.states(circuit)),
        likelihoods(circuit),
    )
    p, Y = p[p > 0], L[p > 0] - moments.mean
    fourth = p @ np.sum(Y**2, axis=1) ** 2
    for T in (1, 2, 3):
        batches = np.array(list(itertools.product(range(len(p)), repeat=T)))
        chance = p[batches].prod(axis=1)
        squared = np.sum(Y[batches].mean(axis=1) ** 2, axis=1)
        mean = chance @ squared
        assert mean == pytest.approx(moments.trace / T, rel=EXACT)
        rest = (fourth - moments.trace**2 - 2 * moments.trace_sq) / T**3
        assert chance @ (squared - mean) ** 2 == pytest.approx(
            2 * moments.trace_sq / T**2 + rest, rel=1e-9
        )


def test_limit_law_on_a_small_circuit():
    """Exact law of T d^2 over all counts of four states against the weighted sum of chi-squares: it gets closer."""
    circuit = CIRCUITS["two_coins"]
    moments, p = hld.exact_moments(circuit), naive.likelihood(circuit, naive.states(circuit))
    law, Y = (
        hld.gchi2.prepare(np.maximum(moments.eigenvalues(), 0.0)),
        likelihoods(circuit) - moments.mean,
    )
    quantiles = [hld.gchi2.isf(alpha, law) for alpha in (0.5, 0.2, 0.1, 0.05, 0.01)]
    largest = []
    for T in (8, 32, 128):
        bars = np.array(
            list(itertools.combinations(range(T + 3), 3))
        )  # all counts of four states that sum to T
        counts = (
            np.diff(
                np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), T + 3)]), axis=1
            )
            - 1
        )
        chance = multinomial.pmf(counts, T, p)
        assert chance.sum() == pytest.approx(1, rel=1e-9)
        squared = np.sum((counts @ Y) ** 2, axis=1) / T
        tails = [chance[squared > q].sum() for q in quantiles]
        largest.append(np.abs(np.array(tails) - (0.5, 0.2, 0.1, 0.05, 0.01)).max())
    assert largest[1] < largest[0] / 3  # the error is of the order 1 / T
    assert largest[2] < largest[1] / 3


# -- algorithm 1 and its cost ------------------------------------------------------------------------------------------


def operands(circuit, node, other=None):
    """The marginal on the smallest scope that holds those of the nodes, and the nodes as circuits on it."""
    nodes = [node] if other is None else [node, other]
    top = int(circuit.nodes.region[node])
    if other is not None:
        top = circuit.vtree.lowest_common_ancestor(top, int(circuit.nodes.region[other]))
    marginal = pcircuit.marginalize(circuit, keep=circuit.vtree.scope(top))
    return [marginal, *(pcircuit.subcircuit(circuit, n, top) for n in nodes)]


@pytest.mark.parametrize(
    "name", ["two_coins", "irregular_csr", "zero_rows", "nary", "single_units"]
)
def test_algorithm_1_gives_the_exact_moments(name, rng):
    """Marginals times nodes, summed, one product circuit for every entry: what the recursion and enumeration say."""
    circuit = CIRCUITS[name]
    nodes = hld.select_nodes(circuit, ("input", "sum", "product"))
    nodes = np.sort(rng.permutation(nodes)[:12])  # of all kinds and regions
    mean, S = naive.hlv_moments(circuit, nodes)
    moments = hld.exact_moments(circuit, nodes)
    covariance = moments.covariance()
    for i, node in enumerate(nodes):
        p, n = operands(circuit, node)
        assert pcircuit.overlap(p, n) == pytest.approx(mean[i], rel=EXACT)
        assert moments.mean[i] == pytest.approx(mean[i], rel=EXACT)
        for j, other in enumerate(nodes[: i + 1]):
            p, n, o = operands(circuit, node, other)
            entry = pcircuit.overlap(pcircuit.multiply(p, n), o) - mean[i] * mean[j]
            assert entry == pytest.approx(S[i, j], abs=1e-13)
            assert covariance[i, j] == pytest.approx(S[i, j], abs=1e-13)


@given(zoo.circuit_strategy(min_variables=2, max_variables=5), st.data())
def test_sizes_of_product_circuits(circuit, data):
    """p_S x p_i has at most sum_r n_r m_r <= N^2 nodes, p_S x p_i x p_j at most N^3; n_r the nodes of region r."""
    node, other = (data.draw(st.integers(0, circuit.num_nodes - 1)) for _ in range(2))
    p, n, o = operands(circuit, node, other)
    once = pcircuit.multiply(p, n)
    twice = pcircuit.multiply(once, o)
    by_region = [np.bincount(c.nodes.region, minlength=p.vtree.num_nodes) for c in (p, n, o)]
    assert once.num_nodes <= (by_region[0] * by_region[1]).sum() <= circuit.num_nodes**2
    assert twice.num_nodes <= np.prod(by_region, axis=0).sum() <= circuit.num_nodes**3


def test_edges_of_product_circuits():
    """Edges multiply as nodes do: between dense regions a product circuit has more edges than N^2."""
    K, rng = 6, np.random.default_rng(0)
    dense = rng.dirichlet(np.ones(K), size=K)
    circuit = Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            InputRegion(0, dense),
            InputRegion(1, dense),
            InnerRegion(np.tile(np.arange(K)[:, None], 2), dense),
            InputRegion(2, dense),
            InnerRegion(np.tile(np.arange(K)[:, None], 2), dense[:1]),
        ],
    )
    product = pcircuit.multiply(circuit, circuit)
    edges = [
        sum(
            np.count_nonzero(region.dense_weights())
            for region in c.regions
            if isinstance(region, InnerRegion)
        )
        for c in (circuit, product)
    ]
    assert edges == [K**2 + K, K**4 + K**2]
    assert product.num_nodes <= circuit.num_nodes**2 < 2 * edges[1]
