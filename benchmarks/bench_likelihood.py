"""Rows per second of log_likelihood and node_likelihoods beside other engines, and the share of the machine's peak.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.bench_likelihood [--quick] [--circuits NAME ...]

prints Markdown tables.  The circuits are those of `grid_circuits`.
Compared with (`peers`): plain NumPy, region by region, and libcirkit where it is installed, with
the same circuit and the same parameters in the same run.  Times per row are CPU time of one thread, so that a busy
machine changes them little; the table of calls is wall-clock time.  The arithmetic per row counts multiplications and
additions of the circuit; the peak is a large matrix product.
"""

import argparse
import time

from pcircuit import log_likelihood, mean_node_likelihoods, node_likelihoods

from . import peers
from .grid_circuits import CIRCUITS, UNITS, batch_of, flops_per_row, named_circuit
from .measure import machine, median_time, peak_flops

BATCHES = (1, 100, 10_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller batches")
    parser.add_argument(
        "--circuits", nargs="+", choices=CIRCUITS, default=CIRCUITS, help="circuits to measure"
    )
    options = parser.parse_args()
    peak = peak_flops()
    print(f"{machine()}; matrix product {peak / 1e9:.0f} GFlop/s per thread\n")
    print("Largest batch (the others: their best), one thread, rows per CPU second:\n")
    print(
        "| circuit | K | flops a row | log_likelihood | GFlop/s | of peak | nodes | means | "
        + " | ".join(peers.PEERS)
        + " | over the best |"
    )
    print("| :--- " + "| ---: " * (8 + len(peers.PEERS)) + "|")
    settings = [(name, K) for name in options.circuits for K in UNITS]
    for name, K in settings:
        line_of_rates(name, K, peak, options.quick)
    print(f"\n{peers.NOTE}\n\nMicroseconds a call by batch size (wall clock; 1 and 2 threads):\n")
    print(
        "| circuit | K | "
        + " | ".join(f"{n:,} rows, {t} thr." for n in BATCHES for t in (1, 2))
        + " |"
    )
    print("| :--- | ---: " + "| ---: " * (2 * len(BATCHES)) + "|")
    for name, K in settings:
        line_of_calls(name, K, options.quick)


def line_of_rates(name, K, peak, quick):
    """Print one line of the first table."""
    circuit, rows = named_circuit(name, K, batch_of(name, K, quick))
    repeats, least = (3, 0.05) if quick else (9, 0.2)

    def rate(function, num_rows):
        function()
        return num_rows / median_time(function, repeats, least=least, clock=time.process_time)

    ours = rate(lambda: log_likelihood(circuit, rows, n_jobs=1), len(rows))
    few = rows[: max(1, len(rows) // 8)]
    nodes = rate(lambda: node_likelihoods(circuit, few, n_jobs=1), len(few))
    means = rate(lambda: mean_node_likelihoods(circuit, rows, n_jobs=1), len(rows))
    others = peers.likelihood_rates(circuit, rows, quick=quick)
    flops = flops_per_row(circuit)
    print(
        f"| {name} | {K} | {flops:,} | {ours:,.0f} | {flops * ours / 1e9:.1f} | {flops * ours / peak:.0%} "
        f"| {nodes:,.0f} | {means:,.0f} | {peers.cells(others)} | {ours / peers.best_of(others):.1f} |",
        flush=True,
    )


def line_of_calls(name, K, quick):
    """Print one line of the second table."""
    circuit, rows = named_circuit(name, K, min(10_000, 8 * batch_of(name, K, quick)))
    times = []
    for batch in BATCHES:
        if batch > len(rows):
            times += ["-", "-"]
            continue
        for threads in (1, 2):
            log_likelihood(circuit, rows[:batch], n_jobs=threads)
            seconds = median_time(
                lambda b=batch, t=threads: log_likelihood(circuit, rows[:b], n_jobs=t),
                3 if quick else 9,
                least=0.02,
            )
            times.append(f"{seconds * 1e6:,.0f}" if seconds > 1e-4 else f"{seconds * 1e6:.1f}")
    print(f"| {name} | {K} | " + " | ".join(times) + " |", flush=True)


if __name__ == "__main__":
    main()
