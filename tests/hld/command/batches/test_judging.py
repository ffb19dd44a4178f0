"""`hld test`: the verdict and its status, what goes with what, and a report that says how to get it again."""

import html
import json
import shlex
import warnings
from types import SimpleNamespace

import pandas as pd
import pytest

import hld
from hld.command.arguments import build_parser
from hld.command.batches.judging import is_large, read_inputs

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
    status, out, _ = run("test", "model.hld", "moved.csv", "--min-effect", "9")
    assert (status, "95 % between" in out) == (0, True)


@pytest.mark.parametrize(
    ("interval", "least", "large"),
    [
        ((0.25, 0.5), 0.25, True),
        ((0.25, 0.5), 0.26, False),
        (None, 0.375, True),
        (None, 0.376, False),
    ],
)
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
    status, out, err = run(
        "test", "model.hld", "days.csv", "--by", "day", "--every", "day", "--report", "days.html"
    )
    page = (folder / "days.html").read_text(encoding="utf-8")
    assert (status, err) == (1, "")
    assert out.splitlines()[0].startswith("1 of 3 segments of day shifted")
    assert page.count('<span class="shift"') == 1
    assert "calendar" in page.partition("</style>")[2]
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
        ["--by", "colour", "--procedure", "by", "--na-values=-1,2"],
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
            ["calm.csv", "--procedure", "by"],
            "--procedure is for several segments: give their column with --by",
        ),
        (
            ["calm.csv", "--by", "colour", "--min-effect", "0.1"],
            "--min-effect is for one batch, not with --by",
        ),
        (
            ["calm.csv", "--min-effect", "nan"],
            "--min-effect must be a finite number of at least 0, found nan",
        ),
    ],
)
def test_what_does_not_go_together_is_said_before_anything_is_read(run_here, argv, said):
    status, out, err = run_here("test", "absent.hld", *argv)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_batch_that_is_not_called_shifted_is_never_large():
    assert not is_large(SimpleNamespace(reject=False, effect=9.0, effect_interval=(8.0, 9.0)), 0.1)


def test_inputs_are_the_detector_and_the_table_as_it_was_fitted(folder):
    args = build_parser().parse_args(
        ["test", str(folder / "model.hld"), str(folder / "calm.csv"), "--drop", "visits"]
    )
    with pytest.warns(UserWarning, match="not read count as missing in all rows: 'visits'"):
        detector, table = read_inputs(args)
    assert list(table) == ["colour", "income"]
    assert (
        detector.test(table).pvalue
        == hld.load(folder / "model.hld")
        .test(pd.read_csv(folder / "calm.csv")[["colour", "income"]])
        .pvalue
    )
