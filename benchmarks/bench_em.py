"""What learning costs: an epoch of full-batch EM beside other engines.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.bench_em [--quick] [--circuits NAME ...]

prints a Markdown table.  Rates are rows per CPU second of one thread, next to those of `peers` in the same run.
--quick: fewer repeats and rows, and no runs with 256 categories and 64 units.
"""

import argparse
import time

import numpy as np

from pcircuit import fit_em, log_likelihood

from . import peers
from .grid_circuits import CIRCUITS, UNITS, batch_of, named_circuit
from .measure import machine, median_time


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and rows")
    parser.add_argument(
        "--circuits", nargs="+", choices=CIRCUITS, default=CIRCUITS, help="circuits to measure"
    )
    options = parser.parse_args()
    print(machine() + "\n")
    print("An epoch and an evaluation, one thread, rows per CPU second:\n")
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


def line_of_rates(name, K, quick):
    """Print one line of the table: an epoch is what one more epoch of a run costs."""
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


if __name__ == "__main__":
    main()
