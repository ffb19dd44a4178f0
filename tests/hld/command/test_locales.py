"""Names and levels with letters that the locale does not know, such as é where it is ASCII (LC_ALL=C)."""

import io
import os
import subprocess
import sys

import pandas as pd
import pytest

import hld
from hld.apps.command.parser import main

WHERE = 'café == "é" and größe != "groß"'
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


class Terminal(io.TextIOWrapper):
    """Standard output as a person sees it."""

    def isatty(self):
        return True


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table and a model of it."""
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(
        {
            "café": ["é", "ü", "x"] * 40,
            "größe": ["groß", "klein"] * 60,
            "n": [i * 37 % 41 / 4 for i in range(120)],
        }
    )
    table.to_csv("t.csv", index=False)
    options = {"num_latents": 2, "num_epochs": 2, "num_resamples": 19, "num_bins": 3}
    hld.HLDDetector(**options).fit(table).save("m.hld")
    return tmp_path


def as_ascii(argument):
    """An argument as Python reads it where the locale is ASCII."""
    return argument.encode().decode("ascii", "surrogateescape")


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """A function that runs a command with standard output of some kind in ASCII; returns status, bytes and errors."""

    def call(*arguments, stream=io.TextIOWrapper):
        monkeypatch.setattr(sys, "stdout", stream(io.BytesIO(), encoding="ascii"))
        status = main(list(map(as_ascii, arguments)))
        sys.stdout.flush()
        return status, sys.stdout.buffer.getvalue(), capsys.readouterr().err

    return call


@pytest.mark.parametrize("more", [[], ["--where", WHERE]])
def test_rows_in_a_pipe_are_those_of_a_file(run, folder, more):
    assert run("sample", "m.hld", "-n", "9", "-o", "rows.csv", *more) == (0, b"", "")
    rows = (folder / "rows.csv").read_bytes()
    assert "é".encode() in rows
    assert run("sample", "m.hld", "-n", "9", *more) == (0, rows, "")


def test_a_terminal_gets_what_it_can_show(run, folder):
    assert run("sample", "m.hld", "-n", "9", "-o", "rows.csv")[0] == 0
    rows = (folder / "rows.csv").read_text(encoding="utf-8").encode("ascii", "backslashreplace")
    assert run("sample", "m.hld", "-n", "9", stream=Terminal) == (0, rows, "")
    status, drawn, err = run("diff", "m.hld", "m.hld", stream=Terminal)
    assert (status, err) == (0, "")
    assert rb"gr\xf6\xdfe" in drawn


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["test", "m.hld", "t.csv", "--by", "größe"], rb"segments of gr\xf6\xdfe"),
        (["test", "m.hld", "t.csv", "--na-values", "é"], rb"\xe9 33% -> 0%; (missing) 0% -> 33%"),
        (
            [
                "audit",
                "m.hld",
                "t.csv",
                "--sizes",
                "9",
                "--num-batches",
                "2",
                "--edit",
                "café=é:+0.05",
            ],
            rb"caf\xe9 = \xe9: +5 %",
        ),
        (
            ["audit", "m.hld", "t.csv", "--sizes", "9", "--num-batches", "2", "--groups", "größe"],
            b"whole groups",
        ),
        (
            [
                "fit",
                "t.csv",
                "-o",
                "n.hld",
                "--num-epochs",
                "2",
                "--drop",
                "größe",
                "--categorical",
                "café",
            ],
            b"of 2 columns",
        ),
    ],
)
def test_arguments_name_columns_and_levels(run, arguments, said):
    status, out, err = run(*arguments)
    assert said in out + err.encode("ascii", "backslashreplace"), err
    assert status in (0, 1)


def test_a_process_in_the_locale_c(folder):
    arguments = [sys.executable, "-m", "hld", "sample", "m.hld", "-n", "9", "--where", WHERE]
    done = subprocess.run(arguments, env=os.environ | ASCII, capture_output=True, check=True)
    assert done.stdout.decode("utf-8").startswith("café,größe,n\né,klein,")
