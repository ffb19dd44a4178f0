"""What learning costs: an epoch of full-batch EM against an evaluation, and whole runs on real data.

    python -m benchmarks.bench_em [--quick]

prints Markdown tables.  Rates are per CPU second of one thread, next to `plain_numpy` in the same run; runs on real
data (folder named by HLD_DATA; without it, rows of the same shape are drawn at random) use all CPUs and wall-clock
time, kernels compiled beforehand, and say how far the process grew beyond the data.  --quick: a tenth of the epochs.
"""
from __future__ import annotations

import os
import pathlib
import sys
import time

import numpy as np

from pcircuit import fit_em, hclt, log_likelihood

from . import plain_numpy
from .bench_likelihood import rows_of
from .grid_circuits import circuit_and_rows
from .measure import machine, median_time

SETTINGS = [(side, K, C) for C in (2, 256) for side in (7, 28) for K in (4, 16, 64)]
EPOCHS = 100


def main():
    quick = "--quick" in sys.argv
    print(machine() + "\n")
    epochs = EPOCHS // 10 if quick else EPOCHS
    print(f"Whole runs, {epochs} epochs:\n\n| data | rows | V | K | seconds | memory beyond the data, MB |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: |")
    fit_em(hclt(np.zeros((1, 2), dtype=np.uint8)), np.zeros((1, 2), dtype=np.uint8), num_epochs=1)
    for name, rows in (("Adult-like", adult_like()), ("Covertype-like", covertype_like()), ("MNIST digit", digit())):
        start = hclt(rows[:5000])
        forget_peak()
        before, clock = memory("VmRSS"), time.perf_counter()
        fit_em(start, rows, num_epochs=epochs)
        seconds, grown = time.perf_counter() - clock, memory("VmHWM") - before
        print(f"| {name} | {len(rows):,} | {rows.shape[1]} | 4 | {seconds:.2f} | {grown:.0f} |", flush=True)

    print("\nAn epoch and an evaluation, one thread, per CPU second:\n")
    print("| V | K | C | epoch, rows/s | evaluation, rows/s | ratio | NumPy epoch, rows/s | over NumPy |")
    print("| ---: " * 8 + "|")
    for side, K, C in SETTINGS:
        if not (quick and K == 64 and C == 256):
            line_of_rates(side, K, C, quick)


def line_of_rates(side, K, C, quick):
    """Print one line: an epoch is what one more epoch of a run costs."""
    num_rows = max(4096 if K < 64 else 1024, rows_of(side, K, C, quick))
    if C > 2 and not quick:
        num_rows = 20_000  # so that updating C numbers a unit once an epoch does not dominate
    circuit, rows = circuit_and_rows(side, K, C, num_rows)
    log_likelihood(circuit, rows, n_jobs=1)
    repeats, least = (3, 0.05) if quick else (7, 0.3)

    def seconds(function):
        return median_time(function, repeats, least=least, clock=time.process_time)

    evaluation = seconds(lambda: log_likelihood(circuit, rows, n_jobs=1))
    times = []
    fit_em(circuit, rows, num_epochs=3 + 3 * repeats, n_jobs=1, callback=lambda *_: times.append(time.process_time()))
    epoch = float(np.median(np.diff(times)))
    few = rows[:min(len(rows), 1024)]
    plain = seconds(lambda: plain_numpy.em_epoch(circuit, few)) * len(rows) / len(few)
    print(f"| {side * side} | {K} | {C} | {len(rows) / epoch:,.0f} | {len(rows) / evaluation:,.0f} "
          f"| {epoch / evaluation:.2f} | {len(rows) / plain:,.0f} | {plain / epoch:.1f} |", flush=True)


def adult_like():
    """18,577 rows of 14 categorical variables with up to 42 categories that depend on a hidden class."""
    return dependent_rows(18_577, [8, 8, 8, 16, 7, 14, 6, 5, 2, 5, 5, 8, 42, 8])


def covertype_like():
    """141,650 rows: 10 columns of 10 categories and 44 of two, as Covertype's largest class but one."""
    return dependent_rows(141_650, [10] * 10 + [2] * 44)


def dependent_rows(num_rows, categories):
    """Rows whose columns depend on a hidden class of ten."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 10, size=num_rows)
    rows = np.empty((num_rows, len(categories)), dtype=np.uint8)
    for v, C in enumerate(categories):
        table = np.cumsum(rng.dirichlet(np.full(C, 0.5), size=10), axis=1)
        rows[:, v] = np.minimum((rng.random(num_rows)[:, None] > table[hidden]).sum(axis=1), C - 1)
    return rows


def digit():
    """6,000 binarised 28 x 28 images of one digit, or random rows of that shape without the folder of data."""
    folder = os.environ.get("HLD_DATA")
    if not folder:
        return dependent_rows(6_000, [2] * 784)
    import gzip
    files = sorted(pathlib.Path(folder, "mnist").glob("train-*.gz"))
    images, labels = [np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8) for path in files]
    rows = images[16:].reshape(-1, 784)[labels[8:] == 0]
    return (rows[:6000] >= 128).astype(np.uint8)


def memory(field) -> float:
    """A field of this process's memory in MB: VmRSS is now, VmHWM the most since `forget_peak`; NaN outside Linux."""
    try:
        lines = pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def forget_peak() -> None:
    """Let VmHWM begin again at VmRSS, so that what ran before does not hide what comes."""
    if sys.platform == "linux":
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


if __name__ == "__main__":
    main()
