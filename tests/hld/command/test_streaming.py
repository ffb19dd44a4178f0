"""`hld monitor`: rows on standard input as files are read, lines of JSON, alarms, and a state that is not lost."""

import gzip
import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from command_line import amounts, check, main, rows

import hld
from hld.answers.for_programs import plain_json


def test_monitor(run, folder):
    calm, moved = ((folder / name).read_text() for name in ("calm.csv", "moved.csv"))
    status, out, err = run("monitor", "model.hld", "--every", "150", "--alpha", "0.001", stdin=calm)
    lines = [json.loads(line) for line in out.splitlines()]
    assert (status, err) == (0, "")
    assert [(line["event"], line["num_rows"]) for line in lines] == [
        ("rows", 150),
        ("rows", 300),
        ("rows", 400),
        ("end", 400),
    ]
    stream = calm + moved.partition("\n")[2]
    status, out, _ = run(
        "monitor", "model.hld", "--every", "100", "--alarm-only", "--stop", stdin=stream
    )
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 1
    assert [line["event"] for line in lines] == ["alarm", "end"]
    assert 400 < lines[0]["alarm_row"] <= lines[0]["num_rows"] <= 800
    for line in lines:
        check("monitor", line)


def test_monitor_names_columns_that_are_not_there(run, folder):
    calm = (folder / "calm.csv").read_text()
    with pytest.warns(UserWarning, match="standard input: column") as said:
        _, out, _ = run("monitor", "model.hld", stdin=calm.replace("visits", "visit", 1))
    assert [str(one.message) for one in said] == [
        "standard input: column 'visits' is not there: all cells count as missing",
        "standard input: column 'visit' was not in training: ignored",
    ]
    for line in out.splitlines():
        check("monitor", json.loads(line))
        assert (json.loads(line)["absent"], json.loads(line)["extra"]) == (["visits"], ["visit"])
    assert json.loads(run("monitor", "model.hld", stdin=calm)[1].splitlines()[-1])["absent"] == []


def test_monitor_reads_streams_as_files_are_read(run, folder):
    """Semicolons, decimal commas, row numbers and blanks give the lines that the plain stream gives."""
    calm = pd.read_csv(folder / "calm.csv")
    calm.loc[::7, "visits"] = np.nan
    calm["visits"] = calm["visits"].astype("Int64")
    plain = run("monitor", "model.hld", stdin=calm.to_csv(index=False))
    assert [json.loads(line)["num_missing"] for line in plain[1].splitlines()][-1] == 58
    written = {
        "german": calm.to_csv(sep=";", decimal=","),
        "tabs": calm.to_csv(sep="\t", index=False, na_rep="-9"),
        "blanks": "\n".join(calm.to_csv(index=False).splitlines()).replace(",", ", "),
    }
    for name, options in (("german", ()), ("tabs", ("--na-values", "-9")), ("blanks", ())):
        assert run("monitor", "model.hld", *options, stdin=written[name]) == plain, name


def test_monitor_finds_a_decimal_comma_that_comes_late(run, folder):
    """With one row at a time the first has whole numbers only."""
    calm = pd.read_csv(folder / "calm.csv").head(6)
    calm.loc[:2, "income"] = [1.0, 2.0, 3.0]
    plain, german = (
        calm.to_csv(index=False),
        calm.to_csv(index=False, sep=";", decimal=",").replace(",0\n", "\n"),
    )
    assert run("monitor", "model.hld", "--every", "1", stdin=german) == run(
        "monitor", "model.hld", "--every", "1", stdin=plain
    )
    assert (
        run("monitor", "model.hld", "--every", "1", "--decimal", ".", stdin=german)[1]
        != run("monitor", "model.hld", "--every", "1", stdin=plain)[1]
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stream", "options", "message"),
    [
        ("größe,visits\n1,1\n".encode("latin-1"), (), "cannot be read as text in 'utf-8'"),
        (b"a,b\n1,1\n", ("--encoding", "nonsense"), "cannot be read as text in 'nonsense'"),
        (b"PAR1\x00\x01\xff", (), "cannot be read as text"),
        (gzip.compress(b"a\n1\n", mtime=0), (), "is compressed (.gz), expected"),
        (b"a\n1\n", ("--format", "jsonl"), "expected csv"),
    ],
)
def test_monitor_refuses_bytes_that_are_no_text(folder, stream, options, message):
    done = subprocess.run(
        [sys.executable, "-m", "hld", "monitor", "model.hld", *options],
        cwd=folder,
        input=stream,
        capture_output=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


HEADER = "colour,visits,income\n"


@pytest.mark.parametrize(
    ("argv", "stream", "said"),
    [
        ([], "", "is empty"),
        ([], HEADER, "has no rows"),
        (
            [],
            HEADER + "red,1,0.5\nred,1\n",
            "the row that ends in line 3 has 2 cells, expected 3 as in the first",
        ),
        ([], HEADER + "red,1,0.5,7\n", "the row that ends in line 2 has 4 cells"),
        ([], "red,1,0.5\nred,1,0.5\nred,1,0.5\n", "looks like the others"),
        (["--groups", "colour"], HEADER, "--groups is for --reference, whose groups those of the"),
        (["--format", "jsonl"], HEADER, "--format is jsonl, expected csv, in which rows come one"),
        (["--sep", ";"], HEADER + "red,1,0.5\n", "holds ',': give that as the separator"),
    ],
)
def test_what_is_no_stream_is_refused_in_one_sentence(run, argv, stream, said):
    status, out, err = run("monitor", "model.hld", *argv, stdin=stream)
    assert (status, out, err.count("\n"), said in err) == (2, "", 1, True)


@pytest.mark.thorough
def test_monitor_among_held_out_rows(run, folder):
    moved = (folder / "moved.csv").read_text(encoding="utf-8")
    calm = (folder / "calm.csv").read_text(encoding="utf-8")
    held = rows(np.random.default_rng(11), 300)
    held.to_csv(folder / "held.csv", index=False)
    options = ("--reference", "held.csv", "--state", "stream.state")
    status, out, err = run(
        "monitor", "model.hld", *options, stdin="\n".join(calm.splitlines()[:200])
    )
    assert (status, err) == (0, "")
    status, out, err = run("monitor", "model.hld", *options, stdin=moved)
    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        check("monitor", line)
    assert status == 1
    assert lines[-1]["num_rows"] == 199 + 400  # it went on
    told = [line for line in lines if line["event"] == "alarm"]
    assert len(told) == 1
    with pytest.warns(
        UserWarning,
        match=f"stream.state has raised the alarm at row {told[0]['alarm_row']}: for a new",
    ):
        status, out, _ = run(
            "monitor", "model.hld", *options, stdin=calm
        )  # the alarm stays on, and is told once
    assert status == 1
    assert {json.loads(line)["event"] for line in out.splitlines()} == {"rows", "end"}
    with pytest.warns(UserWarning, match="give another --state, or remove the file"):
        _, out, _ = run(
            "monitor", "model.hld", *options, "--every", "50", "--alarm-only", "--stop", stdin=calm
        )
    assert [json.loads(line)["num_rows"] for line in out.splitlines()] == [
        lines[-1]["num_rows"] + 400 + 50
    ]
    for other, named in (
        (("--alpha", "0.01"), "begun with 0.05: give --alpha 0.05"),
        (("--reference", "calm.csv"), "was begun with other rows or groups as --reference"),
    ):
        status, _, err = run("monitor", "model.hld", *options, *other, stdin=calm)
        assert (status, named in err) == (2, True), err


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["signal", "bad row"])
def test_the_rows_of_a_line_are_in_the_state_before_the_line(run, folder, ending):
    rows(np.random.default_rng(11), 300).to_csv(folder / "kept.csv", index=False)
    state = f"after {ending}.state"
    options = ("--reference", "kept.csv", "--state", state, "--every", "50")
    calm = (folder / "calm.csv").read_text(encoding="utf-8").splitlines()
    first = "\n".join(calm[:121]) + "\n"
    if ending == "bad row":
        assert (
            run("monitor", "model.hld", *options, stdin=first + "one,cell,too,many,here\n")[0] == 2
        )
    else:
        command = [sys.executable, "-m", "hld", "monitor", "model.hld", *options]
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            process.stdin.write(first)
            process.stdin.flush()
            assert [json.loads(process.stdout.readline())["num_rows"] for _ in range(2)] == [
                50,
                100,
            ]
            process.terminate()
            process.wait(60)
    out = run("monitor", "model.hld", *options, stdin="\n".join([calm[0], *calm[101:]]))[
        1
    ].splitlines()
    assert json.loads(out[0])["num_rows"] == 150
    whole = run(
        "monitor", "model.hld", "--reference", "kept.csv", "--every", "50", stdin="\n".join(calm)
    )[1]
    assert json.loads(out[-1]) == json.loads(whole.splitlines()[-1])


OPEN = "x;0\n" + '"x;0\n' + "x;0\n" * 20


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            '"x;0\n' + "x;0\n" * 50_000,
            "field larger than field limit (131072): check its quotes",
        ),
        (
            '"' + "x;0 " * 50_000,
            "field larger than field limit (131072): check its quotes",
        ),
        (
            OPEN,
            "unexpected end of data: check its quotes",
        ),
        (
            OPEN + 'x;"0"\n' + "x;0\n" * 20,
            "';' expected after '\"': check its quotes",
        ),
    ],
)
def test_the_monitor_refuses_a_quote_without_an_end_in_one_sentence(run_here, tmp_path, rows, said):
    """It took all rows up to the next quote, or up to the end, for one cell, and ended with status 0."""
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(100, 0)).save(
        tmp_path / "m.hld"
    )
    for above in ("", "x;1\n" * 9):
        status, _, err = run_here(
            "monitor", "m.hld", "--every", "3", stdin=f"k;amount\n{above}{rows}"
        )
        assert (status, err.count("\n")) == (2, 1)
        assert "hld: error: standard input " in err
        assert said in err


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
def test_a_state_that_another_monitor_writes_is_not_overwritten(
    run_here, tmp_path, monkeypatch, happens
):
    """The rows of the one had been lost, and each went on as if it were alone."""
    table, state = amounts(300, 1), tmp_path / "state"
    hld.HLDDetector(num_latents=2, num_epochs=3, rng=0).fit(amounts(200, 0)).save(
        tmp_path / "m.hld"
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ("m.hld", "--reference", "t.csv", "--state", "state", "--every", "20")
    text = (tmp_path / "t.csv").read_text()
    assert run_here("monitor", *options, stdin="\n".join(text.splitlines()[:41]))[0] == 0
    mine = state.read_bytes()
    act = {
        "another writes": lambda: state.write_bytes(mine),
        "it is removed": state.unlink,
        "nothing": lambda: None,
    }
    monkeypatch.setattr(sys, "stdin", Interrupted(text, 101, act[happens]))
    status, out, err = run_here("monitor", *options)
    if happens == "nothing":
        assert (status, json.loads(out.splitlines()[-1])["num_rows"]) == (0, 340)
        return
    assert (status, json.loads(out.splitlines()[-1])["num_rows"]) == (
        2,
        120,
    )  # 40, and 80 of the 100 that came
    assert (
        "--state state was written or removed by another program since this one read it: it is that of "
        in err
    )
    assert not state.exists() or state.read_bytes() == mine


def test_lines_are_those_of_the_monitor_of_the_library(run, folder):
    detector, rows = hld.load(folder / "model.hld"), pd.read_csv(folder / "calm.csv")
    watch, calm = hld.Monitor(detector, 0.01), (folder / "calm.csv").read_text()
    expected = [watch.update(rows[start : start + 150]).to_dict() for start in range(0, 400, 150)]
    options = ("--every", "150", "--alpha", "0.01", "--state", "lines.state")
    _, out, _ = run("monitor", "model.hld", *options, stdin=calm)
    found = [json.loads(line) for line in out.splitlines()]
    for line, result in zip(found, [*expected, expected[-1]], strict=True):
        assert {name: line[name] for name in result} == json.loads(json.dumps(plain_json(result)))


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """A model of groups; 60 further groups, the first 40 of them as a reference, the others shifted at the end."""
    folder, rng = tmp_path_factory.mktemp("shops"), np.random.default_rng(12)
    table = pd.DataFrame(
        {"shop": np.repeat([f"s{k}" for k in range(160)], 6), "k": rng.integers(0, 3, 960)}
    )
    table["x"] = (
        rng.normal(table["k"] + np.repeat(rng.normal(size=160), 6)) + 9.0 * (table.index >= 900)
    ).round(2)
    for name, first, last in (
        ("train.csv", 0, 100),
        ("held.csv", 100, 140),
        ("stream.csv", 140, 160),
    ):
        table[6 * first : 6 * last].to_csv(folder / name, index=False)
    main(
        [
            "fit",
            str(folder / "train.csv"),
            "-o",
            str(folder / "m.hld"),
            "--groups",
            "shop",
            "--num-epochs",
            "2",
        ]
    )
    return folder


def test_successive_rows_of_one_group_are_a_batch(shops, run_here, monkeypatch, recwarn):
    """A model of groups had asked for `groups`, which the command did not take."""
    monkeypatch.chdir(shops)
    detector, held, stream = hld.load("m.hld"), pd.read_csv("held.csv"), pd.read_csv("stream.csv")
    watch = hld.Monitor(detector, reference=held, groups="shop")
    expected = [
        watch.update(rows.drop(columns="shop")).to_dict()
        for _, rows in stream.groupby("shop", sort=False)
    ]
    status, out, err = run_here(
        "monitor",
        "m.hld",
        "--reference",
        "held.csv",
        "--groups",
        "shop",
        stdin=stream.to_csv(index=False),
    )
    found = list(map(json.loads, out.splitlines()))
    assert (status, err, found[-1]["num_rows"], found[-1]["extra"]) == (1, "", 20, [])
    assert not [one for one in recwarn if "groups" in str(one.message)]
    for line, result in zip(found, [*expected, expected[-1]], strict=True):
        check("monitor", line)
        assert {name: line[name] for name in result} == json.loads(json.dumps(plain_json(result)))
    every = run_here(
        "monitor",
        "m.hld",
        "--reference",
        "held.csv",
        "--groups",
        "shop",
        "--every",
        "8",
        stdin=stream.to_csv(index=False, sep=";"),
    )[1]
    alarm = {line["num_rows"] for line in found if line["event"] == "alarm"}
    assert {json.loads(line)["num_rows"] for line in every.splitlines()} == {8, 16, 20} | alarm


@pytest.mark.parametrize(
    ("column", "stream", "said"),
    [
        (
            "town",
            "shop,k,x\ns1,1,0.5\n",
            "--groups names the column 'town', which standard input does not have, expected",
        ),
        (
            "shop",
            "shop,k,x\ns1,1,0.5\n,1,0.5\n",
            "standard input has a row without a group in 'shop' (',1,0.5'): leave",
        ),
    ],
)
def test_a_stream_without_groups_is_refused(shops, run_here, monkeypatch, column, stream, said):
    monkeypatch.chdir(shops)
    pd.read_csv("held.csv").rename(columns={"shop": column}).to_csv("named.csv", index=False)
    status, out, err = run_here(
        "monitor", "m.hld", "--reference", "named.csv", "--groups", column, stdin=stream
    )
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err
