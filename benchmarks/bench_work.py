"""How much of a search's work a second does: EM with several numbers of states, and continuous mixtures.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 HLD_DATA=... python -m benchmarks.bench_work [--sets dna book ...]

`pcircuit.learn` ends by a limit in n K (S K + 6 V) x epochs for EM (`pcircuit.learning.choosing.work`), and in
multiplications of matrix products for mixtures over a continuous variable, of which two are one unit.  A unit of both
should take about the same time: the table has 1e9 units a second of the processor, one thread, kernels compiled
beforehand.  Two epochs of a continuous mixture are what a fit of three takes longer than one of one.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import time

import numpy as np

import pcircuit
from pcircuit.learning.choosing.fits import Rows
from pcircuit.learning.choosing.work import MULTIPLICATIONS, work_of_epoch
from pcircuit.learning.continuous_mixture import continuous_mixture, work_of_points

from .learning import PUBLISHED
from .measure import machine

STATES = (8, 16, 32, 64)
MOST_POINTS = 8192


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="*", default=list(PUBLISHED), choices=list(PUBLISHED))
    options = parser.parse_args()
    pcircuit.warm_up()
    point_rate(
        np.eye(300, 3, dtype=np.int8), np.eye(3, dtype=np.int8)
    )  # what is imported at the first call
    print(machine() + "\n")
    heads = ["set", "rows x columns", *(f"EM, K = {K}" for K in STATES), "continuous"]
    print(f"| {' | '.join(heads)} |\n| :--- | :--- |" + " ---: |" * (len(heads) - 2), flush=True)
    for name in options.sets:
        with np.load(
            pathlib.Path(os.environ["HLD_DATA"], "binary", f"{name}.npz"), allow_pickle=False
        ) as parts:
            train, valid = parts["train"], parts["valid"]
        rates = [em_rate(train, K) for K in STATES] + [point_rate(train, valid)]
        cells = [name, f"{len(train):,} x {train.shape[1]}", *(f"{rate:.1f}" for rate in rates)]
        print(f"| {' | '.join(cells)} |", flush=True)


def em_rate(table: np.ndarray, num_latents: int) -> float:
    """1e9 units of work a second of EM for the rows that differ."""
    rows, tree = np.unique(table, axis=0), pcircuit.chow_liu_tree(table, num_categories=2)
    circuit, epochs = pcircuit.hclt(table, num_latents, 2, tree=tree), max(96 // num_latents, 2)
    seen = Rows(table, rows, np.ones(len(rows)), table, np.full(len(tree), 2), tree, 1)
    pcircuit.fit_em(circuit, rows, num_epochs=1, n_jobs=1)
    start = time.process_time()
    pcircuit.fit_em(circuit, rows, num_epochs=epochs, n_jobs=1)
    return epochs * work_of_epoch(num_latents, seen) / (time.process_time() - start) / 1e9


def point_rate(table: np.ndarray, held: np.ndarray) -> float:
    """1e9 units of work a second of a continuous mixture: two multiplications each."""
    points = 2 ** (min(MOST_POINTS, len(table)).bit_length() - 1)
    seconds = {}
    for epochs in (1, 3):
        start = time.process_time()
        continuous_mixture(
            table.astype(np.int16),
            held.astype(np.int16),
            np.full(table.shape[1], 2),
            points,
            np.random.default_rng(0),
            num_epochs=epochs,
        )
        seconds[epochs] = time.process_time() - start
    both = 2 * work_of_points(points, len(table), len(held), table.shape[1])
    return both / MULTIPLICATIONS / (seconds[3] - seconds[1]) / 1e9


if __name__ == "__main__":
    main()
