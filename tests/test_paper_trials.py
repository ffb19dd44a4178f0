"""The study's tests of many batches at a time are those of one at a time."""

import numpy as np
import pytest
import zoo

import hld
import pcircuit
from benchmarks.paper import (
    kernels,
    methods,
    models,
    settings,
)
from hld import baselines

pytestmark = pytest.mark.thorough
TINY = settings.Settings(
    trials=12,
    batch_sizes=(1, 8),
    long_sizes=(16,),
    epochs=3,
    pool_rows=400,
    null_trials=59,
    mmd_trials=6,
    mmd_null=((8, 29), (16, 19)),
    mmd_long_trials=4,
    node_sets=("leaf", "leaf+sum"),
)


@pytest.fixture(scope="module")
def circuit():
    return zoo.circuits()["hclt_like"]


def one_hot(rows, num_categories):
    """One coordinate for each category of each column."""
    return np.concatenate(
        [rows[:, v, None] == np.arange(count) for v, count in enumerate(num_categories)], axis=1
    )


@pytest.mark.parametrize("encoding", ["one-hot", "codes"])
def test_kernels_of_many_trials_are_those_of_one(circuit, encoding):
    rows = pcircuit.sample(circuit, 300, rng=0).astype(np.uint8)
    vectors = (one_hot(rows, circuit.num_categories) if encoding == "one-hot" else rows).astype(
        float
    )
    batches = methods.MMDBatches(rows[:150], rows[150:], circuit.num_categories, encoding, [0])
    rng = np.random.default_rng(1)
    reference, index = rng.integers(0, 150, (6, 9)), rng.integers(0, 150, (6, 9))
    bandwidth = baselines.median_bandwidth(vectors[:150])
    expected = np.array(
        [
            baselines.mmd_squared(vectors[:150][a], vectors[150:][b], bandwidth)
            for a, b in zip(reference, index, strict=True)
        ]
    )
    null = batches.null(9, 99)
    alphas = (0.5, 0.1)
    outcome = batches.rejections(rows[150:], reference, index, 9, alphas, 99)
    counts = outcome.rejected.sum(axis=1).tolist()
    assert counts == [
        int(np.sum((1 + (null[None] >= expected[:, None]).sum(axis=1)) / 100 <= a)) for a in alphas
    ]
    assert outcome.null is null
    single = kernels.mean_kernels(
        batches.reference, reference, batches.reference, reference, batches.gamma
    )
    exact = [
        np.exp(
            -((vectors[:150][a][:, None] - vectors[:150][a][None]) ** 2).sum(axis=2)
            / (2 * bandwidth**2)
        ).mean()
        for a in reference
    ]
    if encoding == "one-hot":
        np.testing.assert_allclose(single, exact, rtol=1e-12)
        np.testing.assert_allclose(outcome.statistics, expected, rtol=1e-9)
        return
    # single precision: errors of gamma d^2 are at most eps times the largest term of the product, times 3 terms
    size = -batches.gamma * 4 * (batches.reference**2).sum(axis=1).max()
    np.testing.assert_allclose(single, exact, rtol=10 * np.finfo(np.float32).eps * max(1.0, size))


@pytest.mark.parametrize(
    ("num_variables", "categories"), [(1, 2), (49, 2), (64, 3), (130, 9), (5, 256)]
)
def test_kernels_of_packed_rows_count_differing_columns(rng, num_variables, categories):
    first = rng.integers(0, categories, (40, num_variables)).astype(np.uint8)
    second = rng.integers(0, categories, (30, num_variables)).astype(np.uint8)
    second[0], first[0] = 0, categories - 1
    index, other = rng.integers(0, 40, (5, 12)), rng.integers(0, 30, (5, 7))
    expected = [
        np.exp(-0.1 * ((first[a][:, None] != second[b][None]).sum(axis=2))).mean()
        for a, b in zip(index, other, strict=True)
    ]
    packed = [kernels.pack_rows(codes, [categories]) for codes in (first, second)]
    assert packed[0].shape == (40, int(np.ceil(np.log2(categories))), -(-num_variables // 64))
    np.testing.assert_allclose(
        kernels.mean_kernels(packed[0], index, packed[1], other, -0.1), expected, rtol=1e-12
    )
    counts = np.zeros((5, 64 * packed[0].shape[2] + 1), np.int64)
    with np.errstate(
        over="ignore"
    ):  # the loop as Python runs it; the product may overflow, its top byte counts
        kernels.make_counter(packed[0].shape[1])(packed[0], index, packed[1], other, False, counts)
    np.testing.assert_allclose(
        counts @ np.exp(-0.1 * np.arange(counts.shape[1])) / 84, expected, rtol=1e-12
    )
    within = kernels.mean_kernels(
        packed[0], index, packed[0], index, -0.1
    )  # half of the pairs are counted
    np.testing.assert_array_equal(
        within, kernels.mean_kernels(packed[0], index, packed[0].copy(), index, -0.1)
    )


def test_binary_rows_and_categories_give_mmd_the_same_counts(rng):
    rows = rng.integers(0, 2, (60, 9)).astype(np.uint8)
    counts = []
    for num_categories, encoding in (
        ([2] * 9, "codes"),
        ([2] * 9, "one-hot"),
        ([2] * 8 + [3], "codes"),
    ):
        batches = methods.MMDBatches(rows[:30], rows[30:], num_categories, encoding, [0])
        assert (batches.reference.dtype == np.uint64) == (
            max(num_categories) == 2
        )  # the last as numbers
        index = np.random.default_rng(1).integers(0, 30, (20, 6))
        counts.append(
            batches.rejections(rows[30:], index, index, 6, (0.5, 0.1), 49).rejected.tolist()
        )
    assert counts[0] == counts[1] == counts[2]
    with pytest.raises(ValueError, match="`mmd_rows` must be"):
        methods.MMDBatches(rows, rows, [2] * 9, "words", [0])


def test_quantiles_are_those_of_the_public_test(circuit):
    nodes = hld.select_nodes(circuit)
    batch, alphas = pcircuit.sample(circuit, 15, rng=2), (0.1, 0.05, 0.01)
    quantiles = methods.null_quantiles(hld.exact_moments(circuit, nodes), alphas)
    for law in ("normal", "exact"):
        test = hld.HLDTest(circuit, null=law)
        thresholds = [test(batch, alpha=alpha).threshold for alpha in alphas]
        np.testing.assert_allclose(np.sqrt(np.array(quantiles[law]) / 15), thresholds, rtol=1e-9)


def test_scalar_rejections_are_those_of_the_baselines(circuit):
    pool = models.row_scores(circuit, pcircuit.sample(circuit, 500, rng=0), TINY)
    nulls = methods.ScalarNulls(pool, 99, [0])
    rng = np.random.default_rng(3)
    reference, index = rng.integers(0, 500, (40, 10)), rng.integers(0, 500, (40, 10))
    log_p = pool.scores["log_likelihood"]
    found = nulls.rejections(
        {k: methods.trial_means(v, reference) for k, v in pool.scores.items()},
        {k: methods.trial_means(v, index) for k, v in pool.scores.items()},
        10,
        (0.2,),
    )
    for name, statistics in (
        (
            "RootLL",
            [
                baselines.mean_difference(log_p[a], log_p[b])
                for a, b in zip(reference, index, strict=True)
            ],
        ),
        ("Typicality", [baselines.typicality(log_p[b], -log_p.mean()) for b in index]),
    ):
        pvalues = (
            1 + (nulls.null(10)[name][None] >= np.array(statistics)[:, None]).sum(axis=1)
        ) / 100
        assert found[name].rejected.tolist() == [(pvalues <= 0.2).tolist()]
