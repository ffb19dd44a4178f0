"""Detectors of groups are audited by whole groups, and no more is said than these tell."""

import json

import numpy as np
import pandas as pd
import pytest
from binomial_bounds import at_most
from scipy.stats import betabinom

import hld
from hld.answers.reports import audit_report
from hld.apps.command import main
from hld.detector.audit import too_many, whole_groups
from hld.tables.cells import read_table

SMALL = {"num_latents": 2, "num_epochs": 1, "num_bins": 3}


def days(count, rng, spread=1.0, first=0):
    """A table of days of 30 rows, each with a mood of its own."""
    mood = rng.normal(scale=spread, size=count).repeat(30)
    return pd.DataFrame(
        {
            "day": np.arange(first, first + count).repeat(30),
            "a": rng.normal(mood),
            "b": rng.normal(mood),
        }
    )


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(**SMALL).fit(days(38, np.random.default_rng(0)), groups="day")


def test_groups_tell_the_level_and_random_rows_do_not(detector):
    fresh, wild = (days(40, np.random.default_rng(1), spread, 100) for spread in (1.0, 8.0))
    plain = hld.HLDDetector(**SMALL).fit(days(38, np.random.default_rng(0)).drop(columns="day"))
    found = hld.audit(
        {"group": detector, "plain": plain}, fresh, [20], num_batches=50, groups="day"
    )
    own = {row.detector: row for row in found.rows if row.situation == "whole groups"}
    assert [(row.num_rows, row.num_batches, row.is_reused) for row in own.values()] == [
        (30, 40, False)
    ] * 2
    assert own["group"].num_alarms == int((detector.test_by(fresh, "day").pvalues <= 0.05).sum())
    assert own["plain"].low > 0.05
    assert found.keeps_level["group"] is True
    assert "as all are compared with the same ones" in found.notes["group"]
    assert hld.audit(detector, wild, [20], num_batches=50, groups=wild["day"]).keeps_level == {
        "detector": False
    }


def test_without_groups_the_level_is_not_known(detector):
    found = hld.audit(detector, days(40, np.random.default_rng(1)), [20], num_batches=9)
    assert found.keeps_level == {"detector": None}
    assert "its level is not told by random rows" in str(found)
    assert "whole groups that it has not seen, with `groups` as in" in found.notes["detector"]
    assert "Level not known" in audit_report(found)
    assert json.loads(json.dumps(found.to_dict()))["keeps_level"] == {"detector": None}


def test_the_number_of_alarms_has_the_law_of_ranks_among_the_same_groups():
    for alpha, G, B in ((0.05, 19, 40), (0.05, 100, 500), (0.3, 12, 7)):
        law = betabinom(B, int(alpha * (G + 1)), G + 1 - int(alpha * (G + 1)))
        assert [too_many(a, B, alpha, G) for a in range(B + 1)] == [
            law.sf(a - 1) < 0.025 for a in range(B + 1)
        ]
    assert not too_many(0, 9, 0.05, 5)  # p-values of 1/6 and more
    rng, trials = np.random.default_rng(2), 2000
    reference, fresh = rng.normal(size=(trials, 19, 1)), rng.normal(size=(trials, 1, 200))
    alarms = ((reference >= fresh).sum(axis=1) == 0).sum(axis=1)
    assert sum(too_many(a, 200, 0.05, 19) for a in alarms.tolist()) <= at_most(trials, 0.025)
    assert (alarms > 18).mean() > 0.1  # which one proportion of 200 does not explain


def test_groups_are_columns_of_any_table_or_labels():
    rows = [["a", 1], ["b", 2], ["a", 3]]
    frame, rng = pd.DataFrame(rows, columns=["g", "x"]), np.random.default_rng(0)
    for table, groups in (
        (frame, "g"),
        (frame, 0),
        (frame["x"].to_frame(), ["a", "b", "a"]),
        (rows, ["a", "b", "a"]),
        (frame.to_dict("records"), "g"),
    ):
        assert [one.tolist() for one in whole_groups(read_table(table), groups, 9, rng)] == [
            [0, 2],
            [1],
        ]
    assert len(whole_groups(read_table(frame), "g", 1, rng)) == 1
    with pytest.raises(ValueError, match="`groups` is 0, but `held_out` has no names: give the la"):
        whole_groups(read_table(rows), 0, 9, rng)
    with pytest.raises(ValueError, match="`groups` has 1 rows without a group"):
        hld.audit(lambda _: 1.0, pd.DataFrame({"g": [1.0, np.nan], "x": [1, 2]}), [1], groups="g")
    with pytest.raises(ValueError, match="`groups` names the column 'h', expected one of 'g', 'x'"):
        hld.audit(lambda _: 1.0, frame, [1], groups="h")


def test_the_command_knows_the_column_of_the_fit(detector, tmp_path, capsys):
    rng = np.random.default_rng(6)
    detector.save(tmp_path / "days.hld")
    labels = days(38, np.random.default_rng(0))
    hld.HLDDetector(**SMALL).fit(labels.drop(columns="day"), groups=labels["day"]).save(
        tmp_path / "labels.hld"
    )
    for name, spread in (("calm", 1.0), ("wild", 8.0)):
        days(40, rng, spread, 100).to_csv(tmp_path / f"{name}.csv", index=False)

    def run(model, table, *more):
        status = main(
            [
                "audit",
                str(tmp_path / model),
                str(tmp_path / table),
                "--sizes",
                "20",
                "--num-batches",
                "40",
                *more,
            ]
        )
        return status, capsys.readouterr()

    page = tmp_path / "audit.html"
    status, out = run("days.hld", "calm.csv", "--json", "--report", str(page))
    assert status == 0
    assert [
        row["num_rows"] for row in json.loads(out.out)["rows"] if row["situation"] == "whole groups"
    ] == [30]
    assert "hld audit" in page.read_text(encoding="utf-8")
    assert run("days.hld", "wild.csv")[0] == 1
    status, out = run("labels.hld", "calm.csv")
    assert status == 2
    assert "--groups is missing: the model was fitted with groups" in out.err
    assert run("labels.hld", "wild.csv", "--groups", "day")[0] == 1
