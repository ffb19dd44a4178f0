"""Dependent rows: the level of the test among stretches of time, beside the test against independent rows.

    python -m benchmarks.bench_time                               prints the table of benchmarks/groups.md

Markov streams: a row is the one before with probability `stay`, else a fresh draw from a circuit, so that rows h apart
have the correlation stay^h in everything.  In every trial a reference is drawn, and T rows 500 rows later.
"""

import sys

import numpy as np

import hld
import pcircuit
from hld.references.stretches import stretch_reference
from hld.testing.variation.time_test import TimeTest

from .measure import markdown, show

ALPHA, TRIALS = 0.05, 1000
# probability that a row is the one before, rows of the reference, and of the batches
STREAMS = (
    (0.0, 3000, (20, 200)),
    (0.5, 3000, (15, 100, 1000)),
    (0.9, 3000, (50, 95, 200, 1000)),
    (0.98, 3000, (100, 500, 1000)),
    (0.98, 30_000, (100, 500, 1000)),
)


def main() -> None:
    """Print the table."""
    circuit = pcircuit.rat_spn([3] * 4, num_units=3, depth=2, rng=0)
    test = hld.HLDTest(circuit, metric=("euclidean", "standardized", "whitened"))
    fill, rng = np.zeros(test.vectors.size), np.random.default_rng(0)
    heads = ["stay", "reference", "T", "effective size", "estimated", "level", "independent rows"]
    print(markdown(heads), end="")
    for stay, reference, sizes in STREAMS:
        for T in sizes:
            found, plain, effective = [], [], []
            for _ in range(TRIALS):
                rows = stream(circuit, reference + 500 + T, stay, rng)
                own = stretch_reference(test.vectors, rows[:reference], fill)
                found.append(TimeTest(test, own)(rows[-T:]).pvalue)
                plain.append(test.judge(test.vectors.mean(rows[-T:]), T).pvalue)
                effective.append(own.effective_rows(T))
            h = np.arange(1, T)
            exact = T / (1 + 2 * ((1 - h / T) * stay**h).sum())
            levels = [f"{np.mean(np.array(one) <= ALPHA):.3f}" for one in (found, plain)]
            show(stay, reference, T, f"{exact:.1f}", f"{np.median(effective):.1f}", *levels)


def stream(circuit, n, stay, rng) -> np.ndarray:
    """(n, V) rows of a Markov stream."""
    new = rng.random(n) >= stay
    new[0] = True
    fresh = pcircuit.sample(circuit, int(new.sum()), rng=rng)
    return fresh[np.cumsum(new) - 1]


if __name__ == "__main__":
    sys.exit(main())
