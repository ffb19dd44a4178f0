"""Rows per second of ancestral sampling, against a plain loop over rows and regions.

    python -m benchmarks.bench_sample

prints a Markdown table.  The circuits are Hidden Chow-Liu trees on a random spanning tree of a pixel grid,
rooted at its middle, with random tables.  The baseline draws one row at a time: from the root down, one
binary search in the cumulative weights (made beforehand) per region.  Both use one core; times are the best
of several runs.
"""

from __future__ import annotations

import time

import numpy as np

from pcircuit import InputRegion, sample

from .grid_circuits import circuit_and_rows

SETTINGS = [  # side of the grid, units, rows, rows of the baseline
    (7, 4, 1_000_000, 2_000),
    (7, 16, 500_000, 2_000),
    (28, 4, 50_000, 100),
]
REPEATS = 3


def main():
    print("| variables | units | rows | seconds | rows/s | rows/s of the loop | ratio |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for side, num_units, num_rows, num_loop_rows in SETTINGS:
        circuit, _ = circuit_and_rows(side, num_units, 2, 1)
        sample(circuit, 1, rng=0)  # makes the tables of the circuit
        seconds = best_time(lambda circuit=circuit, n=num_rows: sample(circuit, n, rng=0))
        tables = cumulative_tables(circuit)
        loop = best_time(
            lambda circuit=circuit, t=tables, n=num_loop_rows: sample_by_loop(circuit, t, n, 0)
        )
        rate, loop_rate = num_rows / seconds, num_loop_rows / loop
        print(
            f"| {side * side} | {num_units} | {num_rows:,} | {seconds:.2f} | {rate:,.0f} "
            f"| {loop_rate:,.0f} | {rate / loop_rate:,.0f} |"
        )


def best_time(function):
    """Least wall-clock time in seconds of several calls."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def cumulative_tables(circuit):
    """Per region and unit, the cumulative weights or probabilities."""
    return [
        np.cumsum(region.probs if isinstance(region, InputRegion) else region.weights, axis=1)
        for region in circuit.regions
    ]


def sample_by_loop(circuit, cumulative, num_rows, seed):
    """(N, V) rows, drawn one by one."""
    rng = np.random.default_rng(seed)
    rows = np.empty((num_rows, circuit.num_variables), dtype=np.uint8)
    children = [circuit.vtree.children(r).tolist() for r in range(len(circuit.regions))]
    for n in range(num_rows):
        unit = [0] * len(circuit.regions)
        for r in range(len(circuit.regions) - 1, -1, -1):
            region, table = circuit.regions[r], cumulative[r][unit[r]]
            drawn = min(int(np.searchsorted(table, rng.random(), side="right")), len(table) - 1)
            if isinstance(region, InputRegion):
                rows[n, region.variable] = drawn
            else:
                for a, child in enumerate(children[r]):
                    unit[child] = region.products[drawn, a]
    return rows


if __name__ == "__main__":
    main()
