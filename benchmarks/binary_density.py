"""Density estimation on the ten binary data sets: Chow-Liu trees and Hidden Chow-Liu trees, beside published values.

    HLD_DATA=... python -m benchmarks.binary_density [--quick]

Prints one Markdown table of mean test log-likelihoods (nats).  Chow-Liu trees are exact, with a pseudocount of 4 a
(a per joint cell).  Hidden Chow-Liu trees with K = 4, 12, 32 states are fitted by full-batch EM with pseudocount 0.1
and up to 200 epochs; every 10 epochs the validation rows are looked at, the best circuit is kept, and two looks
without improvement stop.  Equal rows are merged into one weighted row first, which changes nothing but the time.

Published values: "mix" is the mixture of four Hidden Chow-Liu trees with 12 states of Liu and Van den Broeck (2021),
mean of five seeds at the best validation epoch, computed from the authors' logs; the others as printed by their authors
(Strudel, LearnPSDD and XPC as ensembles), collected by Geh (2022, master's thesis).
"""

from __future__ import annotations

import argparse
import os
import pathlib
import time

import numpy as np

import pcircuit

NAMES = (
    "nltcs",
    "msnbc",
    "kdd",
    "plants",
    "audio",
    "jester",
    "netflix",
    "accidents",
    "dna",
    "book",
)
STATES = (4, 12, 32)
PUBLISHED = {  # mix of 4 HCLTs, LearnSPN, Strudel, LearnPSDD, XPC, Prometheus
    "nltcs": (-5.999, -6.11, -6.06, -5.99, -6.05, -6.01),
    "msnbc": (-6.058, -6.11, -6.04, -6.04, -6.18, -6.04),
    "kdd": (-2.141, -2.18, -2.13, -2.11, -2.15, -2.12),
    "plants": (-14.265, -12.97, -12.98, -13.02, -14.19, -12.81),
    "audio": (-39.768, -40.50, -41.50, -39.94, -40.91, -39.80),
    "jester": (-52.376, -75.98, -55.03, -51.29, -53.43, -52.80),
    "netflix": (-56.248, -57.02, -58.69, -55.71, -57.58, -56.47),
    "accidents": (-26.736, -30.03, -28.73, -30.16, -31.02, -27.91),
    "dna": (-79.051, -82.52, -86.22, -88.01, -86.61, -84.45),
    "book": (-33.534, -35.88, -34.99, -34.97, -34.75, -34.40),
}


def main():
    """Print the table, a row at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="K = 4 only, 20 epochs")
    parser.add_argument("--sets", nargs="*", default=NAMES, choices=NAMES)
    options = parser.parse_args()
    folder = pathlib.Path(os.environ["HLD_DATA"]) / "binary"
    states, epochs = (STATES[:1], 20) if options.quick else (STATES, 200)
    print(
        "| set | "
        + " | ".join(f"CLT a={a}" for a in (0.01, 0.1, 1))
        + " | "
        + " | ".join(f"HCLT K={K} (s)" for K in states)
        + " | mix of 4 HCLTs | LearnSPN | Strudel | LearnPSDD | XPC | Prometheus |"
    )
    print("|" + " --- |" * (10 + len(states)))
    for name in options.sets:
        parts = np.load(folder / f"{name}.npz")
        cells = [f"{trees(parts, a):.5f}" for a in (0.01, 0.1, 1.0)]
        for K in states:
            started = time.perf_counter()
            cells.append(f"{hidden(parts, K, epochs):.3f} ({time.perf_counter() - started:.0f})")
        print(
            f"| {name} | "
            + " | ".join(cells)
            + " | "
            + " | ".join(f"{v:.2f}" for v in PUBLISHED[name])
            + " |",
            flush=True,
        )


def trees(parts, per_cell: float) -> float:
    """Mean test log-likelihood of the Chow-Liu tree with a pseudocount per joint cell."""
    circuit = pcircuit.chow_liu_circuit(parts["train"], num_categories=2, pseudocount=4 * per_cell)
    return pcircuit.log_likelihood(circuit, parts["test"]).mean()


def hidden(parts, K: int, epochs: int) -> float:
    """Mean test log-likelihood of a Hidden Chow-Liu tree, the epoch chosen on the validation rows."""
    rows, counts = np.unique(parts["train"], axis=0, return_counts=True)
    circuit = pcircuit.hclt(parts["train"], K, 2, rng=0)
    best, best_score, misses = circuit, -np.inf, 0
    for _ in range(0, epochs, 10):
        circuit, _ = pcircuit.fit_em(circuit, rows, weights=counts, num_epochs=10, pseudocount=0.1)
        score = pcircuit.log_likelihood(circuit, parts["valid"]).mean()
        best, best_score, misses = (
            (circuit, score, 0) if score > best_score else (best, best_score, misses + 1)
        )
        if misses == 2:
            break
    return pcircuit.log_likelihood(best, parts["test"]).mean()


if __name__ == "__main__":
    main()
