"""Batches as sums: they add up, go through files, are refused where they do not belong, and give p-values."""

from dataclasses import replace

import binomial_bounds as bounds
import numpy as np
import pytest
import zoo

import hld
import pcircuit
from hld.testing.summaries.summary import check_summary

CIRCUITS = {
    name: c for name, c in zoo.circuits().items() if name in ("hclt_like", "rat_like", "two_coins")
}


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize("null", ["exact", "auto"])
def test_the_pvalue_is_that_of_the_rows(name, null):
    circuit = CIRCUITS[name]
    test, rows = hld.HLDTest(circuit, null=null, rng=0), pcircuit.sample(circuit, 200, rng=1)
    parts = sum(test.summarize(part) for part in np.array_split(rows, 7))
    one, two = test(parts), test(rows)
    np.testing.assert_allclose(
        [one.statistic, one.pvalue, one.threshold],
        [two.statistic, two.pvalue, two.threshold],
        rtol=1e-9,
        atol=1e-12,
    )


def test_an_alarm_is_no_smaller_than_that_of_the_rows(detector):
    detector, table = detector
    shifted = table[:120].copy()
    shifted[:, 1] = np.random.default_rng(3).permutation(shifted[:, 1])
    one, two = detector.test(detector.summarize(shifted)), detector.test(shifted)
    assert one.reject
    assert two.pvalue <= one.pvalue


def test_holes_cost_metrics_that_mix_nodes_and_nothing_else(detector):
    detector, table = detector
    batch = table[:100].astype(float)
    batch[np.random.default_rng(1).random(batch.shape) < 0.1] = np.nan
    found = detector.test(detector.summarize(batch))
    assert dict(zip(found.metrics, found.pvalues, strict=True))["whitened"] == 1.0
    assert found.num_missing == int(np.isnan(batch).sum())
    assert (
        found.data_quality.missingness.pvalue
        == detector.test(batch).data_quality.missingness.pvalue
    )


@pytest.mark.thorough
@pytest.mark.parametrize("odd", [False, True], ids=["plain", "rare level"])
def test_level_against_few_reference_rows(odd):
    # A category that one row in fifty has and reference rows may not show: the check by the spread must see to it.
    circuit = zoo.independent(
        [[0.49, 0.49, 0.02], [0.5, 0.5], [0.3, 0.7]] if odd else [[0.5, 0.5]] * 3
    )
    trials, rejected, rng = 150, 0, np.random.default_rng(5)
    for _ in range(trials):
        rows = pcircuit.sample(circuit, 120, rng=rng)
        test = hld.HLDTest(
            circuit, metric="standardized", reference="training", training_data=rows[:60]
        )
        rejected += test(test.summarize(rows[60:])).reject
    assert rejected <= bounds.at_most(trials, 0.05)


def test_json_gives_the_summary_back_also_for_a_model_from_a_file(found, detector, tmp_path):
    detector, table = detector
    detector.save(tmp_path / "model")
    holed = np.where(np.arange(90).reshape(30, 3) % 7 == 0, np.nan, table[:30])
    for own, is_whole in ((found, True), (detector.summarize(holed), False)):
        text = own.to_json()
        back = hld.BatchSummary.from_json(text)
        assert (back == own, hash(back) == hash(own), back.is_whole) == (True, True, is_whole)
        np.testing.assert_array_equal(back.seen, own.seen)
        pvalue = hld.load(tmp_path / "model").test(back).pvalue
        assert pvalue == detector.test(own).pvalue
    assert len(found.to_json()) < 40_000
    with pytest.raises(ValueError, match="read-only"):
        back.sums[0] = 0.0


def test_other_models_and_kinds_are_refused(found, detector):
    other = hld.HLDDetector(num_latents=2, num_epochs=4).fit(detector[1])
    with pytest.raises(ValueError, match="`batch` is for the model"):
        other.test(found)
    with pytest.raises(ValueError, match="`summary` is for the model"):
        detector[0].test_(found)
    with pytest.raises(ValueError, match="`other` is a summary for the model"):
        found + other.summarize(detector[1][:5])
    rows = {name: found.arrays[name] for name in ("sums", "seen")}
    with pytest.raises(ValueError, match=r"of sums, seen, expected .* that were made alike add up"):
        found + replace(found, arrays=rows)
    with pytest.raises(TypeError):
        found + 1
    with pytest.raises(ValueError, match=r"`batch.num_rows` must be a whole number of at least 1"):
        detector[0].test(detector[0].summarize(detector[1][:0]))
    with pytest.raises(
        TypeError, match="`batch` must be a BatchSummary, found list: make one with"
    ):
        check_summary([[0, 1]], "", "batch")
