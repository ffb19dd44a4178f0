"""Large circuits and many rows: epochs of EM a minute, beside plain NumPy and libcirkit, and whether memory stays flat.

    HLD_DATA=... python -m benchmarks.bench_large [--quick] [--threads 2]

Two circuits: a Hidden Chow-Liu tree with 64 states, learned from the first 100,000 rows of kdd (64 columns), and a
RAT-SPN with a million parameters over 784 variables and 10,000 random rows (speed does not depend on the values).

Each engine does full epochs in batches of the size at which `peers` finds it fastest, with the same number of
threads; wall-clock time, as threads are what is compared.  The first epoch is not counted (it compiles).  NumPy does
the E-step, nearly all of an epoch; libcirkit adds up the gradients of all batches and takes one step of its `EM`.

The second table says how far the memory of a process of its own grows while it learns from more and more rows, beyond
the rows themselves: flat means that it does not.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

from pcircuit import Circuit, InputRegion, fit_em, hclt, rat_spn

from . import peers, plain_numpy
from .bench_em import forget_peak, memory
from .measure import machine

NAMES = "hclt", "rat"
SHARES = 0.25, 0.5, 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--memory", nargs=2, metavar=("NAME", "SHARE"), help="print MB of one run (for the program)"
    )
    options = parser.parse_args()
    if options.memory:
        print(f"{grown(*options.memory, options.quick):.0f}")
        return
    print(machine() + f", {options.threads} threads\n")
    print(
        "| circuit | parameters | rows | epochs a minute | NumPy | libcirkit | over the best |\n| :--- "
        + "| ---: " * 6
        + "|"
    )
    for name in NAMES:
        line_of_epochs(name, options)
    print(
        "\nMemory beyond the rows, MB:\n\n| circuit | "
        + " | ".join(f"{s:.0%} of the rows" for s in SHARES)
        + " |\n| :--- "
        + "| ---: " * len(SHARES)
        + "|"
    )
    for name in NAMES:
        cells = [measured(name, share, options.quick) for share in SHARES]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def line_of_epochs(name, options):
    """Print one line of the first table."""
    circuit, rows = circuit_and_rows(name, options.quick)
    times = []
    fit_em(
        circuit,
        rows,
        num_epochs=4,
        n_jobs=options.threads,
        callback=lambda *_: times.append(time.perf_counter()),
    )
    ours = 60 / float(np.median(np.diff(times)))
    others = {
        "NumPy": numpy_rate(circuit, rows),
        "libcirkit": libcirkit_rate(circuit, rows, options.threads),
    }
    best = max(rate for rate in others.values() if rate is not None)
    cells = " | ".join("-" if rate is None else f"{rate:.2f}" for rate in others.values())
    print(
        f"| {circuit_name(name)} | {num_parameters(circuit):,} | {len(rows):,} | {ours:.2f} | {cells} | "
        f"{ours / best:.1f} |",
        flush=True,
    )


def numpy_rate(circuit, rows):
    """Epochs a minute of plain NumPy (its threads are those of BLAS), at the best of three batch sizes."""
    few = rows[:4096]
    batches = [size for size in peers.BATCHES if size <= plain_numpy.largest_batch(circuit)] or [1]
    seconds = min(
        timed(lambda size=size: plain_numpy.em_epoch(circuit, few, batch=size)) for size in batches
    )
    return 60 / (seconds * len(rows) / len(few))


def libcirkit_rate(circuit, rows, threads):
    """Epochs a minute of libcirkit at the best of three batch sizes; None where it is not installed."""
    peer = peers.module_of("libcirkit")
    if peer is None:
        return None
    import torch

    few = peer.as_input(rows[:4096])
    epoch, _ = peer.learner(circuit)
    torch.set_num_threads(threads)
    batches = [size for size in peers.BATCHES if size <= peer.largest_batch(circuit)] or [1]
    epoch(few[:64])
    seconds = min(
        timed(lambda size=size: [epoch(few[i : i + size]) for i in range(0, len(few), size)])
        for size in batches
    )
    return 60 / (seconds * len(rows) / len(few))


def timed(call):
    """Seconds of the faster of two calls."""
    seconds = []
    for _ in range(2):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def measured(name, share, quick):
    """`grown` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bench_large", "--memory", name, str(share)] + [
        "--quick"
    ] * quick
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def grown(name, share, quick) -> float:
    """MB by which two epochs make this process larger, kernels loaded beforehand."""
    circuit, rows = circuit_and_rows(name, quick)
    rows = rows[: int(float(share) * len(rows))].copy()
    fit_em(circuit, rows[:2], num_epochs=1, n_jobs=2)
    forget_peak()
    before = memory("VmRSS")
    fit_em(circuit, rows, num_epochs=2, n_jobs=2)
    return memory("VmHWM") - before


def circuit_and_rows(name, quick):
    """The circuit with its start values, and rows for it."""
    if name == "hclt":
        rows = np.load(pathlib.Path(os.environ["HLD_DATA"]) / "binary" / "kdd.npz")["train"][
            :100_000
        ].astype(np.uint8)
        circuit = hclt(rows, 64, 2, rng=0)
    else:
        circuit = rat_spn([2] * 784, num_units=120, depth=5, rng=0)
        rows = np.random.default_rng(0).integers(0, 2, size=(10_000, 784), dtype=np.uint8)
    return circuit, rows[: len(rows) // 10] if quick else rows


def circuit_name(name):
    """As a reader knows it."""
    return {"hclt": "hidden Chow-Liu tree, 64 states", "rat": "RAT-SPN, 120 units, depth 5"}[name]


def num_parameters(circuit: Circuit) -> int:
    """Numbers in its tables."""
    return sum(
        (region.probs if isinstance(region, InputRegion) else region.weights).size
        for region in circuit.regions
    )


if __name__ == "__main__":
    main()
