"""How long one call of HLDTest takes, p-value included, and where the time goes.

    python -m benchmarks.bench_hld_call [--quick]

Batches of T rows drawn from the circuit, uint8, so that the test runs as it does on data without a shift; null law
and circuit are warm.  Beside the plain test, the combination of all four metrics with drawn batches at small T, which
is what `HLDDetector` uses.  Medians of single calls, wall clock.  Then holes: a table of 20 columns without any, with
holes in one column of the training table, and in one of the batch as well; processor time.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import pcircuit
from hld import HLDDetector, HLDTest
from pcircuit import mean_node_likelihoods

from .grid_circuits import circuit_and_rows
from .measure import machine, median_time

SETTINGS = [(7, 4, 1), (7, 4, 10), (7, 4, 100), (7, 4, 1000), (7, 16, 100), (28, 4, 100)]
METRICS = ("euclidean", "standardized", "marginals", "whitened")


def main():
    quick = "--quick" in sys.argv
    print(
        machine()
        + "\n\n| V | K | T | nodes | call, us | of which unit likelihoods, us | all four metrics, us |"
    )
    print("| ---: " * 7 + "|")
    tests = {}
    for side, K, T in SETTINGS:
        if (side, K) not in tests:
            circuit = circuit_and_rows(side, K, 2, 1)[0]
            tests[side, K] = HLDTest(circuit), HLDTest(circuit, metric=METRICS, null="auto", rng=0)
        test, combined = tests[side, K]
        batch = pcircuit.sample(test.circuit, T, rng=0)
        repeats = 101 if quick else 1001
        call, four = (microseconds(lambda t=t, b=batch: t(b), repeats) for t in (test, combined))
        units = microseconds(
            lambda t=test, b=batch: mean_node_likelihoods(t.circuit, b, nodes=t.nodes), repeats
        )
        print(
            f"| {side * side} | {K} | {T} | {len(test.nodes):,} | {call:.0f} | {units:.0f} | {four:.0f} |"
        )
    print(
        "\n| rows | no holes, ms | holes in training, ms | in the batch, too, ms |\n"
        + "| ---: " * 4
        + "|"
    )
    plain, holed = (HLDDetector(num_epochs=20).fit(table(4000, holes)) for holes in (False, True))
    for T in (1, 100, 10_000) if quick else (1, 100, 10_000, 1_000_000):
        pairs = (plain, table(T, False)), (holed, table(T, False)), (holed, table(T, True))
        repeats = 31 if T <= 10_000 else 1
        times = (processor_ms(lambda d=d, b=b: d.test(b), repeats) for d, b in pairs)
        print(f"| {T:,} | " + " | ".join(f"{one:.1f}" for one in times) + " |", flush=True)


def table(num_rows, has_holes):
    """Twenty columns that depend on one hidden cause, half of them numbers; a twentieth of one of them is missing."""
    rng = np.random.default_rng(num_rows)
    cause = rng.integers(0, 4, (num_rows, 1))
    numbers = 0.7 * cause + rng.normal(size=(num_rows, 10))
    numbers[rng.random(num_rows) < 0.05 * has_holes, 0] = np.nan
    return np.hstack([numbers, (cause + rng.integers(0, 3, (num_rows, 10))) % 5])


def processor_ms(function, repeats):
    """Median of calls in milliseconds of processor time, after one that does not count."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return 1e3 * np.median(times[1:])


def microseconds(function, repeats) -> float:
    """Median of calls; the first, which may draw batches, does not count."""
    function()
    return 1e6 * median_time(function, repeats)


if __name__ == "__main__":
    main()
