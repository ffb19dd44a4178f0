"""How long one call of HLDTest takes, p-value included, and where the time goes.

    python -m benchmarks.bench_hld_call [--quick]

Batches of T rows drawn from the circuit, uint8, so that the test runs as it does on data without a shift; null law
and circuit are warm.  Beside the plain test, the combination of all four metrics with drawn batches at small T, which
is what `HLDDetector` uses.  Medians of single calls, wall clock.  Then `HLDDetector.test` of rows with 20 columns: CPU
time where no cell is missing, where cells are, at random in each batch, and of a batch with holes that is tested again.
"""

import sys
import time

import numpy as np

import pcircuit
from hld import HLDDetector, HLDTest
from pcircuit import mean_node_likelihoods

from .grid_circuits import circuit_and_rows
from .measure import machine, markdown, median_time, show

SETTINGS = [(7, 4, 1), (7, 4, 10), (7, 4, 100), (7, 4, 1000), (7, 16, 100), (28, 4, 100)]
METRICS = ("euclidean", "standardized", "marginals", "whitened")
BATCHES = {1: 40, 100: 40, 10_000: 5}  # of so many rows, how many


def main():
    quick = "--quick" in sys.argv
    heads = ["call, us", "of which unit likelihoods, us", "all four metrics, us"]
    print(machine() + "\n\n" + markdown(["V", "K", "T", "nodes", *heads]), end="")
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
        times = (f"{one:.0f}" for one in (call, units, four))
        show(side * side, K, T, f"{len(test.nodes):,}", *times)
    detectors()


def detectors() -> None:
    """The table of `HLDDetector.test`."""
    whole, holed = (HLDDetector(rng=0).fit(mixed_rows(2_000, 0, share)) for share in (0.0, 0.03))
    print("\n" + markdown(["T", "no holes, ms", "with holes, ms", "tested again, ms"]), end="")
    for T, number in BATCHES.items():
        times = np.array(
            [
                [
                    cpu_time(detector, batch)
                    for detector, batch in (
                        (whole, mixed_rows(T, i, 0.0)),
                        *[(holed, mixed_rows(T, i, 0.03))] * 2,
                    )
                ]
                for i in range(1, number)
            ]
        )
        show(T, *(f"{1e3 * one:.1f}" for one in np.quantile(times, 0.25, axis=0)))


def mixed_rows(T, seed, share):
    """Ten numbers and ten categories that depend on one another; a share of the cells of six columns is missing."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(T, 1)) + rng.normal(size=(T, 20)), 3)
    values[:, ::2] = np.clip(np.floor(values[:, ::2]), -3, 3)
    values[:, :6][rng.random((T, 6)) < share] = np.nan
    return values


def cpu_time(detector, batch) -> float:
    """Seconds of one test."""
    start = time.process_time()
    detector.test(batch)
    return time.process_time() - start


def microseconds(function, repeats) -> float:
    """Median of calls; the first, which may draw batches, does not count."""
    function()
    return 1e6 * median_time(function, repeats)


if __name__ == "__main__":
    main()
