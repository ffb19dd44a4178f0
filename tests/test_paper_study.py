"""The study of the paper's experiments: its cells, that it resumes, its errors and its rates."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from paper_table import small_table
from scipy.stats import binom

from benchmarks.paper import (
    datasets,
    errors,
    protocol,
    runner,
    settings,
    store,
)
from hld.baselines.peers import rejection_threshold

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


def tiny_cell(**changes):
    """A cell on `small_table`, which stands for Adult."""
    return settings.Cell(
        "tiny", "adult", "<=50K", "hclt-2", replace(TINY, **changes), (">50K", "other")
    )


# -- cells -----------------------------------------------------------------------------------------------------


def test_a_cell_from_data_to_counts():
    result = protocol.run_cell(tiny_cell(), small_table())
    assert json.loads(json.dumps(result)) == result  # plain values
    assert result["rows"] == {"train": 30, "model": 200, "data": 30, ">50K": 60, "other": 60}
    assert result["batch_sizes"] == {
        "model": [1, 8, 16],
        "data": [1, 8, 16],
        ">50K": [1, 8],
        "other": [1, 8],
    }
    assert len(result["history"]) == 4
    for population, counts in result["rejections"].items():
        for method in (
            "HLD/leaf+sum/normal",
            "HLD/leaf/exact",
            "RootLL",
            "Typicality",
            "TDI",
            "MMD",
        ):
            assert len(counts[method]) == len(result["batch_sizes"][population])
            assert all(0 <= c <= 12 for row in counts[method] for c in row)
            assert all(
                row == sorted(row, reverse=True) for row in counts[method]
            )  # levels 0.1, 0.05, 0.01
    assert result["rejections"]["data"]["MMD trials"] == [6, 6, 4]
    assert (
        np.shape(result["errors"]["data"]["MMD"])
        == np.shape(result["rejections"]["data"]["MMD"])
        == (3, 3)
    )
    assert "HLD/leaf/exact" not in result["errors"]["data"]  # nothing was drawn for its threshold
    assert set(result["errors"]["ood"]) == set(result["rejections"]["other"]) - {"MMD trials"}
    assert set(result["errors"]) == {"model", "data", ">50K", "other", "ood"}
    assert (
        result["rejections"]["other"]["HLD/leaf+sum/exact"][1][0] == 12
    )  # three standard deviations away
    again = protocol.run_cell(tiny_cell(), small_table())
    assert again["rejections"] == result["rejections"]
    assert protocol.run_cell(tiny_cell(seed=1), small_table())["rejections"] != result["rejections"]


def test_level_of_a_cell():
    """Batches from the circuit are rejected at the nominal rate, within binomial bounds of probability 1e-6."""
    cell = tiny_cell(
        trials=400,
        batch_sizes=(50,),
        long_sizes=(),
        mmd_trials=0,
        pool_rows=40_000,
        null_trials=1999,
        alphas=(0.1,),
    )
    result = protocol.run_cell(replace(cell, architecture="rat-1-3"), small_table())
    for method in ("RootLL", "Typicality", "TDI", "HLD/leaf+sum/exact"):
        count = result["rejections"]["model"][method][0][0]
        low, high = binom.ppf([1e-6, 1 - 1e-6], 400, 0.1)
        assert low <= count <= high


def test_runs_resume(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(datasets, "load_table", lambda name: small_table())
    cells = [tiny_cell(), replace(tiny_cell(), architecture="rat-1-2")]
    assert runner.run_cells(cells[:1], 1, tmp_path) == 0
    path = store.path_of(cells[0], tmp_path)
    assert path.name == "adult--belowor50K--hclt-2.json"
    before = path.read_bytes()
    ran = []
    original = protocol.run_cell
    monkeypatch.setattr(protocol, "run_cell", lambda cell: ran.append(cell.name) or original(cell))
    assert runner.run_cells(cells, 1, tmp_path) == 0
    assert ran == [cells[1].name]  # the first one was finished before
    assert path.read_bytes() == before
    assert "2 cells, 1 finished before" in capsys.readouterr().err
    changed = tiny_cell(trials=13)
    assert store.read(changed, tmp_path) is None
    assert runner.run_cells([changed], 1, tmp_path) == 0
    assert store.read(changed, tmp_path)["settings"]["trials"] == 13
    assert sorted(p.name for p in (tmp_path / "tiny").iterdir()) == [
        "adult--belowor50K--hclt-2.json",
        "adult--belowor50K--rat-1-2.json",
    ]  # nothing temporary is left


def test_a_failed_cell_does_not_end_the_run(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(datasets, "load_table", lambda name: small_table())
    broken = replace(tiny_cell(), architecture="tree-3")
    assert runner.run_cells([broken, tiny_cell()], 1, tmp_path) == 1
    assert "failed: ValueError: `architecture` must be" in capsys.readouterr().err
    assert store.read(tiny_cell(), tmp_path) is not None


@pytest.mark.parametrize("has_folder", [False, True])
def test_without_data_one_sentence_says_how_to_get_them(has_folder, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "pooch", None)  # which would download them
    monkeypatch.delenv("HLD_DATA", raising=False)
    if has_folder:
        monkeypatch.setenv("HLD_DATA", str(tmp_path))
    cells = settings.profile_cells("quick")
    assert runner.run_cells(cells, 2, tmp_path) == len(cells)
    _, said = capsys.readouterr().err.splitlines()
    assert said.startswith("no data for census")
    assert "HLD_DATA" in said
    assert "pip install 'hld[data]'" in said


def test_report_of_a_tiny_study(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks.paper.report import write_report

    monkeypatch.setattr(datasets, "load_table", lambda name: small_table())
    runner.run_cells([replace(tiny_cell(), group="quick", architecture="hclt-4")], 1, tmp_path)
    folder = write_report("quick", tmp_path)
    text = (tmp_path / "quick-report" / "tables.md").read_text()
    assert folder.endswith("quick-report")
    for heading in (
        "Tabular data sets, 2 pairs",
        "Adult, 2 pairs",
        "Circuits and seconds",
    ):
        assert heading in text
    assert "(.037 ± 0.02)" in text  # the paper's FPR_data of HLD at T = 1, which is measured
    assert "(.178 ± 0.08)" not in text  # at T = 1000, which is not
    assert (tmp_path / "quick-report" / "training.png").stat().st_size > 0
    with pytest.raises(SystemExit, match="no results in group 'study'"):
        write_report("study", tmp_path)


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_null", "alpha"), [(19, 0.1), (199, 0.05), (999, 0.01), (39, 0.5)])
def test_bootstrap_weights_are_those_of_bootstrap_samples(num_null, alpha):
    """Thresholds of 4,000 bootstrap samples fall on each side of every position as often as the weights say."""
    positions, weights = errors.bootstrap_weights(num_null, alpha)
    assert weights.sum() == pytest.approx(1)
    rng = np.random.default_rng(0)
    samples = np.sort(rng.integers(0, num_null, (4000, num_null)), axis=1)
    drawn = np.array([rejection_threshold(row, alpha) for row in samples])
    for position, cumulated in zip(positions, np.cumsum(weights), strict=True):
        low, high = binom.ppf([1e-8, 1 - 1e-8], 4000, min(cumulated, 1.0))
        assert low <= np.sum(drawn <= position) <= high


def test_errors_of_a_mean_over_populations_that_share_trials():
    rng = np.random.default_rng(2)
    rejected = rng.random((2, 500)) < np.array([0.3, 0.1])[:, None]
    one = errors.errors_of_mean([errors.Outcome(rejected)], (0.1, 0.05))
    rate = rejected.mean(axis=1)
    np.testing.assert_allclose(one, np.sqrt(rate * (1 - rate) / 500))  # binomial
    same = errors.errors_of_mean([errors.Outcome(rejected)] * 4, (0.1, 0.05))
    np.testing.assert_allclose(same, one)  # four times the same trials say no more than once
    apart = errors.errors_of_mean(
        [errors.Outcome(rejected), errors.Outcome(~rejected)], (0.1, 0.05)
    )
    np.testing.assert_allclose(apart, 0, atol=1e-12)


# -- rates, tables and the paper's numbers ---------------------------------------------------------------------
