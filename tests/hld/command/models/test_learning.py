"""`hld fit` and `hld info`: options reach the detector, and what is in a file is told."""

import json

import numpy as np
import pandas as pd
import pytest

import hld


def test_fit_says_what_it_did(run_on_gaps, files):
    """Rows, columns, likelihood, file; options reach the detector."""
    status, out, err = run_on_gaps(
        "fit",
        "train.csv",
        "-o",
        "other.hld",
        "--num-epochs",
        "2",
        "--num-latents",
        "3",
        "--num-bins",
        "4",
        "--categorical",
        "visits,colour",
        "--continuous",
        '"income"',
        "--seed",
        "5",
    )
    assert (status, err) == (0, "")
    assert out.startswith("fitted 1500 rows of 4 columns: mean log-likelihood -")
    assert out.endswith("model in other.hld\n")
    detector = hld.load(files / "other.hld")
    params = detector.get_params()
    assert {name: params[name] for name in ("num_epochs", "num_latents", "num_bins", "rng")} == {
        "num_epochs": 2,
        "num_latents": 3,
        "num_bins": 4,
        "rng": 5,
    }
    assert [column.kind for column in detector.encoder_.columns] == [
        "categorical",
        "boolean",
        "categorical",
        "continuous",
    ]


def test_fit_gives_the_same_file_again(run_on_gaps, files):
    """One seed, one model."""
    for name in ("one.hld", "two.hld"):
        assert run_on_gaps("fit", "train.csv", "-o", name, "--num-epochs", "2")[0] == 0
    assert (files / "one.hld").read_bytes() == (files / "two.hld").read_bytes()


def test_fit_takes_a_schema(run_on_gaps, files):
    """Written by hand, in part; what it says is kept, what it leaves open is learned."""
    columns = [
        {"name": "visits", "kind": "continuous", "edges": [2.5]},
        {"name": "member", "kind": "left out"},
    ]
    schema = {"format": "hld table schema", "version": 1, "columns": columns}
    (files / "schema.json").write_text(json.dumps(schema))
    assert (
        run_on_gaps(
            "fit", "train.csv", "-o", "by-hand.hld", "--num-epochs", "1", "--schema", "schema.json"
        )[0]
        == 0
    )
    found = hld.load(files / "by-hand.hld").schema_
    assert found["visits"].edges == (2.5,)
    assert [column.name for column in found.left_out] == ["member"]
    (files / "schema.json").write_text("{}")
    status, _, err = run_on_gaps("fit", "train.csv", "-o", "by-hand.hld", "--schema", "schema.json")
    assert (
        status,
        err.startswith("hld: error: cannot read the schema 'schema.json': the schema is {}"),
    ) == (2, True)


def test_info(run_on_gaps, files):
    """The detector's own description, or its facts as JSON."""
    detector = hld.load(files / "model.hld")
    assert run_on_gaps("info", "model.hld") == (0, detector.describe() + "\n", "")
    status, out, err = run_on_gaps("info", "model.hld", "--json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert [column["name"] for column in found["columns"]] == [
        "colour",
        "member",
        "visits",
        "income",
    ]
    assert [column["num_categories"] for column in found["columns"]] == list(
        detector.encoder_.num_categories
    )
    assert found["num_train"] == 1500
    assert found["test"]["num_nodes"] == len(detector.test_.nodes)
    assert found["params"]["num_epochs"] == 40


def test_a_long_series_is_learned_from_its_last_rows(run_here, tmp_path):
    """A sample of the rows would have other neighbours, and so hardly any memory."""
    rng = np.random.default_rng(0)
    new = rng.random(20_000) >= 0.95
    levels = rng.integers(0, 3, 20_000)[np.maximum.accumulate(np.where(new, np.arange(20_000), 0))]
    pd.DataFrame({"level": levels, "coin": levels // 2}).to_csv("series.csv", index=False)
    status, out, _ = run_here(
        "fit",
        "series.csv",
        "-o",
        "model.hld",
        "--order",
        "time",
        "--max-rows",
        "4000",
        "--num-epochs",
        "2",
        "--num-latents",
        "2",
    )
    assert (status, "fitted 4000 rows (the last of 20000)" in out) == (0, True)
    detector = hld.load("model.hld")
    assert (
        detector.judge_.stretches.effective_rows(64) < 6
    )  # 2.5 by the memory of the series, 40 of a sample


@pytest.fixture
def run_quickly(run_here, monkeypatch):
    """The command in an empty folder, without kernels: for tables as small as these they cost more than they save."""
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    return run_here


def fitted(run_quickly, *options):
    """The schema of a detector that the command fits to three columns, one of dates."""
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(
        np.random.default_rng(0).permutation(200) * 7, "h"
    )
    pd.DataFrame({"when": days, "n": np.arange(200) % 5, "k": ["a", "b"] * 100}).to_csv(
        "t.csv", index=False
    )
    status, out, err = run_quickly(
        "fit",
        "t.csv",
        "-o",
        "m.hld",
        "--num-epochs",
        "1",
        "--num-latents",
        "1",
        "--metric",
        "likelihoods",
        *options,
    )
    assert (status, err) == (0, "")
    return hld.load("m.hld").schema_, out


def test_dates_give_their_calendar_and_what_is_dropped_may_be_in_a_batch(run_quickly):
    schema, _ = fitted(run_quickly, "--calendar", "when", "--drop", "k")
    assert [column.name for column in schema.encoder().columns] == [
        "n",
        "when_weekday",
        "when_hour",
    ]
    assert schema["k"].note == "not read (--drop)"
    assert fitted(run_quickly, "--calendar", "when", "--drop", "when,k")[0] == schema


def test_what_the_command_says_of_a_column_holds_against_the_schema(run_quickly, tmp_path):
    known = [
        {"name": "n", "kind": "continuous", "edges": [2.5]},
        {"name": "k", "kind": "categorical"},
    ]
    (tmp_path / "s.json").write_text(
        json.dumps({"format": "hld table schema", "version": 1, "columns": known})
    )
    schema, _ = fitted(run_quickly, "--schema", "s.json", "--drop", "k")
    assert [column.name for column in schema.encoder().columns] == ["when", "n"]
    assert (schema["n"].kind, schema["n"].edges) == ("continuous", (2.5,))
    assert [column.name for column in schema.left_out] == ["k"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "fitted 200 rows of "),
        (("--max-rows", "120"), "fitted 120 rows (a sample of 200) of "),
        (("--max-rows", "200"), "fitted 200 rows of "),
    ],
)
def test_a_sample_of_the_rows_is_told(run_quickly, more, said):
    assert fitted(run_quickly, *more)[1].startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2", "cannot read the schema 's.json': Expecting"),
        ('{"a": 1, "a": 2}', "an object has the name 'a' twice"),
        ("\xff", "cannot read the schema 's.json': "),
        ("[]", "cannot read the schema 's.json': "),
    ],
)
def test_a_schema_that_is_none_names_its_file(run_quickly, tmp_path, text, said):
    (tmp_path / "s.json").write_text(text, encoding="latin-1")
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    status, out, err = run_quickly("fit", "t.csv", "-o", "m.hld", "--schema", "s.json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert not (tmp_path / "m.hld").exists()
