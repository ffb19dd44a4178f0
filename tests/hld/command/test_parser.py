"""The command line, in the process and as a process: what it prints, and above all its exit status."""
import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import hld
from hld.command.console import csv_files
from hld.command.console import reading as command
from hld.command.parser import main

ALPHA = "0.001"  # the batch without a shift would fail for one seed in a thousand; the other is far beyond


def rows(rng, number, shifted=False):
    """A table with text, booleans, whole numbers, numbers, and gaps in each; shifted: incomes rise by 6."""
    kind = rng.integers(0, 3, size=number)
    member = np.where(rng.random(number) < 0.8, kind == 1, kind != 1)
    income = rng.normal(3 * kind, 1.0) + 6 * shifted
    table = pd.DataFrame({"colour": np.array(["red", "green", "blue"])[kind], "member": member.astype(object),
                          "visits": np.minimum(kind + rng.integers(0, 2, size=number), 3).astype(object),
                          "income": income.round(3)})
    return table.mask(rng.random(table.shape) < 0.03)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Folder with a model, its training table, and batches with and without a shift."""
    folder, rng = tmp_path_factory.mktemp("command"), np.random.default_rng(7)
    rows(rng, 1500).to_csv(folder / "train.csv", index=False)
    rows(rng, 500).to_csv(folder / "calm.csv", index=False)
    rows(rng, 500, shifted=True).to_csv(folder / "shifted.csv", index=False)
    training, model = str(folder / "train.csv"), str(folder / "model.hld")
    assert main(["fit", training, "-o", model, "--num-epochs", "40"]) == 0
    return folder


@pytest.fixture
def run(files, monkeypatch, capsys):
    """A function that runs a command in the folder and returns status, output and error output."""
    monkeypatch.chdir(files)

    def call(*argv):
        try:
            status = main(list(argv))
        except SystemExit as leaving:           # argparse
            status = leaving.code
        return (status, *capsys.readouterr())
    return call


def process(files, *argv, **options):
    """The command as a process of its own."""
    return subprocess.run([sys.executable, "-m", "hld", *argv], cwd=files, capture_output=True, text=True,
                          timeout=120, **options)


@pytest.mark.parametrize(("batch", "status", "verdict"), [("calm.csv", 0, "no shift: "),
                                                          ("shifted.csv", 1, "shift: ")])
def test_verdict(batch, status, verdict, run, files):
    """0 and 1, in words and as JSON; the numbers are those of the library."""
    assert run("test", "model.hld", batch, "--alpha", ALPHA)[0] == status
    text = run("test", "model.hld", batch, "--alpha", ALPHA)[1]
    assert text.startswith(verdict)
    assert (": p " if status else "no column moved") in text
    found, out, err = run("test", "model.hld", batch, "--alpha", ALPHA, "--json")
    assert (found, err) == (status, "")
    table = pd.read_csv(files / batch)
    assert json.loads(out) == hld.load(files / "model.hld").test(table, float(ALPHA)).to_dict()


@pytest.mark.thorough
def test_status_of_the_process(files):
    """What a shell sees: no shift, shift, no such file."""
    for batch, status in (("calm.csv", 0), ("shifted.csv", 1), ("nowhere.csv", 2)):
        done = process(files, "test", "model.hld", batch, "--alpha", ALPHA)
        assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.thorough
def test_batch_from_standard_input(files):
    """A dash reads the pipe."""
    done = process(files, "test", "model.hld", "-", "--alpha", ALPHA, "--json",
                   input=(files / "shifted.csv").read_text())
    assert done.returncode == 1
    assert json.loads(done.stdout)["num_samples"] == 500


@pytest.mark.thorough
def test_warnings_are_lines_without_the_source(files):
    """What `fit` warns of reads as its errors do, with control characters escaped."""
    pd.DataFrame({"key\x1b[2J": [f"k{i}" for i in range(300)], "coin": ["head", "tail"] * 150}).to_csv(
        files / "keys.csv", index=False)
    done = process(files, "fit", "keys.csv", "-o", "keys.hld", "--num-epochs", "2")
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("hld: warning: ") for line in done.stderr.splitlines())
    assert "left out" in done.stderr
    assert ".py" not in done.stderr
    assert "\x1b" not in done.stderr


def test_fit_says_what_it_did(run, files):
    """Rows, columns, likelihood, file; options reach the detector."""
    status, out, err = run("fit", "train.csv", "-o", "other.hld", "--num-epochs", "2", "--num-latents", "3",
                           "--num-bins", "4", "--categorical", "visits,colour", "--continuous", '"income"',
                           "--seed", "5")
    assert (status, err) == (0, "")
    assert out.startswith("fitted 1500 rows of 4 columns: mean log-likelihood -")
    assert out.endswith("model in other.hld\n")
    detector = hld.load(files / "other.hld")
    params = detector.get_params()
    assert {name: params[name] for name in ("num_epochs", "num_latents", "num_bins", "rng")} == {
        "num_epochs": 2, "num_latents": 3, "num_bins": 4, "rng": 5}
    assert [column.kind for column in detector.encoder_.columns] == ["categorical", "boolean", "categorical",
                                                                     "continuous"]


def test_fit_gives_the_same_file_again(run, files):
    """One seed, one model."""
    for name in ("one.hld", "two.hld"):
        assert run("fit", "train.csv", "-o", name, "--num-epochs", "2")[0] == 0
    assert (files / "one.hld").read_bytes() == (files / "two.hld").read_bytes()


def test_fit_takes_a_schema(run, files):
    """Written by hand, in part; what it says is kept, what it leaves open is learned."""
    columns = [{"name": "visits", "kind": "continuous", "edges": [2.5]}, {"name": "member", "kind": "left out"}]
    schema = {"format": "hld table schema", "version": 1, "columns": columns}
    (files / "schema.json").write_text(json.dumps(schema))
    assert run("fit", "train.csv", "-o", "by-hand.hld", "--num-epochs", "1", "--schema", "schema.json")[0] == 0
    found = hld.load(files / "by-hand.hld").schema_
    assert found["visits"].edges == (2.5,)
    assert [column.name for column in found.left_out] == ["member"]
    (files / "schema.json").write_text("{}")
    status, _, err = run("fit", "train.csv", "-o", "by-hand.hld", "--schema", "schema.json")
    assert (status, err.startswith("hld: error: cannot read the schema 'schema.json': the schema is {}")) == (2, True)


def test_explain_names_the_columns(run):
    """Incomes rose: they lead, the shares add up, and the nodes speak of columns by name."""
    status, out, err = run("explain", "model.hld", "shifted.csv", "--alpha", ALPHA, "--json", "--top", "1000")
    found = json.loads(out)
    assert (status, err) == (1, "")
    assert found["reject"] is True
    assert sum(node["share"] for node in found["nodes"]) == pytest.approx(1, rel=1e-12)
    assert sum(entry["share"] for entry in found["variables"]) == pytest.approx(1, rel=1e-12)
    assert {entry["name"] for entry in found["variables"]} == {"colour", "member", "visits", "income"}
    assert found["variables"][0]["name"] == "income"
    assert found["nodes"][0]["variables"] == ["income"]
    assert len(found["nodes"]) == found["num_nodes"]
    assert sum(node["pvalue"] <= float(ALPHA) for node in found["nodes"]) == found["num_nodes_shifted"] > 0
    assert found["nodes"][0].keys() == {"node", "kind", "variables", "delta", "zscore", "own_zscore", "pvalue", "share"}
    assert found["nodes"][0]["pvalue"] < 1e-6
    missing = {entry["name"]: entry["num_missing"] for entry in found["variables"]}
    assert sum(missing.values()) == found["num_missing"] > 0


def test_explain_for_people(run):
    """Verdict, columns, nodes; --top limits both lists; the status is that of the test."""
    status, out, _ = run("explain", "model.hld", "calm.csv", "--alpha", ALPHA, "--top", "3")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith("no shift: ")
    assert lines[1].startswith("no column moved by itself")
    assert lines[4].split() == ["column", "share", "missing", "unseen", "out", "of", "range"]
    assert lines[5 + 3 + 2].split() == ["node", "kind", "delta", "z", "own", "z", "p", "(adj.)", "share", "columns"]
    assert len(lines) == 5 + 3 + 3 + 3


def test_explain_counts_odd_cells(run, files):
    """Levels that training did not have, and numbers beyond its range."""
    (files / "odd.csv").write_text("colour,member,visits,income\nviolet,True,77,1e9\nviolet,,,\n")
    found = json.loads(run("explain", "model.hld", "odd.csv", "--json")[1])
    counts = {entry["name"]: [entry["num_missing"], entry["num_unseen"], entry["num_out_of_range"]]
              for entry in found["variables"]}
    assert counts == {"colour": [0, 2, 0], "member": [1, 0, 0], "visits": [1, 1, 0], "income": [1, 0, 1]}


def test_explain_draws(run, files):
    """A PNG file, the same status."""
    status, _, err = run("explain", "model.hld", "shifted.csv", "--alpha", ALPHA, "--plot", "shares.png")
    assert (status, err) == (1, "")
    assert (files / "shares.png").read_bytes().startswith(b"\x89PNG")


def test_info(run, files):
    """The detector's own description, or its facts as JSON."""
    detector = hld.load(files / "model.hld")
    assert run("info", "model.hld") == (0, detector.describe() + "\n", "")
    status, out, err = run("info", "model.hld", "--json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert [column["name"] for column in found["columns"]] == ["colour", "member", "visits", "income"]
    assert [column["num_categories"] for column in found["columns"]] == list(detector.encoder_.num_categories)
    assert found["num_train"] == 1500
    assert found["test"]["num_nodes"] == len(detector.test_.nodes)
    assert found["params"]["num_epochs"] == 40


def test_sampled_rows_are_a_table_without_a_shift(run, files):
    """What the model draws, decoded, written, read and encoded again, is what it drew, and no shift."""
    assert run("sample", "model.hld", "-n", "300", "--seed", "3", "-o", "drawn.csv") == (0, "", "")
    assert run("sample", "model.hld", "-n", "300", "--seed", "3")[1] == (files / "drawn.csv").read_text()
    lines = (files / "drawn.csv").read_text().splitlines()
    assert lines[0] == "colour,member,visits,income"
    assert len(lines) == 301
    detector = hld.load(files / "model.hld")
    drawn = detector.encoder_.encode(detector.sample(300, rng=3))[0]
    from hld.command.console.csv_files import read_batch
    back = detector.encoder_.encode(read_batch(str(files / "drawn.csv"), detector.encoder_))[0]
    np.testing.assert_array_equal(drawn, back)
    assert run("test", "model.hld", "drawn.csv", "--alpha", ALPHA)[0] == 0
    assert run("sample", "model.hld", "-n", "5", "--sep", r"\t")[1].startswith("colour\tmember\t")


@pytest.mark.parametrize(("argv", "message"), [
    (["test", "nowhere.hld", "calm.csv"], "No such file or directory: 'nowhere.hld'"),
    (["test", "calm.csv", "calm.csv"], "cannot read 'calm.csv'"),
    (["info", "calm.csv"], "cannot read 'calm.csv'"),
    (["sample", "train.csv", "-n", "3"], "cannot read 'train.csv'"),
    (["test", "model.hld", "model.hld"], "expected a CSV file"),
    (["test", "model.hld", "."], "'.' is a folder, expected one file"),
    (["test", "model.hld", "empty.csv"], "'empty.csv' is empty"),
    (["test", "model.hld", "header.csv"], "no rows"),
    (["fit", "header.csv", "-o", "m.hld"], "has no rows"),
    (["fit", "one-row.csv", "-o", "m.hld"], "at least two"),
    (["test", "model.hld", "other.csv"], "`table` has none of the fitted columns (colour, member, visits, income)"),
    (["test", "model.hld", "calm.csv", "--alpha", "2"], "`alpha` must be a finite number above 0 and below 1"),
    (["test", "model.hld", "calm.csv", "--alpha", "nan"], "`alpha` must be a finite number above 0 and below 1"),
    (["test", "model.hld", "calm.csv", "--sep", ";"], "holds ',': give that as the separator"),
    (["test", "model.hld", "calm.csv", "--drop", "none"], "has no column 'none', which `drop` names"),
    (["explain", "model.hld", "calm.csv", "--top", "0"], "`top` must be"),
    (["explain", "model.hld", "calm.csv", "--plot", "nowhere/a.png"], "there is no folder 'nowhere'"),
    (["explain", "model.hld", "calm.csv", "--plot", "a.nonsense"], "nonsense"),
    (["sample", "model.hld", "-n", "-1"], "-1"),
    (["sample", "model.hld", "-n", "3", "-o", "nowhere/a.csv"], "there is no folder 'nowhere'"),
    (["fit", "train.csv", "-o", "nowhere/m.hld"], "there is no folder 'nowhere'"),
    (["fit", "train.csv", "-o", "train.csv"], "is read by this command, expected another file to write"),
    *[(argv, f"'{argv[-1]}' is read by this command, expected another file to write: it would be") for argv in (
        ["test", "model.hld", "calm.csv", "--report", "calm.csv"],
        ["test", "model.hld", "calm.csv", "--report", "model.hld"],
        ["explain", "model.hld", "calm.csv", "--plot", "calm.csv"],
        ["sample", "model.hld", "-n", "3", "-o", "model.hld"],
        ["sample", "model.hld", "-n", "3", "--real", "calm.csv", "--report", "calm.csv"],
        ["summarize", "model.hld", "calm.csv", "-o", "calm.csv"], ["export", "model.hld", "--c", "model.hld"],
        ["audit", "model.hld", "calm.csv", "--report", "calm.csv"])],
    *[(["test", "model.hld", "shifted.csv", "--min-effect", size], "--min-effect must be a finite number of at least 0")
      for size in ("nan", "-1", "inf")],
    (["test", "model.hld", ""], "the name of the table is empty, expected that of a file, or '-'"),
    (["test", "model.hld", "calm.csv", "--encoding", "rot13"], "is not readable: 'rot13' is not a text encoding"),
    (["test", "model.hld", "calm.csv", "--encoding", "base64"], "is not readable: 'base64' is not a text encoding"),
    (["plan", "model.hld", "--rows-per-day", "9" * 20], "`rows_per_day` must be a whole number of at least 1 and at"),
    (["fit", "train.csv", "-o", "m.hld", "--num-latents", "0"], "`num_latents`"),
    (["fit", "train.csv", "-o", "m.hld", "--num-bins", "1"], "`num_bins`"),
    (["fit", "train.csv", "-o", "m.hld", "--categorical", "nothing"], "'nothing'"),
])
def test_mistakes_end_with_2_and_one_line(argv, message, run, files):
    """Nothing on standard output, no traceback, no file."""
    header = "colour,member,visits,income"
    for name, text in {"empty.csv": "", "header.csv": header + "\n", "fewer.csv": "colour,member\nred,True\n",
                       "one-row.csv": header + "\nred,True,1,2.5\n",
                       "other.csv": "a,b\n1,2\n"}.items():
        (files / name).write_text(text)
    before = set(os.listdir(files))
    status, out, err = run(*argv)
    assert status == 2
    assert out == ""
    assert err.startswith("hld: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert set(os.listdir(files)) == before


@pytest.mark.parametrize("argv", [
    [], ["guess"], ["test"], ["fit", "train.csv"],
    ["test", "model.hld", "calm.csv", "--alpha", "x"],
    ["fit", "train.csv", "-o", "m.hld", "--seed", "-1"], ["fit", "train.csv", "-o", "m.hld", "--sep", ",,"],
    ["sample", "model.hld"], ["demo", "--digit", "10"],
])
def test_wrong_arguments_end_with_2(argv, run):
    """Argparse's own status is the right one."""
    status, out, err = run(*argv)
    assert (status, out) == (2, "")
    assert "usage: hld" in err


def test_a_crash_is_no_shift(run, monkeypatch):
    """An error in the program ends with 2, one line, and the traceback only if asked for."""
    def crash(*args):
        raise KeyError("lost\nkey")
    monkeypatch.setattr(csv_files, "judge_chunks", crash)
    for argv in (["--debug", "test", "model.hld", "calm.csv"], ["test", "model.hld", "calm.csv", "--debug"]):
        status, out, err = run(*argv)
        assert (status, out) == (2, "")
        assert "Traceback" in err
    status, out, err = run("test", "model.hld", "calm.csv")
    assert (status, out) == (2, "")
    assert err == "hld: unexpected error: KeyError: 'lost\\nkey' (--debug shows where)\n"


def test_interrupt_ends_with_130(run, monkeypatch):
    """As the shell has it."""
    def interrupt(*args):
        raise KeyboardInterrupt
    monkeypatch.setattr(csv_files, "judge_chunks", interrupt)
    assert run("test", "model.hld", "calm.csv") == (130, "", "hld: interrupted\n")


def test_interrupt_while_waiting_for_input(run, monkeypatch):
    """Also inside the reading of a table."""
    class Waiting(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            raise KeyboardInterrupt
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Waiting())))
    assert run("test", "model.hld", "-") == (130, "", "hld: interrupted\n")


def test_reader_that_leaves_early(files):
    """``hld sample ... | head -1``: no complaint, and not the status of a shift."""
    with subprocess.Popen([sys.executable, "-m", "hld", "sample", "model.hld", "-n", "50000"], cwd=files,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "colour,member,visits,income\n"
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait(timeout=120) == 141


def test_a_closed_pipe_ends_the_command_and_nothing_fails_after_it(monkeypatch):
    """What is left in the buffer goes nowhere when Python flushes it at its end."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main(["completion", "fish"]) == 141
        print("more", file=pipe, flush=True)


def test_missing_pandas(run, monkeypatch):
    """One sentence with the command."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    status, out, err = run("test", "model.hld", "calm.csv")
    assert (status, out) == (2, "")
    assert "pip install 'hld[cli]'" in err
    assert err.count("\n") == 1


def test_help_imports_nothing_heavy(files):
    """It answers at once."""
    heavy = {"numpy", "numba", "scipy", "pandas", "rich", "matplotlib", "sklearn"}
    program = ("import sys; from hld.command.parser import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
               f"print(sorted({heavy} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", program], cwd=files, capture_output=True, text=True,
                          timeout=120)
    assert done.stdout.startswith("usage: hld")
    assert done.stdout.endswith("[]\n"), done.stdout
    assert "0 no shift found, 1 shift found, 2 error" in done.stdout.replace("\n", " ")


def test_version(run):
    """That of the package."""
    import pcircuit
    assert run("--version") == (0, f"hld {pcircuit.__version__}\n", "")


@pytest.mark.parametrize(("text", "names"), [("a,b", ["a", "b"]), ("a, b", ["a", "b"]),
                                             ('"a,b",c', ["a,b", "c"])])
def test_lists_of_names(text, names):
    """Commas separate, quotes keep."""
    assert command.names(text) == names


def test_a_missing_value_may_begin_with_a_minus():
    from hld.command.parser import _joined
    joined = _joined(["fit", "t.csv", "--na-values", "-999,?", "-o", "m"])
    assert joined == ["fit", "t.csv", "--na-values=-999,?", "-o", "m"]
    assert _joined(["fit", "--na-values"]) == ["fit", "--na-values"]


@pytest.mark.parametrize(("command", "said"), [
    (["--help"], "CSV, Parquet, JSON lines or JSON"),
    (["audit", "--help"], "HELDOUT.csv rows that the model has not seen"),
    (["test", "--help"], r"one character ('\t' is a tab)"),
])
def test_help_says_what_is_read(command, said, capsys):
    with pytest.raises(SystemExit):
        main(command)
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("given", "is_said"), [(["a.csv", "b.csv", "c.csv"], True), (["a.csv", "--no-such"], False)])
def test_more_tables_than_one_are_told_so(capsys, given, is_said):
    with pytest.raises(SystemExit):
        main(["test", "model.hld", *given])
    assert ("a command reads one table: run it once for each" in capsys.readouterr().err) == is_said
