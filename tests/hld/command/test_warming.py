"""``hld warm-up``: after it, no kernel is left to compile."""

import contextlib
import os
import subprocess
import sys
import types

import pytest

from hld.command.warming import warm_up
from pcircuit.engine import engine_is_numpy


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
    assert done.stderr == (
        f"hld: error: NUMBA_CACHE_DIR is {str(folder)!r}, where nothing can be written, expected a "
        "folder for compiled kernels: change its access, or name another one\n"
    )


@pytest.mark.parametrize(
    ("folder", "path", "message"),
    [
        ("kernels", "elsewhere/hld", "NUMBA_CACHE_DIR is 'kernels'"),
        ("kernels", None, "NUMBA_CACHE_DIR is 'kernels'"),
        (None, None, "neither the folder of the package nor"),
        (None, "elsewhere/hld", ""),
        ("kernels", "kernels/hld_1", ""),
    ],
)
def test_where_kernels_are_kept(folder, path, message, monkeypatch):
    from hld.command.warming import _check_folder

    stats = types.SimpleNamespace(stats=types.SimpleNamespace(cache_path=path))
    monkeypatch.setattr("hld.command.warming.compile_kernel", lambda function: stats)
    with pytest.raises(ValueError, match=message) if message else contextlib.nullcontext():
        _check_folder(folder)


def test_without_kernels_there_is_nothing_to_do(monkeypatch, capsys):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    assert warm_up(None) == 0
    assert (
        capsys.readouterr().out == "nothing to compile: PCIRCUIT_ENGINE=numpy never uses kernels\n"
    )
