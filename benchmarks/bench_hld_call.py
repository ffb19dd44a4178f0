"""How long one call of HLDTest takes, p-value included, and where the time goes.

    python -m benchmarks.bench_hld_call [--quick]

Batches of T rows drawn from the circuit, uint8, so that the test runs as it does on data without a shift; null law
and circuit are warm.  Medians of single calls, wall clock.
"""
from __future__ import annotations

import sys

import pcircuit
from hld import HLDTest
from pcircuit import mean_node_likelihoods

from .grid_circuits import circuit_and_rows
from .measure import machine, median_time

SETTINGS = [(7, 4, 1), (7, 4, 10), (7, 4, 100), (7, 4, 1000), (7, 16, 100), (28, 4, 100)]


def main():
    quick = "--quick" in sys.argv
    print(machine() + "\n\n| V | K | T | nodes | call, us | of which unit likelihoods, us |")
    print("| ---: " * 6 + "|")
    tests = {}
    for side, K, T in SETTINGS:
        if (side, K) not in tests:
            tests[side, K] = HLDTest(circuit_and_rows(side, K, 2, 1)[0])
        test = tests[side, K]
        batch = pcircuit.sample(test.circuit, T, rng=0)
        test(batch)
        repeats = 101 if quick else 1001
        call = median_time(lambda t=test, b=batch: t(b), repeats)
        units = median_time(lambda t=test, b=batch: mean_node_likelihoods(t.circuit, b, nodes=t.nodes), repeats)
        print(f"| {side * side} | {K} | {T} | {len(test.nodes):,} | {call * 1e6:.0f} | {units * 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main()
