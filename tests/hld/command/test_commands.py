"""Several commands together: their JSON, drawn rows, groups, the log."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from command_line import check, rows


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("schema", "argv"),
    [
        ("test", ["test", "model.hld", "moved.csv"]),
        ("test", ["test", "model.hld", "calm.csv"]),
        ("explain", ["explain", "model.hld", "moved.csv"]),
        ("info", ["info", "model.hld"]),
        ("segments", ["test", "model.hld", "days.csv", "--by", "day", "--every", "day"]),
        ("plan", ["plan", "model.hld", "--rows-per-day", "100", "--edit", "colour=red:+0.2"]),
        (
            "audit",
            [
                "audit",
                "model.hld",
                "calm.csv",
                "--sizes",
                "20",
                "--num-batches",
                "10",
                "--edit",
                "colour=red:+0.2",
            ],
        ),
        ("diff", ["diff", "model.hld", "other.hld"]),
    ],
)
def test_json_is_of_its_schema(schema, argv, run):
    status, out, err = run(*argv, "--json")
    assert (status in (0, 1), err) == (True, "")
    check(schema, json.loads(out))


def test_sample_under_a_condition(run):
    status, out, err = run(
        "sample", "model.hld", "-n", "50", "--where", 'income > 2.5 and colour != "red"'
    )
    table = pd.read_csv(io.StringIO(out))
    assert (status, err, len(table)) == (0, "", 50)
    assert (table["income"] > 2.5).all()
    assert not (table["colour"] == "red").any()
    assert table["visits"].dtype.kind == "i"
    status, out, err = run("sample", "model.hld", "-n", "5", "--where", "income >")
    assert (status, out) == (2, "")
    assert "`where`" in err


def test_groups_on_the_command_line(run, folder):
    rng = np.random.default_rng(8)
    days = pd.concat([rows(rng, 40, shift) for shift in rng.normal(size=30)])
    days["day"] = np.repeat(np.arange(30), 40)
    days.to_csv(folder / "grouped.csv", index=False)
    status, out, err = run(
        "fit", "grouped.csv", "-o", "grouped.hld", "--groups", "day", "--num-epochs", "3"
    )
    assert (status, out.startswith("fitted 1200 rows of 3 columns")) == (0, True), err
    status, out, _ = run("test", "grouped.hld", "calm.csv")
    assert "among 19 groups of at most 40 rows" in out
    status, out, _ = run("explain", "grouped.hld", "moved.csv", "--json")
    assert status == 1
    check("explain", json.loads(out))
    assert json.loads(out)["context"]["num_groups"] == 19
    status, out, _ = run("test", "grouped.hld", "moved.csv", "--json")
    check("test", json.loads(out))
    assert run("fit", "grouped.csv", "-o", "other.hld", "--groups", "week")[2].startswith(
        "hld: error: --groups names the column 'week'"
    )
