"""p-values of single nodes: the normal law where rows make small steps, no false calls where they make large ones."""

import numpy as np
import pytest
from binomial_bounds import at_most
from scipy.stats import hypergeom, norm

import hld.results.node_tails as node_tails
from hld import HLDDetector, HLDTest
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, sample

TRIALS = 150
RARE = (0.004, 0.01, 0.02, 0.03, 0.05, 0.5)


def flags(shares):
    """Independent columns that are 1 in so many rows, each with a unit that likes the 1 and one that likes the 0."""
    V = len(shares)
    leaves = [InputRegion(v, [[1 - p, p], [p, 1 - p]]) for v, p in enumerate(shares)]
    return Circuit(
        VTree([V] * V + [-1], [*range(V), -1]), [*leaves, InnerRegion([[0] * V], [[1.0]])]
    )


CIRCUIT = flags(RARE)


def beside(num_rows, trial):
    return HLDTest(
        CIRCUIT, reference="training", training_data=sample(CIRCUIT, num_rows, rng=trial)
    )


def is_called(result):
    """Whether some node is called at level 0.05."""
    return min(node.pvalue for node in result.localize(top=None).nodes) <= 0.05


def falsely_called(test_of, T, rows_of, trials=TRIALS):
    """In how many unshifted batches some node is called; by the normal law in up to 0.98 of them."""
    return sum(is_called(test_of(trial)(rows_of(T, 1000 + trial))) for trial in range(trials))


@pytest.mark.parametrize("n", [30, 400])
@pytest.mark.parametrize("T", [1, 2, 15, 300])
def test_rare_levels_make_no_false_calls_beside_reference_rows(n, T):
    called = falsely_called(
        lambda trial: beside(n, trial), T, lambda T, seed: sample(CIRCUIT, T, rng=seed)
    )
    assert called <= at_most(TRIALS, 0.05)


@pytest.mark.parametrize("T", [1, 2, 15, 300])
def test_rare_levels_make_no_false_calls_beside_the_circuit(T):
    test = HLDTest(CIRCUIT)
    assert falsely_called(
        lambda trial: test, T, lambda T, seed: sample(CIRCUIT, T, rng=seed)
    ) <= at_most(TRIALS, 0.05)


def with_holes(T, seed):
    rows = sample(CIRCUIT, T, rng=seed).astype(int)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.3] = -1
    return rows


@pytest.mark.parametrize("T", [2, 15, 300])
def test_holes_make_no_false_calls(T):
    def test_of(trial):
        return HLDTest(CIRCUIT, reference="training", training_data=with_holes(60, trial))

    assert falsely_called(test_of, T, with_holes, 60) <= at_most(60, 0.05)


@pytest.mark.parametrize("T", [15, 300])
def test_summaries_make_no_false_calls(T):
    tests = [beside(60, trial) for trial in range(60)]
    found = [
        test(test.summarize(sample(CIRCUIT, T, rng=1000 + trial)))
        for trial, test in enumerate(tests)
    ]
    assert sum(map(is_called, found)) <= at_most(60, 0.05)


def test_a_batch_of_many_rows_of_which_some_are_looked_at():
    found = [beside(400, trial)(sample(CIRCUIT, 5000, rng=1000 + trial)) for trial in range(60)]
    assert sum(map(is_called, found)) <= at_most(60, 0.05)


def test_a_detector_of_many_rare_flags_calls_no_nodes_without_a_shift():
    rng = np.random.default_rng(0)
    called = 0
    for _ in range(20):
        rows = (rng.random((360, 30)) < np.tile([0.002, 0.005, 0.01, 0.02, 0.03], 6)).astype(int)
        detector = HLDDetector(num_latents=2, num_epochs=2, null="exact").fit(rows[:60])
        called += is_called(detector.test(rows[60:])) + is_called(detector.test(rows[60:75]))
    assert called <= at_most(40, 0.05)


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
    test, rows = beside(400, 0), sample(CIRCUIT, 200, rng=1)
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


def test_blocks_of_rows_give_the_same(monkeypatch):
    result = HLDTest(CIRCUIT, reference="training", training_data=with_holes(60, 0))(
        with_holes(40, 1)
    )
    whole = node_tails.node_pvalues(result)
    monkeypatch.setattr(node_tails, "BLOCK_CELLS", 50)
    np.testing.assert_allclose(node_tails.node_pvalues(result), whole, rtol=1e-9)


def test_nodes_that_no_row_shows_have_no_pvalue():
    rows = sample(CIRCUIT, 40, rng=0).astype(int)
    rows[:, 0] = -1
    result = HLDTest(CIRCUIT, reference="training", training_data=sample(CIRCUIT, 60, rng=1))(rows)
    is_hidden = [0 in CIRCUIT.scope(int(node)) for node in result.nodes]
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
