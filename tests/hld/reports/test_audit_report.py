"""The page of an audit: its verdict is that of all detectors, its tables are the rows of the result."""

import pytest
from pages import check_nesting, facts, table_rows

from hld.auditing.audit import AuditResult, AuditRow
from hld.reports.audit_report import audit_report


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
        "&lt;bad&gt;: alarms too often, or these rows differ from those that it learned",
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
