"""The tests on every kind of machine that this one can pretend to be: one command, one table.

    python -m tests.matrix                       the numerical tests under every setting
    python -m tests.matrix Prescott Haswell      under these settings only
    python -m tests.matrix --whole               the whole suite under every setting
    python -m tests.matrix generic -- -x -n 2    what comes after -- goes to pytest

A setting is a few environment variables:

    Prescott ... Sapphirerapids   the BLAS kernels of a processor (OPENBLAS_CORETYPE); OpenBLAS falls back to others
                                  where the processor lacks the instructions, and the table says to which
    no-simd                       NumPy without the instructions that it chooses at run time (NPY_DISABLE_CPU_FEATURES)
    one-thread, two-threads       of BLAS (OPENBLAS_NUM_THREADS)
    generic                       kernels compiled for any x86-64 (NUMBA_CPU_NAME)
    numpy                         no kernels (PCIRCUIT_ENGINE)
    random-order                  tests in another order (--shuffle)

Exit status 0 if the tests pass under all of them.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CORE_TYPES = ("Prescott", "Nehalem", "Haswell", "Zen", "SkylakeX", "Sapphirerapids")
SEED = "2026"  # of the random order

FIND_CORE = """
import ctypes, glob, os, numpy
for path in glob.glob(os.path.join(os.path.dirname(numpy.__file__), os.pardir, "numpy.libs", "*openblas*")):
    for name in ("scipy_openblas_get_corename64_", "openblas_get_corename"):
        if hasattr(ctypes.CDLL(path), name):
            function = getattr(ctypes.CDLL(path), name)
            function.restype = ctypes.c_char_p
            print(function().decode())
"""
FIND_SIMD = """
try:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # before NumPy 2
    from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(" ".join(name for name in __cpu_dispatch__ if __cpu_features__[name]))
"""


def main(arguments=None) -> int:
    """Run the tests under the settings that are asked for; print a table."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    settings = all_settings()
    parser = argparse.ArgumentParser(
        prog="python -m tests.matrix", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "names", nargs="*", choices=[*settings, []], metavar="setting", help=", ".join(settings)
    )
    parser.add_argument(
        "--whole", action="store_true", help="the whole suite, not the numerical tests only"
    )
    asked = parser.parse_args(arguments[:cut])
    selection = ["-m", "thorough or not slow"] if asked.whole else ["-m", "numerical and not slow"]
    table = []
    for name in asked.names or settings:
        environment, options = settings[name]
        print(
            f"== {name}: {' '.join(f'{key}={value}' for key, value in environment.items())}",
            flush=True,
        )
        started = time.perf_counter()
        status = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *selection, *options, *arguments[cut + 1 :]],
            cwd=ROOT,
            env={**os.environ, **environment},
            check=False,
        ).returncode
        table.append((name, status, time.perf_counter() - started, blas_core(environment)))
    print(
        "\n"
        + "\n".join(
            f"{name:<16} {'passed' if status == 0 else 'FAILED':<8} {seconds:7.0f} s   BLAS {core}"
            for name, status, seconds, core in table
        )
    )
    return int(any(status for _, status, _, _ in table))


def all_settings() -> dict:
    """Name -> (environment variables, options of pytest)."""
    settings = {name: ({"OPENBLAS_CORETYPE": name}, ()) for name in CORE_TYPES}
    settings["no-simd"] = ({"NPY_DISABLE_CPU_FEATURES": _output(FIND_SIMD, {})}, ())
    settings["one-thread"] = ({"OPENBLAS_NUM_THREADS": "1"}, ())
    settings["two-threads"] = ({"OPENBLAS_NUM_THREADS": "2"}, ())
    settings["generic"] = ({"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, ())
    settings["numpy"] = ({"PCIRCUIT_ENGINE": "numpy"}, ())
    settings["random-order"] = ({}, ("--shuffle", SEED))
    return settings


def blas_core(environment) -> str:
    """The kernels that OpenBLAS takes in such an environment."""
    return _output(FIND_CORE, environment) or "unknown"


def _output(program, environment) -> str:
    """What a Python program prints in a new process."""
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return result.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
