"""Rows per second of log_likelihood and node_likelihoods beside other engines, and the share of the machine's peak.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.bench_likelihood [--quick] [--figure FILE] [--circuits NAME ...]

prints Markdown tables; --figure draws the first one (needs matplotlib).  The circuits are those of `grid_circuits`.
Compared with (`peers`): plain NumPy, region by region, and libcirkit and SPFlow 1.x where they are installed, each with
the same circuit and the same parameters in the same run.  Times per row are CPU time of one thread, so that a busy
machine changes them little; the table of calls is wall-clock time.  The arithmetic per row counts multiplications and
additions of the circuit; the peak is a large matrix product.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from hld.plots import new_figure
from pcircuit import log_likelihood, mean_node_likelihoods, node_likelihoods

from . import peers
from .grid_circuits import CIRCUITS, UNITS, batch_of, flops_per_row, named_circuit
from .measure import machine, median_time, peak_flops

BATCHES = (1, 100, 10_000)
TITLES = {
    "bin49": "49 binary",
    "bin784": "784 binary",
    "cat14": "14 with 5-20 categories",
    "cat42": "42 with 5-20 categories",
    "byte49": "49 with 256 categories",
    "byte784": "784 with 256 categories",
}
STYLES = {
    "pcircuit": ("#0072B2", "o", "float64"),
    "NumPy": ("#D55E00", "s", "float64"),
    "libcirkit": ("#009E73", "^", "float32"),
    "SPFlow": ("#CC79A7", "v", "float32"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller batches")
    parser.add_argument("--figure", help="file to draw the rows per second into")
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
    drawn = {setting: line_of_rates(*setting, peak, options.quick) for setting in settings}
    print(f"\n{peers.NOTE}\n\nMicroseconds a call by batch size (wall clock; 1 and 2 threads):\n")
    print(
        "| circuit | K | "
        + " | ".join(f"{n:,} rows, {t} thr." for n in BATCHES for t in (1, 2))
        + " |"
    )
    print("| :--- | ---: " + "| ---: " * (2 * len(BATCHES)) + "|")
    for name, K in settings:
        line_of_calls(name, K, options.quick)
    if options.figure:
        draw(drawn, options.figure)


def line_of_rates(name, K, peak, quick):
    """Print one line of the first table; returns its rates by engine."""
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
    return {"pcircuit": ours, **others}


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


def draw(drawn, path):
    """One panel a circuit: rows per second of each engine by K, and how far the best of the others is behind."""
    names = list(dict.fromkeys(name for name, _ in drawn))
    num_columns = min(3, len(names))
    num_lines = -(-len(names) // num_columns)
    figure = new_figure((3.1 * num_columns, 2.6 * num_lines + 0.7))
    panels = figure.subplots(num_lines, num_columns, sharey=True, squeeze=False)
    for axes, name in zip(panels.flat, names, strict=False):
        units = [K for n, K in drawn if n == name]
        for engine, (colour, marker, dtype) in STYLES.items():
            rates = [drawn[name, K].get(engine) or np.nan for K in units]
            axes.plot(
                range(len(units)),
                rates,
                marker=marker,
                color=colour,
                linewidth=1.2,
                markersize=5,
                label=f"{engine} ({dtype})",
            )
        for place, K in enumerate(units):
            ours = drawn[name, K]["pcircuit"]
            best = peers.best_of({peer: drawn[name, K][peer] for peer in peers.PEERS})
            axes.annotate(
                f"{ours / best:.0f}x" if ours > 9.5 * best else f"{ours / best:.1f}x",
                (place, ours),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
        axes.set(yscale="log", xlim=(-0.4, len(units) - 0.6))
        axes.set_xticks(range(len(units)), [f"K = {K}" for K in units])
        axes.set_title(f"{name}: {TITLES[name]}", fontsize=10)
        axes.grid(axis="y", color="0.9")
        axes.margins(y=0.2)
    for axes in panels[:, 0]:
        axes.set_ylabel("rows per CPU second")
    figure.legend(
        *panels.flat[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(STYLES),
        frameon=False,
        fontsize=9,
    )
    figure.supxlabel("above the points: how many times the best of the others", fontsize=9)
    for axes in panels.flat[len(names) :]:
        axes.set_visible(False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
