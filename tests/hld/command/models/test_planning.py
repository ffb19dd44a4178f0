"""`hld plan`: what the library plans, as text and as JSON."""

import json
import math
from types import SimpleNamespace

import pytest

import hld
from hld.planning.of_tables import plan


@pytest.mark.thorough
def test_a_plan_is_printed_as_the_library_prints_it(run, folder):
    status, out, err = run(
        "plan", "model.hld", "--rows-per-day", "100", "--power", "0.8", "--edit", "colour=red:+0.2"
    )
    assert (status, err) == (0, "")
    assert out == f"{plan(hld.load(folder / 'model.hld'), 100, ['colour=red:+0.2'], 0.8)}\n"
    assert "colour" in out


def test_json_and_options_are_those_of_the_library(run, folder, monkeypatch):
    found = []
    monkeypatch.setattr(
        "hld.planning.of_tables.plan",
        lambda *given: (
            found.append(given) or SimpleNamespace(to_dict=lambda: {"days": 3, "never": math.inf})
        ),
    )
    status, out, err = run("plan", "model.hld", "--rows-per-day", "50", "--alpha", "0.01", "--json")
    assert (status, err, json.loads(out)) == (0, "", {"days": 3, "never": None})
    run(
        "plan",
        "model.hld",
        "--rows-per-day",
        "7",
        "--power",
        "0.8",
        "--edit",
        "colour=b:+0.1",
        "--edit",
        "visits=d:-0.2",
    )
    assert [given[1:] for given in found] == [
        (50, [], 0.9, 0.01),
        (7, ["colour=b:+0.1", "visits=d:-0.2"], 0.8, 0.05),
    ]
    assert found[0][0].schema_ == hld.load(folder / "model.hld").schema_


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
