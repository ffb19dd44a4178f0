"""The page of segments: numbers of the result, a mark for each segment, a calendar where labels are days."""

import html
import re
from types import SimpleNamespace

import numpy as np
import pytest
from pages import check_nesting, facts, table_rows

from hld.answers.segments import SegmentsResult
from hld.reports.segments_report import MOST_ROWS, picture, segments_report


def result(labels, adjusted, procedure="bh"):
    """A result with these adjusted p-values at level 0.05; shifted segments tell of two columns, of which one moved."""
    m, adjusted = len(labels), np.asarray(adjusted, dtype=float)
    columns = [
        SimpleNamespace(name=name, adjusted=p, describe=lambda: "higher")
        for name, p in (("<x>", 0.01), ("y", 0.2))
    ]
    return SegmentsResult(
        "<day>",
        tuple(labels),
        np.arange(m) + 1000,
        tuple(SimpleNamespace(effect=0.123, columns=columns) for _ in labels),
        adjusted / 2,
        adjusted,
        adjusted <= 0.05,
        0.05,
        procedure,
    )


def marks(text):
    """Of each mark whether it is that of a shift, and what it says."""
    return [
        (bool(shift), html.unescape(said))
        for shift, said in re.findall(r'<span( class="shift")? title="([^"]*)"></span>', text)
    ]


def test_the_verdict_and_the_table_are_those_of_the_result():
    text = segments_report(
        None,
        result(["a", "<b>", "c"], [0.5, 0.02, 0.3], "by"),
        batch_name="<t>",
        model_name="<m>",
        commands=["hld test"],
        digest="ab",
    )
    check_nesting(text)
    assert "<h1>1 of 3 segments shifted</h1>" in text
    assert "<title>1 of 3 segments shifted: &lt;t&gt;</title>" in text
    assert "&lt;t&gt; by &lt;day&gt;, against &lt;m&gt;" in text
    assert "a share of at most 0.05 is expected to be false (Benjamini-Yekutieli)" in text
    assert facts(text) == {
        "rows": "3,003",
        "segments": "3",
        "level": "0.05",
        "smallest adjusted p": "0.02",
    }
    header, *rows = table_rows(text)
    assert header == [
        "<day>",
        "rows",
        "p",
        "adjusted p",
        "effect size",
        "verdict",
        "columns that moved",
    ]
    assert rows == [
        ["<b>", "1,001", "0.01", "0.02", "0.12", "shift", "<x>: higher"],
        ["c", "1,002", "0.15", "0.3", "0.12", "no shift", ""],
        ["a", "1,000", "0.25", "0.5", "0.12", "no shift", ""],
    ]


def test_no_shift_is_calm_and_long_tables_say_what_is_listed():
    m = MOST_ROWS + 1
    text = segments_report(None, result([str(k) for k in range(m)], np.linspace(1, 0.1, m)))
    assert f"<h1>None of {m} segments shifted</h1>" in text
    assert 'class="verdict calm"' in text
    assert f"The first {MOST_ROWS} of {m} are listed." in text
    rows = table_rows(text)[1:]
    assert [row[0] for row in rows] == [str(k) for k in range(m - 1, 0, -1)]
    assert len(marks(text)) == m


def test_labels_that_are_no_days_have_a_mark_each_in_their_order():
    text = picture(result(["b", '"a"', "2026-13-01"], [0.01, 0.5, 1e-320]))
    assert 'class="calendar"' not in text
    assert marks(text) == [
        (True, "b: adjusted p = 0.01, 1000 rows"),
        (False, '"a": adjusted p = 0.5, 1001 rows'),
        (True, "2026-13-01: adjusted p < 1e-300, 1002 rows"),
    ]


def test_days_are_in_a_row_for_each_month_at_their_place():
    days = ["2024-12-31", "2024-02-29", "2025-02-01", "2024-02-05"]
    text = picture(result(days, [0.01, 0.5, 0.5, 0.02]))
    check_nesting(text)
    rows = [
        (
            month,
            [
                day
                for day, cell in enumerate(re.findall(r"<td>(.*?)</td>", cells), 1)
                if marks(cell)
            ],
        )
        for month, cells in re.findall(r'<th scope="row">([\d-]+)</th>(.*?)</tr>', text)
    ]
    assert rows == [("2024-02", [5, 29]), ("2024-12", [31]), ("2025-02", [1])]
    assert [said[:10] for _, said in marks(text)] == sorted(days)
    assert [said[:10] for shift, said in marks(text) if shift] == ["2024-02-05", "2024-12-31"]


@pytest.mark.parametrize(
    "label", ["2026-W10-1", "20260307", "2026-3-7", "2026-03-07 12", "2026-02-30", "(missing)"]
)
def test_one_label_that_is_no_day_makes_marks_of_all(label):
    """Python 3.11 reads weeks as days: Monday of week 10 had taken the place of 2026-03-02."""
    text = picture(result(["2026-03-02", label], [0.5, 0.5]))
    assert [said.partition(":")[0] for _, said in marks(text)] == ["2026-03-02", label]
    assert 'class="calendar"' not in text


def test_p_values_have_digits_enough_to_show_on_which_side_of_the_level_they_are():
    text = segments_report(None, result(["a", "b"], [0.05004, 0.2]))
    assert facts(text)["smallest adjusted p"] == "0.05004"
    assert [row[3] for row in table_rows(text)[1:]] == ["0.05004", "0.2"]
    assert marks(text)[0] == (False, "a: adjusted p = 0.05004, 1000 rows")
    closer = SegmentsResult(
        "day",
        ("a",),
        np.array([9]),
        (SimpleNamespace(effect=0.1, columns=()),),
        np.array([0.01]),
        np.array([0.03336]),
        np.array([True]),
        0.033361,
        "bh",
    )
    assert "adjusted p = 0.03336  9 rows" in str(closer)


def test_a_segment_of_one_row_is_not_said_to_have_rows():
    found = SegmentsResult(
        "day",
        ("a", "b"),
        np.array([1, 2]),
        (SimpleNamespace(effect=0.1, columns=()),) * 2,
        np.array([0.01] * 2),
        np.array([0.01] * 2),
        np.array([True] * 2),
        0.05,
        "bh",
    )
    assert [said.split(", ")[1] for _, said in marks(picture(found))] == ["1 row", "2 rows"]
    assert ["1 row  effect" in line for line in str(found).splitlines()[1:]] == [True, False]


def test_a_segment_of_empty_text_has_a_name():
    text = segments_report(None, result(["", "b"], [0.01, 0.5]))
    assert [row[0] for row in table_rows(text)[1:]] == ["''", "b"]
    assert marks(text)[0][1] == "'': adjusted p = 0.01, 1000 rows"
