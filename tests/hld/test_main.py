"""``python -m hld``."""

import subprocess
import sys

import pytest

import hld


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [(["--version"], 0, hld.__version__), (["info", "none.hld"], 2, "none.hld")],
)
def test_the_module_is_the_command(argv, status, said):
    done = subprocess.run(
        [sys.executable, "-m", "hld", *argv], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == status
    assert said in done.stdout + done.stderr
