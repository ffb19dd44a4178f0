"""What is behind a row: hidden states, and shares of the variables in its likelihood."""

import itertools

import naive
import numpy as np
import pytest
import scipy.sparse
import zoo

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

ZOO = zoo.circuits()


@pytest.mark.parametrize("name", ZOO)
def test_latent_posteriors_are_flows_of_the_row(name):
    circuit, rng = ZOO[name], np.random.default_rng(6)
    X, p = naive.states(circuit), naive.values(circuit)
    row = np.where(
        rng.random(circuit.num_variables) < 0.3, -1, X[rng.choice(len(X), p=p / p.sum())]
    )
    flows = naive.flows(circuit, row[None])
    posterior = pcircuit.latent_posterior(circuit, row)
    for r, region in enumerate(circuit.regions):
        assert posterior[r].sum() == pytest.approx(1, rel=1e-12)
        if isinstance(region, InnerRegion):
            np.testing.assert_allclose(posterior[r], flows[r].sum(axis=1), rtol=1e-9, atol=1e-12)


def flows_of_units(circuit, row):
    """By region (K,), from the pass that counts flows."""
    flows = pcircuit.expected_flows(circuit, [row]).by_region(circuit)
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InnerRegion) and region.is_sparse:
            weights = region.weights
            flows[r] = scipy.sparse.csr_array(
                (flows[r], weights.indices, weights.indptr), weights.shape
            )
    return [flow.sum(axis=1) for flow in flows]


def test_the_state_that_is_left_has_all_of_the_posterior_however_far_behind():
    """600 variables speak for the first state, by a factor of 10**1799; the last one excludes it."""
    V = 600
    circuit = Circuit(
        VTree.from_nested([list(range(V)), V]),
        [
            *[InputRegion(v, [[0.999, 0.001], [0.001, 0.999]]) for v in range(V)],
            InnerRegion([[0] * V, [1] * V], np.eye(2)),
            InputRegion(V, np.eye(2)),
            InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
        ],
    )
    row = [0] * V + [1]
    posterior = pcircuit.latent_posterior(circuit, row)
    assert [part.tolist() for part in posterior[:-1]] == [[0.0, 1.0]] * (V + 2)
    assert posterior[-1].tolist() == [1.0]
    for part, flow in zip(posterior, flows_of_units(circuit, row), strict=True):
        np.testing.assert_allclose(part, flow, rtol=1e-12)


def plain_shapley(circuit, row):
    V = len(row)
    value = {}
    for S in itertools.chain.from_iterable(
        itertools.combinations(range(V), n) for n in range(V + 1)
    ):
        part = np.full(V, -1)
        part[list(S)] = row[list(S)]
        value[frozenset(S)] = naive.log_likelihood(circuit, part[None])[0]
    orders = list(itertools.permutations(range(V)))
    shares = np.zeros(V)
    for order in orders:
        for n, i in enumerate(order):
            shares[i] += value[frozenset(order[: n + 1])] - value[frozenset(order[:n])]
    return shares / len(orders)


@pytest.mark.parametrize("name", ["two_coins", "hclt_like", "rat_like", "nary"])
def test_shapley_values_are_means_over_all_orders(name, monkeypatch):
    circuit = ZOO[name]
    if circuit.num_variables > 6:
        circuit = pcircuit.marginalize(circuit, keep=range(6))
    X, p = naive.states(circuit), naive.values(circuit)
    row = X[p.argmax()]
    expected = plain_shapley(circuit, row)
    found, error = pcircuit.shapley_values(circuit, row)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert not error.any()
    assert found.sum() == pytest.approx(np.log(p.max()), rel=1e-10)
    monkeypatch.setattr("pcircuit.operations.explanations.MOST_SUBSETS", 1)
    drawn, error = pcircuit.shapley_values(circuit, row, num_orders=400, rng=0)
    assert drawn.sum() == pytest.approx(np.log(p.max()), rel=1e-10)
    assert (np.abs(drawn - expected) <= 4.5 * error + 1e-12).all()  # 4.5 sigma: 7e-6 a variable


def test_missing_entries_have_no_share():
    row = np.array([0, -1])
    assert pcircuit.shapley_values(ZOO["two_coins"], row)[0][1] == 0
