"""Calibration: rejections under the null against computed binomial bounds, for every option of the test.

Laws are compared at the nominal level: rejections among N batches are Binomial(N, a).  Drawn nulls are fixed for a
test, so their level is itself random: with B batches the p-value is at most a with probability Beta(k, B + 1 - k), k
= a (B + 1), which makes rejections beta-binomial.  All bounds are left by chance once in 1e6.
"""

import numpy as np
import pytest
from binomial_bounds import SURE, at_most
from scipy.stats import betabinom, binom

from hld import HLDTest
from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    VTree,
    fit_em,
    hclt,
    mean_node_likelihoods,
    node_likelihoods,
    rat_spn,
    sample,
)

B = 999
METRICS = ("euclidean", "standardized", "marginals", "whitened")


@pytest.fixture(scope="module")
def circuit():
    return rat_spn([2, 3, 2, 4, 2, 2, 3, 2, 2, 2, 2, 3], num_units=4, depth=2, rng=7)


def pvalues(test, T, trials, *, source=None, seed=0):
    """p-values of batches drawn from a circuit, by default the one that is tested."""
    source = test.circuit if source is None else source
    rng, result = np.random.default_rng(seed), []
    for start in range(0, trials, max(1, 400_000 // T)):
        batches = min(trials - start, max(1, 400_000 // T))
        vectors = node_likelihoods(
            test.circuit, sample(source, batches * T, rng=rng), nodes=test.nodes
        )
        result += [
            test.judge(mean, T).pvalue for mean in vectors.reshape(batches, T, -1).mean(axis=1)
        ]
    return np.array(result)


def assert_level(values, *, drawn, upper_only=False):
    for alpha in (0.1, 0.05, 0.01):
        k = alpha * (B + 1)
        law = betabinom(len(values), k, B + 1 - k) if drawn else binom(len(values), alpha)
        rejected = (values <= alpha).sum()
        assert rejected <= law.isf(SURE), alpha
        assert upper_only or rejected >= law.ppf(SURE), alpha


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    "metric", ["euclidean", "standardized", "whitened", ("euclidean", "whitened")]
)
def test_small_and_large_batches_under_the_model(circuit, metric):
    test = HLDTest(circuit, metric=metric, null="auto", rng=1, num_resamples=B)
    switch = test.calibration.null.switch
    assert 1 < switch < 2000
    assert_level(pvalues(test, 3, 1000), drawn=True)
    assert_level(pvalues(test, switch, 1000), drawn=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    ["euclidean", "standardized", "marginals", "whitened", ("euclidean", "whitened"), METRICS],
)
@pytest.mark.parametrize("T", [1, 2, 5, 10, 50, 200, 1000])
def test_auto_null_keeps_its_level_at_every_size(circuit, metric, T):
    test = HLDTest(circuit, metric=metric, null="auto", rng=2, num_resamples=B)
    drawn = test.calibration.null.drawn(T)
    assert_level(
        pvalues(test, T, 10_000), drawn=drawn, upper_only=T <= 2
    )  # single rows have few states, whose ties only lower the level; at two the law may reject too seldom


@pytest.mark.slow
def test_training_reference_keeps_its_level_on_fresh_rows_of_a_source_that_the_circuit_misses():
    """The source is a circuit of another structure, the model an HCLT with two states fitted to 4000 of its rows: the
    circuit's own reference rejects nearly every large batch, the training reference one in twenty."""
    source = rat_spn([3] * 10, num_units=6, depth=2, rng=1)
    source = Circuit(
        source.vtree,
        [
            InputRegion(
                r.variable,
                np.random.default_rng(r.variable).dirichlet([0.3] * 3, size=len(r.probs)),
            )
            if isinstance(r, InputRegion)
            else InnerRegion(r.products, r.weights)
            for r in source.regions
        ],
    )
    level, trials = [], 400
    for seed in range(5):
        train = sample(source, 4000, rng=seed)
        model, _ = fit_em(hclt(train, 2, 3, rng=seed), train, num_epochs=50)
        test = HLDTest(
            model,
            metric=("euclidean", "whitened"),
            null="auto",
            reference="training",
            training_data=train,
            rng=0,
        )
        for T in (10, 1000):
            values = pvalues(test, T, trials, source=source, seed=seed)
            level.append((T, (values <= 0.05).sum()))
        misfit = pvalues(HLDTest(model, metric="whitened"), 5000, 50, source=source, seed=seed)
        assert (misfit <= 0.05).mean() > 0.5
    for T in (
        10,
        1000,
    ):  # the error of the training mean is shared by the batches of a seed: only the total is bounded
        total = sum(count for size, count in level if size == T)
        assert total <= 5 * trials * 0.10


@pytest.mark.thorough
@pytest.mark.parametrize(("metric", "power"), [("euclidean", 0.9), ("whitened", 0.0)])
def test_tolerance_keeps_its_level_where_as_many_rows_are_others(circuit, metric, power):
    """The others are all alike, the farthest there are; no bound of what one row does is tight in a whitened norm."""
    states, trials, T, rng = sample(circuit, 400, rng=0), 200, 300, np.random.default_rng(1)
    plain = HLDTest(circuit, metric=metric)
    away = plain.calibration.metrics[0].squared(plain.vectors.rows(states) - plain.mean)
    farthest = states[int(np.argmax(away))]
    for tolerance, least in ((0.3, 0.0), (0.02, power)):
        test = HLDTest(circuit, metric=metric, tolerance=tolerance)
        rejected = 0
        for trial in range(trials):
            rows = sample(circuit, T, rng=trial + 1)
            rows[rng.random(T) < 0.3] = farthest
            rejected += test(rows).reject
        assert rejected >= least * trials
        assert tolerance < 0.3 or rejected <= at_most(trials, 0.05)


@pytest.mark.parametrize("T", [2, 3, 5, 30])
def test_one_row_beyond_reference_rows_that_are_all_alike_is_one_of_all(T):
    """The rounding of the reference's mean is no difference, by which the other rows would be beyond it as well."""
    flag = Circuit(VTree([-1], [0]), [InputRegion(0, [[0.98, 0.02]])])
    test = HLDTest(
        flag, null="auto", reference="training", training_data=np.zeros((1000, 1), int), rng=0
    )
    batch = (np.arange(T) == 0).astype(int)[:, None]
    assert test(batch).pvalue == pytest.approx(T / (1000 + T), rel=1e-9)
    assert test(test.summarize(batch)).pvalue == pytest.approx(T / (1000 + T), rel=1e-9)


def test_judge_adds_up_parts_of_a_batch(circuit):
    test = HLDTest(circuit, metric=("euclidean", "whitened"), null="auto", rng=0, num_resamples=99)
    rows = sample(circuit, 90, rng=3)
    parts = [
        mean_node_likelihoods(circuit, part, nodes=test.nodes) for part in (rows[:30], rows[30:])
    ]
    assert test.judge(parts[0] / 3 + parts[1] * 2 / 3, 90).pvalue == test(rows).pvalue
    with pytest.raises(ValueError, match="`mean` must be 73 finite numbers"):
        test.judge(parts[0][:3], 90)
    with pytest.raises(
        ValueError, match="`num_samples` must be a whole number of at least 1, found 0"
    ):
        test.judge(parts[0], 0)


def test_many_nodes_have_laws_from_leading_values(circuit, monkeypatch):
    """The route for more nodes than full spectra are computed of, against the full one."""
    train = sample(circuit, 600, rng=3)
    for arguments in ({"reference": "training", "training_data": train}, {"reference": "circuit"}):
        arguments |= {"rng": 0, "metric": METRICS}
        full = HLDTest(circuit, **arguments)
        with monkeypatch.context() as patch:
            for module in ("references.circuit", "witnesses.metrics.maps", "laws.joint"):
                patch.setattr(f"hld.{module}.MAX_FULL_SPECTRUM", 5)
            patch.setattr("hld.references.rows.MAX_FULL_SPECTRUM", 5)
            patch.setattr("hld.references.circuit.DRAWN_ROWS", 200_000)
            patch.setattr("hld.witnesses.metrics.maps.LEADING_DIRECTIONS", len(full.nodes) - 1)
            large = HLDTest(circuit, **arguments)
        batch = sample(circuit, 300, rng=5)
        np.testing.assert_allclose(large(batch).pvalues, full(batch).pvalues, rtol=0.02)
        assert large(batch).pvalue == pytest.approx(
            full(batch).pvalue, rel=0.25
        )  # its joint law is drawn from rows
