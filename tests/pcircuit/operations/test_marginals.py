"""Marginals against sums over all states, likelihoods with missing entries, and each other."""

import itertools
import math
import pathlib
import re

import kernel_circuits
import naive
import numpy as np
import pytest
import scipy.sparse
import zoo
from hypothesis import given
from hypothesis import strategies as st

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, log_likelihood, marginalize

ALL = {
    **zoo.circuits(),
    **{f"unnormalized_{name}": c for name, c in zoo.unnormalized_circuits().items()},
}


def summed(circuit, keep):
    """(S,) sum of the circuit over the other variables, for each state of the kept ones in order."""
    table = naive.likelihood(circuit, naive.states(circuit)).reshape(circuit.num_categories)
    return table.sum(axis=tuple(set(range(circuit.num_variables)) - set(keep))).ravel()


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def pruned(nested, keep):
    """Nested lists of the kept variables, renumbered; None where nothing is left."""
    if not isinstance(nested, list):
        return sorted(keep).index(nested) if nested in keep else None
    left = [part for part in (pruned(child, keep) for child in nested) if part is not None]
    return (left if len(left) > 1 else left[0]) if left else None


@pytest.mark.parametrize("name", ALL)
def test_equals_the_sum_over_states(name):
    circuit = ALL[name]
    V = circuit.num_variables
    for size in range(1, V + 1):
        for keep in itertools.islice(itertools.combinations(range(V), size), 12):
            marginal = marginalize(circuit, keep=keep)
            assert marginal.num_categories == tuple(circuit.num_categories[v] for v in keep)
            if size < V:  # keeping all changes nothing, not even nodes with a single child
                assert marginal.vtree == VTree.from_nested(pruned(circuit.vtree.to_nested(), keep))
            assert_close(naive.likelihood(marginal, naive.states(marginal)), summed(circuit, keep))
            assert marginal.is_normalized == circuit.is_normalized or not circuit.is_normalized


@given(zoo.circuit_strategy(min_variables=2), st.randoms(use_true_random=False))
def test_in_two_steps_is_in_one(circuit, random):
    order = random.sample(range(circuit.num_variables), circuit.num_variables)
    keep = order[: random.randint(1, len(order) - 1)]
    middle = sorted(order[: random.randint(len(keep), len(order))])
    at_once = marginalize(circuit, keep=keep)
    in_two = marginalize(marginalize(circuit, keep=middle), keep=[middle.index(v) for v in keep])
    out = marginalize(circuit, [v for v in order if v not in keep])
    states = naive.states(at_once)
    assert at_once.vtree == in_two.vtree
    assert out == at_once
    assert_close(naive.likelihood(in_two, states), naive.likelihood(at_once, states))
    assert_close(naive.likelihood(at_once, states), summed(circuit, keep))


@pytest.mark.parametrize("name", zoo.circuits())
def test_equals_the_likelihood_with_missing_entries(name):
    circuit = ALL[name]
    keep = list(range(0, circuit.num_variables, 2))
    marginal = marginalize(circuit, keep=keep)
    states = naive.states(marginal)
    rows = np.full((len(states), circuit.num_variables), -1)
    rows[:, keep] = states
    expected = log_likelihood(circuit, rows)
    possible = expected > -np.inf
    found = log_likelihood(marginal, states)
    np.testing.assert_array_equal(found > -np.inf, possible)
    np.testing.assert_allclose(found[possible], expected[possible], rtol=1e-12, atol=1e-13)


def test_variables_are_renumbered_in_ascending_order():
    circuit = ALL["mixed_categories"]
    marginal = marginalize(circuit, keep=[5, 0, 3])
    assert marginal.num_categories == tuple(circuit.num_categories[v] for v in (0, 3, 5))
    assert marginal == marginalize(circuit, (1, 2, 4))
    assert marginal == marginalize(circuit, np.array([4, 2, 1], dtype=np.uint8))
    for new, old in enumerate((0, 3, 5)):
        leaf, old_leaf = marginal.vtree.leaf_of()[new], circuit.vtree.leaf_of()[old]
        np.testing.assert_array_equal(marginal.regions[leaf].probs, circuit.regions[old_leaf].probs)


@pytest.mark.parametrize("name", ALL)
def test_keeping_all_variables_changes_nothing(name):
    circuit = ALL[name]
    assert marginalize(circuit, []) == circuit
    assert marginalize(circuit, keep=range(circuit.num_variables)) == circuit


def test_long_chains():
    V, rng = 1500, np.random.default_rng(0)
    vtree = VTree.right_linear(V)
    regions = []
    for r, v in enumerate(vtree.variables):
        if v >= 0:
            regions.append(InputRegion(v, rng.dirichlet(np.ones(2), size=2)))
        else:
            weights = rng.dirichlet(np.ones(2), size=1 if r == vtree.root else 2)
            regions.append(InnerRegion([[0, 0], [1, 1]], weights))
    circuit = Circuit(vtree, regions)
    for keep in ([V - 1], [0, V - 1], [3, 700, 701, 1400], range(0, V, 3)):
        marginal = marginalize(circuit, keep=keep)
        assert marginal.vtree == VTree.right_linear(len(keep))
        assert marginal.is_normalized
        rows = np.full((8, V), -1)
        rows[:, keep] = rng.integers(0, 2, size=(8, len(keep)))
        assert_close(log_likelihood(marginal, rows[:, keep]), log_likelihood(circuit, rows))


def test_merged_sparse_weights_stay_sparse():
    circuit = ALL["irregular_csr"]
    marginal = marginalize(
        circuit, [3, 1]
    )  # leaves the region over {2, {0, 4}}, merged with the root
    root = marginal.regions[-1]
    assert root.is_sparse
    assert scipy.sparse.issparse(root.weights)
    assert marginalize(circuit, [2]).regions[-2].products.shape[1] == 2
    dense = Circuit(
        circuit.vtree,
        [
            region
            if isinstance(region, InputRegion)
            else InnerRegion(region.products, region.dense_weights())
            for region in circuit.regions
        ],
    )
    for keep in ([0, 2, 4], [0, 4], [1, 3], [0, 1, 4], [2, 3]):
        found, expected = marginalize(circuit, keep=keep), marginalize(dense, keep=keep)
        for region, twin in zip(found.regions, expected.regions, strict=True):
            same = (
                (region.probs, twin.probs)
                if isinstance(region, InputRegion)
                else (region.dense_weights(), twin.dense_weights())
            )
            assert_close(*same)


def test_the_circuit_is_not_modified():
    circuit = zoo.irregular_csr()
    marginalize(circuit, [0, 3])
    assert circuit == zoo.irregular_csr()


def test_errors():
    circuit = ALL["hclt_like"]
    with pytest.raises(
        ValueError, match=r"`variables` .* or `keep` must be given, one of the two, found neither"
    ):
        marginalize(circuit)
    with pytest.raises(ValueError, match="found both"):
        marginalize(circuit, [0], keep=[1])
    with pytest.raises(ValueError, match="`variables` leaves no variable"):
        marginalize(circuit, range(6))
    with pytest.raises(ValueError, match="`keep` leaves no variable"):
        marginalize(circuit, keep=[])
    expected = r"must be a sequence of different variables out of 0\.\.5, found "
    for unknown in (6, -1):
        with pytest.raises(ValueError, match=f"`keep` {expected}{unknown} at position 1"):
            marginalize(circuit, keep=[0, unknown])
    with pytest.raises(ValueError, match=rf"`variables` {expected}\[2, 3, 2\]"):
        marginalize(circuit, [2, 3, 2])
    for mask in ([True, False], np.arange(6) > 2):
        with pytest.raises(TypeError, match=f"`keep` {expected}.*mask"):
            marginalize(circuit, keep=mask)
    for wrong in ([0.0], ["0"], np.array([1.5]), [None], 3):
        with pytest.raises(TypeError, match=f"`variables` {expected}"):
            marginalize(circuit, wrong)
    with pytest.raises(TypeError, match=rf"`variables` {expected}\{{0: 1\}}"):
        marginalize(circuit, {0: 1})


ZOO = zoo.circuits()


@pytest.mark.parametrize("pairs", [3, np.array(3)])
def test_pairs_are_a_listing(pairs):
    with pytest.raises(
        TypeError, match=r"`pairs` must be pairs of different variables out of 0\.\.1, found"
    ):
        pcircuit.pairwise_tables(ZOO["two_coins"], pairs)


@pytest.mark.parametrize("name", ZOO)
def test_tables_are_sums_over_states(name):
    circuit = ZOO[name]
    p = naive.values(circuit).reshape(circuit.num_categories)
    for v, table in enumerate(pcircuit.marginal_tables(circuit)):
        others = tuple(u for u in range(circuit.num_variables) if u != v)
        np.testing.assert_allclose(table, p.sum(axis=others), rtol=1e-12, atol=1e-300)
    pairs = pcircuit.pairwise_tables(circuit)
    assert len(pairs) == math.comb(circuit.num_variables, 2)
    for (u, v), table in pairs.items():
        others = tuple(w for w in range(circuit.num_variables) if w not in (u, v))
        np.testing.assert_allclose(table, p.sum(axis=others), rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(
            pcircuit.pairwise_tables(circuit, [(v, u)])[v, u], table.T, rtol=1e-12, atol=1e-300
        )


def test_variables_are_carried_only_to_where_they_last_meet_another(monkeypatch):
    V, products = 50, []
    circuit = kernel_circuits.chain(V, 0.1, sparse=True)
    inherited = scipy.sparse.csr_array.__matmul__
    monkeypatch.setattr(
        scipy.sparse.csr_array,
        "__matmul__",
        lambda weights, table: (products.append(weights.shape), inherited(weights, table))[1],
    )
    pairs = pcircuit.pairwise_tables(circuit, [(v, v + 1) for v in range(V - 1)])
    assert 0 < len(products) <= V  # where every variable goes to the root there are V^2 / 2
    for v, table in enumerate(pcircuit.marginal_tables(circuit)[1:]):
        np.testing.assert_allclose(pairs[v, v + 1].sum(axis=0), table, rtol=1e-12)
    assert len(pcircuit.pairwise_tables(circuit, [])) == 0


@given(st.integers(0, 2**32 - 1))
def test_queries_agree_with_each_other(seed):
    rng = np.random.default_rng(seed)
    circuit = zoo.random_circuit(rng, num_variables=4, max_units=3)
    tables = pcircuit.pairwise_tables(circuit)
    marginals = pcircuit.marginal_tables(circuit)
    for (u, v), table in tables.items():
        np.testing.assert_allclose(table.sum(axis=1), marginals[u], rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(table.sum(axis=0), marginals[v], rtol=1e-10, atol=1e-14)
    c = int(marginals[0].argmax())
    assert np.exp(pcircuit.log_probability(circuit, {0: c})) == pytest.approx(
        marginals[0][c], rel=1e-11
    )
    given_c = pcircuit.condition(circuit, {0: c})
    np.testing.assert_allclose(
        pcircuit.marginal_tables(given_c)[0],
        tables[0, 1][c] / marginals[0][c],
        rtol=1e-9,
        atol=1e-13,
    )


def test_the_table_of_queries_names_functions_that_there_are():
    page = pathlib.Path(__file__).parents[3] / "docs" / "queries.md"
    rows = [line.split("|") for line in page.read_text().splitlines() if line.startswith("| ")][2:]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[2])}
    assert len(named) > 20
    assert all(callable(getattr(pcircuit, name)) for name in named)
