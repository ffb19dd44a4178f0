"""Two Python threads that each call the library, against one: no lock may be held while kernels run.

    python -m benchmarks.bench_threads [--quick]

Every thread makes the same calls with ``n_jobs=1`` on a circuit that all share; throughput is calls per wall-clock
second, median over several rounds.  Two processes, which share nothing, show what the machine can do at the time:
on a busy one less than twice as much.  Two epochs on few rows are a hard case for `fit_em`: making the circuit it
returns, which is Python, takes about as long.  The last column says whether one and three jobs give the same bits.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import threading
import time

import numpy as np

from pcircuit import expected_flows, fit_em, log_likelihood, mean_node_likelihoods, node_likelihoods

from .grid_circuits import circuit_and_rows
from .measure import machine

CALLS = {
    "log_likelihood": log_likelihood,
    "node_likelihoods": node_likelihoods,
    "mean_node_likelihoods": mean_node_likelihoods,
    "expected_flows": lambda circuit, rows, n_jobs: (
        expected_flows(circuit, rows, n_jobs=n_jobs).edges
    ),
    "fit_em, 2 epochs": lambda circuit, rows, n_jobs: fit_em(
        circuit, rows, num_epochs=2, n_jobs=n_jobs
    )[1],
    "fit_em, 50 epochs": lambda circuit, rows, n_jobs: fit_em(
        circuit, rows, num_epochs=50, n_jobs=n_jobs
    )[1],
}


def main():
    rounds, seconds = (3, 0.3) if "--quick" in sys.argv else (9, 1.0)
    print(
        machine()
        + "\n\n| call | V | rows | calls/s, 1 thread | calls/s, 2 threads | ratio | ratio of 2 processes "
        "| same bits |\n| :--- | ---: | ---: | ---: | ---: | ---: | ---: | :--- |"
    )
    for side, num_rows in ((7, 2000), (28, 600)):
        circuit, rows = circuit_and_rows(side, 4, 2, num_rows)
        for name, call in CALLS.items():
            same = np.array_equal(call(circuit, rows, n_jobs=1), call(circuit, rows, n_jobs=3))

            def work(call=call, circuit=circuit, rows=rows):
                call(circuit, rows, n_jobs=1)

            rates = [
                [
                    of_threads(work, 1, seconds),
                    of_threads(work, 2, seconds),
                    of_processes(work, 2, seconds),
                ]
                for _ in range(rounds)
            ]
            one, two, processes = (statistics.median(column) for column in zip(*rates, strict=True))
            print(
                f"| {name} | {side * side} | {num_rows} | {one:,.0f} | {two:,.0f} | {two / one:.2f} "
                f"| {processes / one:.2f} | {'yes' if same else 'NO'} |",
                flush=True,
            )


def of_threads(function, num_threads, seconds) -> float:
    """Calls per second of so many threads together."""
    counts, end = [0] * num_threads, time.perf_counter() + seconds

    def work(i):
        while time.perf_counter() < end:
            function()
            counts[i] += 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(num_threads)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - start)


def of_processes(function, num_processes, seconds) -> float:
    """Calls per second of so many processes together."""
    context = multiprocessing.get_context(
        "fork"
    )  # copies of this process: nothing to compile or to load
    counts = context.Queue()
    processes = [
        context.Process(target=lambda: counts.put(of_threads(function, 1, seconds)))
        for _ in range(num_processes)
    ]
    for process in processes:
        process.start()
    total = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    return total


if __name__ == "__main__":
    main()
