"""The options of the test against the paper's test and MMD: false alarms and power.

    HLD_DATA=... python -m benchmarks.options [--quick] [--datasets adult connect4 ...] [--jobs N] [--output FILE.json]
    python -m benchmarks.options report FILE.json

Protocol close to the paper's (`benchmarks.paper`): one class is in-distribution, half of it trains an HCLT with four
states (100 EM epochs), batches are drawn from circuit samples, from the other half, and from another class. The sets
of `binary/` are split on one variable: rows where it is 0 are in-distribution, rows where it is 1 are the shift, and
the variable itself is left out.

The rows of a batch are drawn without replacement, then a batch of held-out rows is a sample of the source. (Drawn
with replacement from a pool of n rows it is a sample of the pool, whose mean differs from the source's as much as a
batch of n rows does; false alarms then exceed the level at T near n even for a perfect model. The column `pool` gives
n; where a pool has fewer than 2 T rows there is no choice but replacement, and the report leaves these out of its means
over circuits.) All batches of a cell come from one split, so rates on held-out rows vary between splits more than their
binomial error.

`default` is `HLDDetector` with its defaults, fitted to the training rows: all four metrics combined, half of the rows
as reference, and a circuit learned from the others.
`mmd` is `hld.MMDTest`; from T = 200 on with its spectral null, and with fewer trials.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import hld
import pcircuit
from hld.vectors.row_vectors import RowVectors

from .paper import datasets

SIZES = (1, 10, 50, 100, 200, 500, 1000, 2500)
ALPHAS = (0.1, 0.05, 0.01, 0.001)
OPTIONS = {
    "paper": {"null": "normal"},
    "exact": {"null": "exact"},
    "auto": {"null": "auto"},
    "standardized": {"null": "auto", "metric": "standardized"},
    "marginals": {"null": "auto", "metric": "marginals"},
    "whitened": {"null": "auto", "metric": "whitened"},
    "combined": {"null": "auto", "metric": ("euclidean", "standardized", "marginals", "whitened")},
    "training": {"null": "auto", "reference": "training"},
    "default": None,
    "mmd": None,
}
PSEUDOCOUNT = 1.0  # as the detector's
MMD_ROWS = 60_000  # rows of all batches of MMD for one population and T
SPECTRAL_FROM = 200
TABULAR = [(name, id_class) for name in datasets.TABULAR for id_class in datasets.ID_CLASSES[name]]
DIGITS = [("mnist7", digit) for digit in "0358"]
BINARY = [
    ("binary", name)
    for name in ("nltcs", "plants", "audio", "jester", "netflix", "accidents", "dna")
]


def main():
    """Run and write one JSON, or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", nargs="*", help="'report FILE.json' prints the tables of a run")
    parser.add_argument("--quick", action="store_true", help="100 trials, T = 1, 10, 50, 200")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--datasets", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--output", default="benchmarks/results/options.json")
    options = parser.parse_args()
    if options.report:
        from .options_report import report

        return print(report(json.loads(pathlib.Path(options.report[1]).read_text())))
    sizes, trials = ((1, 10, 50, 200), 100) if options.quick else (options.sizes, options.trials)
    cells = [
        cell
        for cell in TABULAR + DIGITS + BINARY
        if not options.datasets or cell[0] in options.datasets
    ]
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # one thread in each process, which inherits it
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(study, name, id_class, sizes, trials) for name, id_class in cells]
        results = []
        for (name, id_class), future in zip(cells, futures, strict=True):
            results.append(future.result())
            print(f"{name} {id_class}: {results[-1]['seconds']:.0f} s", flush=True)
    run = {"trials": trials, "sizes": list(sizes), "alphas": ALPHAS, "cells": results}
    path = pathlib.Path(options.output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run))
    from .options_report import report

    return print(report(run))


def study(name, id_class, sizes, trials) -> dict:
    """Rejection counts on one circuit: {option: {population: {T: [trials, count per alpha...]}}}."""
    started = time.perf_counter()
    train, held_out, shifted, categories = pools(name, id_class)
    circuit = pcircuit.hclt(train, 4, categories, PSEUDOCOUNT, rng=0)
    circuit, _ = pcircuit.fit_em(circuit, train, num_epochs=100, pseudocount=PSEUDOCOUNT)
    rng = np.random.default_rng(1)
    populations = {
        "model": pcircuit.sample(circuit, 200_000, rng=rng),
        "held-out": held_out,
        **shifted,
    }
    batches = {
        (key, T): [rng.choice(len(rows), T, replace=len(rows) < 2 * T) for _ in range(trials)]
        for key, rows in populations.items()
        for T in sizes
    }
    counts, means = {}, None
    for option, arguments in OPTIONS.items():
        if option == "mmd":
            counts[option] = mmd_counts(circuit, populations, batches)
            continue
        if option == "default":
            detector = hld.HLDDetector(categorical=list(range(train.shape[1]))).fit(train)
            encoded = {key: detector.encoder_.encode(rows)[0] for key, rows in populations.items()}
            test, option_means = (
                detector.test_,
                batch_means(detector.test_.vectors, encoded, batches),
            )
            fitted = len(train) if test.num_train == len(train) else len(train) - test.num_train
        else:
            means = (
                batch_means(RowVectors(circuit, hld.select_nodes(circuit)), populations, batches)
                if means is None
                else means
            )
            more = (
                {"training_data": train} if "reference" in arguments else {"num_train": len(train)}
            )
            test = hld.HLDTest(
                circuit, rng=2, **arguments, **({} if option in ("paper", "exact") else more)
            )
            option_means = means
        counts[option] = {}
        for (key, T), vectors in option_means.items():
            pvalues = np.array([test.judge(vector, T).pvalue for vector in vectors])
            counts[option].setdefault(key, {})[str(T)] = [
                trials,
                *(int((pvalues <= a).sum()) for a in ALPHAS),
            ]
    return {
        "dataset": name,
        "class": id_class,
        "train": len(train),
        "pool": len(held_out),
        "learned": fitted,
        "pools": {key: len(rows) for key, rows in populations.items()},
        "nodes": len(hld.select_nodes(circuit)),
        "counts": counts,
        "seconds": time.perf_counter() - started,
    }


def batch_means(vectors, populations, batches) -> dict:
    """{(population, T): (trials, size) mean vectors}."""
    means: dict = {}
    for name, rows in populations.items():
        table = vectors.rows(rows)
        for (key, T), drawn in batches.items():
            if key == name:
                means[key, T] = np.stack([table[index].mean(axis=0) for index in drawn])
    return means


def mmd_counts(circuit, populations, batches) -> dict:
    """The same counts for MMD."""
    tests = {null: hld.MMDTest(circuit, null=null, rng=2) for null in ("monte-carlo", "spectral")}
    counts = {}
    for (key, T), drawn in batches.items():
        test = tests["spectral" if T >= SPECTRAL_FROM else "monte-carlo"]
        drawn = drawn[: max(MMD_ROWS // T, 20)]
        pvalues = np.array([test(populations[key][index]).pvalue for index in drawn])
        counts.setdefault(key, {})[str(T)] = [
            len(drawn),
            *(int((pvalues <= alpha).sum()) for alpha in ALPHAS),
        ]
    return counts


def pools(name, id_class):
    """Training rows, held-out rows, shifted rows by name, numbers of categories."""
    if name != "binary":
        split = datasets.split_class(
            datasets.load_table(name),
            id_class,
            datasets.PAIRS[name][id_class][:3],
            datasets.Choices(),
        )
        return split.train, split.held_out, split.ood, split.num_categories
    parts = np.load(pathlib.Path(os.environ["HLD_DATA"]) / "binary" / f"{id_class}.npz")
    rows = np.concatenate([parts["train"], parts["valid"], parts["test"]])
    on = int(
        np.argmin(np.abs(rows.mean(axis=0) - 0.3))
    )  # a variable that is 1 in about a third of the rows
    rest = np.delete(rows, on, axis=1)
    normal = rest[rows[:, on] == 0]
    normal = normal[np.random.default_rng(0).permutation(len(normal))]
    half = len(normal) // 2
    return normal[:half], normal[half:], {f"x{on} = 1": rest[rows[:, on] == 1]}, 2


if __name__ == "__main__":
    main()
