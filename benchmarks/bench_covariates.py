"""Shifted covariates and changed dependence on them, on real rows: the test given covariates, and the plain test.

    HLD_DATA=... python -m benchmarks.bench_covariates             prints the tables of docs/covariates.md
    python -m benchmarks.bench_covariates --speed                  ratios of times: NumPy over kernel, kernel over plain

Adult, held-out rows.  Covariates are age, race, sex and native country.  "Covariates move": rows are drawn with weights
that grow with age and are larger for women, so that P(rest | covariates) is as it was.  "Label flips": the income of a
share of the rows is flipped.  Frequencies of the label: rows with and without high income are drawn in other
proportions, and the label is hidden.

Speed: E[L(x, Y) | X = x] of all input and sum units of hidden Chow-Liu trees, and of one random tensorized circuit,
every second variable or the first third given.  Kernel and NumPy take turns on one thread, and the ratio is that of
their best of several times, so that what else the machine does counts for neither.  The last column compares with
`pcircuit.node_likelihoods`, the kernel for the likelihoods themselves.
"""
from __future__ import annotations

import os
import sys
import time
import warnings

import numpy as np

import hld
import pcircuit

from .paper import datasets

BATCHES, ALPHA, TURNS = 60, 0.05, 5
COVARIATES = ["age", "race", "sex", "native-country"]
NAMES = ("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
         "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income")


def main() -> None:
    """Print both tables, or that of ratios."""
    if "--speed" in sys.argv[1:]:
        speed()
        return
    warnings.simplefilter("ignore")
    loaded = datasets.load_table("adult")
    columns = [*np.asarray(loaded.values).T, np.asarray(loaded.labels)]
    table = {name: values for name, values in zip(NAMES, columns, strict=True) if name != "fnlwgt"}
    order = np.random.default_rng(0).permutation(len(loaded.labels))
    learned, fresh = order[:24_000], order[24_000:]
    detector = hld.HLDDetector(num_epochs=30, covariates=COVARIATES).fit(rows_of(table, learned))
    rejected(detector, table, fresh)
    frequencies(detector, table, fresh)


def rows_of(table, places) -> dict:
    """Some rows of a table of columns."""
    return {name: values[places] for name, values in table.items()}


def rejected(detector, table, fresh) -> None:
    """Shares of batches that each test rejects."""
    rng, age = np.random.default_rng(1), np.asarray(table["age"], dtype=float)[fresh]
    women = np.asarray(table["sex"])[fresh] == sorted(set(np.asarray(table["sex"]).tolist()))[0]
    income = np.asarray(table["income"])
    kinds = sorted(set(income.tolist()))
    other = np.where(income == kinds[0], kinds[1], kinds[0])
    print("| rows | batch | given covariates | covariates | all columns |\n| ---: | --- | ---: | ---: | ---: |")
    for T in (100, 500):
        for name, force, flips in (("as before", 0.0, 0.0), ("covariates move far", 0.7, 0.0), ("moderately", 0.3, 0.0),
                                   ("labels flip, 10 %", 0.0, 0.1), ("both", 0.7, 0.1)):
            weights = np.exp(force * ((age - age.mean()) / age.std() + women))
            found = []
            for _ in range(BATCHES):
                places = fresh[rng.choice(len(fresh), T, replace=False, p=weights / weights.sum())]
                flipped = rng.random(T) < flips
                batch = rows_of(table, places) | {"income": np.where(flipped, other[places], income[places])}
                result, codes = detector.test(batch), detector.encoder_.encode(batch)[0]
                found.append((result.reject, result.context.covariate_pvalue <= ALPHA,
                              detector.test_(codes).pvalue <= ALPHA))
            print(f"| {T} | {name} | " + " | ".join(f"{share:.2f}" for share in np.mean(found, axis=0)) + " |",
                  flush=True)


def frequencies(detector, table, fresh) -> None:
    """Estimates of the frequency of high income in batches where it differs."""
    rng, income = np.random.default_rng(2), np.asarray(table["income"])
    kinds = sorted(set(income.tolist()))
    groups = [fresh[income[fresh] == kind] for kind in kinds]
    print("\n| rows | true frequency | mean estimate | mean half-width | covered |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for T in (200, 1000):
        for share in (0.05, 0.24, 0.5, 0.8):
            high, found = round(share * T), []
            for _ in range(BATCHES):
                places = np.concatenate([rng.choice(groups[0], T - high), rng.choice(groups[1], high)])
                one = hld.label_shift(detector, rows_of(table, places), "income")
                at = one.labels.index(kinds[1])
                low, high_end = one.lower[at], one.upper[at]
                found.append((one.now[at], (high_end - low) / 2, low <= share <= high_end))
            print(f"| {T} | {share:.2f} | " + " | ".join(f"{value:.3f}" for value in np.mean(found, axis=0)) + " |",
                  flush=True)


def speed() -> None:
    """Ratios of the times of NumPy and the kernel."""
    print("| circuit | given | nodes | NumPy / kernel | kernel / likelihoods |\n| --- | --- | ---: | ---: | ---: |")
    for V, K, kind in ((14, 4, "tree"), (50, 8, "tree"), (50, 16, "tree"), (200, 8, "tree"), (16, 10, "tensorized")):
        rng = np.random.default_rng(0)
        rows = rng.integers(0, 4, size=(2000, V))
        rows[:, 1:] ^= rows[:, :-1] & 1
        circuit = (pcircuit.hclt(rows, num_latents=K, rng=0) if kind == "tree"
                   else pcircuit.rat_spn([4] * V, num_units=K, depth=3, rng=0))
        nodes = pcircuit.select_nodes(circuit)
        for name, given in (("a third", np.arange(V) < V // 3), ("every second", np.arange(V) % 2 == 0)):
            best = best_times(circuit, rows, given, nodes)
            print(f"| {kind} of {V}, {K} units | {name} | {len(nodes)} | {best['numpy'] / best['numba']:.1f} | "
                  f"{best['numba'] / best['plain']:.1f} |", flush=True)


def best_times(circuit, rows, given, nodes) -> dict:
    """The least seconds of NumPy, the kernel, and the kernel for plain likelihoods, which take turns."""
    jobs = {"numpy": lambda: pcircuit.expected_node_likelihoods(circuit, rows, given, nodes=nodes, n_jobs=1),
            "numba": lambda: pcircuit.expected_node_likelihoods(circuit, rows, given, nodes=nodes, n_jobs=1),
            "plain": lambda: pcircuit.node_likelihoods(circuit, rows, nodes=nodes, n_jobs=1)}
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(TURNS + 1):  # the first compiles
        for name, job in jobs.items():
            os.environ["PCIRCUIT_ENGINE"] = "numpy" if name == "numpy" else "numba"
            started = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


if __name__ == "__main__":
    sys.exit(main())
