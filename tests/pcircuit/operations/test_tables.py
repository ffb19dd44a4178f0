"""Tables of single variables and of pairs, against sums over all states."""

import math

import kernel_circuits
import naive
import numpy as np
import pytest
import scipy.sparse
import zoo

import pcircuit

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
