"""Localisation: shares that add up, z-scores, adjusted p-values, and a shift that is found where it was put."""

import naive
import numpy as np
import pytest
import zoo
from binomial_bounds import at_most
from rare_rows import flags, is_called
from scipy.stats import false_discovery_control, hypergeom, norm

import hld.witnesses.localization as node_tails
from hld import HLDTest
from hld.witnesses.localization import (
    adjusted_pvalues,
    localize,
    own_zscores,
    z_scores,
)
from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    VTree,
    log_likelihood,
    node_likelihoods,
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


def test_p_values_of_nodes_that_doubles_round_to_zero_are_not_shown_as_zero():
    circuit = zoo.independent([[0.3, 0.7]])
    found = localize(circuit, np.array([0, 0]), np.array([1.0, 0.1]), np.array([0.5, 0.5]), 10_000)
    assert found.nodes[0].pvalue == 0
    assert [line[45:54].strip() for line in str(found).splitlines()] == [
        "p (adj.)",
        "< 1e-300",
        "5.5e-89",
    ]


CIRCUIT = zoo.circuits()["hclt_like"]


TRIALS = 150
RARE = (0.004, 0.01, 0.02, 0.03, 0.05, 0.5)


FLAGS = flags(RARE)


def beside(num_rows, trial):
    return HLDTest(FLAGS, reference="training", training_data=sample(FLAGS, num_rows, rng=trial))


def falsely_called(test_of, T, rows_of, trials=TRIALS):
    """In how many unshifted batches some node is called; by the normal law in up to 0.98 of them."""
    return sum(is_called(test_of(trial)(rows_of(T, 1000 + trial))) for trial in range(trials))


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 400])
@pytest.mark.parametrize("T", [1, 2, 15, 300])
def test_rare_levels_make_no_false_calls_beside_reference_rows(n, T):
    called = falsely_called(
        lambda trial: beside(n, trial), T, lambda T, seed: sample(FLAGS, T, rng=seed)
    )
    assert called <= at_most(TRIALS, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("T", [1, 2, 15, 300])
def test_rare_levels_make_no_false_calls_beside_the_circuit(T):
    test = HLDTest(FLAGS)
    assert falsely_called(
        lambda trial: test, T, lambda T, seed: sample(FLAGS, T, rng=seed)
    ) <= at_most(TRIALS, 0.05)


def with_holes(T, seed):
    rows = sample(FLAGS, T, rng=seed).astype(int)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.3] = -1
    return rows


@pytest.mark.parametrize("T", [2, 15, 300])
def test_holes_make_no_false_calls(T):
    def test_of(trial):
        return HLDTest(FLAGS, reference="training", training_data=with_holes(60, trial))

    assert falsely_called(test_of, T, with_holes, 60) <= at_most(60, 0.05)


@pytest.mark.parametrize("T", [15, 300])
def test_summaries_make_no_false_calls(T):
    tests = [beside(60, trial) for trial in range(60)]
    found = [
        test(test.summarize(sample(FLAGS, T, rng=1000 + trial))) for trial, test in enumerate(tests)
    ]
    assert sum(map(is_called, found)) <= at_most(60, 0.05)


def test_a_batch_of_many_rows_of_which_some_are_looked_at():
    found = [beside(400, trial)(sample(FLAGS, 5000, rng=1000 + trial)) for trial in range(60)]
    assert sum(map(is_called, found)) <= at_most(60, 0.05)


def test_frequent_levels_of_many_rows_have_the_normal_law():
    coin = flags((0.5, 0.4))
    for rows in (sample(coin, 20000, rng=3), sample(coin, 400, rng=4)):
        result = HLDTest(coin, reference="training", training_data=sample(coin, 20000, rng=1))(rows)
        zscores = [
            node.zscore
            for node in sorted(result.localize(top=None).nodes, key=lambda one: one.node)
        ]
        np.testing.assert_allclose(
            node_tails.node_pvalues(result),
            np.minimum(2 * norm.sf(np.abs(zscores)), 1),
            rtol=0.1,
            atol=0.05,
        )


def test_a_rare_level_that_became_frequent_is_called():
    test, rows = beside(400, 0), sample(FLAGS, 200, rng=1)
    rows[:20, 1] = 1
    called = [node for node in test(rows).localize(top=None).nodes if node.pvalue <= 1e-3]
    assert {node.scope for node in called if node.kind == "input"} == {(1,)}


@pytest.mark.parametrize(("n", "T"), [(30, 2), (30, 10), (200, 20)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_pvalue_of_a_rare_level_is_below_that_of_its_count(n, T, count):
    """All `count` rows with the level are in the batch, of which the hypergeometric law knows the probability."""
    if count > T:
        return
    coin = flags((0.01,))
    before, rows = np.zeros((n, 1), dtype=int), np.zeros((T, 1), dtype=int)
    rows[:count] = 1
    result = HLDTest(coin, reference="training", training_data=before)(rows)
    assert node_tails.node_pvalues(result).min() >= hypergeom.sf(count - 1, n + T, count, T)


@pytest.mark.parametrize("count", [5, 8, 12])
def test_a_column_that_few_reference_rows_show_is_compared_with_these(count):
    """Of 1,000 reference rows 40 show the first column, as all 100 of the batch do, and only these have the level."""
    before, rows = np.full((1000, 2), -1), np.zeros((100, 2), dtype=int)
    before[:40, 0], before[:, 1], rows[:count, 0] = 0, np.arange(1000) % 2, 1
    rows[:, 1] = np.arange(100) % 2
    pair = flags((0.01, 0.5))
    result = HLDTest(pair, reference="training", training_data=before)(rows)
    first = [pair.scope(int(node)).tolist() == [0] for node in result.nodes]
    assert node_tails.node_pvalues(result)[first].min() >= hypergeom.sf(count - 1, 140, count, 100)


def test_nodes_that_no_row_shows_have_no_pvalue():
    rows = sample(FLAGS, 40, rng=0).astype(int)
    rows[:, 0] = -1
    result = HLDTest(FLAGS, reference="training", training_data=sample(FLAGS, 60, rng=1))(rows)
    is_hidden = [0 in FLAGS.scope(int(node)) for node in result.nodes]
    assert (result.node_pvalues[is_hidden] == 1).all()


def test_a_value_that_the_circuit_excludes_is_no_likely_one():
    certain = Circuit(VTree([-1], [0]), [InputRegion(0, [[1.0, 0.0]])])
    assert HLDTest(certain)([[1]] * 5).node_pvalues.max() == 0
    assert HLDTest(certain)([[0]] * 5).node_pvalues.min() == 1


def test_likelihoods_whose_squares_underflow_are_not_called():
    """600 coins have likelihoods of some 1e-175; one coin is always heads."""
    circuit = flags([0.4] * 600)
    batch = sample(circuit, 50, rng=0)
    batch[:, 7] = 1
    found = HLDTest(circuit)(batch)
    assert np.isfinite(found.node_pvalues).all()
    assert found.node_pvalues.min() < 1e-6
