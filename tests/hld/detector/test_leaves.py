"""Detectors with densities in place of bins: the same panel, at every door, or a sentence that says why not."""

import numpy as np
import pandas as pd
import pytest
from binomial_bounds import at_most

import hld
from hld.apps.export.c_source import c_source
from hld.apps.export.onnx_graph import onnx_model
from hld.testing.summaries import summing


def table(num_rows, seed):
    """Numbers that depend on a group, one with holes and one with many zeros; levels; a column by itself."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, num_rows)
    frame = pd.DataFrame(
        {
            "height": rng.normal(group, 0.7),
            "amount": np.where(rng.random(num_rows) < 0.3, 0.0, rng.gamma(2.0, 1.0 + group)),
            "kind": np.array(["a", "b", "c"])[group],
            "noise": rng.normal(size=num_rows),
        }
    )
    frame.loc[rng.random(num_rows) < 0.05, "height"] = np.nan
    return frame


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_epochs=20, leaves="auto").fit(table(2000, 0))


def test_leaves_are_chosen_and_bounded(detector):
    families = [type(region.leaves).__name__ for region in detector.densities_.inputs]
    assert families == ["Tailed", "Atoms", "Categorical", "Tailed"]
    assert "in columns: 2 Tailed, 1 Atoms, 1 Categorical" in detector.describe()
    rows = table(500, 1)
    codes, _ = detector.encoder_.encode(rows)
    values = detector.encoder_.values(codes, detector.encoder_.numbers(rows))
    assert np.array_equal(np.isnan(values), rows.isna())
    assert np.array_equal(values[:, 3], rows["noise"])
    likelihoods = detector.test_.circuit.node_likelihoods(values)
    assert likelihoods.min() >= 0
    assert likelihoods.max() <= 1
    apart = np.random.default_rng(2).permuted(values, axis=0)
    logs = [detector.densities_.log_likelihood(one).mean() for one in (values, apart)]
    assert logs[0] > logs[1] + 1


@pytest.mark.parametrize("num_rows", [10, 50, 200])
def test_level(detector, num_rows):
    rejected = sum(detector.test(table(num_rows, seed)).reject for seed in range(100, 200))
    assert rejected <= at_most(100, 0.07)


BREAKAGES = {
    "a mean": lambda rows: rows.assign(height=rows["height"] + 1.0),
    "a unit": lambda rows: rows.assign(amount=1000 * rows["amount"]),
    "a dependence": lambda rows: rows.assign(kind=rows["kind"].to_numpy()[::-1]),
    "a level": lambda rows: rows.assign(kind=rows["kind"].replace("b", "d")),
    "missing values": lambda rows: rows.assign(
        noise=rows["noise"].where(np.arange(len(rows)) % 4 > 0)
    ),
    "outliers": lambda rows: rows.assign(
        noise=rows["noise"].where(np.arange(len(rows)) % 10 > 0, 1e200)
    ),
    "infinities": lambda rows: rows.assign(
        noise=rows["noise"].where(np.arange(len(rows)) % 10 > 0, np.inf)
    ),
}


@pytest.mark.parametrize("name", BREAKAGES)
def test_what_breaks_is_found_at_every_door(detector, name, tmp_path, monkeypatch):
    rows = BREAKAGES[name](table(300, 2))
    found = detector.test(rows)
    assert found.pvalue < 1e-3
    parts = [rows[:120], rows[120:]]
    assert hld.judge_chunks(detector, parts).to_dict() == found.to_dict()
    total = detector.summarize(parts[0]) + detector.summarize(parts[1])
    assert detector.test(total).pvalue < 2e-3
    by = detector.test_by(rows, np.repeat("all", len(rows)))
    assert by.pvalues[0] == pytest.approx(found.pvalue)
    detector.save(tmp_path / "model.hld")
    again = hld.load(tmp_path / "model.hld")
    assert again.densities_ == detector.densities_
    assert again.test(rows).to_dict() == found.to_dict()
    monkeypatch.setattr(summing, "MOST_PAIRED", 100)  # rows that are held
    assert hld.judge_chunks(detector, parts).pvalue < 2e-3


def test_streams_and_two_batches(detector):
    monitor = hld.Monitor(detector)
    assert not monitor.update(table(400, 3)).alarm
    assert monitor.update(BREAKAGES["a mean"](table(400, 4))).alarm
    assert not hld.two_sample(detector, table(200, 5), table(200, 6)).reject
    assert hld.two_sample(detector, table(200, 5), BREAKAGES["a mean"](table(200, 6))).reject


def test_the_circuit_as_reference():
    options = {"num_epochs": 20, "leaves": "gaussian", "reference": "circuit"}
    detector = hld.HLDDetector(**options).fit(table(2000, 0)[["height", "noise", "kind"]])
    assert not detector.test(table(50, 7)).reject
    assert detector.test(BREAKAGES["a mean"](table(50, 7))).reject


def test_what_densities_cannot_do_is_said(detector):
    for refused in (
        lambda: detector.power(hld.Edit("kind", "a", 0.1), 50),
        lambda: detector.detectable(50),
        lambda: c_source(detector),
        lambda: onnx_model(detector),
    ):
        with pytest.raises(ValueError, match=r"has leaves that are densities.*leaves='bins'"):
            refused()
    rows = table(100, 0)
    for options in ({"groups": "kind"}, {"order": "time"}):
        with pytest.raises(
            ValueError, match=r"`leaves` is for .* found 'auto' with `(groups|order)`"
        ):
            hld.HLDDetector(leaves="auto").fit(rows, **options)
    with pytest.raises(ValueError, match=r"`leaves` is for .* found 'auto' with `covariates`"):
        hld.HLDDetector(leaves="auto", covariates=["kind"]).fit(rows)
    with pytest.raises(ValueError, match="`leaves`"):
        hld.HLDDetector(leaves="poisson").fit(rows)
