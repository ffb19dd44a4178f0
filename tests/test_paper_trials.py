"""The study's tests of many batches at a time are those of one at a time."""

from dataclasses import replace

import numpy as np
import pytest
import zoo
from scipy.stats import binom

import hld
import pcircuit
from benchmarks.paper import (
    methods,
    models,
    settings,
    spectra,
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


@pytest.mark.parametrize("encoding", ["one-hot", "codes"])
def test_kernels_of_many_trials_are_those_of_one(circuit, encoding):
    rows = pcircuit.sample(circuit, 300, rng=0).astype(np.uint8)
    vectors = (
        methods.one_hot(rows, circuit.num_categories) if encoding == "one-hot" else rows
    ).astype(float)
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
    single = methods.mean_kernels(
        batches.reference, reference, batches.reference, reference, batches.gamma
    )
    exact = [
        np.exp(
            -((vectors[:150][a][:, None] - vectors[:150][a][None]) ** 2).sum(axis=2)
            / (2 * bandwidth**2)
        ).mean()
        for a in reference
    ]
    np.testing.assert_allclose(single, exact, rtol=1e-12)
    np.testing.assert_allclose(outcome.statistics, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("law", "options"),
    [
        ("normal", {"null": "normal"}),
        ("exact", {}),
        ("exact, 1+T/n", {"num_train": 90}),
        ("whitened", {"metric": "whitened"}),
        ("training rows", {"reference": "training"}),
        ("whitened, training rows", {"metric": "whitened", "reference": "training"}),
    ],
)
def test_distances_reject_what_the_public_test_rejects(circuit, law, options):
    """Thresholds and decisions, over batches from far below to far above the threshold."""
    settings_, nodes = replace(TINY, additions=True), hld.select_nodes(circuit)
    laws, rows = methods.HLDLaws(circuit, nodes, settings_, 90), pcircuit.sample(circuit, 90, rng=1)
    vectors = models.row_vectors(circuit, rows, nodes)
    laws.against_rows(vectors, "training rows", settings_.alphas)
    if "reference" in options:
        options = {**options, "training_data": rows}
    test = hld.HLDTest(circuit, **{"null": "exact", **options})
    means = np.array(
        [
            vectors[np.random.default_rng(seed).integers(0, 90 if seed % 2 else 3, 15)].mean(axis=0)
            for seed in range(40)
        ]
    )
    found = laws.distances[f"HLD/leaf+sum/{law}"].rejects(means, 15)
    for level, alpha in enumerate(settings_.alphas):
        expected = [test.judge(mean, 15, alpha=alpha).reject for mean in means]
        assert found[level].tolist() == expected
    assert 0 < found.sum() < found.size


def test_the_level_of_the_closed_form_is_that_of_drawn_statistics():
    rng = np.random.default_rng(3)
    covariance = np.diag([4.0, 1.0, 0.5, 0.1])
    law = hld.gchi2.prepare(np.diag(covariance))
    threshold = np.trace(covariance) + 1.6448536269514722 * np.sqrt(2 * (covariance**2).sum())
    found = spectra.spectrum(covariance, law, [threshold])
    drawn = (rng.normal(size=(200_000, 4)) ** 2 @ np.diag(covariance) > threshold).sum()
    low, high = binom.ppf([1e-6, 1 - 1e-6], 200_000, found["levels"][0])
    assert low - 1 <= drawn <= high + 1
    assert found["rank"] == 4
    assert found["leading"] == pytest.approx(4 / 5.6, abs=1e-4)
    assert found["effective"] == pytest.approx(5.6**2 / 17.26, abs=0.01)


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
            [abs(log_p[a].mean() - log_p[b].mean()) for a, b in zip(reference, index, strict=True)],
        ),
        ("Typicality", [abs(log_p.mean() - log_p[b].mean()) for b in index]),
    ):
        pvalues = (
            1 + (nulls.null(10)[name][None] >= np.array(statistics)[:, None]).sum(axis=1)
        ) / 100
        assert found[name].rejected.tolist() == [(pvalues <= 0.2).tolist()]
