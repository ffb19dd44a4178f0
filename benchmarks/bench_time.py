"""Dependent rows: the level of the test among stretches of time, beside the test against independent rows.

    python -m benchmarks.bench_time                               prints the table of docs/variation.md

Markov streams: a row is the one before with probability `stay`, else a fresh draw from a circuit, so that rows h apart
have the correlation stay^h in everything.  In every trial a reference of 3,000 rows is drawn, and T later rows.
"""
from __future__ import annotations

import sys

import numpy as np

import hld
import pcircuit
from hld.nulls.exchangeable import exchangeable_pvalue
from hld.references.stretches import stretch_reference

ALPHA, TRIALS, REFERENCE = 0.05, 400, 3000


def main() -> None:
    """Print the table."""
    circuit = pcircuit.rat_spn([3] * 4, num_units=3, depth=2, rng=0)
    test = hld.HLDTest(circuit, metric=("euclidean", "standardized", "whitened"))
    fill, rng = np.zeros(test.vectors.size), np.random.default_rng(0)
    print("| stay | T | effective size | estimated | level | independent rows |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for stay, sizes in ((0.0, (20, 200)), (0.5, (15, 100, 1000)), (0.9, (50, 95, 200, 1000)), (0.98, (100, 500, 1000))):
        for T in sizes:
            found, plain, effective = [], [], []
            for _ in range(TRIALS):
                rows = stream(circuit, REFERENCE + 500 + T, stay, rng)
                own = stretch_reference(test.vectors, rows[:REFERENCE], fill)
                mean = test.vectors.mean(rows[-T:])
                found.append(exchangeable_pvalue(mean - own.mean, own.at(T), test.calibration.metrics, many=30).value)
                plain.append(test.judge(mean, T).pvalue)
                effective.append(own.effective_rows(T))
            h = np.arange(1, T)
            exact = T / (1 + 2 * ((1 - h / T) * stay ** h).sum())
            print(f"| {stay} | {T} | {exact:.1f} | {np.median(effective):.1f} | "
                  f"{np.mean(np.array(found) <= ALPHA):.3f} | {np.mean(np.array(plain) <= ALPHA):.2f} |", flush=True)


def stream(circuit, n, stay, rng) -> np.ndarray:
    """(n, V) rows of a Markov stream."""
    new = rng.random(n) >= stay
    new[0] = True
    fresh = pcircuit.sample(circuit, int(new.sum()), rng=rng)
    return fresh[np.cumsum(new) - 1]


if __name__ == "__main__":
    sys.exit(main())
