"""The page of a batch says where its p-value comes from, in words, and draws what it says."""

import html
import re
from types import SimpleNamespace

import numpy as np
import pytest
from pages import check_nesting, facts, table_rows

import hld
from hld.answers.dependences import PairShift
from hld.answers.reports import (
    MOST_CARDS,
    MOST_ROWS,
    PLAIN,
    _pairs,
    _verdict,
    audit_report,
    batch_report,
    heat_tables,
    picture,
    segments_report,
)
from hld.answers.segments import SegmentsResult
from hld.detector.audit import AuditResult, AuditRow
from hld.witnesses.metrics.named import METRICS

HEAD = ["test", "p-value", "part of the level"]


def test_a_shift_of_one_column_among_many_is_not_said_to_come_from_the_distances():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 40))
    batch = rng.normal(size=(200, 40))
    batch[:, 5] += 3
    detector = hld.HLDDetector(num_latents=1, num_epochs=2).fit(rows)
    result = detector.test(batch)
    assert result.largest_count.pvalue < 1e-10
    text = batch_report(detector, result)
    (tested,) = (rows for rows in map(table_rows, text.split("<h2>")) if rows[:1] == [HEAD])
    assert dict(row[:2] for row in tested[1:])["single counts"].startswith("p = ")


def test_columns_beyond_those_with_a_picture_are_counted_and_not_said_to_be_calm():
    training = np.random.default_rng(0).integers(2, size=(300, MOST_CARDS + 2))
    detector = hld.HLDDetector(
        num_epochs=1, num_latents=2, metric="likelihoods", num_resamples=19
    ).fit(training)
    text = batch_report(detector, detector.test(training[:100] * 0))
    assert f"<p>{MOST_CARDS + 2} of {MOST_CARDS + 2} columns moved (p-values" in text
    assert text.count("<details open><summary class='moved'>") == MOST_CARDS
    assert text.count('class="histogram"') == MOST_CARDS + 2


def test_pairs_beyond_those_with_a_picture_are_counted():
    table, labels = np.full((2, 2), 0.25), (("a", "b"),) * 2
    pairs = tuple(
        PairShift((f"x{i}", f"x{i + 1}"), 0.5, 0.0, 1e-9, 1e-8, labels, table, table, None)
        for i in range(MOST_CARDS + 3)
    )
    few, many = (
        _pairs(SimpleNamespace(pairs=some, columns=(), alpha=0.05, largest_dependence=None))
        for some in (pairs[:2], pairs)
    )
    assert f"{MOST_CARDS + 3} of {MOST_CARDS + 3} changed" in many
    assert f"(Holm). The first {MOST_CARDS} are shown.</p>" in many
    assert many.count("<article") == MOST_CARDS
    assert "2 of 2 changed" in few
    assert "are shown" not in few


def test_the_p_value_on_top_shows_on_which_side_of_the_level_it_is():
    result = SimpleNamespace(
        columns=(),
        pairs=(),
        alpha=0.05,
        pvalue=0.05004,
        reject=False,
        num_samples=20,
        effect=0.0,
        context=None,
    )
    assert "<dd>0.05004</dd>" in _verdict(result, "batch")
    least = SimpleNamespace(**vars(result) | {"pvalue": 0.0})
    assert "<dd>&lt; 1e-300</dd>" in _verdict(least, "batch")


def test_a_column_too_many_has_a_line_and_no_empty_table():
    training = {"x": np.arange(100) % 3, "y": np.arange(100) % 2}
    detector = hld.HLDDetector(
        num_epochs=1, num_latents=2, metric="likelihoods", num_resamples=19
    ).fit(training)
    text = batch_report(detector, detector.test({"x": [0], "y": [1], "z": [5]}))
    said = text.partition("<h2>Data quality</h2>")[2].partition("<h2>")[0]
    assert said.strip() == "<pre>column &#x27;z&#x27; was not in training: ignored</pre>"
    assert re.search(r"# hld [^<]*, 1 row<", text)


def result(labels, adjusted, procedure="bh"):
    """A result with these adjusted p-values at level 0.05; shifted segments tell of two columns, of which one moved."""
    m, adjusted = len(labels), np.asarray(adjusted, dtype=float)
    columns = [
        SimpleNamespace(
            name=name,
            names=(name,),
            title=name,
            adjusted=p,
            describe=lambda: "higher",
            labels=("a",),
            expected=np.ones(1),
            observed=np.ones(1),
        )
        for name, p in (("<x>", 0.01), ("y", 0.2))
    ]
    return SegmentsResult(
        "<day>",
        tuple(labels),
        np.arange(m) + 1000,
        tuple(
            SimpleNamespace(effect=0.123, context=None, columns=columns, pairs=(), alpha=0.05)
            for _ in labels
        ),
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
    ]
    assert "<p>&lt;x&gt;: higher</p>" in text.split("<h2>What moved</h2>")[1].split("<h2>")[0]
    assert rows == [
        ["<b>", "1,001", "0.01", "0.02", "12% of rows", "shift"],
        ["c", "1,002", "0.15", "0.3", "12% of rows", "no shift"],
        ["a", "1,000", "0.25", "0.5", "12% of rows", "no shift"],
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


def test_labels_have_a_mark_each_in_their_order():
    text = picture(result(["b", '"a"', "2026-13-01"], [0.01, 0.5, 1e-320]))
    assert marks(text) == [
        (True, "b: adjusted p = 0.01, 1000 rows"),
        (False, '"a": adjusted p = 0.5, 1001 rows'),
        (True, "2026-13-01: adjusted p < 1e-300, 1002 rows"),
    ]


def row(name, situation, alarms, batches=100, is_reused=False):
    return AuditRow(
        name, situation, 1200, batches, alarms, alarms / batches, 0.0123, 0.4567, is_reused
    )


GOOD, BAD = row("good", "random rows", 4), row("<bad>", "random rows", 90, is_reused=True)
UNKNOWN = row("unknown", "random rows", 4)  # of groups, none of which was given


@pytest.mark.parametrize(
    ("rows", "verdict", "colour"),
    [
        ([GOOD], "Level kept", "calm"),
        ([GOOD, BAD], "Too many alarms", "shift"),
        ([GOOD, UNKNOWN], "Level not known", "shift"),
        ([UNKNOWN, BAD], "Too many alarms", "shift"),
    ],
)
def test_the_verdict_is_that_of_the_worst_detector(rows, verdict, colour):
    kinds = {one.detector: "groups" for one in rows if one is UNKNOWN}
    text = audit_report(
        AuditResult(tuple(rows), 0.05, 120_000, kinds, dict.fromkeys(kinds, 30)), table_name="<t>"
    )
    check_nesting(text)
    assert f'<section class="verdict {colour}"><h1>{verdict}</h1>' in text
    assert f"<title>{verdict}: audit on &lt;t&gt;</title>" in text
    assert facts(text) == {"rows": "120,000", "detectors": str(len(rows)), "level": "0.05"}


def test_each_detector_has_a_table_of_its_rows_and_what_is_to_be_known_of_them():
    rows = (GOOD, BAD, row("good", "<sex> = F: +5 % of cells", 100), UNKNOWN)
    result = AuditResult(rows, 0.07, 120_000, {"unknown": "groups"}, {"unknown": 30})
    text = audit_report(result, commands=["hld audit <m>"])
    check_nesting(text)
    parts = text.split("<h2>")[1:4]
    assert [part.partition("</h2>")[0] for part in parts] == [
        "good: keeps its level",
        "&lt;bad&gt;: alarms too often",
        "unknown: its level is not told by random rows",
    ]
    header = ["batches", "rows each", "alarms", "share", "interval", "share rows"]
    assert table_rows(parts[0]) == [
        header,
        ["random rows", "1,200", "4 of 100", "4 %", "1.23 to 45.7 %", "no"],
        ["<sex> = F: +5 % of cells", "1,200", "100 of 100", "100 %", "1.23 to 45.7 %", "no"],
    ]
    assert table_rows(parts[1])[1:] == [
        ["random rows", "1,200", "90 of 100", "90 %", "1.23 to 45.7 %", "yes"]
    ]
    assert [f"<p>{result.notes['unknown'][:40]}" in part for part in parts] == [False, False, True]
    assert "may alarm on 7 % of" in text
    assert "<pre>hld audit &lt;m&gt;\n" in text


def test_every_metric_has_a_name_in_words():
    assert set(METRICS) <= set(PLAIN)


def test_shares_of_pairs_are_two_tables_the_darkest_cell_that_of_most_rows():
    pair = SimpleNamespace(
        labels=(("<a>", "b"), ("u", "v", "w")),
        expected_table=np.array([[0.1, 0.2, 0], [0.3, 0.4, 0]]),
        observed_table=np.array([[0.8, 0.0, 0], [0.0, 0.1, 0.1]]),
    )
    text = heat_tables(pair)
    check_nesting(text)
    assert re.findall("<caption>(.*?)</caption>", text) == ["expected", "observed"]
    assert table_rows(text) == [
        ["", "u", "v", "w"],
        ["<a>", "10%", "20%", "0%"],
        ["b", "30%", "40%", "0%"],
        ["", "u", "v", "w"],
        ["<a>", "80%", "0%", "0%"],
        ["b", "0%", "10%", "10%"],
    ]
    shades = [float(shade) for shade in re.findall(r"var\(--heat\),([\d.]+)", text)]
    shares = np.concatenate([pair.expected_table.ravel(), pair.observed_table.ravel()])
    np.testing.assert_allclose(shades, shares / 0.8 / 2, atol=5.1e-4)
