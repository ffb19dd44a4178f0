"""What learning costs: an epoch of full-batch EM beside other engines, and whole runs on real data.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.bench_em [--quick] [--circuits NAME ...]

prints Markdown tables.  Rates are rows per CPU second of one thread, next to those of `peers` in the same run; runs on
real data (`real_rows`) use all CPUs and wall-clock time, kernels compiled beforehand, and report how far the memory of
the process grew beyond the data.  --quick: fewer repeats and rows, and no runs with 256 categories and 64 units.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time

import numpy as np

from pcircuit import fit_em, hclt, log_likelihood

from . import peers, real_rows
from .grid_circuits import CIRCUITS, UNITS, batch_of, named_circuit
from .measure import machine, median_time

EPOCHS = 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and rows")
    parser.add_argument(
        "--circuits", nargs="+", choices=CIRCUITS, default=CIRCUITS, help="circuits to measure"
    )
    options = parser.parse_args()
    print(machine() + "\n")
    print(
        f"Whole runs, {EPOCHS} epochs, wall clock:\n\n| data | rows | V | K | tree and start, s | EM, s "
        "| memory beyond the data, MB |\n| :--- " + "| ---: " * 6 + "|"
    )
    fit_em(hclt(np.zeros((1, 2), dtype=np.uint8)), np.zeros((1, 2), dtype=np.uint8), num_epochs=1)
    for load in (real_rows.adult, real_rows.covertype, real_rows.digit):
        line_of_run(*load())
    print("\nAn epoch and an evaluation, one thread, rows per CPU second:\n")
    print(
        "| circuit | K | epoch | evaluation | ratio | "
        + " | ".join(peers.PEERS)
        + " | over the best |"
    )
    print("| :--- " + "| ---: " * (5 + len(peers.PEERS)) + "|")
    for name in options.circuits:
        for K in UNITS:
            if not (options.quick and K == 64 and name.startswith("byte")):
                line_of_rates(name, K, options.quick)
    print("\n" + peers.NOTE)


def line_of_run(name, rows, K=4):
    """Print one line of the first table: learn the tree, then the parameters."""
    clock = time.perf_counter()
    start = hclt(rows, K, rng=0)
    learned = time.perf_counter()
    forget_peak()
    before, begun = memory("VmRSS"), time.perf_counter()
    fit_em(start, rows, num_epochs=EPOCHS)
    seconds, grown = time.perf_counter() - begun, memory("VmHWM") - before
    print(
        f"| {name} | {len(rows):,} | {rows.shape[1]} | {K} | {learned - clock:.2f} | {seconds:.2f} | {grown:.0f} |",
        flush=True,
    )


def line_of_rates(name, K, quick):
    """Print one line of the second table: an epoch is what one more epoch of a run costs."""
    num_rows = max(4096 if K < 64 else 1024, batch_of(name, K, quick))
    if name.startswith("byte") and not quick:
        num_rows = 20_000  # so that updating C numbers per unit once an epoch does not dominate
    circuit, rows = named_circuit(name, K, num_rows)
    log_likelihood(circuit, rows, n_jobs=1)
    repeats, least = (3, 0.05) if quick else (7, 0.3)
    evaluation = median_time(
        lambda: log_likelihood(circuit, rows, n_jobs=1),
        repeats,
        least=least,
        clock=time.process_time,
    )
    times = []
    fit_em(
        circuit,
        rows,
        num_epochs=3 + 3 * repeats,
        n_jobs=1,
        callback=lambda *_: times.append(time.process_time()),
    )
    epoch = float(np.median(np.diff(times)))
    others = peers.em_rates(circuit, rows, quick=quick)
    print(
        f"| {name} | {K} | {len(rows) / epoch:,.0f} | {len(rows) / evaluation:,.0f} | {epoch / evaluation:.2f} "
        f"| {peers.cells(others)} | {len(rows) / epoch / peers.best_of(others):.1f} |",
        flush=True,
    )


def memory(field) -> float:
    """Memory of the process in MB: VmRSS now, VmHWM the most since `forget_peak`; NaN outside Linux."""
    try:
        lines = pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def forget_peak() -> None:
    """Reset VmHWM to VmRSS, so that earlier peaks do not hide later ones."""
    if sys.platform == "linux":
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


if __name__ == "__main__":
    main()
