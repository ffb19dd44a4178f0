"""The commands that make a model file, and those that ask one: fit, info, plan, diff, export, sample."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import amounts

import hld
from hld.answers.column_shifts import percent
from hld.answers.models import compare_models
from hld.apps.command.parser import main
from hld.apps.export.c_source import c_source
from hld.testing.planning.of_tables import plan


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
        detector.judge_.reference.effective_rows(64) < 6
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
    kept = () if "--calendar" in options else ("--continuous", "when")  # moments order the rows
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
        *kept,
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
        ("{}", "cannot read the schema 's.json': the schema is {}"),
        ("[" * 100_000, "cannot read the schema 's.json': "),
    ],
)
def test_a_schema_that_is_none_names_its_file(run_quickly, tmp_path, text, said):
    (tmp_path / "s.json").write_text(text, encoding="latin-1")
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    status, out, err = run_quickly("fit", "t.csv", "-o", "m.hld", "--schema", "s.json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert not (tmp_path / "m.hld").exists()


@pytest.mark.thorough
def test_a_plan_is_printed_as_the_library_prints_it(run, folder):
    status, out, err = run(
        "plan", "model.hld", "--rows-per-day", "100", "--power", "0.8", "--edit", "colour=red:+0.2"
    )
    assert (status, err) == (0, "")
    assert out == f"{plan(hld.load(folder / 'model.hld'), 100, ['colour=red:+0.2'], 0.8)}\n"
    assert "colour" in out


@pytest.mark.parametrize("command", [("plan", "--rows-per-day", "9"), ("audit", "calm.csv")])
def test_an_edit_of_no_column_names_the_nearest(run, command):
    name, *more = command
    status, _, err = run(name, "model.hld", *more, "--edit", "visit=1:+0.1")
    assert status == 2
    assert "--edit names the column 'visit', which the model does not have" in err
    assert "expected one such as 'visits', " in err


@pytest.mark.parametrize(
    "command", [("test", "calm.csv"), ("info",), ("diff", "model.hld"), ("sample", "-n", "1")]
)
def test_a_table_in_the_place_of_the_model_is_called_that(run, command):
    name, *more = command
    status, _, err = run(name, "train.csv", *more)
    assert (status, err.count("\n")) == (2, 1)
    assert "error: 'train.csv' is not a model file" in err
    assert err.endswith("make one of a table with hld fit TABLE -o MODEL\n")


def test_text_and_json_are_what_the_library_says(run, folder):
    found = compare_models(*(hld.load(folder / name) for name in ("model.hld", "other.hld")))
    assert json.loads(run("diff", "model.hld", "other.hld", "--json")[1]) == json.loads(
        json.dumps(found.to_dict())
    )
    lines = run("diff", "model.hld", "other.hld")[1].splitlines()
    header, *shown = lines[-1 - len(found.columns) :]
    assert "\n".join(lines[: -1 - len(found.columns)]) == found.headline()
    assert header.split() == ["column", "rows", "that", "differ", "where", "most"]
    for line, one in zip(shown, found.columns, strict=True):
        assert line.startswith(one.name)
        assert f" {percent(one.distance)} " in line
        assert line.endswith(one.describe())


def test_the_command_writes_both_files(run, folder):
    pytest.importorskip("onnx")
    from hld.apps.export.onnx_graph import onnx_model

    status, out, err = run("export", "model.hld", "--c", "m.c", "--onnx", "m.onnx")
    detector, content = hld.load(folder / "model.hld"), (folder / "m.onnx").read_bytes()
    assert (status, err) == (0, "")
    assert content == onnx_model(detector).SerializeToString()
    assert (folder / "m.c").read_text(encoding="ascii") == c_source(detector)
    assert out.splitlines()[1] == f"wrote m.onnx: {len(content):,} bytes"


def test_nothing_to_write_is_an_error(run):
    assert run("export", "model.hld") == (
        2,
        "",
        "hld: error: nothing to write: give --c FILE.c, --onnx FILE.onnx, or both\n",
    )


def test_what_is_not_exported_is_said_with_the_option_of_the_shell(run_here, tmp_path):
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(200, 0)).save(
        tmp_path / "m.hld"
    )
    status, _, err = run_here("export", "m.hld", "--c", "m.c")
    assert status == 2
    assert "--metric likelihoods" in err


@pytest.mark.parametrize(("share", "told"), [(0.5, True), (0.0, False)])
def test_columns_that_are_drawn_mostly_empty_are_told(tmp_path, share, told, recwarn):
    """Rare and new levels have no text in a model, and whoever reads the file takes them for missing."""
    rng = np.random.default_rng(0)
    words = np.where(
        rng.random(600) < share, [f"word {i}" for i in range(600)], rng.choice(["a", "b"], 600)
    )
    table = pd.DataFrame({"word": words, "k": rng.choice(["x", "y"], 600), "no": [None] * 600})
    hld.HLDDetector(num_latents=2, num_epochs=3, max_categories=8).fit(table).save(
        tmp_path / "m.hld"
    )
    recwarn.clear()
    assert (
        main(["sample", str(tmp_path / "m.hld"), "-n", "200", "-o", str(tmp_path / "rows.csv")])
        == 0
    )
    said = [str(one.message) for one in recwarn]
    assert len(said) == told
    if told:
        empty = pd.read_csv(tmp_path / "rows.csv")["word"].isna().mean()
        assert said == [
            "rare levels and new ones, of which the model holds no text, are drawn as empty cells: in 'word'"
        ]
        assert empty > 0.3
