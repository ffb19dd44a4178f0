"""The command line, in the process and as a process: exit statuses above all, and `hld warm-up`."""

import os
import subprocess
import sys

import pandas as pd
import pytest

from hld.apps.command import reading
from hld.apps.command.parser import main
from pcircuit.kernels.engine import engine_is_numpy

ALPHA = "0.001"  # the batch without a shift would fail for one seed in a thousand; the other is far beyond


def process(files, *argv, **options):
    """The command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "hld", *argv],
        cwd=files,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


@pytest.mark.thorough
def test_warnings_are_lines_without_the_source(files):
    """What `fit` warns of reads as its errors do, with control characters escaped."""
    pd.DataFrame(
        {"key\x1b[2J": [f"k{i}" for i in range(300)], "coin": ["head", "tail"] * 150}
    ).to_csv(files / "keys.csv", index=False)
    done = process(files, "fit", "keys.csv", "-o", "keys.hld", "--num-epochs", "2")
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("hld: warning: ") for line in done.stderr.splitlines())
    assert "left out" in done.stderr
    assert ".py" not in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["test", "nowhere.hld", "calm.csv"], "No such file or directory: 'nowhere.hld'"),
        (["test", "model.hld", "model.hld"], "expected a CSV file"),
        (["test", "model.hld", "."], "'.' is a folder, expected one file"),
        (["test", "model.hld", "empty.csv"], "'empty.csv' is empty"),
        (["test", "model.hld", "header.csv"], "no rows"),
        (["fit", "header.csv", "-o", "m.hld"], "has no rows"),
        (["fit", "one-row.csv", "-o", "m.hld"], "at least two"),
        (
            ["test", "model.hld", "other.csv"],
            "`table` has none of the fitted columns (colour, member, visits, income)",
        ),
        (
            ["test", "model.hld", "calm.csv", "--alpha", "2"],
            "`alpha` must be a finite number above 0 and below 1",
        ),
        (
            ["test", "model.hld", "calm.csv", "--alpha", "nan"],
            "`alpha` must be a finite number above 0 and below 1",
        ),
        (["test", "model.hld", "calm.csv", "--sep", ";"], "holds ',': give that as the separator"),
        (
            ["test", "model.hld", "calm.csv", "--drop", "none"],
            "has no column 'none', which `drop` names",
        ),
        (["explain", "model.hld", "calm.csv", "--top", "0"], "`top` must be"),
        (["sample", "model.hld", "-n", "-1"], "-1"),
        (["sample", "model.hld", "-n", "3", "-o", "nowhere/a.csv"], "there is no folder 'nowhere'"),
        (["fit", "train.csv", "-o", "nowhere/m.hld"], "there is no folder 'nowhere'"),
        (
            ["fit", "train.csv", "-o", "train.csv"],
            "is read by this command, expected another file to write",
        ),
        *[
            (
                argv,
                f"'{argv[-1]}' is read by this command, expected another file to write: it would be",
            )
            for argv in (
                ["test", "model.hld", "calm.csv", "--report", "calm.csv"],
                ["test", "model.hld", "calm.csv", "--report", "model.hld"],
                ["sample", "model.hld", "-n", "3", "-o", "model.hld"],
                ["summarize", "model.hld", "calm.csv", "-o", "calm.csv"],
                ["export", "model.hld", "--c", "model.hld"],
                ["audit", "model.hld", "calm.csv", "--report", "calm.csv"],
            )
        ],
        *[
            (
                ["test", "model.hld", "shifted.csv", "--min-effect", size],
                "--min-effect must be a share of rows, from 0 to 1",
            )
            for size in ("nan", "-1", "inf")
        ],
        (
            ["test", "model.hld", ""],
            "the name of the table is empty, expected that of a file, or '-'",
        ),
        (
            ["test", "model.hld", "calm.csv", "--encoding", "rot13"],
            "is not readable: 'rot13' is not a text encoding",
        ),
        (
            ["test", "model.hld", "calm.csv", "--encoding", "base64"],
            "is not readable: 'base64' is not a text encoding",
        ),
        (
            ["plan", "model.hld", "--rows-per-day", "9" * 20],
            "`rows_per_day` must be a whole number of at least 1 and at",
        ),
        (["fit", "train.csv", "-o", "m.hld", "--num-latents", "0"], "`num_latents`"),
        (["fit", "train.csv", "-o", "m.hld", "--num-bins", "1"], "`num_bins`"),
        (["fit", "train.csv", "-o", "m.hld", "--categorical", "nothing"], "'nothing'"),
    ],
)
def test_mistakes_end_with_2_and_one_line(argv, message, run_on_gaps, files):
    """Nothing on standard output, no traceback, no file."""
    header = "colour,member,visits,income"
    for name, text in {
        "empty.csv": "",
        "header.csv": header + "\n",
        "fewer.csv": "colour,member\nred,True\n",
        "one-row.csv": header + "\nred,True,1,2.5\n",
        "other.csv": "a,b\n1,2\n",
    }.items():
        (files / name).write_text(text)
    before = set(os.listdir(files))
    status, out, err = run_on_gaps(*argv)
    assert status == 2
    assert out == ""
    assert err.startswith("hld: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert set(os.listdir(files)) == before


def test_a_crash_is_no_shift(run_on_gaps, monkeypatch):
    """An error in the program ends with 2, one line, and the traceback only if asked for."""

    def crash(*args):
        raise KeyError("lost\nkey")

    monkeypatch.setattr(reading, "judge_chunks", crash)
    for argv in (
        ["--debug", "test", "model.hld", "calm.csv"],
        ["test", "model.hld", "calm.csv", "--debug"],
    ):
        status, out, err = run_on_gaps(*argv)
        assert (status, out) == (2, "")
        assert "Traceback" in err
    status, out, err = run_on_gaps("test", "model.hld", "calm.csv")
    assert (status, out) == (2, "")
    assert err == "hld: unexpected error: KeyError: 'lost\\nkey' (--debug shows where)\n"


def test_interrupt_ends_with_130(run_on_gaps, monkeypatch):
    """As the shell has it."""

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "judge_chunks", interrupt)
    assert run_on_gaps("test", "model.hld", "calm.csv") == (130, "", "hld: interrupted\n")


def test_a_closed_pipe_ends_the_command_and_nothing_fails_after_it(monkeypatch):
    """What is left in the buffer goes nowhere when Python flushes it at its end."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main(["fit", "--help"]) == 141
        print("more", file=pipe, flush=True)


def test_missing_pandas(run_on_gaps, monkeypatch):
    """One sentence with the command."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    status, out, err = run_on_gaps("test", "model.hld", "calm.csv")
    assert (status, out) == (2, "")
    assert "pip install 'hld[cli]'" in err
    assert err.count("\n") == 1


def test_help_imports_nothing_heavy(files):
    """It answers at once."""
    heavy = {"numpy", "numba", "scipy", "pandas", "rich", "matplotlib", "sklearn"}
    program = (
        "import sys; from hld.apps.command.parser import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=files, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.startswith("usage: hld")
    assert done.stdout.endswith("[]\n"), done.stdout
    assert "0 no shift found, 1 shift found, 2 error" in done.stdout.replace("\n", " ")


@pytest.mark.skipif(engine_is_numpy(), reason="kernels are never used")
@pytest.mark.thorough
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    """Numba would keep the kernels elsewhere or nowhere, and the command say that they are there."""
    folder = tmp_path / "file"
    folder.write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "hld", "warm-up"],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hld: error: Not a directory: ")
    assert str(folder) in done.stderr
