"""Localisation: shares that add up, z-scores, adjusted p-values, and a shift that is found where it was put."""
import numpy as np
import pytest
import zoo
from scipy.stats import false_discovery_control, norm

from hld import HLDTest
from hld.localisation import adjusted_pvalues, localize, z_scores
from pcircuit import rat_spn, sample


def test_variable_scores_add_up_to_the_squared_statistic_and_follow_scopes(rng):
    circuit = zoo.circuits()["hclt_like"]
    nodes = np.arange(circuit.num_nodes)
    deltas = rng.normal(size=len(nodes))
    found = localize(circuit, nodes, deltas, np.ones(len(nodes)), 10)
    expected = np.zeros(circuit.num_variables)
    for node, delta in zip(nodes, deltas, strict=True):
        scope = circuit.scope(node)
        expected[scope] += delta ** 2 / len(scope)
    np.testing.assert_allclose(found.variable_scores, expected, rtol=1e-12)
    assert found.variable_scores.sum() == pytest.approx((deltas ** 2).sum(), rel=1e-12)


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
    assert "scope" in str(found)


def test_adjusted_pvalues_equal_scipy(rng):
    zscores = rng.normal(size=200) * 2
    np.testing.assert_allclose(
        adjusted_pvalues(zscores), false_discovery_control(2 * norm.sf(np.abs(zscores))), rtol=1e-12
    )


def test_a_node_that_cannot_vary():
    np.testing.assert_array_equal(z_scores(np.array([0.0, 1e-15, 0.2, -0.2]), np.zeros(4), 9), [0, 0, np.inf, -np.inf])


def test_the_variable_that_moved_scores_highest(rng):
    circuit = rat_spn([2] * 8, num_units=4, depth=2, rng=3)
    batch = sample(circuit, 400, rng=1)
    batch[:, 5] = rng.random(400) < 0.98
    found = HLDTest(circuit)(batch).localize(top=5)
    assert found.variable_scores.argmax() == 5
    assert found.nodes[0].scope == (5,)
    assert found.nodes[0].pvalue < 1e-6


@pytest.mark.parametrize("top", [0, -1, 1.5])
def test_bad_top(top):
    circuit = zoo.circuits()["two_coins"]
    with pytest.raises(ValueError, match="`top` must be a whole number of at least 1"):
        localize(circuit, np.array([0]), np.array([0.1]), np.array([1.0]), 2, top=top)
