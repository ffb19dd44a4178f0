"""Localisation: shares that add up, z-scores, adjusted p-values, and a shift that is found where it was put."""

from types import SimpleNamespace

import naive
import numpy as np
import pytest
import zoo
from scipy.stats import chi2, false_discovery_control, norm

from hld import HLDTest, select_nodes
from hld.results.localization import adjusted_pvalues, localize, own_zscores, z_scores
from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    VTree,
    exact_moments,
    log_likelihood,
    node_likelihoods,
    rat_spn,
    sample,
)


def test_variable_scores_add_up_to_the_squared_statistic_and_follow_scopes(rng):
    circuit = zoo.circuits()["hclt_like"]
    nodes = np.arange(circuit.num_nodes)
    deltas = rng.normal(size=len(nodes))
    found = localize(circuit, nodes, deltas, np.ones(len(nodes)), 10)
    expected = np.zeros(circuit.num_variables)
    for node, delta in zip(nodes, deltas, strict=True):
        scope = circuit.scope(node)
        expected[scope] += delta**2 / len(scope)
    np.testing.assert_allclose(found.variable_scores, expected, rtol=1e-12)
    assert found.variable_scores.sum() == pytest.approx((deltas**2).sum(), rel=1e-12)


def test_nodes_are_ranked_and_described(rng):
    circuit = zoo.circuits()["rat_like"]
    nodes = np.arange(circuit.num_nodes)
    deltas = rng.normal(size=len(nodes))
    found = localize(circuit, nodes, deltas, np.full(len(nodes), 0.5), 4, top=None)
    assert len(found.nodes) == len(nodes)
    assert [abs(n.delta) for n in found.nodes] == sorted(np.abs(deltas), reverse=True)
    for shift in found.nodes:
        assert shift.scope == tuple(circuit.scope(shift.node))
        assert shift.kind == circuit.nodes.kind[shift.node]
        assert shift.zscore == pytest.approx(2 * shift.delta / 0.5)
    assert len(localize(circuit, nodes, deltas, np.ones(len(nodes)), 4, top=3).nodes) == 3
    assert len(nodes) > 10 == len(HLDTest(circuit)(sample(circuit, 20, rng=0)).localize().nodes)
    assert "scope" in str(found)


def test_adjusted_pvalues_equal_scipy(rng):
    zscores = rng.normal(size=200) * 2
    np.testing.assert_allclose(
        adjusted_pvalues(zscores), false_discovery_control(2 * norm.sf(np.abs(zscores))), rtol=1e-12
    )


def test_a_node_that_cannot_vary():
    np.testing.assert_array_equal(
        z_scores(np.array([0.0, 1e-15, 0.2, -0.2]), np.zeros(4), 9), [0, 0, np.inf, -np.inf]
    )


def test_the_variable_that_moved_scores_highest(rng):
    circuit = rat_spn([2] * 8, num_units=4, depth=2, rng=3)
    batch = sample(circuit, 400, rng=1)
    batch[:, 5] = rng.random(400) < 0.98
    found = HLDTest(circuit)(batch).localize(top=5)
    assert found.variable_scores.argmax() == 5
    assert found.nodes[0].scope == (5,)
    assert found.nodes[0].pvalue < 1e-6


@pytest.mark.parametrize(("top", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError)])
def test_bad_top(top, error):
    circuit = zoo.circuits()["two_coins"]
    with pytest.raises(error, match="`top` must be a whole number of at least 1"):
        localize(circuit, np.array([0]), np.array([0.1]), np.array([1.0]), 2, top=top)


@pytest.mark.parametrize("name", ["hclt_like", "unary"])
def test_own_zscores_are_partial_correlations(name, rng):
    """Against the regression of the node's likelihood on those below it, over all states of the circuit.

    Over one child a sum has nothing of its own: its likelihood is a mixture of those below.
    """
    circuit = zoo.circuits()[name]
    nodes = np.flatnonzero(circuit.nodes.kind != "product")
    states = naive.states(circuit)
    likelihoods = node_likelihoods(circuit, states, nodes=nodes)
    weights = np.exp(log_likelihood(circuit, states))
    centred = (likelihoods - weights @ likelihoods) / np.sqrt(
        weights @ (likelihoods - weights @ likelihoods) ** 2
    )
    zscores = rng.normal(size=(3, len(states))) @ (
        np.sqrt(weights)[:, None] * centred
    )  # within their covariance
    for z in zscores:
        own = own_zscores(circuit, nodes, z, np.arange(len(nodes)))
        for j in range(len(nodes)):
            below = np.flatnonzero(
                np.isin(
                    circuit.nodes.region[nodes],
                    circuit.vtree.children(int(circuit.nodes.region[nodes[j]])),
                )
            )
            if not len(below):
                assert own[j] == z[j]
                continue
            root = np.sqrt(weights)[:, None]
            fit = np.linalg.lstsq(
                root * centred[:, below], (root * centred[:, [j]])[:, 0], rcond=1e-6
            )[0]
            left = weights @ (centred[:, j] - centred[:, below] @ fit) ** 2
            expected = (z[j] - z[below] @ fit) / np.sqrt(left) if left > 1e-8 else 0.0
            assert own[j] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def pair_of_coins(same):
    """Two fair coins that show the same side with probability `same`."""
    leaves = [InputRegion(v, [[1.0, 0.0], [0.0, 1.0]]) for v in range(2)]
    products = [[0, 0], [1, 1], [0, 1], [1, 0]]
    return Circuit(
        VTree([2, 2, -1], [0, 1, -1]),
        [*leaves, InnerRegion(products, [[same / 2, same / 2, (1 - same) / 2, (1 - same) / 2]])],
    )


def test_a_node_that_cannot_vary_explains_nothing():
    leaves = [InputRegion(v, [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]) for v in range(2)]
    root = InnerRegion([[0, 0], [1, 1], [2, 2]], [[0.4, 0.4, 0.2]])
    circuit = Circuit(VTree([2, 2, -1], [0, 1, -1]), [*leaves, root])
    nodes = np.flatnonzero(circuit.nodes.kind != "product")
    moving = nodes[
        np.ptp(node_likelihoods(circuit, naive.states(circuit), nodes=nodes), axis=0) > 0
    ]
    z = np.where(np.isin(nodes, moving), 1.5, 0.0)
    own = own_zscores(circuit, nodes, z, np.arange(len(nodes)))  # warnings are errors
    np.testing.assert_allclose(
        own[np.isin(nodes, moving)],
        own_zscores(circuit, moving, z[z != 0], np.arange(len(moving))),
        rtol=1e-12,
    )


def test_own_zscores_tell_dependence_from_its_parts():
    test = HLDTest(pair_of_coins(0.9))
    root = int(test.nodes[-1])
    dependence = test(sample(pair_of_coins(0.5), 500, rng=0)).localize(top=None)
    loaded = np.repeat(
        [[1, 1], [0, 0], [0, 1], [1, 0]], [380, 70, 25, 25], axis=0
    )  # one side more often, together
    marginal = test(loaded).localize(top=None)
    own = {shift.node: abs(shift.own_zscore) for shift in dependence.nodes}
    assert own[root] > 10
    assert max(z for node, z in own.items() if node != root) < 4
    shown = {shift.node: (abs(shift.zscore), abs(shift.own_zscore)) for shift in marginal.nodes}
    assert shown[root][1] < 2
    assert min(z for node, (z, _) in shown.items() if node != root) > 10


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kinds", [("input", "sum"), ("sum",), ("product",), ("input", "sum", "product")]
)
def test_own_zscores_are_standard_normal_without_a_shift(kinds, monkeypatch):
    circuit = zoo.circuits()["hclt_like"]
    test = HLDTest(circuit, nodes=select_nodes(circuit, kinds))
    covariances = {}

    def moments_once(
        circuit, nodes
    ):  # all nodes are listed each time: their covariance is that of the first batch
        if nodes.tobytes() not in covariances:
            covariances[nodes.tobytes()] = exact_moments(circuit, nodes).covariance()
        return SimpleNamespace(covariance=lambda: covariances[nodes.tobytes()])

    monkeypatch.setattr("pcircuit.exact_moments", moments_once)
    trials, T = 200, 2000
    rows = sample(circuit, trials * T, rng=1).reshape(trials, T, -1)
    found = [test(batch).localize(top=None).nodes for batch in rows]
    own = np.array([[s.own_zscore for s in sorted(nodes, key=lambda s: s.node)] for nodes in found])
    varies = np.abs(own).max(axis=0) > 0
    assert varies.any()
    squares = (own[:, varies] ** 2).sum(axis=0)  # chi-square with `trials` degrees of freedom
    assert chi2.ppf(1e-7, trials) < squares.min()
    assert squares.max() < chi2.isf(1e-7, trials)


def test_p_values_of_nodes_that_doubles_round_to_zero_are_not_shown_as_zero():
    circuit = zoo.independent([[0.3, 0.7]])
    found = localize(circuit, np.array([0, 0]), np.array([1.0, 0.1]), np.array([0.5, 0.5]), 10_000)
    assert found.nodes[0].pvalue == 0
    assert [line[45:54].strip() for line in str(found).splitlines()] == [
        "p (adj.)",
        "< 1e-300",
        "5.5e-89",
    ]
