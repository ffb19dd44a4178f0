"""The commands beside fit and test: pages, segments, streams, comparisons, conditions, completion, and their JSON."""
import io
import json
import pathlib
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import hld
from hld.command import parser
from hld.command.arguments import EXAMPLES
from hld.command.batches.explain import print_explanation
from hld.command.batches.judging import is_large
from hld.command.parser import main
from hld.planning.of_tables import plan

SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "docs" / "json"


def rows(rng, number, shift=0.0):
    kind = rng.integers(0, 3, number)
    return pd.DataFrame({"colour": np.array(["red", "green", "<b>blue"])[kind],
                         "visits": kind + rng.integers(0, 2, number),
                         "income": (rng.normal(3 * kind) + shift).round(2)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("commands"), np.random.default_rng(7)
    rows(rng, 1000).to_csv(folder / "train.csv", index=False)
    calm, moved = rows(rng, 400), rows(rng, 400, 5.0)
    calm.to_csv(folder / "calm.csv", index=False)
    moved.to_csv(folder / "moved.csv", index=False)
    both = pd.concat([calm, moved])
    both["day"] = ["2026-03-01 10:00"] * 200 + ["2026-03-02 11:00"] * 200 + ["2026-03-03 12:00"] * 400
    both.to_csv(folder / "days.csv", index=False)
    for name, table in (("model", pd.read_csv(folder / "train.csv")), ("other", rows(rng, 1000, 1.0))):
        hld.HLDDetector(num_epochs=8, num_latents=3, metric="likelihoods").fit(table).save(folder / f"{name}.hld")
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")  # outputs are compared digit by digit

    def call(*argv, stdin=None):
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        return (main(list(argv)), *capsys.readouterr())
    return call


def check(name, value):
    """Raise unless a value is of a schema in docs/json."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(value, schema)


@pytest.mark.thorough
@pytest.mark.parametrize(("schema", "argv"), [
    ("test", ["test", "model.hld", "moved.csv"]), ("test", ["test", "model.hld", "calm.csv"]),
    ("explain", ["explain", "model.hld", "moved.csv"]), ("info", ["info", "model.hld"]),
    ("segments", ["test", "model.hld", "days.csv", "--by", "day", "--every", "day"]),
    ("plan", ["plan", "model.hld", "--rows-per-day", "100", "--edit", "colour=red:+0.2"]),
    ("audit", ["audit", "model.hld", "calm.csv", "--sizes", "20", "--num-batches", "10", "--edit", "colour=red:+0.2"]),
    ("diff", ["diff", "model.hld", "other.hld"])])
def test_json_is_of_its_schema(schema, argv, run):
    status, out, err = run(*argv, "--json")
    assert (status in (0, 1), err) == (True, "")
    check(schema, json.loads(out))


def test_summaries_of_sites_are_tested_together(run, folder):
    for name in ("calm", "moved"):
        status, out, err = run("summarize", "model.hld", f"{name}.csv", "-o", f"{name}.json")
        assert (status, err) == (0, "")
        assert out.startswith(f"wrote {name}.json: 400 rows")
    assert run("test", "model.hld", "--summary", "calm.json")[0] == 0
    status, out, _ = run("test", "model.hld", "--summary", "calm.json", "moved.json")
    assert (status, "800 rows" in out, "income" in out) == (1, True, True)
    assert run("summarize", "model.hld", "calm.csv", "-o", "private.json", "--epsilon", "1")[0] == 0
    assert hld.BatchSummary.from_json((folder / "private.json").read_text()).privacy.epsilon == 1.0
    for argv, said in ((["calm.csv", "--summary", "calm.json"], "found a table and --summary"), ([], "found neither"),
                       (["--summary", "model.hld"], ""), (["--summary", "calm.csv"], "cannot read 'calm.csv'"),
                       (["--summary", "calm.json", "--by", "colour"], "--summary goes neither")):
        status, _, err = run("test", "model.hld", *argv)
        assert (status, said in err, err.count("\n")) == (2, True, 1)
    status, _, err = run("test", "model.hld", "--summary", "moved.json", "private.json")  # of two kinds
    assert status == 2
    assert "'private.json' has noise for privacy" in err


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


@pytest.mark.parametrize(("names", "said"), [("abcdef", "a, b, c, d, e, f"),
                                             ("abcdefgh", "a, b, c, d, e, f and 2 more")])
def test_explain_names_six_columns_of_a_node_and_counts_the_others(names, said, capsys):
    node = {"node": 1, "kind": "sum", "delta": 0.5, "zscore": 3.0, "own_zscore": 2.0, "pvalue": 0.01, "share": 1.0,
            "variables": list(names)}
    print_explanation(SimpleNamespace(alpha=0.05), {"variables": [], "nodes": [node], "num_nodes": 1,
                                                    "num_nodes_shifted": 1})
    assert capsys.readouterr().out.rstrip().endswith(f"  {said}")


def test_an_audit_as_a_page(run, folder):
    arguments = "audit", "model.hld", "calm.csv", "--sizes", "5,20", "--num-batches", "15", "--report", "audit.html"
    assert run(*arguments)[0] == 0
    page = (folder / "audit.html").read_text(encoding="utf-8")
    assert "<h1>Level kept</h1>" in page
    assert run("audit", "model.hld", "calm.csv", "--sizes", "9999")[0] == 2


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


def test_monitor(run, folder):
    calm, moved = ((folder / name).read_text() for name in ("calm.csv", "moved.csv"))
    status, out, err = run("monitor", "model.hld", "--every", "150", "--alpha", "0.001", stdin=calm)
    lines = [json.loads(line) for line in out.splitlines()]
    assert (status, err) == (0, "")
    assert [(line["event"], line["num_rows"]) for line in lines] == [("rows", 150), ("rows", 300), ("rows", 400),
                                                                     ("end", 400)]
    assert lines[0]["margin"] > 0
    stream = calm + moved.partition("\n")[2]
    status, out, _ = run("monitor", "model.hld", "--every", "100", "--alarm-only", "--stop", stdin=stream)
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 1
    assert [line["event"] for line in lines] == ["alarm", "end"]
    assert 400 < lines[0]["alarm_row"] <= lines[0]["num_rows"] <= 800
    for line in lines:
        check("monitor", line)
    for text, message in (("", "is empty"), ("colour,visits,income\n", "has no rows")):
        status, out, err = run("monitor", "model.hld", stdin=text)
        assert (status, out) == (2, "")
        assert message in err


def test_monitor_names_columns_that_are_not_there(run, folder):
    calm = (folder / "calm.csv").read_text()
    with pytest.warns(UserWarning, match="standard input: column") as said:
        _, out, _ = run("monitor", "model.hld", stdin=calm.replace("visits", "visit", 1))
    assert [str(one.message) for one in said] == [
        "standard input: column 'visits' is not there: all of its cells count as missing",
        "standard input: column 'visit' was not in training: ignored"]
    for line in out.splitlines():
        check("monitor", json.loads(line))
        assert (json.loads(line)["absent"], json.loads(line)["extra"]) == (["visits"], ["visit"])
    assert json.loads(run("monitor", "model.hld", stdin=calm)[1].splitlines()[-1])["absent"] == []


def test_monitor_reads_streams_as_files_are_read(run, folder):
    """Semicolons, decimal commas, row numbers and blanks give the lines that the plain stream gives."""
    calm = pd.read_csv(folder / "calm.csv")
    calm.loc[::7, "visits"] = np.nan
    calm["visits"] = calm["visits"].astype("Int64")
    _, plain, _ = run("monitor", "model.hld", stdin=calm.to_csv(index=False))
    assert [json.loads(line)["num_missing"] for line in plain.splitlines()][-1] == 58
    written = {"german": calm.to_csv(sep=";", decimal=","), "tabs": calm.to_csv(sep="\t", index=False, na_rep="-9"),
               "blanks": "\n".join(calm.to_csv(index=False).splitlines()).replace(",", ", ")}
    for name, options in (("german", ()), ("tabs", ("--na-values", "-9")), ("blanks", ())):
        status, out, err = run("monitor", "model.hld", *options, stdin=written[name])
        assert (status, out, err) == (0, plain, ""), name


def test_monitor_finds_a_decimal_comma_that_comes_late(run, folder):
    """With one row at a time the first has whole numbers only."""
    calm = pd.read_csv(folder / "calm.csv").head(6)
    calm.loc[:2, "income"] = [1.0, 2.0, 3.0]
    plain, german = calm.to_csv(index=False), calm.to_csv(index=False, sep=";", decimal=",").replace(",0\n", "\n")
    assert run("monitor", "model.hld", "--every", "1", stdin=german) == run("monitor", "model.hld", "--every", "1",
                                                                             stdin=plain)
    assert run("monitor", "model.hld", "--every", "1", "--decimal", ".", stdin=german)[1] != run(
        "monitor", "model.hld", "--every", "1", stdin=plain)[1]


@pytest.mark.thorough
@pytest.mark.parametrize(("stream", "options", "message"), [
    ("größe,visits\n1,1\n".encode("latin-1"), (), "cannot be read as text in 'utf-8'"),
    (b"a,b\n1,1\n", ("--encoding", "nonsense"), "cannot be read as text in 'nonsense'"),
    (b"PAR1\x00\x01\xff", (), "cannot be read as text"), (b"a\n1\n", ("--format", "jsonl"), "expected csv")])
def test_monitor_refuses_bytes_that_are_no_text(folder, stream, options, message):
    done = subprocess.run([sys.executable, "-m", "hld", "monitor", "model.hld", *options], cwd=folder, input=stream,
                          capture_output=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(("stream", "message"), [
    ("colour,visits,income\nred,1,0.5\nred,1\n", "a row of 2 cells ('red,1'), expected 3, as in its header"),
    ("colour,visits,income\nred,1,0.5,7\n", "a row of 4 cells"),
    ("red,1,0.5\nred,1,0.5\nred,1,0.5\n", "looks like the others")])
def test_monitor_refuses_what_is_no_table(run, stream, message):
    status, out, err = run("monitor", "model.hld", stdin=stream)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_diff(run, folder):
    status, out, err = run("diff", "model.hld", "other.hld")
    assert (status, err) == (0, "")
    assert "income differs most" in out.splitlines()[0]
    status, out, err = run("diff", "model.hld", "model.hld", "--json")
    assert (status, err) == (0, "")
    same = json.loads(out)
    assert [column["distance"] for column in same["columns"]] == [0, 0, 0]


def test_sample_under_a_condition(run):
    status, out, err = run("sample", "model.hld", "-n", "50", "--where", 'income > 2.5 and colour != "red"')
    table = pd.read_csv(io.StringIO(out))
    assert (status, err, len(table)) == (0, "", 50)
    assert (table["income"] > 2.5).all()
    assert not (table["colour"] == "red").any()
    assert table["visits"].dtype.kind == "i"
    status, out, err = run("sample", "model.hld", "-n", "5", "--where", "income >")
    assert (status, out) == (2, "")
    assert "`where`" in err


def test_report_of_drawn_rows(run, folder):
    status, _, err = run("sample", "model.hld", "-n", "300", "-o", "drawn.csv", "--report", "drawn.html", "--real",
                         "calm.csv", "--training", "train.csv")
    page = (folder / "drawn.html").read_text(encoding="utf-8")
    assert (status, err) == (0, "")
    assert "Distance to the closest training row" in page
    assert "<b>blue" not in page
    assert run("sample", "model.hld", "-n", "9", "--report", "a.html", "--where", "visits > 1")[0] == 2
    assert run("sample", "model.hld", "-n", "9", "--real", "calm.csv")[0] == 2


def test_the_separator_of_real_rows_is_found(run, folder):
    """That of the drawn rows had been taken for it, so that semicolons were an error."""
    written = ["sample", "model.hld", "-n", "300", "-o", "drawn.csv", "--report", "drawn.html", "--real"]
    assert run(*written, "calm.csv")[0] == 0
    page = (folder / "drawn.html").read_text(encoding="utf-8")
    pd.read_csv(folder / "calm.csv", dtype=str).to_csv(folder / "semicolons.csv", sep=";", index=False)
    assert run(*written, "semicolons.csv")[::2] == (0, "")
    assert (folder / "drawn.html").read_text(encoding="utf-8") == page
    assert (folder / "drawn.csv").read_text(encoding="utf-8").startswith("colour,visits,")


def test_log(run):
    from hld.command.console.steps import LOG
    try:
        status, _, err = run("--verbose", "test", "model.hld", "calm.csv", "--alpha", "0.0001")
    finally:
        LOG.handlers.clear()
        LOG.setLevel("NOTSET")
        LOG.propagate = True
    lines = err.splitlines()
    assert status == 0
    assert [line.split("hld.command: ")[1].split(":")[0] for line in lines] == [
        "reading model.hld", "reading and testing calm.csv"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, run):
    if shell != "fish":
        pytest.importorskip("shtab")
    status, out, err = run("completion", shell)
    assert (status, err) == (0, "")
    assert all(word in out for word in ("monitor", "every", "report", "procedure"))
    if shell == "fish":  # options that take a value are told from those that do not
        test = [line for line in out.splitlines() if "__fish_seen_subcommand_from test" in line]
        assert [" -r" in line for line in test if " -l alpha" in line] == [True]
        assert [" -r" in line for line in test if " -l json" in line] == [False]
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=out, text=True, check=True)


def test_completion_without_shtab_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    said = "completion needs shtab, which is not installed: pip install 'hld[cli]'"
    assert run("completion", "bash") == (2, "", f"hld: error: {said}\n")


@pytest.mark.thorough
def test_a_plan_is_printed_as_the_library_prints_it(run, folder):
    status, out, err = run("plan", "model.hld", "--rows-per-day", "100", "--power", "0.8", "--edit", "colour=red:+0.2")
    assert (status, err) == (0, "")
    assert out == f"{plan(hld.load(folder / 'model.hld'), 100, ['colour=red:+0.2'], 0.8)}\n"
    assert "colour" in out


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_command_has_an_example_and_is_in_both_lists(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"hld {command}" in capsys.readouterr().out.partition("example:\n  ")[2]
    assert re.search(rf"^    hld {command}\b", parser.__doc__, re.MULTILINE)
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `hld {command}\b", page, re.MULTILINE)


def test_groups_on_the_command_line(run, folder):
    rng = np.random.default_rng(8)
    days = pd.concat([rows(rng, 40, shift) for shift in rng.normal(size=30)])
    days["day"] = np.repeat(np.arange(30), 40)
    days.to_csv(folder / "grouped.csv", index=False)
    status, out, err = run("fit", "grouped.csv", "-o", "grouped.hld", "--groups", "day", "--num-epochs", "3")
    assert (status, out.startswith("fitted 1200 rows of 3 columns")) == (0, True), err
    status, out, _ = run("test", "grouped.hld", "calm.csv")
    assert "among 19 groups of at most 40 rows" in out
    status, out, _ = run("explain", "grouped.hld", "moved.csv", "--json")
    assert status == 1
    check("explain", json.loads(out))
    assert json.loads(out)["context"]["num_groups"] == 19
    status, out, _ = run("test", "grouped.hld", "moved.csv", "--json")
    check("test", json.loads(out))
    assert run("fit", "grouped.csv", "-o", "other.hld", "--groups", "week")[2].startswith(
        "hld: error: `groups` names the column 'week'")


@pytest.mark.thorough
def test_monitor_among_held_out_rows(run, folder):
    moved = (folder / "moved.csv").read_text(encoding="utf-8")
    calm = (folder / "calm.csv").read_text(encoding="utf-8")
    held = rows(np.random.default_rng(11), 300)
    held.to_csv(folder / "held.csv", index=False)
    options = ("--reference", "held.csv", "--state", "stream.state")
    status, out, err = run("monitor", "model.hld", *options, stdin="\n".join(calm.splitlines()[:200]))
    assert (status, err) == (0, "")
    status, out, err = run("monitor", "model.hld", *options, stdin=moved)
    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        check("monitor", line)
    assert status == 1
    assert lines[-1]["num_rows"] == 199 + 400  # it went on
    told = [line for line in lines if line["event"] == "alarm"]
    assert len(told) == 1
    with pytest.warns(UserWarning, match=f"stream.state has raised the alarm at row {told[0]['alarm_row']}: for a new"):
        status, out, _ = run("monitor", "model.hld", *options, stdin=calm)  # the alarm stays on, and is told once
    assert status == 1
    assert {json.loads(line)["event"] for line in out.splitlines()} == {"rows", "end"}
    with pytest.warns(UserWarning, match="give another --state, or remove the file"):
        _, out, _ = run("monitor", "model.hld", *options, "--every", "50", "--alarm-only", "--stop", stdin=calm)
    assert [json.loads(line)["num_rows"] for line in out.splitlines()] == [lines[-1]["num_rows"] + 400 + 50]
    for other, named in ((("--alpha", "0.01"), "begun with 0.05: give --alpha 0.05"),
                         (("--reference", "calm.csv"), "--reference calm.csv has other rows")):
        status, _, err = run("monitor", "model.hld", *options, *other, stdin=calm)
        assert (status, named in err) == (2, True), err
    assert run("monitor", "model.hld", "--state", "x", stdin=calm)[0] == 2
    assert "leave it out with --reference" in run("monitor", "model.hld", *options, "--margin", "1", stdin=calm)[2]


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["signal", "bad row"])
def test_the_rows_of_a_line_are_in_the_state_before_the_line(run, folder, ending):
    rows(np.random.default_rng(11), 300).to_csv(folder / "kept.csv", index=False)
    state = f"after {ending}.state"
    options = ("--reference", "kept.csv", "--state", state, "--every", "50")
    calm = (folder / "calm.csv").read_text(encoding="utf-8").splitlines()
    first = "\n".join(calm[:121]) + "\n"
    if ending == "bad row":
        assert run("monitor", "model.hld", *options, stdin=first + "one,cell,too,many,here\n")[0] == 2
    else:
        command = [sys.executable, "-m", "hld", "monitor", "model.hld", *options]
        with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            process.stdin.write(first)
            process.stdin.flush()
            assert [json.loads(process.stdout.readline())["num_rows"] for _ in range(2)] == [50, 100]
            process.terminate()
            process.wait(60)
    out = run("monitor", "model.hld", *options, stdin="\n".join([calm[0], *calm[101:]]))[1].splitlines()
    assert json.loads(out[0])["num_rows"] == 150
    whole = run("monitor", "model.hld", "--reference", "kept.csv", "--every", "50", stdin="\n".join(calm))[1]
    assert json.loads(out[-1]) == json.loads(whole.splitlines()[-1])
