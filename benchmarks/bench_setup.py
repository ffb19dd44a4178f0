"""Setting up the complete test from a fitted circuit: exact moments, null distribution, quantiles at three levels.

    HLD_DATA=... python -m benchmarks.bench_setup [--quick]

Circuits: Hidden Chow-Liu trees of Adult (incomes up to 50K, K = 4) and of one MNIST digit at 28 x 28 (K = 4, 16), 20 EM
epochs.  Wall-clock and CPU seconds, medians of several builds after one that is not counted.  BLAS threads on a busy
machine cost more than they bring on matrices of 81 rows: OPENBLAS_NUM_THREADS=1 gives steadier figures.
"""

from __future__ import annotations

import argparse
import statistics
import time

import hld
import pcircuit

from .paper import datasets

LEVELS = (0.1, 0.05, 0.01)


def main():
    """Print one row per circuit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="without K = 16")
    options = parser.parse_args()
    print(
        "| circuit | K | nodes | eigenvalues | wall s | CPU s | target |\n| --- |" + " ---: |" * 6
    )
    cases = [("adult", "<=50K", 4, 15, "0.020"), ("mnist28", "3", 4, 3, "3")]
    for name, id_class, K, repeats, target in cases + (
        [] if options.quick else [("mnist28", "3", 16, 1, "30")]
    ):
        split = datasets.split_class(datasets.load_table(name), id_class, (), datasets.Choices())
        circuit = pcircuit.hclt(split.train, K, split.num_categories, rng=0)
        circuit, _ = pcircuit.fit_em(circuit, split.train, num_epochs=20)
        wall, cpu = [], []
        for _ in range(repeats + 1):
            started, used = time.perf_counter(), time.process_time()
            law = hld.HLDTest(circuit).calibration.null
            for level in LEVELS:
                law.threshold(level, 100)
            wall.append(time.perf_counter() - started)
            cpu.append(time.process_time() - used)
        print(
            f"| {name}, {id_class} | {K} | {len(hld.select_nodes(circuit)):,} | {law.num_eigenvalues} | "
            f"{statistics.median(wall[1:]):.3g} | {statistics.median(cpu[1:]):.3g} | {target} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
