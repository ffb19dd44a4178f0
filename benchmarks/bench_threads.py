"""Two Python threads that each call the library, against one: no lock may be held while kernels run.

    python -m benchmarks.bench_threads [--quick]

Every thread makes the same calls with ``n_jobs=1`` on a circuit that all share; throughput is calls per wall-clock
second, median over several rounds.  The last column says whether results with one and three jobs are the same bits.
"""
from __future__ import annotations

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
    "expected_flows": lambda circuit, rows, n_jobs: expected_flows(circuit, rows, n_jobs=n_jobs).edges,
    "fit_em": lambda circuit, rows, n_jobs: fit_em(circuit, rows, num_epochs=2, n_jobs=n_jobs)[1],
}


def main():
    rounds, seconds = (3, 0.3) if "--quick" in sys.argv else (9, 1.0)
    print(machine() + "\n\n| call | V | rows | calls/s, 1 thread | calls/s, 2 threads | ratio | same bits |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: | :--- |")
    for side, num_rows in ((7, 2000), (28, 600)):
        circuit, rows = circuit_and_rows(side, 4, 2, num_rows)
        for name, call in CALLS.items():
            same = np.array_equal(call(circuit, rows, n_jobs=1), call(circuit, rows, n_jobs=3))
            pairs = [[throughput(lambda c=call: c(circuit, rows, n_jobs=1), n, seconds) for n in (1, 2)]
                     for _ in range(rounds)]
            one, two = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"| {name} | {side * side} | {num_rows} | {one:,.0f} | {two:,.0f} | {two / one:.2f} "
                  f"| {'yes' if same else 'NO'} |", flush=True)


def throughput(function, num_threads, seconds) -> float:
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


if __name__ == "__main__":
    main()
