"""Rows per second of log_likelihood and node_likelihoods, and the share of the machine's peak that they reach.

    python -m benchmarks.bench_likelihood [--quick] [--figure FILE]

prints Markdown tables; --figure draws the first one (needs matplotlib).  Baseline: `plain_numpy`, region by region,
in the same run.  Where libcirkit and torch are installed, the same circuits are evaluated by it as well.  Times per
row are CPU time of one thread, so that a busy machine changes them little; the table of threads is wall-clock time.
The arithmetic per row counts multiplications and additions of the circuit; the peak is a large matrix product.
"""
from __future__ import annotations

import argparse
import time

import numpy as np

from pcircuit import log_likelihood, mean_node_likelihoods, node_likelihoods

from . import plain_numpy
from .grid_circuits import circuit_and_rows, flops_per_row
from .measure import machine, median_time, peak_flops

SIDES, UNITS, CATEGORIES, BATCHES = (7, 28), (4, 16, 64), (2, 256), (1, 100, 10_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller batches")
    parser.add_argument("--figure", help="file to draw the rows per second into")
    options = parser.parse_args()
    peak = peak_flops()
    print(f"{machine()}; matrix product {peak / 1e9:.0f} GFlop/s per thread\n")
    print("Largest batch, one thread, per CPU second:\n")
    print("| V | K | C | flops a row | rows/s | GFlop/s | of peak | nodes rows/s | means rows/s | NumPy rows/s "
          "| libcirkit rows/s | over the best |")
    print("| ---: " * 12 + "|")
    drawn = []
    settings = [(side, K, C) for C in CATEGORIES for side in SIDES for K in UNITS]
    for side, K, C in settings:
        drawn.append(line_of_rates(side, K, C, peak, options.quick))
    print("\nMicroseconds a call by batch size (wall clock; 1 and 2 threads):\n")
    print("| V | K | C | " + " | ".join(f"{n:,} rows, {t} thr." for n in BATCHES for t in (1, 2)) + " |")
    print("| ---: " * (3 + 2 * len(BATCHES)) + "|")
    for side, K, C in settings:
        line_of_calls(side, K, C, options.quick)
    if options.figure:
        draw(drawn, options.figure)


def line_of_rates(side, K, C, peak, quick):
    """Print one line of the first table; returns its label and rates."""
    num_rows = rows_of(side, K, C, quick)
    circuit, rows = circuit_and_rows(side, K, C, num_rows)
    repeats, least = (3, 0.05) if quick else (9, 0.2)

    def rate(function):
        function()
        return num_rows / median_time(function, repeats, least=least, clock=time.process_time)

    ours = rate(lambda: log_likelihood(circuit, rows, n_jobs=1))
    few = rows[:max(1, num_rows // 8)]
    nodes = rate(lambda: node_likelihoods(circuit, few, n_jobs=1)) * len(few) / num_rows
    means = rate(lambda: mean_node_likelihoods(circuit, rows, n_jobs=1))
    np.testing.assert_allclose(plain_numpy.log_likelihood(circuit, few), log_likelihood(circuit, few), rtol=1e-10)
    plain = rate(lambda: plain_numpy.log_likelihood(circuit, rows))
    cirkit = cirkit_rate(circuit, rows, rate)
    flops = flops_per_row(circuit)
    print(f"| {side * side} | {K} | {C} | {flops:,} | {ours:,.0f} | {flops * ours / 1e9:.1f} "
          f"| {flops * ours / peak:.0%} | {nodes:,.0f} | {means:,.0f} | {plain:,.0f} "
          f"| {f'{cirkit:,.0f}' if cirkit else '-'} "
          f"| {ours / max(plain, cirkit or 0):.1f} |", flush=True)
    return f"{side * side}, {K}, {C}", ours, plain


def line_of_calls(side, K, C, quick):
    """Print one line of the second table."""
    circuit, rows = circuit_and_rows(side, K, C, min(10_000, 8 * rows_of(side, K, C, quick)))
    cells = []
    for batch in BATCHES:
        if batch > len(rows):
            cells += ["-", "-"]
            continue
        for threads in (1, 2):
            log_likelihood(circuit, rows[:batch], n_jobs=threads)
            seconds = median_time(lambda b=batch, t=threads: log_likelihood(circuit, rows[:b], n_jobs=t),
                                  3 if quick else 9, least=0.02)
            cells.append(f"{seconds * 1e6:,.0f}" if seconds > 1e-4 else f"{seconds * 1e6:.1f}")
    print(f"| {side * side} | {K} | {C} | " + " | ".join(cells) + " |", flush=True)


def rows_of(side, K, C, quick) -> int:
    """A batch that takes the baseline not much more than a second."""
    rows = int(np.clip(4e9 / (side * side * K * (K + 60)), 256, 10_000))
    return max(256, rows // 4) if quick else rows


def cirkit_rate(circuit, rows, rate):
    """Rows per second of libcirkit for a circuit of the same shape, or None where it is not installed."""
    try:
        from .peer_libcirkit import compiled
    except ImportError:
        return None
    evaluate = compiled(circuit)
    return rate(lambda: evaluate(rows))


def draw(drawn, path):
    """Bars of rows per second, logarithmic."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    labels, ours, plain = zip(*drawn, strict=True)
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    place = np.arange(len(labels))
    axes.bar(place - 0.2, ours, 0.4, label="pcircuit")
    axes.bar(place + 0.2, plain, 0.4, label="plain NumPy")
    axes.set(yscale="log", ylabel="rows per CPU second", xlabel="V, K, C")
    axes.set_xticks(place, labels, rotation=45, ha="right")
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
