"""Rows per second of log_likelihood and node_likelihoods beside other engines, and the share of the machine's peak.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.bench_likelihood [--quick] [--circuits NAME ...] [--units K ...]

prints Markdown tables.  The circuits are those of `grid_circuits`.
Compared with (`peers`): plain NumPy, region by region, and libcirkit, JAX and PyTorch where they are installed, with
the same circuit and the same parameters in the same run; those of float64, and of float32, with their own kind.
Times per row are CPU time of one thread, so that a busy
machine changes them little; the table of calls is wall-clock time.  The arithmetic per row counts multiplications and
additions of the circuit; the peak is a large matrix product by the best kernel of OpenBLAS for this processor.
"""

import argparse
import time

import numpy as np

from pcircuit import log_likelihood, mean_node_likelihoods, node_likelihoods

from . import peers
from .grid_circuits import CIRCUITS, UNITS, batch_of, flops_per_row, named_circuit
from .measure import machine, median_time, peak_flops, show

BATCHES = (1, 100, 10_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller batches")
    parser.add_argument(
        "--circuits", nargs="+", choices=CIRCUITS, default=CIRCUITS, help="circuits to measure"
    )
    parser.add_argument("--units", nargs="+", type=int, default=UNITS, help="K of the circuits")
    options = parser.parse_args()
    peak = {dtype: peak_flops(dtype) for dtype in peers.DTYPES}
    best = ", ".join(f"{peak[dtype] / 1e9:.0f} GFlop/s in {dtype}" for dtype in peers.DTYPES)
    print(f"{machine()}; best matrix product {best} per thread\n{peers.missing()}", flush=True)
    print("Largest batch (the others: their best), one thread, rows per CPU second:\n")
    print(
        "| circuit | K | flops a row | float64 | of peak | float32 | of peak | float32 / float64 | error | nodes "
        "| nodes float32 | means | "
        + " | ".join(peers.PEERS)
        + " | float64 / best peer | float32 / best peer |"
    )
    print("| :--- " + "| ---: " * (13 + len(peers.PEERS)) + "|")
    settings = [(name, K) for name in options.circuits for K in options.units]
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

    few = rows[: max(1, len(rows) // 8)]
    ours, nodes = {}, {}
    for dtype in peers.DTYPES:
        ours[dtype] = rate(
            lambda d=dtype: log_likelihood(circuit, rows, n_jobs=1, dtype=d), len(rows)
        )
        nodes[dtype] = rate(
            lambda d=dtype: node_likelihoods(circuit, few, n_jobs=1, dtype=d), len(few)
        )
    error = np.abs(log_likelihood(circuit, rows) - log_likelihood(circuit, rows, dtype="float32"))
    means = rate(lambda: mean_node_likelihoods(circuit, rows, n_jobs=1), len(rows))
    others = peers.likelihood_rates(circuit, rows, quick=quick)
    flops = flops_per_row(circuit)
    cells = [name, K, f"{flops:,}"]
    for dtype in peers.DTYPES:
        cells += [f"{ours[dtype]:,.0f}", f"{flops * ours[dtype] / peak[dtype]:.0%}"]
    cells += [f"{ours['float32'] / ours['float64']:.2f}", f"{error.max():.1e}"]
    cells += [f"{rate:,.0f}" for rate in (*nodes.values(), means)]
    cells.append(peers.cells(others))
    cells += [peers.over_best(ours[dtype], others, dtype) for dtype in peers.DTYPES]
    show(*cells)


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
