"""Folders with models and tables, fitted once, copied for each file of tests, and the command run in them."""

import shutil

import numpy as np
import pandas as pd
import pytest
from command_line import rows, rows_with_gaps, runner

import hld
from hld.apps.command.parser import main


@pytest.fixture(scope="session")
def _plain(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("plain"), np.random.default_rng(7)
    rows(rng, 1000).to_csv(folder / "train.csv", index=False)
    calm, moved = rows(rng, 400), rows(rng, 400, 5.0)
    calm.to_csv(folder / "calm.csv", index=False)
    moved.to_csv(folder / "moved.csv", index=False)
    both = pd.concat([calm, moved])
    both["day"] = (
        ["2026-03-01 10:00"] * 200 + ["2026-03-02 11:00"] * 200 + ["2026-03-03 12:00"] * 400
    )
    both.to_csv(folder / "days.csv", index=False)
    for name, table in (
        ("model", pd.read_csv(folder / "train.csv")),
        ("other", rows(rng, 1000, 1.0)),
    ):
        hld.HLDDetector(num_epochs=8, num_latents=3, metric="likelihoods").fit(table).save(
            folder / f"{name}.hld"
        )
    return folder


@pytest.fixture(scope="session")
def _with_gaps(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("gaps"), np.random.default_rng(7)
    rows_with_gaps(rng, 1500).to_csv(folder / "train.csv", index=False)
    rows_with_gaps(rng, 500).to_csv(folder / "calm.csv", index=False)
    rows_with_gaps(rng, 500, shifted=True).to_csv(folder / "shifted.csv", index=False)
    training, model = str(folder / "train.csv"), str(folder / "model.hld")
    assert main(["fit", training, "-o", model, "--num-epochs", "40"]) == 0
    return folder


@pytest.fixture(scope="module")
def folder(_plain, tmp_path_factory):
    """Two models, the training table of the first, and batches with and without a shift, also as days."""
    return shutil.copytree(_plain, tmp_path_factory.mktemp("commands") / "plain")


@pytest.fixture(scope="module")
def files(_with_gaps, tmp_path_factory):
    """A model of a table with gaps, its training table, and batches with and without a shift."""
    return shutil.copytree(_with_gaps, tmp_path_factory.mktemp("commands") / "gaps")


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """A function that runs a command in the folder and returns status, output and error output."""
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")  # outputs are compared digit by digit
    return runner(folder, monkeypatch, capsys)


@pytest.fixture
def run_on_gaps(files, monkeypatch, capsys):
    """The same in the folder of tables with gaps."""
    return runner(files, monkeypatch, capsys)


@pytest.fixture
def run_here(tmp_path, monkeypatch, capsys):
    """The same in an empty folder."""
    return runner(tmp_path, monkeypatch, capsys)
