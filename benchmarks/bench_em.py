"""What learning costs: an epoch of full-batch EM beside other engines.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.bench_em [--quick] [--circuits NAME ...] [--units K ...]

prints a Markdown table.  Rates are rows per CPU second of one thread, next to those of `peers` in the same run:
JAX and PyTorch compute flows by differentiation.
--quick: fewer repeats and rows, and no runs with 256 categories and 64 units.
"""

import argparse
import time

import numpy as np

from pcircuit import fit_em, log_likelihood

from . import peers
from .grid_circuits import CIRCUITS, UNITS, batch_of, named_circuit
from .measure import machine, median_time, show


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats and rows")
    parser.add_argument(
        "--circuits", nargs="+", choices=CIRCUITS, default=CIRCUITS, help="circuits to measure"
    )
    parser.add_argument("--units", nargs="+", type=int, default=UNITS, help="K of the circuits")
    options = parser.parse_args()
    print(f"{machine()}\n{peers.missing()}", flush=True)
    print("An epoch and an evaluation, one thread, rows per CPU second:\n")
    print(
        "| circuit | K | epoch | evaluation | ratio | epoch float32 | float32 / float64 | "
        + " | ".join(peers.PEERS)
        + " | float64 / best peer | float32 / best peer |"
    )
    print("| :--- " + "| ---: " * (8 + len(peers.PEERS)) + "|")
    for name in options.circuits:
        for K in options.units:
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
    epochs = {}
    for dtype in peers.DTYPES:
        times = []
        fit_em(
            circuit,
            rows,
            num_epochs=3 + 3 * repeats,
            n_jobs=1,
            dtype=dtype,
            callback=lambda *_, times=times: times.append(time.process_time()),
        )
        epochs[dtype] = len(rows) / float(np.median(np.diff(times)))
    others = peers.em_rates(circuit, rows, quick=quick)
    cells = [name, K, f"{epochs['float64']:,.0f}", f"{len(rows) / evaluation:,.0f}"]
    cells += [f"{len(rows) / evaluation / epochs['float64']:.2f}", f"{epochs['float32']:,.0f}"]
    cells += [f"{epochs['float32'] / epochs['float64']:.2f}", peers.cells(others)]
    cells += [peers.over_best(epochs[dtype], others, dtype) for dtype in peers.DTYPES]
    show(*cells)


if __name__ == "__main__":
    main()
