"""Inputs that can be read once, outputs that take nothing, and the statuses that remain what they are."""

import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

from hld.apps.command.parser import main

needs_streams = pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no /dev/fd")
needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")


def rows(number, seed, shift=0.0):
    """A table with a category and a number."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, number)
    return pd.DataFrame(
        {
            "kind": np.array(["a", "b", "c"])[kind],
            "size": rng.normal(3 * kind + shift, 1.0).round(2),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model, a batch without and with an odd cell, and a shifted one."""
    folder = tmp_path_factory.mktemp("streams")
    rows(600, 0).to_csv(folder / "train.csv", index=False)
    rows(300, 1).to_csv(folder / "calm.csv", index=False)
    rows(300, 2, 4.0).to_csv(folder / "moved.csv", index=False)
    odd = rows(300, 1).astype({"size": object})
    odd.loc[200, "size"] = "unknown"
    odd.to_csv(folder / "odd.csv", index=False)
    assert (
        main(["fit", str(folder / "train.csv"), "-o", str(folder / "m.hld"), "--num-epochs", "5"])
        == 0
    )
    return folder


@pytest.fixture
def through_pipe(monkeypatch):
    """A function that puts bytes into a pipe and returns the name of its end, as `<(...)` of a shell does.

    One engine does all the work: the other, once its kernels are compiled, has other last digits.
    """
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    opened = []

    def name(data):
        end, begin = os.pipe()
        opened.append(end)

        def fill():
            with open(begin, "wb") as file:
                file.write(data)

        threading.Thread(target=fill, daemon=True).start()
        return f"/dev/fd/{end}"

    yield name
    for end in opened:
        os.close(end)


@needs_streams
@pytest.mark.parametrize("command", [["test"], ["test", "--by", "kind"], ["explain"]])
def test_odd_cells_from_a_pipe(command, folder, through_pipe, capsys):
    """A cell of another type than its column's makes a file be read again, which a pipe cannot be."""
    model = str(folder / "m.hld")
    status = main([command[0], model, str(folder / "odd.csv"), *command[1:], "--json"])
    expected = capsys.readouterr().out
    assert (
        main(
            [
                command[0],
                model,
                through_pipe((folder / "odd.csv").read_bytes()),
                *command[1:],
                "--json",
            ]
        )
        == status
    )
    assert capsys.readouterr().out == expected


def in_shell(folder, script):
    """A shell script in which `hld` is the command; output is buffered, as it is by default."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", f'hld() {{ "{sys.executable}" -m hld "$@"; }}\n{script}'],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@needs_full
@pytest.mark.thorough
@pytest.mark.parametrize("unbuffered", ["", "export PYTHONUNBUFFERED=1;"])
@pytest.mark.parametrize(
    "command",
    [
        "test m.hld nowhere.csv 2> /dev/full",
        "--version > /dev/full",
        "test m.hld moved.csv > /dev/full",
        "info m.hld --json > /dev/full 2>&1",
        "test --debug m.hld nowhere.csv 2> /dev/full",
        "sample m.hld -n 3 >&-",
    ],
)
def test_full_streams_are_errors(command, unbuffered, folder):
    """Status 2: neither 1, which means a shift, nor the 120 of Python."""
    done = in_shell(folder, f"{unbuffered} hld {command}")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == ("2>" not in command)


@needs_full
@pytest.mark.thorough
@pytest.mark.parametrize("unbuffered", ["", "export PYTHONUNBUFFERED=1;"])
@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "test --help",
        "--version",
        "test m.hld moved.csv",
        "info m.hld --json",
        "sample m.hld -n 3",
        "monitor m.hld < calm.csv",
    ],
)
def test_what_did_not_arrive_is_an_error_that_names_the_stream(command, unbuffered, folder):
    """Help as well, of which argparse says nothing; whether Python waits for more output or writes it at once."""
    done = in_shell(folder, f"{unbuffered} hld {command} > /dev/full")
    assert (done.returncode, done.stderr) == (
        2,
        "hld: error: No space left on device: 'standard output'\n",
    )


@pytest.mark.thorough
@pytest.mark.parametrize("unbuffered", ["", "export PYTHONUNBUFFERED=1;"])
@pytest.mark.parametrize("command", ["test --help", "info m.hld"])
def test_a_reader_that_left(command, unbuffered, folder):
    done = in_shell(folder, f"set -o pipefail; {unbuffered} (sleep 0.2; hld {command}) | true")
    assert (done.returncode, done.stderr) == (141, "")


@needs_streams
@pytest.mark.thorough
def test_a_stream_is_not_replaced(folder):
    """/dev/stdout is a file that others have written to."""
    (folder / "log").write_text("begun\n")
    done = in_shell(
        folder,
        "hld sample m.hld -n 3 -o /dev/stdout >> log; echo $? >> log; "
        "hld summarize m.hld calm.csv -o /dev/fd/1 >> log; echo $? >> log",
    )
    assert (folder / "log").read_text() == "begun\n2\n2\n"
    assert "is an open stream" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no /dev/null")
def test_outputs_are_tried_before_long_work(folder, capsys, monkeypatch):
    """A device, a link to nowhere, a folder without permission: said before anything is learned."""
    from hld.detector.detector import HLDDetector

    monkeypatch.setattr(HLDDetector, "fit", None)
    (folder / "link").symlink_to("absent/model.hld")
    for name, said in (
        ("/dev/null", "a device or a pipe"),
        (str(folder / "link"), "does not exist"),
    ):
        assert main(["fit", str(folder / "train.csv"), "-o", name]) == 2
        assert said in capsys.readouterr().err

    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("hld.apps.command.output.replace_file", refused)
    assert main(["fit", str(folder / "train.csv"), "-o", str(folder / "new.hld")]) == 2
    assert "Permission denied" in capsys.readouterr().err
