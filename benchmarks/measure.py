"""What benchmarks share: tables in Markdown, medians of seconds, the machine and its peak."""

import os
import platform
import statistics
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


def peak_flops() -> float:
    """Floating-point operations per second of CPU time in a large float64 matrix product of NumPy."""
    matrix = np.random.default_rng(0).random((1500, 1500))
    matrix @ matrix
    return 2 * 1500**3 / median_time(lambda: matrix @ matrix, 5, clock=time.process_time)
