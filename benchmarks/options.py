"""The options of the test against the paper's test: false alarms under the model and on held-out data, and power.

    HLD_DATA=... python -m benchmarks.options [--quick] [--datasets adult connect4 ...] [--output FILE.json]
    python -m benchmarks.options report FILE.json

Protocol close to the paper's (`benchmarks.paper`): one class is in-distribution, half of it trains an HCLT with four
states (100 EM epochs), batches are drawn from circuit samples, from the other half, and from another class. The sets
of `binary/` are split on one variable: rows where it is 0 are in-distribution, rows where it is 1 are the shift, and
the variable itself is left out.

The rows of a batch are drawn without replacement, then a batch of held-out rows is a sample of the source. (Drawn
with replacement from a pool of n rows it is a sample of the pool, whose mean differs from the source's as much as a
batch of n rows does; false alarms then exceed the level at T near n even for a perfect model. The column `pool` gives
n; where a pool has fewer than 2 T rows there is no choice but replacement.) All batches of a cell come from one
split, so rates on held-out rows vary between splits more than their binomial error.

`default` is what `HLDDetector` does: both metrics, the training reference from ten rows per node on, else the circuit.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import time

import numpy as np

import hld
import pcircuit

from .paper import datasets

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2500)
ALPHAS = (0.1, 0.05, 0.01, 0.001)
OPTIONS = {
    "paper": {"null": "normal"},
    "exact": {"null": "exact"},
    "auto": {"null": "auto"},
    "standardized": {"null": "auto", "metric": "standardized"},
    "whitened": {"null": "auto", "metric": "whitened"},
    "combined": {"null": "auto", "metric": ("euclidean", "whitened")},
    "training": {"null": "auto", "reference": "training"},
    "default": {"null": "auto", "metric": ("euclidean", "whitened"), "reference": "training"},
}
TABULAR = [(name, id_class) for name in datasets.TABULAR for id_class in datasets.ID_CLASSES[name]]
DIGITS = [("mnist7", digit) for digit in "0358"]
BINARY = [("binary", name) for name in ("nltcs", "plants", "audio", "jester", "netflix", "accidents", "dna")]


def main():
    """Run and write one JSON, or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", nargs="*", help="'report FILE.json' prints the tables of a run")
    parser.add_argument("--quick", action="store_true", help="100 trials, T = 1, 10, 50, 200")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--datasets", nargs="*")
    parser.add_argument("--output", default="benchmarks/results/options.json")
    options = parser.parse_args()
    if options.report:
        return print(report(json.loads(pathlib.Path(options.report[1]).read_text())))
    sizes, trials = ((1, 10, 50, 200), 100) if options.quick else (options.sizes, options.trials)
    cells = [cell for cell in TABULAR + DIGITS + BINARY if not options.datasets or cell[0] in options.datasets]
    results = []
    for name, id_class in cells:
        started = time.perf_counter()
        results.append(study(name, id_class, sizes, trials))
        print(f"{name} {id_class}: {time.perf_counter() - started:.0f} s", flush=True)
        path = pathlib.Path(options.output)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"trials": trials, "sizes": sizes, "alphas": ALPHAS, "cells": results}))
    return print(report(json.loads(path.read_text())))


def study(name, id_class, sizes, trials) -> dict:
    """Rejection counts of every option on one circuit: {option: {population: {T: [count per alpha]}}}."""
    train, held_out, shifted, categories = pools(name, id_class)
    circuit = pcircuit.hclt(train, 4, categories, rng=0)
    circuit, _ = pcircuit.fit_em(circuit, train, num_epochs=100)
    rng = np.random.default_rng(1)
    nodes = hld.select_nodes(circuit)
    populations = {"model": pcircuit.sample(circuit, 200_000, rng=rng), "held-out": held_out, **shifted}
    vectors = {key: hld.likelihood_vectors(circuit, rows, nodes) for key, rows in populations.items()}
    batches = {(key, T): [rng.choice(len(rows), T, replace=len(rows) < 2 * T) for _ in range(trials)]
               for key, rows in vectors.items() for T in sizes}
    means = {key: np.stack([vectors[key[0]][rows].mean(axis=0) for rows in drawn]) for key, drawn in batches.items()}
    counts = {}
    for option, arguments in OPTIONS.items():
        if option == "default" and len(train) < 10 * len(nodes):
            arguments = {**arguments, "reference": "circuit"}
        more = {"training_data": train} if arguments.get("reference") == "training" else {"num_train": len(train)}
        test = hld.HLDTest(circuit, rng=2, **arguments, **({} if option in ("paper", "exact") else more))
        counts[option] = {}
        for (key, T), vector in means.items():
            pvalues = np.array([test.judge(v, T).pvalue for v in vector])
            counts[option].setdefault(key, {})[str(T)] = [int((pvalues <= alpha).sum()) for alpha in ALPHAS]
    return {"dataset": name, "class": id_class, "train": len(train), "pool": len(held_out), "nodes": len(nodes),
            "counts": counts}


def pools(name, id_class):
    """Training rows, held-out rows, shifted rows by name, numbers of categories."""
    if name != "binary":
        split = datasets.split_class(datasets.load_table(name), id_class, datasets.PAIRS[name][id_class][:3],
                                     datasets.Choices())
        return split.train, split.held_out, split.ood, split.num_categories
    parts = np.load(pathlib.Path(os.environ["HLD_DATA"]) / "binary" / f"{id_class}.npz")
    rows = np.concatenate([parts["train"], parts["valid"], parts["test"]])
    on = int(np.argmin(np.abs(rows.mean(axis=0) - 0.3)))  # a variable that is 1 in about a third of the rows
    rest = np.delete(rows, on, axis=1)
    normal = rest[rows[:, on] == 0]
    normal = normal[np.random.default_rng(0).permutation(len(normal))]
    half = len(normal) // 2
    return normal[:half], normal[half:], {f"x{on} = 1": rest[rows[:, on] == 1]}, 2


def report(run: dict) -> str:
    """Markdown: means over circuits and pairs at every T, per option; power per pair at T = 10 and 50."""
    trials, sizes, alphas = run["trials"], run["sizes"], run["alphas"]
    options = list(run["cells"][0]["counts"])
    lines = []
    for a, alpha in enumerate(alphas):
        for title, wanted in ((f"Rejections of circuit samples at level {alpha}", lambda key: key == "model"),
                              (f"Rejections of held-out rows at level {alpha}", lambda key: key == "held-out"),
                              (f"Power at level {alpha}", lambda key: key not in ("model", "held-out"))):
            if alpha != 0.05 and title.startswith("Power"):
                continue
            lines += [f"\n{title}, mean over {'pairs' if 'Power' in title else 'circuits'}\n",
                      "| T | " + " | ".join(options) + " |", "|---" * (len(options) + 1) + "|"]
            for T in sizes:
                rates = [
                    np.mean(
                        [
                            count[str(T)][a] / trials
                            for cell in run["cells"]
                            for key, count in cell["counts"][option].items()
                            if wanted(key)
                        ]
                    )
                    for option in options
                ]
                lines.append(
                    f"| {T} | " + " | ".join(f"{rate:.4f}" if alpha < 0.01 else f"{rate:.3f}" for rate in rates) + " |"
                )
    lines += [
        "\nPower at level 0.05 and T = 10 / 50, by pair\n",
        "| data, ID class | shift | pool | " + " | ".join(options) + " |",
        "|---" * (len(options) + 3) + "|",
    ]
    for cell in run["cells"]:
        for key in cell["counts"][options[0]]:
            if key not in ("model", "held-out"):
                shown = [
                    " / ".join(f"{cell['counts'][o][key][str(T)][alphas.index(0.05)] / trials:.2f}" for T in (10, 50))
                    for o in options
                ]
                lines.append(
                    f"| {cell['dataset']}, {cell['class']} | {key} | {cell['pool']} | " + " | ".join(shown) + " |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
