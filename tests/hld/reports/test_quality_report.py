"""The page on drawn rows: its numbers are those of the quality, the worst columns and pairs first."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from pages import check_nesting, facts, table_rows

from hld.answers.column_shifts import ColumnShift
from hld.reports.quality import SampleQuality
from hld.reports.quality_report import WORST, quality_report


def shift(name):
    expected, observed = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    return ColumnShift(name, "categorical", ("a", "b"), expected, observed, 0.25, 0.1, 0.2, None)


def quality(names, pairs=None, *, reject=False, auc=0.625, closest=None, real_closest=None):
    """Columns that agree the less the earlier they are."""
    columns = {name: 0.5 + 0.05 * k for k, name in enumerate(names)}
    result = SimpleNamespace(reject=reject, pvalue=0.25, columns=list(map(shift, names)))
    return SampleQuality(1234, columns, pairs or {}, result, auc, closest, real_closest)


def test_the_numbers_are_those_of_the_quality():
    found = quality(["<x>", "y"], {("<x>", "y"): 0.8125})
    text = quality_report(found, model_name="<m>")
    check_nesting(text)
    assert facts(text) == {
        "rows drawn": "1,234",
        "columns agree": "52.5%",
        "pairs agree": "81.2%",
        "classifier AUC (0.5 is chance)": "0.62",
        "test of the rows": "p = 0.25",
    }
    assert "<title>Drawn rows of &lt;m&gt;</title>" in text
    assert table_rows(text) == [["pair", "agreement"], ["<x> and y", "81.2%"]]
    assert "Distance to the closest" not in text


def test_what_is_not_known_is_a_dash_and_has_no_table():
    text = quality_report(quality(["x"], auc=None))
    assert {name: value for name, value in facts(text).items() if value == "-"} == {
        "pairs agree": "-",
        "classifier AUC (0.5 is chance)": "-",
    }
    assert "Pairs that agree least" not in text
    assert table_rows(text) == []


@pytest.mark.parametrize(
    ("reject", "colour", "said"),
    [
        (True, "shift", "test distinguishes the drawn rows"),
        (False, "calm", "test does not distinguish the drawn rows"),
    ],
)
def test_the_verdict_is_that_of_the_test(reject, colour, said):
    text = quality_report(quality(["x"], reject=reject))
    assert f'class="verdict {colour}"' in text
    assert said in text


def test_columns_and_pairs_that_agree_least_come_first_and_no_others():
    names = [f"c{k}" for k in range(WORST + 2)]
    pairs = {(names[k], names[-1]): 0.9 - 0.1 * k for k in range(WORST + 1)}
    text = quality_report(quality(names, pairs))
    assert re.findall(r"<h3>(\w+)</h3><span class=\"p\">agreement ([\d.]+)%", text) == [
        (name, f"{50 + 5 * k:.1f}") for k, name in enumerate(names[:WORST])
    ]
    assert text.count('<svg class="histogram"') == WORST
    assert [row[0] for row in table_rows(text)[1:]] == [
        f"{name} and {names[-1]}" for name in names[WORST:0:-1]
    ]


def test_distances_to_training_rows_are_told_of_drawn_and_of_real_ones():
    drawn, real = np.array([0.0, 0.0, 0.25, 0.5]), np.array([0.5, 1.0])
    rows = table_rows(quality_report(quality(["x"], closest=drawn, real_closest=real)))
    assert rows == [
        ["", "5% quantile", "median", "identical"],
        ["drawn rows", "0", "0.125", "50%"],
        ["real rows", "0.525", "0.75", "0%"],
    ]
    assert len(table_rows(quality_report(quality(["x"], closest=drawn)))) == 2


def test_what_agrees_in_nearly_all_rows_is_not_said_to_agree_in_all():
    found = quality(["x", "y"], {("x", "y"): 0.99961})
    found.columns.update(x=0.99998, y=1.0)
    text = quality_report(found)
    assert facts(text)["columns agree"] == "99.999%"
    assert facts(text)["pairs agree"] == table_rows(text)[1][1] == "99.96%"
    assert re.findall(r"agreement ([\d.]+%)", text) == ["99.998%", "100.0%"]
