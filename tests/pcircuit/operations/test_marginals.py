"""Marginals against sums over all states, likelihoods with missing entries, and each other."""

import itertools
import math

import kernel_circuits
import naive
import numpy as np
import pytest
import scipy.sparse
import zoo

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


CHOICE = r"must be a sequence of different variables out of 0\.\.5, found "
WRONG = [
    ({}, ValueError, r"`variables` .* or `keep` must be given, one of the two, found neither"),
    ({"variables": [0], "keep": [1]}, ValueError, "found both"),
    ({"variables": range(6)}, ValueError, "`variables` leaves no variable"),
    ({"keep": []}, ValueError, "`keep` leaves no variable"),
    ({"keep": [0, 6]}, ValueError, f"`keep` {CHOICE}6 at position 1"),
    ({"keep": [0, -1]}, ValueError, f"`keep` {CHOICE}-1 at position 1"),
    ({"variables": [2, 3, 2]}, ValueError, rf"`variables` {CHOICE}\[2, 3, 2\]"),
    ({"keep": [True, False]}, TypeError, f"`keep` {CHOICE}.*mask"),
    ({"keep": np.arange(6) > 2}, TypeError, f"`keep` {CHOICE}.*mask"),
    *(
        ({"variables": wrong}, TypeError, f"`variables` {CHOICE}")
        for wrong in ([0.0], ["0"], np.array([1.5]), [None], 3)
    ),
    ({"variables": {0: 1}}, TypeError, rf"`variables` {CHOICE}\{{0: 1\}}"),
]


@pytest.mark.parametrize(("options", "error", "message"), WRONG, ids=range(len(WRONG)))
def test_wrong_choices_of_variables_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        marginalize(ALL["hclt_like"], **options)


ZOO = zoo.circuits()


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


@pytest.mark.parametrize("name", sorted(zoo.circuits()))
def test_a_unit_is_a_circuit_over_the_scope_of_a_region_that_contains_it(name):
    circuit = zoo.circuits()[name]
    rows = naive.states(circuit)[:100]
    values = pcircuit.node_likelihoods(circuit, rows)
    for unit in range(circuit.num_units):
        for top in {int(circuit.nodes.region[unit]), circuit.num_regions - 1}:
            part, scope = pcircuit.subcircuit(circuit, unit, top), circuit.vtree.scope(top)
            found = np.exp(part.log_likelihood(rows[:, scope]))
            np.testing.assert_allclose(found, values[:, unit], rtol=1e-12)
            if name != "unary":  # marginals have no nodes with one child
                assert part.vtree == pcircuit.marginalize(circuit, keep=scope).vtree


def test_a_region_beside_the_unit_is_refused():
    circuit = zoo.circuits()["hclt_like"]
    with pytest.raises(ValueError, match="`region` 0 does not contain the scope of unit"):
        pcircuit.subcircuit(circuit, circuit.num_units - 1, 0)
    with pytest.raises(ValueError, match="`unit`"):
        pcircuit.subcircuit(circuit, circuit.num_units)
