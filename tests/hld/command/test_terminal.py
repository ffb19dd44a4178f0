"""Names are somebody else's text: control characters in them do not reach the terminal, whatever is asked."""

import contextlib
import io
import sys

import pytest

from hld.apps.command.parser import main

EVIL = "red\x1b[31m\x1b]0;title\x07\x9b2J\r"
LEVELS = ["x\x1b[2J", "y\x07"]


class Terminal(io.StringIO):
    """Standard output or standard error as a person sees it."""

    def isatty(self):
        return True


def table(rng, name, rows=300):
    """A CSV file with a nasty column name and nasty levels."""
    lines = [
        f'"{LEVELS[a]}",{b}'
        for a, b in zip(rng.integers(0, 2, rows), rng.integers(0, 3, rows), strict=True)
    ]
    return "\n".join([f'"{name}",n', *lines]) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    monkeypatch.setenv("TERM", "dumb")  # so that rich draws its lines without colours
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_text(table(rng, EVIL), newline="")
    (tmp_path / "other.csv").write_text(table(rng, "blue\x1b[34m"), newline="")
    (tmp_path / "words.csv").write_text(f'"{EVIL}",n\n{LEVELS[0]},many\x1b[5m\n', newline="")
    return tmp_path


@pytest.fixture
def run(folder, monkeypatch):
    """A function that runs a command and returns what a terminal would get."""

    def call(*arguments):
        monkeypatch.setattr(sys, "stdout", Terminal())
        monkeypatch.setattr(sys, "stderr", Terminal())
        with contextlib.suppress(SystemExit):
            main(arguments)
        return sys.stdout.getvalue() + sys.stderr.getvalue()

    return call


def test_no_command_prints_control_characters(run):
    assert main(["fit", "train.csv", "-o", "m\x1b[1m.hld", "--num-epochs", "3"]) == 0
    model = "m\x1b[1m.hld"
    for arguments in (
        ["info", model],
        ["test", model, "train.csv"],
        ["explain", model, "train.csv"],
        ["sample", model, "-n", "5"],
        ["test", model, "other.csv"],
        ["test", model, "words.csv"],
        ["--debug", "test", model, "other.csv"],
        ["test", "no\x1b[1m.hld", "train.csv"],
        ["test", "train.csv", "train.csv"],
        ["info", model, "more\x1b[1m"],
        ["info\x1b[1m"],
        ["fit", "train.csv", "-o", model, "--categorical", "absent\x1b[1m"],
        ["info", model, "--json"],
        ["explain", model, "train.csv", "--json"],
    ):
        printed = run(*arguments)
        assert printed, arguments
        # the colours and lines of rich are letters of its own
        odd = {letter for letter in printed if not letter.isprintable() and letter != "\n"}
        assert not odd, (arguments, printed)


def test_files_and_pipes_get_the_names_as_they_are(folder, capsys):
    assert main(["fit", "train.csv", "-o", "m.hld", "--num-epochs", "3"]) == 0
    assert main(["sample", "m.hld", "-n", "3", "-o", "out.csv"]) == 0
    assert (folder / "out.csv").read_bytes().decode().replace('"', "").startswith(f"{EVIL},n\n")
    capsys.readouterr()
    assert main(["sample", "m.hld", "-n", "3"]) == 0
    assert capsys.readouterr().out.replace('"', "").startswith(f"{EVIL},n\n")
