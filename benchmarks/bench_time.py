"""Dependent rows: the level of the test among stretches of time, beside the test against independent rows.

    python -m benchmarks.bench_time                               prints the tables of benchmarks/groups.md
    python -m benchmarks.bench_time columns                       the second of them alone

Markov streams: a row is the one before with probability `stay`, else a fresh draw from a circuit, so that rows h apart
have the correlation stay^h in everything.  In every trial a reference is drawn, and T rows 500 rows later.  The
second table is for the p-values of single columns, as they are and after the third value of column 0 has become the
first in all later rows, which moves the frequencies of no other column.
"""

import sys

import numpy as np

import hld
import pcircuit
from hld.features.row_vectors import column_units
from hld.laws.exchangeable import ranked_parts
from hld.references.stretches import FEWEST_STRETCHES, stretch_reference
from hld.testing.variation.time_test import TimeTest

from .measure import markdown, show

ALPHA, WHOLE_TRIALS, TRIALS, REFERENCE = 0.05, 1000, 400, 3000
# probability that a row is the one before, rows of the reference, and of the batches
STREAMS = (
    (0.0, 3000, (20, 200)),
    (0.5, 3000, (15, 100, 1000)),
    (0.9, 3000, (50, 95, 200, 1000)),
    (0.98, 3000, (100, 500, 1000)),
    (0.98, 30_000, (100, 500, 1000)),
)


def main() -> None:
    """Print both tables."""
    if "columns" not in sys.argv[1:]:
        whole()
    columns()


def whole() -> None:
    """The level of the test of all columns."""
    circuit = pcircuit.rat_spn([3] * 4, num_units=3, depth=2, rng=0)
    test = hld.HLDTest(circuit, metric=("euclidean", "standardized", "whitened"))
    fill, rng = np.zeros(test.vectors.size), np.random.default_rng(0)
    heads = ["stay", "reference", "T", "effective size", "estimated", "level", "independent rows"]
    print(markdown(heads), end="")
    for stay, reference, sizes in STREAMS:
        for T in sizes:
            found, plain, effective = [], [], []
            for _ in range(WHOLE_TRIALS):
                rows = stream(circuit, reference + 500 + T, stay, rng)
                own = stretch_reference(test.vectors, rows[:reference], fill)
                found.append(TimeTest(test, own)(rows[-T:]).pvalue)
                plain.append(test.judge(test.vectors.mean(rows[-T:]), T).pvalue)
                effective.append(own.effective_rows(T))
            h = np.arange(1, T)
            exact = T / (1 + 2 * ((1 - h / T) * stay**h).sum())
            levels = [f"{np.mean(np.array(one) <= ALPHA):.3f}" for one in (found, plain)]
            show(stay, reference, T, f"{exact:.1f}", f"{np.median(effective):.1f}", *levels)


def columns() -> None:
    """How often columns that have not moved are called moved, and the one that has."""
    circuit = pcircuit.rat_spn([3] * 4, num_units=3, depth=2, rng=0)
    test = hld.HLDTest(circuit)
    parts, fill = column_units(circuit, test.nodes), np.zeros(test.vectors.size)
    heads = ["one column", "any, adjusted", "beside a moved one", "which is found"]
    print("\n" + markdown(["stay", "T", "effective size", *heads]), end="")
    for stay, sizes in ((0.0, (20, 200)), (0.5, (15, 100, 1000)), (0.9, (95, 200, 1000))):
        rng = np.random.default_rng(int(100 * stay))
        for T in sizes:
            single, anyone, beside, found, effective = [], [], [], [], []
            for _ in range(TRIALS):
                rows = stream(circuit, REFERENCE + 500 + T, stay, rng)
                own = stretch_reference(test.vectors, rows[:REFERENCE], fill)
                calm = rows[-T:].astype(int)
                moved, others = np.column_stack([calm[:, 0] % 2, calm[:, 1:]]), own.at(T)
                before = ranked_parts(
                    test.vectors.mean(calm) - own.mean, others, parts, many=FEWEST_STRETCHES
                )
                after = ranked_parts(
                    test.vectors.mean(moved) - own.mean, others, parts, many=FEWEST_STRETCHES
                )
                single += before[0].tolist()
                anyone.append(before[1].min())
                beside.append(after[1, 1:].min())
                found.append(after[1, 0])
                effective.append(own.effective_rows(T))
            shares = [
                f"{np.mean(np.array(one) <= ALPHA):.3f}" for one in (single, anyone, beside, found)
            ]
            show(stay, T, f"{np.median(effective):.1f}", *shares)


def stream(circuit, n, stay, rng) -> np.ndarray:
    """(n, V) rows of a Markov stream."""
    new = rng.random(n) >= stay
    new[0] = True
    fresh = pcircuit.sample(circuit, int(new.sum()), rng=rng)
    return fresh[np.cumsum(new) - 1]


if __name__ == "__main__":
    sys.exit(main())
