"""How long one call of HLDTest takes, p-value included, and where the time goes.

    python -m benchmarks.bench_hld_call [--quick]

Batches of T rows drawn from the circuit, uint8, so that the test runs as it does on data without a shift; null law
and circuit are warm.  Beside the plain test, the combination of all four metrics with drawn batches at small T, which
is what `HLDDetector` uses.  Medians of single calls, wall clock.
"""

import sys

import pcircuit
from hld import HLDTest
from pcircuit import mean_node_likelihoods

from .grid_circuits import circuit_and_rows
from .measure import machine, markdown, median_time, show

SETTINGS = [(7, 4, 1), (7, 4, 10), (7, 4, 100), (7, 4, 1000), (7, 16, 100), (28, 4, 100)]
METRICS = ("euclidean", "standardized", "marginals", "whitened")


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


def microseconds(function, repeats) -> float:
    """Median of calls; the first, which may draw batches, does not count."""
    function()
    return 1e6 * median_time(function, repeats)


if __name__ == "__main__":
    main()
