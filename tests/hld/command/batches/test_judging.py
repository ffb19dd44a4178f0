"""`hld test`: the verdict and its status, what goes with what, and a report that says how to get it again."""
import json
from types import SimpleNamespace

import pandas as pd
import pytest

import hld
from hld.command.batches.judging import is_large

ALPHA = "0.001"  # the batch without a shift would fail for one seed in a thousand; the other is far beyond


@pytest.mark.parametrize(("batch", "status", "verdict"), [("calm.csv", 0, "no shift: "),
                                                          ("shifted.csv", 1, "shift: ")])
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
    status, out, _ = run("test", "model.hld", "moved.csv", "--min-effect", "9")
    assert (status, "95 % between" in out) == (0, True)


@pytest.mark.parametrize(("interval", "least", "large"), [
    ((0.25, 0.5), 0.25, True), ((0.25, 0.5), 0.26, False), (None, 0.375, True), (None, 0.376, False)])
def test_an_effect_as_large_as_asked_for_is_an_alarm(interval, least, large):
    result = SimpleNamespace(reject=True, effect=0.375, effect_interval=interval)
    assert is_large(result, least) is large
    assert is_large(result, None) is True


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
    status, out, err = run("test", "model.hld", "days.csv", "--by", "day", "--every", "day", "--report", "days.html")
    page = (folder / "days.html").read_text(encoding="utf-8")
    assert (status, err) == (1, "")
    assert out.splitlines()[0].startswith("1 of 3 segments of day shifted")
    assert page.count('<span class="shift"') == 1
    assert "calendar" in page.partition("</style>")[2]
    assert "--by day --every day" in page


def test_mistakes_of_segments(run):
    assert run("test", "model.hld", "calm.csv", "--every", "day")[::2] == (
        2, "hld: error: --every is for segments of time: give their column with --by\n")
    status, out, err = run("test", "model.hld", "calm.csv", "--by", "shop")
    assert (status, out) == (2, "")
    assert "`by` names the column 'shop'" in err
