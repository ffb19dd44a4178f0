"""`hld explain`: shares that add up, columns by name, odd cells counted."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import hld
from hld.command.batches.explain import draw_shares, explanation, print_explanation

ALPHA = "0.001"  # the batch without a shift would fail for one seed in a thousand; the other is far beyond


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
    assert found["reject"] is True
    assert sum(node["share"] for node in found["nodes"]) == pytest.approx(1, rel=1e-12)
    assert sum(entry["share"] for entry in found["variables"]) == pytest.approx(1, rel=1e-12)
    assert {entry["name"] for entry in found["variables"]} == {
        "colour",
        "member",
        "visits",
        "income",
    }
    assert found["variables"][0]["name"] == "income"
    assert found["nodes"][0]["variables"] == ["income"]
    assert len(found["nodes"]) == found["num_nodes"]
    assert (
        sum(node["pvalue"] <= float(ALPHA) for node in found["nodes"])
        == found["num_nodes_shifted"]
        > 0
    )
    assert found["nodes"][0].keys() == {
        "node",
        "kind",
        "variables",
        "delta",
        "zscore",
        "own_zscore",
        "pvalue",
        "share",
    }
    assert found["nodes"][0]["pvalue"] < 1e-6
    missing = {entry["name"]: entry["num_missing"] for entry in found["variables"]}
    assert sum(missing.values()) == found["num_missing"] > 0


def test_explain_for_people(run_on_gaps):
    """Verdict, columns, nodes; --top limits both lists; the status is that of the test."""
    status, out, _ = run_on_gaps("explain", "model.hld", "calm.csv", "--alpha", ALPHA, "--top", "3")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith("no shift: ")
    assert lines[1].startswith("no column moved by itself")
    assert lines[4].split() == ["column", "share", "missing", "unseen", "out", "of", "range"]
    assert lines[5 + 3 + 2].split() == [
        "node",
        "kind",
        "delta",
        "z",
        "own",
        "z",
        "p",
        "(adj.)",
        "share",
        "columns",
    ]
    assert len(lines) == 5 + 3 + 3 + 3


def test_explain_counts_odd_cells(run_on_gaps, files):
    """Levels that training did not have, and numbers beyond its range."""
    (files / "odd.csv").write_text("colour,member,visits,income\nviolet,True,77,1e9\nviolet,,,\n")
    found = json.loads(run_on_gaps("explain", "model.hld", "odd.csv", "--json")[1])
    counts = {
        entry["name"]: [entry["num_missing"], entry["num_unseen"], entry["num_out_of_range"]]
        for entry in found["variables"]
    }
    assert counts == {
        "colour": [0, 2, 0],
        "member": [1, 0, 0],
        "visits": [1, 1, 0],
        "income": [1, 0, 1],
    }


def test_explain_draws(run_on_gaps, files):
    """A PNG file, the same status."""
    status, _, err = run_on_gaps(
        "explain", "model.hld", "shifted.csv", "--alpha", ALPHA, "--plot", "shares.png"
    )
    assert (status, err) == (1, "")
    assert (files / "shares.png").read_bytes().startswith(b"\x89PNG")


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


@pytest.mark.parametrize("top", [1, 2, 50])
def test_top_is_a_bound_on_both_lists(judged, top):
    found = explanation(*judged, top)
    assert (len(found["variables"]), len(found["nodes"])) == (
        min(top, 3),
        min(top, found["num_nodes"]),
    )
    assert found["variables"][0]["name"] == "income"


def test_a_batch_that_is_as_learned_to_the_last_digit_has_shares_of_zero():
    rows = np.array([[0, 1], [1, 0]] * 20)
    detector = hld.HLDDetector(
        num_latents=1, num_epochs=1, num_resamples=19, reference="training", metric="likelihoods"
    ).fit(rows)
    result = replace(detector.test(rows), deltas=np.zeros(len(detector.test_.nodes)))
    assert {one["share"] for one in explanation(detector, result, 9)["variables"]} == {0.0}


def test_the_picture_names_the_columns_and_the_verdict(judged, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    shown = []
    monkeypatch.setattr(
        "hld.command.batches.explain.save_figure", lambda figure, *_, **__: shown.append(figure)
    )
    draw_shares(*judged, 2, tmp_path / "a.png")
    axes = shown[0].axes[0]
    assert axes.get_title(loc="left").startswith("Shift found: p = ")
    assert axes.get_title(loc="left").endswith(", 400 rows")
    assert "income" in [label.get_text() for label in axes.get_yticklabels()]
    assert len(axes.get_yticklabels()) == 2
