"""Files on the command line: what they say whatever the order of their rows, and what is refused in one sentence."""
import io
import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import hld
from hld.command.parser import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs a command in an empty folder: its status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*argv, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        return (main(list(argv)), *capsys.readouterr())
    return call


def amounts(number, seed):
    """Nine amounts in ten are 0; the others have a decimal comma."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"amount": np.where(rng.random(number) < 0.9, 0.0, rng.gamma(2, 20, number).round(2) + 0.01),
                         "k": rng.integers(0, 3, number)})


def test_the_order_of_the_rows_does_not_decide_the_verdict(run, tmp_path):
    detector = hld.HLDDetector(num_latents=2, num_epochs=5, rng=0).fit(amounts(1000, 0))
    detector.save(tmp_path / "m.hld")
    lines = [f"{str(a).replace('.', ',') if a else '0'};{k}" for a, k in amounts(600, 1).itertuples(index=False)]
    late = sorted(lines, key=lambda line: not line.startswith("0;"))
    found = []
    for rows in (lines, late, late[::-1]):
        text = "\n".join(["amount;k", *rows]) + "\n"
        (tmp_path / "b.csv").write_text(text)
        for path in ("b.csv", "-"):
            _, out, err = run("test", "m.hld", path, "--json", stdin=text)
            assert err == ""
            result = json.loads(out)
            found.append((result["pvalue"], [column["num_odd"] for column in result["data_quality"]["columns"]]))
    pvalues, odd = zip(*found, strict=True)
    assert set(map(tuple, odd)) == {(0, 0)}
    np.testing.assert_allclose(pvalues, pvalues[0], rtol=1e-9)


def test_booleans_of_files_are_shown_as_those_of_frames(run, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"flag": rng.random(600) < 0.4, "size": rng.normal(size=600)})
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(table).save(tmp_path / "m.hld")
    table.to_csv(tmp_path / "t.csv", index=False)
    table.astype({"flag": int}).to_csv(tmp_path / "numbers.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    outputs = {name: (run("audit", "m.hld", name, "--edit", "flag=True:+0.1", "--num-batches", "5", "--sizes", "20",
                          "--json")[1:], run("test", "m.hld", name, "--by", "flag", "--json")[1:])
               for name in ("t.parquet", "t.csv", "numbers.csv")}
    assert outputs["t.csv"] == outputs["numbers.csv"] == outputs["t.parquet"]
    assert [one["label"] for one in json.loads(outputs["t.csv"][1][0])["segments"]] == ["False", "True"]


def test_a_closed_standard_input_is_named(run, tmp_path, monkeypatch):
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(100, 0)).save(tmp_path / "m.hld")
    monkeypatch.setattr(sys, "stdin", None)
    for command in ("test", "monitor"):
        status, out, err = run(command, "m.hld", *(["-"] if command == "test" else []))
        assert (status, out) == (2, "")
        assert err.startswith("hld: error: standard input is closed, expected a ")


def test_the_monitor_reads_empty_lines_of_one_column_as_missing(run, tmp_path):
    table = pd.DataFrame({"k": np.random.default_rng(0).choice([0, 1, 2, None], 300)})
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(table).save(tmp_path / "m.hld")
    status, out, err = run("monitor", "m.hld", "--every", "4", stdin="\nk\n1\n\n2\n\n\n0\n")
    assert (status, err) == (0, "")
    assert [json.loads(line)["num_rows"] for line in out.splitlines()] == [4, 6, 6]
    assert [json.loads(line)["num_missing"] for line in out.splitlines()] == [2, 3, 3]


def test_the_monitor_takes_for_missing_what_its_options_name(run, tmp_path):
    """Also a text that is a level of the model, as the test does."""
    table = pd.DataFrame({"k": np.random.default_rng(0).choice(["a", "b", "NA", "?"], 300)})
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(table).save(tmp_path / "m.hld")
    (tmp_path / "t.csv").write_text("k\n" + "a\nNA\n?\nb\n" * 5)
    for options, missing in (((), 0), (("--na-values", "?"), 5), (("--na-values", "?,NA"), 10)):
        _, out, _ = run("monitor", "m.hld", *options, "--alarm-only", stdin=(tmp_path / "t.csv").read_text())
        assert json.loads(out)["num_missing"] == missing
        _, out, _ = run("test", "m.hld", "t.csv", "--json", *options)
        assert json.loads(out)["data_quality"]["columns"][0]["num_missing"] == missing


def test_schemas_and_summaries_may_begin_with_a_mark_and_are_refused_in_one_sentence(run, tmp_path):
    """Editors put the mark there; a name that is there twice, or brackets without an end, are mistakes."""
    table = pd.DataFrame({"k": np.random.default_rng(0).choice(["a", "b"], 100), "n": np.arange(100) % 3})
    table.to_csv(tmp_path / "t.csv", index=False)
    column = '"name": "k", "kind": "categorical", "levels": ["a", "b", "c"]'
    text = f'{{"format": "hld table schema", "version": 1, "columns": [{{{column}}}]}}'
    (tmp_path / "s.json").write_text(text, encoding="utf-8-sig")
    assert run("fit", "t.csv", "-o", "m.hld", "--schema", "s.json", "--num-epochs", "2")[0] == 0
    assert hld.load(tmp_path / "m.hld").schema_["k"].levels == ("a", "b", "c")
    assert run("summarize", "m.hld", "t.csv", "-o", "sums.json")[0] == 0
    own = run("test", "m.hld", "--summary", "sums.json", "--json")
    (tmp_path / "sums.json").write_text((tmp_path / "sums.json").read_text(), encoding="utf-8-sig")
    assert run("test", "m.hld", "--summary", "sums.json", "--json") == own
    for bad, said in ((text.replace('"name"', '"kind": "integer", "name"'), "an object has the name 'kind' twice"),
                      ("[" * 100_000, "it is nested too deeply")):
        (tmp_path / "s.json").write_text(bad)
        status, _, err = run("fit", "t.csv", "-o", "m.hld", "--schema", "s.json")
        assert (status, err) == (2, f"hld: error: cannot read the schema 's.json': {said}\n")


OPEN = "x;0\n" + '"x;0\n' + "x;0\n" * 20


@pytest.mark.parametrize(("rows", "said"), [
    ('"x;0\n' + "x;0\n" * 50_000, "a row of more than 1000 lines, which begins '\"x;0\\n': check its quotes, "),
    ('"' + "x;0 " * 50_000, "a row that cannot be read (field larger than field limit (131072)), expected cells of at"),
    (OPEN, "ends inside quotes, expected them to be closed: all lines from '\"x;0\\n' on are one row"),
    (OPEN + 'x;"0"\n' + "x;0\n" * 20, "a row of 22 lines with text behind the end of quotes, which begins '\"x;0\\n'")])
def test_the_monitor_refuses_a_quote_without_an_end_in_one_sentence(run, tmp_path, rows, said):
    """It took all rows up to the next quote, or up to the end, for one cell, and ended with status 0."""
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(100, 0)).save(tmp_path / "m.hld")
    for above in ("", "x;1\n" * 9):
        status, _, err = run("monitor", "m.hld", "--every", "3", stdin=f"k;amount\n{above}{rows}")
        assert (status, err.count("\n")) == (2, 1)
        assert "hld: error: standard input " in err
        assert said in err


def test_the_monitor_takes_cells_of_several_lines(run, tmp_path):
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(100, 0)).save(tmp_path / "m.hld")
    stream = 'k;amount\n"two\nlines";1\n"a ""quote""\n";2\n"";3\n' + '"\n";4'
    status, out, _ = run("monitor", "m.hld", "--every", "1", "--alpha", "1e-9", stdin=stream)
    assert (status, json.loads(out.splitlines()[-1])["num_rows"]) == (0, 4)


def test_a_column_without_a_name_that_is_not_read_is_warned_of(run, tmp_path):
    rows = "".join(f"{i % 3},{{}},{i % 2}\n" for i in range(40))
    for header, cell, behind in (("a,,c", "7", "a"), ("a,,c", "", None), (",b,c", "7", None), ("a,b,", "7", "b")):
        (tmp_path / "t.csv").write_text(f"{header}\n{rows.format(*[cell] * 40)}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            status, out, _ = run("fit", "t.csv", "-o", "m.hld", "--num-epochs", "2")
        assert status == 0
        assert "of 2 columns" in out
        said = [str(one.message) for one in caught if "without a name" in str(one.message)]
        assert len(said) == (behind is not None)
        assert not said or f"'t.csv' has a column without a name behind {behind!r}, which is not read" in said[0]


@pytest.mark.parametrize(("name", "text", "said"), [
    ("t.jsonl", '[{"a": 1}, {"a": 2}]', "read it as one JSON value (--format json)"),
    ("t.csv", "# comment, with comma\na,b,c\n1,2,3\n", "remove lines that precede the names"),
    ("t.csv", "a,b", "'t.csv' has no rows, expected some to learn from"),
    ("t.csv", "sep=;\na;b\n1;2\n3;4\n", "begins with a line for spreadsheets ('sep=;'), expected names of columns: "
     "remove that line"),
    ("t.csv", "\ufeff\"SEP=\t\"\r\na\tb\r\n1\t2\r\n", "begins with a line for spreadsheets"),
])
def test_files_that_are_refused_are_told_what_to_do(run, tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    status, out, err = run("fit", name, "-o", "m.hld")
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("name", "text"), [("t.csv", "visits,size\n"), ("t.jsonl", ""), ("t.jsonl", "\n\n"),
                                            ("t.parquet", None)])
def test_a_batch_without_rows_is_called_by_the_name_of_its_file(run, tmp_path, name, text):
    table = pd.DataFrame({"visits": [0, 1] * 100, "size": ["a", "b"] * 100})
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(table).save(tmp_path / "m.hld")
    if text is None:
        table[:0].to_parquet(tmp_path / name)
    else:
        (tmp_path / name).write_text(text)
    wanted = "one object on each line" if name == "t.jsonl" else "at least one"
    for command in ("test", "explain", "audit"):
        status, out, err = run(command, "m.hld", name)
        assert (status, out) == (2, "")
        assert err == f"hld: error: '{name}' has no rows, expected {wanted}: check the program that wrote it\n"
    status, _, err = run("fit", name, "-o", "n.hld")
    assert status == 2
    assert f"'{name}' has no rows, expected {wanted if name == 't.jsonl' else 'some to learn from'}" in err
    status, _, err = run("summarize", "m.hld", name, "-o", "s.json")
    assert (status, err) == (0, "") or f"'{name}' has no rows, expected one object" in err


def test_what_is_not_exported_is_said_with_the_option_of_the_shell(run, tmp_path):
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(200, 0)).save(tmp_path / "m.hld")
    status, _, err = run("export", "m.hld", "--c", "m.c")
    assert status == 2
    assert "--metric likelihoods" in err


def test_whole_numbers_of_128_bits_are_refused_in_one_sentence(run, tmp_path):
    polars = pytest.importorskip("polars")
    if not hasattr(polars, "Int128"):
        pytest.skip("this polars has no whole numbers of 128 bits")
    polars.DataFrame({"a": [1, 2]}, schema={"a": polars.Int128}).write_parquet(tmp_path / "t.parquet")
    status, out, err = run("fit", "t.parquet", "-o", "m.hld")
    assert (status, out) == (2, "")
    assert "'t.parquet' has a column of a type that pyarrow does not read" in err


def test_no_columns_and_no_file_are_refused(run, tmp_path):
    amounts(100, 0).to_csv(tmp_path / "t.csv", index=False)
    for arguments, said in ((("-o", "m.hld", "--columns", ""), "--columns is empty, expected names of columns"),
                            (("-o", "-"), "'-' stands for no file here, expected the name of a file")):
        status, out, err = run("fit", "t.csv", *arguments)
        assert (status, out) == (2, "")
        assert said in err
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_options_that_would_do_nothing_are_refused(run, tmp_path):
    table = amounts(200, 0)
    table.to_csv("train.csv", index=False)
    table.to_parquet("t.parquet")
    table.to_json("t.jsonl", orient="records", lines=True)
    assert run("fit", "train.csv", "-o", "model.hld", "--num-epochs", "2", "--num-latents", "2")[0] == 0
    assert run("summarize", "model.hld", "train.csv", "-o", "s.json")[0] == 0
    assert run("test", "model.hld", "t.parquet", "--columns", "amount,k", "--format", "parquet")[0] in (0, 1)
    for argv, said in (
            (["test", "model.hld", "train.csv", "--procedure", "by"], "--procedure is for several segments"),
            (["test", "model.hld", "train.csv", "--procedure", "bh"], "--procedure is for several segments"),
            (["test", "model.hld", "--summary", "s.json", "--drop", "amount"], "--drop is for tables in files, found"),
            (["test", "model.hld", "--sql", "SELECT 1", "--sep", ";"], "--sep is for tables in files, found --sql"),
            (["test", "model.hld", "t.parquet", "--na-values", "-999"], "--na-values is for CSV, and 't.parquet' is"),
            (["explain", "model.hld", "t.jsonl", "--no-header"], "--no-header is for CSV, and 't.jsonl' is read"),
            (["fit", "t.parquet", "-o", "m", "--decimal", ","], "--decimal is for CSV, and 't.parquet' is read as par"),
            (["summarize", "model.hld", "train.csv", "-o", "s", "--delta", "0.1"], "--delta is for noise: give --eps")):
        status, _, err = run(*argv)
        assert (status, said in err) == (2, True), err


def test_a_long_series_is_learned_from_its_last_rows(run, tmp_path):
    """A sample of the rows would have other neighbours, and so hardly any memory."""
    rng = np.random.default_rng(0)
    new = rng.random(20_000) >= 0.95
    levels = rng.integers(0, 3, 20_000)[np.maximum.accumulate(np.where(new, np.arange(20_000), 0))]
    pd.DataFrame({"level": levels, "coin": levels // 2}).to_csv("series.csv", index=False)
    status, out, _ = run("fit", "series.csv", "-o", "model.hld", "--order", "time", "--max-rows", "4000",
                         "--num-epochs", "2", "--num-latents", "2")
    assert (status, "fitted 4000 rows (the last of 20000)" in out) == (0, True)
    detector = hld.load("model.hld")
    assert detector.judge_.stretches.effective_rows(64) < 6    # 2.5 by the memory of the series, 40 of a sample


@pytest.mark.parametrize(("options", "unread"), [
    (("--drop", "amount"), "'amount'"), (("--columns", "k"), "'amount'"), (("--drop", "more"), None),
    (("--columns", "k,amount"), None), ((), None)])
@pytest.mark.parametrize("command", [("test", "m.hld", "t.csv"), ("explain", "m.hld", "t.csv"),
                                     ("summarize", "m.hld", "t.csv", "-o", "s.json")])
def test_columns_of_the_model_that_are_not_read_are_told(run, tmp_path, command, options, unread):
    """They count as missing, and so are an alarm, where whoever drops them wants them not to be tested."""
    table = amounts(200, 1)
    table["more"] = ["x", "y"] * 100
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(200, 0)).save(tmp_path / "m.hld")
    table.to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run(*command, *options)[0] in (0, 1)
    said = [str(one.message) for one in caught if "not read" in str(one.message)]
    assert said == ([] if unread is None else [
        f"columns of the model that are not read count as missing in all rows: {unread}; to test the others alone, "
        "fit a model without them"])


class Interrupted(io.StringIO):
    """Lines, before one of which something happens."""

    def __init__(self, text, number, happens):
        super().__init__(text)
        self.left, self.happens = number, happens

    def __next__(self):
        self.left -= 1
        if not self.left:
            self.happens()
        return super().__next__()


@pytest.mark.parametrize("happens", ["another writes", "it is removed", "nothing"])
def test_a_state_that_another_monitor_writes_is_not_overwritten(run, tmp_path, monkeypatch, happens):
    """The rows of the one had been lost, and each went on as if it were alone."""
    table, state = amounts(300, 1), tmp_path / "state"
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(200, 0)).save(tmp_path / "m.hld")
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ("m.hld", "--reference", "t.csv", "--state", "state", "--every", "20")
    text = (tmp_path / "t.csv").read_text()
    assert run("monitor", *options, stdin="\n".join(text.splitlines()[:41]))[0] == 0
    mine = state.read_bytes()
    act = {"another writes": lambda: state.write_bytes(mine), "it is removed": state.unlink, "nothing": lambda: None}
    monkeypatch.setattr(sys, "stdin", Interrupted(text, 101, act[happens]))
    status, out, err = run("monitor", *options)
    if happens == "nothing":
        assert (status, json.loads(out.splitlines()[-1])["num_rows"]) == (0, 340)
        return
    assert (status, json.loads(out.splitlines()[-1])["num_rows"]) == (2, 120)   # 40, and 80 of the 100 that came
    assert "--state state was written or removed by another program since this one read it: it is that of " in err
    assert not state.exists() or state.read_bytes() == mine
