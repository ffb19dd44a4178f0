"""Exact moments: enumeration = dense recursion = linear-time recursion = operator."""

import itertools

import naive
import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

from hld import exact_moments, select_nodes
from pcircuit import InputRegion, hclt, rat_spn

ALL_KINDS = [
    kinds
    for size in (1, 2, 3)
    for kinds in itertools.combinations(("input", "product", "sum"), size)
]
CASES = [
    (name, kinds)
    for name, circuit in zoo.circuits().items()
    for kinds in ALL_KINDS
    if set(kinds) & set(circuit.nodes.kind)
]
EXACT = 1e-12  # relative to the largest entry


def assert_same(actual, expected, scale=None):
    """Equal up to EXACT times the largest entry; exactly zero where all is zero."""
    scale = np.abs(expected).max() if scale is None else scale
    np.testing.assert_allclose(actual, expected, rtol=0, atol=EXACT * scale)


def assert_all_agree(circuit, nodes, weights=None, enumerated=None):
    """Compare everything a Moments object offers with enumeration."""
    moments = exact_moments(circuit, nodes, node_weights=weights)
    w = np.ones(len(nodes)) if weights is None else weights
    mean, covariance = naive.hlv_moments(circuit, nodes) if enumerated is None else enumerated
    mean, covariance = w * mean, w[:, None] * covariance * w
    assert_same(moments.mean, mean)
    # a likelihood that is constant has variance zero up to the rounding of its square
    scale = max(np.abs(covariance).max(), 1e-4 * np.max(mean) ** 2)
    assert_same(moments.covariance(), covariance, scale)
    assert_same(moments.diagonal(), np.diag(covariance), scale)
    assert moments.trace == pytest.approx(np.trace(covariance), rel=EXACT, abs=EXACT * scale)
    assert moments.trace_sq == pytest.approx(
        np.sum(covariance**2), rel=EXACT, abs=(EXACT * scale) ** 2
    )
    assert_same(moments.operator() @ np.eye(len(nodes)), covariance, scale)
    assert_same(moments.eigenvalues(), np.linalg.eigvalsh(covariance)[::-1], len(nodes) * scale)


@pytest.mark.parametrize("name", zoo.circuits())
def test_all_units_of_every_kind_of_circuit(name):
    circuit = zoo.circuits()[name]
    assert_all_agree(circuit, np.arange(circuit.num_nodes))


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "kinds"), CASES)
def test_zoo_against_enumeration(name, kinds):
    circuit = zoo.circuits()[name]
    assert_all_agree(
        circuit, select_nodes(circuit, [kind for kind in kinds if kind in circuit.nodes.kind])
    )


@pytest.mark.parametrize("num_variables", [5, 7])
def test_learned_structures(num_variables):
    """RAT-SPNs (with v-tree nodes of one child) and Hidden Chow-Liu trees as the library builds them."""
    circuit = rat_spn([2] * num_variables, num_units=3, depth=2, rng=1)
    assert_all_agree(circuit, np.arange(circuit.num_nodes))
    data = np.random.default_rng(0).integers(0, 3, (50, num_variables))
    circuit = hclt(data, 3, rng=1)
    assert_all_agree(circuit, np.arange(circuit.num_nodes))


@given(
    circuit=zoo.circuit_strategy(max_variables=6, max_units=4, max_categories=4),
    seed=st.integers(0, 2**32 - 1),
)
def test_random_circuits_subsets_orders_and_weights(circuit, seed):
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(circuit.num_nodes)[: rng.integers(1, circuit.num_nodes + 1)]
    assert_all_agree(circuit, nodes, rng.uniform(0.1, 3, len(nodes)))


def many_units(rng, num_units=6):
    """A circuit whose regions have more selected units below them than pairs of units, some also above."""
    return zoo.random_circuit(
        rng, num_variables=9, max_units=num_units, max_categories=5, nary=True
    )


@pytest.mark.parametrize("seed", range(8))
def test_columns_and_gram_tensors_agree_with_the_dense_recursion(seed):
    """Nine variables are too many to enumerate five categories each, but not for the dense recursion."""
    circuit = many_units(seed)
    for nodes in (np.arange(circuit.num_nodes), select_nodes(circuit)):
        moments = exact_moments(circuit, nodes)
        dense = moments.covariance()
        np.testing.assert_array_equal(dense, dense.T)
        assert moments.trace_sq == pytest.approx(np.sum(dense**2), rel=EXACT)
        assert moments.trace == pytest.approx(np.trace(dense), rel=EXACT)


@pytest.mark.parametrize(("seed", "sparse"), [(7, False), (11, True)])
def test_large_regions_are_computed_in_blocks(seed, sparse):
    """More products and columns than fit one temporary array."""
    circuit = zoo.random_circuit(
        seed, num_variables=5, max_units=48, max_categories=6, sparse=sparse
    )
    assert (
        max(
            region.num_products for region in circuit.regions if not isinstance(region, InputRegion)
        )
        > 40
    )
    moments = exact_moments(circuit, np.arange(circuit.num_nodes))
    dense = moments.covariance()
    assert moments.trace_sq == pytest.approx(np.sum(dense**2), rel=EXACT)
    vector = np.cos(np.arange(len(dense)))
    assert_same(moments.operator() @ vector, dense @ vector, np.abs(dense).max())
    nodes = np.arange(0, circuit.num_nodes, 7)
    alone = exact_moments(circuit, nodes).covariance()
    assert_same(alone, dense[np.ix_(nodes, nodes)], np.abs(dense).max())


def test_blocks_of_any_size_give_the_same(monkeypatch):
    circuit = many_units(1)
    expected = exact_moments(circuit).trace_sq
    for size in (1, 100):
        monkeypatch.setattr("pcircuit.moments.unit_pairs.BLOCK", size)
        monkeypatch.setattr("pcircuit.moments.inner_overlaps.BLOCK", size)
        assert exact_moments(circuit).trace_sq == pytest.approx(expected, rel=EXACT)


# -- the statistic these moments are for -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two_coins", "rat_like", "deterministic", "zero_rows"])
def test_expectation_of_the_squared_statistic_is_the_trace(name):
    """E[T d^2] = tr(S) for batches of T = 1 and T = 2, over all batches."""
    circuit = zoo.circuits()[name]
    moments = exact_moments(circuit)
    x = naive.states(circuit)
    p = naive.likelihood(circuit, x)
    deviation = naive.node_values(circuit, x)[:, moments.nodes] - moments.mean
    assert p @ np.sum(deviation**2, axis=1) == pytest.approx(moments.trace, rel=EXACT)
    mean_of_two = (deviation[:, None] + deviation) / 2
    assert 2 * p @ np.sum(mean_of_two**2, axis=2) @ p == pytest.approx(moments.trace, rel=EXACT)
