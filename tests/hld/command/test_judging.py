"""The commands on a batch: test, explain, audit, summarize."""

import html
import json
import shlex
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import hld
from hld.apps.command.judging import (
    explanation,
    print_explanation,
    read_summaries,
)

ALPHA = "0.001"  # the batch without a shift would fail for one seed in a thousand; the other is far beyond


@pytest.mark.parametrize(
    ("batch", "status", "verdict"), [("calm.csv", 0, "no shift: "), ("shifted.csv", 1, "shift: ")]
)
def test_verdict(batch, status, verdict, run_on_gaps, files):
    """0 and 1, in words and as JSON; the numbers are those of the library."""
    assert run_on_gaps("test", "model.hld", batch, "--alpha", ALPHA)[0] == status
    text = run_on_gaps("test", "model.hld", batch, "--alpha", ALPHA)[1]
    assert text.startswith(verdict)
    assert (": p " if status else "no column moved") in text
    found, out, err = run_on_gaps("test", "model.hld", batch, "--alpha", ALPHA, "--json")
    assert (found, err) == (status, "")
    table = pd.read_csv(files / batch)
    assert json.loads(out) == hld.load(files / "model.hld").test(table, float(ALPHA)).to_dict()


def test_a_trifle_is_no_alarm_if_so_asked(run):
    assert run("test", "model.hld", "moved.csv", "--min-effect", "0.01")[0] == 1
    status, out, _ = run("test", "model.hld", "moved.csv", "--min-effect", "1")
    assert (status, "of rows (at least" in out) == (0, True)


def test_report_of_a_batch(run, folder):
    status, out, err = run("test", "model.hld", "moved.csv", "--report", "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (status, err) == (1, "")
    assert out.startswith("shift: p ")
    assert "income" in out
    assert "<h1>Shift found</h1>" in page
    assert "hld test model.hld moved.csv --report report.html" in page
    assert "<b>blue" not in page
    assert "&lt;b&gt;blue" in page


def test_report_of_segments(run, folder):
    status, out, err = run(
        "test", "model.hld", "days.csv", "--by", "day", "--every", "day", "--report", "days.html"
    )
    page = (folder / "days.html").read_text(encoding="utf-8")
    assert (status, err) == (1, "")
    assert out.splitlines()[0].startswith("1 of 3 segments of day shifted")
    assert page.count('<span class="shift"') == 1
    assert "--by day --every day" in page


def test_mistakes_of_segments(run):
    assert run("test", "model.hld", "calm.csv", "--every", "day")[::2] == (
        2,
        "hld: error: --every is for segments of time: give their column with --by\n",
    )
    status, out, err = run("test", "model.hld", "calm.csv", "--by", "shop")
    assert (status, out) == (2, "")
    assert "`by` names the column 'shop'" in err


def command_of(page):
    """The arguments behind `hld` that a page gives for getting its numbers again."""
    return shlex.split(
        html.unescape(page.partition("How to reproduce</h2><pre>")[2].partition("\n")[0])
    )[1:]


@pytest.mark.parametrize(
    "options",
    [
        ["--na-values", "0,1", "--alpha", "0.016666666666666666"],
        ["--drop", '"income"', "--columns", "visits,colour"],
        ["--by", "colour", "--na-values=-1,2"],
    ],
)
def test_a_report_names_all_options_that_its_numbers_depend_on(run, folder, options):
    """Those for reading the table were left out, and the level was rounded: the command gave other numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of columns that are not read
        first = run("test", "model.hld", "calm.csv", *options, "--report", "once.html", "--json")
        command = command_of((folder / "once.html").read_text(encoding="utf-8"))
        assert command[:3] == ["test", "model.hld", "calm.csv"]
        assert run(*command, "--json")[:2] == first[:2]
        assert run("test", "model.hld", "calm.csv", "--json")[1] != first[1]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ["calm.csv", "--summary", "s.json"],
            "a batch is either a table or given by --summary or --sql, found a table",
        ),
        ([], "or --sql, found neither"),
        (["--sql", "SELECT 1", "--by", "colour"], "--sql goes neither with --by nor with"),
        (
            ["--summary", "s.json", "--report", "r.html"],
            "--summary goes neither with --by nor with --report, which need",
        ),
        (
            ["calm.csv", "--database", "duckdb://x"],
            "--database is for --sql: say which table of it, or which query",
        ),
        (
            ["calm.csv", "--by", "colour", "--min-effect", "0.1"],
            "--min-effect is for one batch, not with --by",
        ),
        (
            ["calm.csv", "--min-effect", "nan"],
            "--min-effect must be a share of rows, from 0 to 1, found nan",
        ),
    ],
)
def test_what_does_not_go_together_is_said_before_anything_is_read(run_here, argv, said):
    status, out, err = run_here("test", "absent.hld", *argv)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize(
    ("names", "said"), [("abcdef", "a, b, c, d, e, f"), ("abcdefgh", "a, b, c, d, e, f and 2 more")]
)
def test_explain_names_six_columns_of_a_node_and_counts_the_others(names, said, capsys):
    node = {
        "node": 1,
        "kind": "sum",
        "delta": 0.5,
        "zscore": 3.0,
        "own_zscore": 2.0,
        "pvalue": 0.01,
        "share": 1.0,
        "variables": list(names),
    }
    print_explanation(
        SimpleNamespace(alpha=0.05),
        {"variables": [], "nodes": [node], "num_nodes": 1, "num_nodes_shifted": 1},
    )
    assert capsys.readouterr().out.rstrip().endswith(f"  {said}")


def test_explain_names_the_columns(run_on_gaps):
    """Incomes rose: they lead, the shares add up, and the nodes speak of columns by name."""
    status, out, err = run_on_gaps(
        "explain", "model.hld", "shifted.csv", "--alpha", ALPHA, "--json", "--top", "1000"
    )
    found = json.loads(out)
    assert (status, err) == (1, "")
    assert sum(node["share"] for node in found["nodes"]) == pytest.approx(1, rel=1e-12)
    assert sum(entry["share"] for entry in found["variables"]) == pytest.approx(1, rel=1e-12)
    assert (found["variables"][0]["name"], found["nodes"][0]["variables"]) == ("income", ["income"])
    shifted = sum(node["pvalue"] <= float(ALPHA) for node in found["nodes"])
    assert len(found["nodes"]) == found["num_nodes"] >= found["num_nodes_shifted"] == shifted > 0
    missing = sum(entry["num_missing"] for entry in found["variables"])
    assert missing == found["num_missing"] > 0


def test_explain_for_people(run_on_gaps):
    """Verdict, columns, nodes that shifted; --top limits both lists; the status is that of the test."""
    status, out, _ = run_on_gaps("explain", "model.hld", "calm.csv", "--alpha", ALPHA, "--top", "3")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith("no shift: ")
    assert lines[1].startswith("no column moved by itself")
    assert lines[4].split() == ["column", "share", "missing", "unseen", "out", "of", "range"]
    assert lines[-1].startswith("0 of ")  # no node shifted, and none is listed
    assert len(lines) == 5 + 3 + 2


@pytest.fixture(scope="module")
def judged(folder):
    """A detector, and its result for the shifted batch."""
    detector = hld.load(folder / "model.hld")
    return detector, detector.test(pd.read_csv(folder / "moved.csv"))


def test_shares_are_parts_of_the_squared_distance(judged):
    detector, result = judged
    found, local = explanation(detector, result, 100), result.localize(top=100)
    total = (result.deltas**2).sum()
    assert [one["share"] for one in found["variables"]] == pytest.approx(
        sorted(local.variable_scores / total)[::-1]
    )
    assert [one["share"] for one in found["nodes"]] == pytest.approx(
        [one.delta**2 / total for one in local.nodes]
    )
    assert (found["num_nodes"], found["num_nodes_shifted"]) == (
        len(result.deltas),
        int((result.node_pvalues <= 0.05).sum()),
    )
    assert {name: found[name] for name in result.to_dict()} == result.to_dict()


def test_a_batch_that_is_as_learned_to_the_last_digit_has_shares_of_zero():
    rows = np.array([[0, 1], [1, 0]] * 20)
    detector = hld.HLDDetector(
        num_latents=1, num_epochs=1, num_resamples=19, reference="training", metric="likelihoods"
    ).fit(rows)
    result = replace(detector.test(rows), deltas=np.zeros(len(detector.test_.nodes)))
    assert {one["share"] for one in explanation(detector, result, 9)["variables"]} == {0.0}


@pytest.mark.parametrize(
    ("table", "alpha", "status"), [("moved.csv", "0.05", 1), ("calm.csv", "0.3", 0)]
)
def test_the_status_and_the_json_are_those_of_the_audit(run, folder, table, alpha, status):
    found = hld.audit(
        {"model.hld": hld.load(folder / "model.hld")},
        pd.read_csv(folder / table),
        [20],
        alpha=float(alpha),
        num_batches=10,
        rng=4,
    )
    told, out, err = run(
        "audit",
        "model.hld",
        table,
        "--sizes",
        "20",
        "--num-batches",
        "10",
        "--seed",
        "4",
        "--alpha",
        alpha,
        "--json",
    )
    assert (told, err, json.loads(out)) == (status, "", found.to_dict())
    assert found.keeps_level == {"model.hld": status == 0}


def test_the_file_is_the_summary_that_the_library_makes(run, folder):
    detector, table = hld.load(folder / "model.hld"), pd.read_csv(folder / "calm.csv")
    status, out, err = run("summarize", "model.hld", "calm.csv", "-o", "sums.json")
    expected = detector.summarize(table)
    assert (status, err, out) == (
        0,
        "",
        f"wrote sums.json: 400 rows as {len(expected.sums)} sums\n",
    )
    found = hld.BatchSummary.from_json((folder / "sums.json").read_text())
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)
    assert (found.num_rows, found.model, found.extra) == (400, expected.model, ())


def test_several_files_are_one_batch_in_any_order(run, folder):
    detector, table = hld.load(folder / "model.hld"), pd.read_csv(folder / "moved.csv")
    for name, rows in (("a", table[:100]), ("b", table[100:250]), ("c", table[250:])):
        (folder / f"{name}.json").write_text(
            detector.summarize(rows).to_json(), encoding="utf-8-sig"
        )
    paths = [str(folder / f"{name}.json") for name in "abc"]
    whole = detector.summarize(table)
    for order in (paths, paths[::-1]):
        found = read_summaries(order)
        assert found.num_rows == 400
        np.testing.assert_allclose(found.sums, whole.sums, rtol=1e-12)
    assert read_summaries(paths[:1]).num_rows == 100
    (folder / "again.json").symlink_to(paths[0])
    for path in (
        paths[0],
        str(folder / "again.json"),
        str(folder / "." / ".." / folder.name / "a.json"),
    ):
        with pytest.raises(
            ValueError, match=r"--summary names the file '.*' twice, and its rows would count twice"
        ):
            read_summaries([*paths, path])


@pytest.mark.parametrize(
    "text", ["", "[1", "[]", "{}", "[" * 100_000, '{"format": "hld.summary"}', "\xff"]
)
def test_a_file_that_is_no_summary_is_named(tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=f"^cannot use '{path}': "):
        read_summaries([str(path)])


def test_summaries_of_two_models_are_refused_by_the_name_of_the_file(folder):
    table = pd.read_csv(folder / "calm.csv")
    for name in ("model", "other"):
        (folder / f"of-{name}.json").write_text(
            hld.load(folder / f"{name}.hld").summarize(table).to_json()
        )
    paths = [str(folder / f"of-{name}.json") for name in ("model", "other")]
    with pytest.raises(ValueError, match=f"^cannot use {paths[1]!r}: "):
        read_summaries(paths)
