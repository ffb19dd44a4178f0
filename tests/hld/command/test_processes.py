"""Commands as processes: none ends by a signal, whatever the file, and none hangs where memory is short."""

import contextlib
import os
import subprocess
import sys

import numpy as np
import pytest

import hld

ROWS = "".join(f"{i % 7}.5,{'xyz'[i % 3]},{i % 5}\n" for i in range(4000))
MALFORMED = {
    "short last row": "a,b,c\n" + ROWS + "1.5,x\n",
    "long last row": "a,b,c\n" + ROWS + "1.5,x,2,3\n",
    "short first row": "a,b,c\n1.5,x\n" + ROWS,
    "comment line": "# made by a program\na,b,c\n" + ROWS,
    "open quote": "a,b,c\n" + ROWS + '1.5,x,"2\n' + ROWS,
    "no text": b"a,b,c\n" + ROWS.encode() + b"1.5,\xff\xfe,2\n",
    "other columns": "p,q\n" + "1,2\n" * 4000,
    "nothing": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, and files that are no batch of it."""
    folder, rng = tmp_path_factory.mktemp("processes"), np.random.default_rng(0)
    table = {"a": rng.normal(size=300), "b": rng.choice(list("xyz"), 300), "c": np.arange(300) % 5}
    hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(table).save(
        folder / "ok.hld"
    )
    for name, text in MALFORMED.items():
        data = text if isinstance(text, bytes) else text.encode()
        (folder / f"{name}.csv").write_bytes(data)
    (folder / "good.csv").write_text("a,b,c\n" + ROWS)
    return folder


def start(folder, *arguments, **how):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-m", "hld", *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        **how,
    )


def check_refused(folder, name):
    """Status 2 and one line, of the test and, where the file is no table at all, of the fit."""
    commands = [("test", "ok.hld", f"{name}.csv")]
    if name != "other columns":
        commands.append(("fit", f"{name}.csv", "-o", "new.hld"))
    for command in commands:
        process = start(folder, *command)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 2, (command, said)
        assert said.splitlines()[-1].startswith(b"hld: error: "), said
        assert all(line.startswith(b"hld: ") for line in said.splitlines()), said


def test_a_process_ends_though_a_reader_still_waits_for_more(folder):
    """Arrow reads ahead in a thread of its own, and Python's end had answered it with SIGABRT, every time."""
    process = start(folder, "test", "ok.hld", "-")
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"a,b,c\n1.5,x\n" + b"1.5,x,2\n" * 1_500_000)
        process.stdin.flush()
    assert process.wait(120) == 2
    said = process.stderr.read()
    assert said.startswith(b"hld: error: standard input is not a table"), said
    with contextlib.suppress(BrokenPipeError):
        process.communicate()


@pytest.mark.thorough
@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_end_with_status_2(folder, name):
    check_refused(folder, name)
