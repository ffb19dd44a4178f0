"""The on-disk cache of machine code: what it depends on, and that it may fail."""

import os
import shutil
import subprocess
import sys

import pytest

import pcircuit

CALLER = """
from pcircuit.kernels.jit import compile_kernel
from pcircuit.kernels.callee import twice

@compile_kernel
def four_times(x):
    return twice(twice(x))
"""
CALLEE = """
from pcircuit.kernels.jit import compile_kernel

@compile_kernel
def twice(x):
    return {factor}.0 * x
"""
SCRIPT = "from pcircuit.kernels.caller import four_times; print(four_times(1.0), four_times.stats.cache_hits)"


def run(folder):
    """What a process prints that calls the kernel of the copied package."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("NUMBA_DISABLE_JIT", "PYTHONPATH")
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "PCIRCUIT_ENGINE": "numba", "NUMBA_CACHE_DIR": str(folder / "cache")},
    )
    assert done.returncode == 0, done.stderr
    value, hits = done.stdout.split(" ", 1)
    return float(value), "Counter()" not in hits and hits.strip() not in ("Counter()", "{}")


@pytest.mark.thorough
def test_machine_code_is_forgotten_when_a_called_function_changes(tmp_path):
    """Numba looks at the file of the caller only; without more, an update of one file would leave old code running."""
    numba = pytest.importorskip("numba")
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    source = os.path.dirname(pcircuit.__file__)
    shutil.copytree(source, tmp_path / "pcircuit", ignore=shutil.ignore_patterns("__pycache__"))
    caller, callee = (
        tmp_path / "pcircuit" / "kernels" / f"{name}.py" for name in ("caller", "callee")
    )
    caller.write_text(CALLER)
    callee.write_text(CALLEE.format(factor=2))
    assert run(tmp_path) == (4.0, False)
    assert run(tmp_path) == (4.0, True)
    callee.write_text(CALLEE.format(factor=30))
    assert run(tmp_path) == (900.0, False)
