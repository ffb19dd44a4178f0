"""Whether cost grows linearly: rows per second times variables of log_likelihood and of an epoch of EM, by V.

    python -m benchmarks.bench_scaling [--quick] [--figure FILE]

prints a Markdown table; --figure draws it (needs matplotlib).  Hidden Chow-Liu tree circuits with K = 4 and two
categories on a spanning tree of a pixel grid and on a chain, whose depth is V.  A cost that is linear in V shows as a
constant number of variables per second; CPU time of one thread.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from hld.plots import new_figure
from pcircuit import fit_em, log_likelihood

from .grid_circuits import grid_tree, tree_circuit
from .measure import machine, median_time

SIDES, UNITS, ROWS = (7, 10, 16, 22, 32, 50, 71), 4, 8192


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--figure", help="file to draw the rates into")
    options = parser.parse_args()
    print(f"{machine()}; K = {UNITS}, {ROWS:,} rows\n")
    print("| tree | V | log_likelihood, rows/s x V | epoch of EM, rows/s x V |")
    print("| :--- " + "| ---: " * 3 + "|")
    drawn = {}
    for shape in ("grid", "chain"):
        for side in SIDES:
            V = side * side
            parents = (
                grid_tree(side, np.random.default_rng(0)) if shape == "grid" else np.arange(V) - 1
            )
            rates = rates_of(parents, options.quick)
            drawn.setdefault(shape, []).append((V, *rates))
            print(f"| {shape} | {V:,} | {rates[0]:.3g} | {rates[1]:.3g} |", flush=True)
    for shape, lines in drawn.items():
        V, evaluation, epoch = np.log(lines).T
        print(
            f"\n{shape}: time grows as V to the power {np.polyfit(V, V - evaluation, 1)[0]:.2f} (log_likelihood) and "
            f"{np.polyfit(V, V - epoch, 1)[0]:.2f} (epoch)"
        )
    if options.figure:
        draw(drawn, options.figure)


def rates_of(parents, quick):
    """Variables per CPU second of an evaluation and of an epoch of EM, of the same number of rows for all V."""
    V = len(parents)
    circuit = tree_circuit(parents, UNITS, np.full(V, 2))
    rows = np.random.default_rng(1).integers(0, 2, size=(ROWS, V), dtype=np.uint8)
    log_likelihood(circuit, rows, n_jobs=1)
    evaluation = median_time(
        lambda: log_likelihood(circuit, rows, n_jobs=1),
        5 if quick else 15,
        least=0.05,
        clock=time.process_time,
    )
    times = []
    fit_em(
        circuit,
        rows,
        num_epochs=9 if quick else 25,
        n_jobs=1,
        callback=lambda *_: times.append(time.process_time()),
    )
    return ROWS * V / evaluation, ROWS * V / float(np.median(np.diff(times)))


def draw(drawn, path):
    """Variables per second by V, one line a tree and task."""
    figure = new_figure((5.2, 3.4))
    axes = figure.add_subplot()
    for shape, dashes in (("grid", "-"), ("chain", "--")):
        V, evaluation, epoch = np.array(drawn[shape]).T
        axes.plot(
            V,
            evaluation,
            dashes,
            marker="o",
            color="#0072B2",
            markersize=4,
            label=f"log_likelihood, {shape}",
        )
        axes.plot(
            V,
            epoch,
            dashes,
            marker="s",
            color="#D55E00",
            markersize=4,
            label=f"epoch of EM, {shape}",
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="variables V",
        ylabel="rows per CPU second x V",
        title="A level line is a cost linear in V",
        ylim=(5e7, 3e9),
    )
    axes.set_xticks([50, 100, 500, 1000, 5000], ["50", "100", "500", "1,000", "5,000"])
    axes.minorticks_off()
    axes.grid(color="0.9")
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="lower center")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
