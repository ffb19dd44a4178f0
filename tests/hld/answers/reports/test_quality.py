"""How well drawn rows resemble real ones: numbers between copies and nothing alike."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import hld
from hld.answers.reports.quality import classifier_auc, sample_quality


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 300)
    return pd.DataFrame(
        {"kind": np.array(["a", "b", "c"])[kind], "size": rng.normal(3 * kind).round(2)}
    )


@pytest.fixture
def no_trees(monkeypatch):
    """The classifier takes most of the time, and is tested by itself."""
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)


@pytest.fixture(scope="module")
def detector(table):
    return hld.HLDDetector(num_latents=3, num_epochs=5, num_resamples=39, metric="likelihoods").fit(
        table
    )


def test_copies_are_all_alike(detector, table, no_trees):
    found = sample_quality(detector, table[:100], real=table[:100], training=table)
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["shape"], told["trend"], told["num_rows"]) == (1.0, 1.0, 100)
    assert told["columns"] == {"kind": 1.0, "size": 1.0}
    assert [(sorted(pair["columns"]), pair["agreement"]) for pair in told["pairs"]] == [
        (["kind", "size"], 1.0)
    ]
    assert told["closest"] == told["real_closest"] == {"median": 0.0, "share_identical": 1.0}
    assert told["auc"] is None


def test_nothing_alike_is_told_apart(detector, table):
    pytest.importorskip("sklearn")
    other = table[:60].assign(kind="a", size=table["size"] + 50)
    found = sample_quality(detector, other, real=table)
    assert found.auc > 0.99
    assert found.columns["size"] < 0.5
    assert (found.to_dict()["closest"], found.to_dict()["real_closest"]) == (None, None)


@pytest.mark.parametrize("empty", ["rows", "real", "training"])
def test_tables_without_rows_are_refused(detector, table, empty):
    tables = {name: table[: 0 if name == empty else 20] for name in ("rows", "real", "training")}
    with pytest.raises(
        ValueError, match=f"`{empty}` has no rows, expected at least one to compare"
    ):
        sample_quality(detector, tables.pop("rows"), **tables)


def test_a_single_column_has_no_trend():
    table = pd.DataFrame({"x": np.arange(60) % 3})
    detector = hld.HLDDetector(
        num_latents=2, num_epochs=1, num_resamples=19, metric="likelihoods"
    ).fit(table)
    assert sample_quality(detector, table[:30]).trend is None


def test_few_rows_have_no_classifier(rng):
    assert classifier_auc(np.zeros((3, 2)), np.ones((300, 2)), rng) is None


@pytest.mark.parametrize("kind", ["names", "positions", "calendar", "calendar by position"])
def test_columns_that_are_left_out_are_not_drawn_and_not_missed(kind, no_trees):
    rng = np.random.default_rng(4)
    table = {
        "id": np.array([f"u{i}" for i in range(300)]),
        "level": rng.choice(list("abc"), 300),
        "x": rng.normal(size=300),
        "when": np.datetime64("2026-01-01T00") + rng.integers(0, 2000, 300),
    }
    options = {"num_latents": 2, "num_epochs": 1, "null": "exact"}
    if kind == "positions":
        table = np.array(
            [[*row] for row in zip(table["id"], table["level"], table["x"], strict=True)],
            dtype=object,
        )
    elif kind == "calendar by position":
        table = np.array(
            [[*row] for row in zip(table["when"].tolist(), table["level"], strict=True)],
            dtype=object,
        )
        options["schema"] = hld.TableSchema(hld.calendar_columns("x0"))
    elif kind == "names":
        del table["when"]
    else:
        options["schema"] = hld.TableSchema(
            (*hld.calendar_columns("when"), hld.ColumnSchema("secret", "left out"))
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the column that tells rows apart
        detector = hld.HLDDetector(**options).fit(table)
    drawn = detector.sample(200, rng=0)
    assert drawn.shape[1] == len(detector.encoder_.names) < 5
    found = sample_quality(detector, drawn, real=table, training=table)
    assert found.result.num_samples == 200
    assert 0.5 < found.shape <= 1
    assert len(found.closest) > 0


@pytest.mark.parametrize("empty", ["rows", "real"])
def test_a_column_without_values_does_not_agree_with_one_that_has_some(
    detector, table, empty, no_trees
):
    """By a half, it was said, and so better than a column that has other values."""
    tables = {"rows": table[:50], "real": table[:50]} | {empty: table[:50].assign(kind=None)}
    found = sample_quality(detector, tables["rows"], real=tables["real"])
    assert found.columns == {"kind": 0.0, "size": 1.0}
    assert list(found.pairs.values()) == [0.0]
    both = sample_quality(detector, table[:50].assign(kind=None), real=table[:60].assign(kind=None))
    assert both.columns["kind"] == 1.0


@pytest.mark.parametrize("num_values", [0, 20])
def test_a_column_that_hardly_any_row_shows_does_not_stop_the_trees(num_values, rng):
    """scikit-learn had raised "window shape cannot be larger than input array shape"."""
    pytest.importorskip("sklearn")
    rows = np.column_stack([rng.normal(size=200), np.full(200, np.nan)])
    rows[:num_values, 1] = np.arange(num_values)
    assert 0.3 < classifier_auc(rows[::2], rows[1::2], rng) < 0.7
