"""What benchmarks share: tables in Markdown, medians of seconds, the machine and its peak."""

import os
import platform
import statistics
import subprocess
import sys
import time

import numpy as np


def markdown(head, rows=(), left=1) -> str:
    """A table in Markdown, whose first `left` columns are words and the others numbers."""
    dashes = ["---"] * left + ["---:"] * (len(head) - left)
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in (head, dashes, *rows))


def show(*cells) -> None:
    """Print a further row, at once."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def median_time(function, repeats, *, least=0.0, clock=time.perf_counter) -> float:
    """Median seconds of a call, over `repeats` measurements of at least `least` seconds each."""
    times = []
    for _ in range(repeats):
        calls, start = 0, clock()
        while calls == 0 or clock() - start < least:
            function()
            calls += 1
        times.append((clock() - start) / calls)
    return statistics.median(times)


def machine() -> str:
    """One line about the processor, the versions and how busy the machine is."""
    import numba

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            )
    except (OSError, StopIteration):
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{model}, {cores} cores{load}; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"Numba {numba.__version__}"
    )


def peak_flops(dtype: str) -> float:
    """Operations per second of CPU time in the best matrix product: that of the best kernel of OpenBLAS.

    OpenBLAS takes processors that it does not know for older ones, and reaches half of what they can.  So each kernel
    runs in a child; one that the processor lacks ends it.
    """
    program = (
        "import numpy as np, time\n"
        f"a = np.random.default_rng(0).random((1500, 1500)).astype('{dtype}')\n"
        "times = []\n"
        "for _ in range(7):\n"
        "    start = time.process_time(); a @ a; times.append(time.process_time() - start)\n"
        "print(2 * 1500**3 / min(times))"
    )
    found = []
    for kernel in ("", "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        environment |= {"OPENBLAS_CORETYPE": kernel} if kernel else {}
        child = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        found += [float(child.stdout)] if child.returncode == 0 else []
    return max(found)
