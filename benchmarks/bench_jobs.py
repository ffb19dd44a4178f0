"""How much faster two threads are than one (`n_jobs`), in calls of ten milliseconds and more.

    python -m benchmarks.bench_jobs [--quick] [--circuits NAME ...]

For each circuit of the grid, likelihoods and four epochs of EM with as many rows as one thread does in about 10, 50 and
250 milliseconds: how many times faster two threads are, in turns, medians of wall-clock time.  Only a machine with two
idle cores can tell: the first line has the same ratio for two processes, each with matrix products of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time

import numpy as np

from pcircuit import fit_em, log_likelihood, warm_up

from .grid_circuits import CIRCUITS, UNITS, named_circuit
from .measure import machine

SIZES = 0.01, 0.05, 0.25  # seconds of one thread


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, K = 16 only")
    parser.add_argument(
        "--circuits", nargs="+", choices=CIRCUITS, default=CIRCUITS, help="circuits to measure"
    )
    options = parser.parse_args()
    warm_up()
    print(machine() + f"; two processes: {two_processes():.2f}\n")
    heads = [
        f"{kind}, {1000 * seconds:.0f} ms" for kind in ("evaluation", "EM") for seconds in SIZES
    ]
    print("| circuit | K | " + " | ".join(heads) + " |\n| :--- |" + " ---: |" * (1 + len(heads)))
    for name in options.circuits:
        for K in (16,) if options.quick else UNITS:
            print(
                f"| {name} | {K} | "
                + " | ".join(cells(name, K, 5 if options.quick else 11))
                + " |",
                flush=True,
            )


def cells(name, K, repeats):
    """Ratios, as text, of likelihoods and then of EM, by size."""
    circuit, few = named_circuit(name, K, 2048)
    result = []
    for run in (evaluate, learn):
        run(circuit, few, 2)
        per_row = min(timed(run, circuit, few, 1) for _ in range(3)) / len(few)
        for seconds in SIZES:
            rows = np.resize(few, (max(int(seconds / per_row), 512), few.shape[1]))
            times = [
                (timed(run, circuit, rows, 1), timed(run, circuit, rows, 2)) for _ in range(repeats)
            ]
            result.append(f"{statistics.median(one / two for one, two in times):.2f}")
    return result


def evaluate(circuit, rows, n_jobs):
    """A call of `log_likelihood`."""
    log_likelihood(circuit, rows, n_jobs=n_jobs)


def learn(circuit, rows, n_jobs):
    """Four epochs, the evaluation at their end, and the new circuit, which one thread makes."""
    fit_em(circuit, rows, num_epochs=4, n_jobs=n_jobs)


def timed(run, circuit, rows, n_jobs):
    """Seconds of a call."""
    started = time.perf_counter()
    run(circuit, rows, n_jobs)
    return time.perf_counter() - started


def two_processes() -> float:
    """Work done a second by two processes, in that of one."""

    def rate(number):
        with multiprocessing.Pool(number) as pool:
            pool.map(multiply, [1] * number)
            started = time.perf_counter()
            pool.map(multiply, [40] * number, chunksize=1)
            return number / (time.perf_counter() - started)

    return rate(2) / rate(1)


def multiply(times):
    """Some matrix products."""
    matrix = np.random.default_rng(0).random((500, 500))
    for _ in range(times):
        matrix @ matrix


if __name__ == "__main__":
    main()
