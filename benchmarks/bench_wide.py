"""Many columns, many values: learning, testing and localising from end to end, each table in a process of its own.

* `images`: 784 columns of 256 values, smooth along the columns, 2,000 rows;
* `words`: 1,000 columns of which a row shows one in fifty, in ten topics, 10,000 rows;
* `wide`: 10,000 columns of two to five values, each close to an earlier one, 1,000 rows.

A batch of 100 rows is as the table; in another one a column has moved; in a third its dependence on others is lost, by
permuting it.  Seconds are of the processor, memory is the peak of the process above what the table takes.

    python -m benchmarks.bench_wide [images words wide]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings

import numpy as np

import hld

BATCH = 100


def images(rng: np.random.Generator, n: int) -> tuple[np.ndarray, int]:
    """Rows of random walks, and the column to move."""
    steps = rng.normal(0, 12, (n, 784))
    return np.clip(128 + np.cumsum(steps, axis=1) * 0.3 + rng.normal(0, 20, (n, 1)), 0, 255).astype(
        np.int64
    ), 400


def words(rng: np.random.Generator, n: int) -> tuple[np.ndarray, int]:
    """Rows of words, likelier in one of ten topics."""
    topic = rng.integers(0, 10, n)
    likely = np.random.default_rng(1).gamma(0.5, 0.04, (10, 1000)).clip(0, 0.9)
    return (rng.random((n, 1000)) < likely[topic]).astype(np.int64), int(
        np.argmax(likely.mean(axis=0))
    )


def wide(rng: np.random.Generator, n: int) -> tuple[np.ndarray, int]:
    """Rows of a random tree: each column keeps its parent's value, or draws anew."""
    fixed = np.random.default_rng(2)
    sizes, rows = fixed.integers(2, 6, 10_000), np.empty((n, 10_000), dtype=np.int64)
    parents = [int(fixed.integers(max(0, v - 50), v)) if v else 0 for v in range(10_000)]
    for v, parent in enumerate(parents):
        drawn = np.minimum(rng.geometric(0.5, n) - 1, sizes[v] - 1)
        rows[:, v] = np.where(
            (rng.random(n) < 0.7) & (v > 0), np.minimum(rows[:, parent], sizes[v] - 1), drawn
        )
    return rows, 5_000


TABLES = {"images": (images, 2_000), "words": (words, 10_000), "wide": (wide, 1_000)}


def measure(name: str) -> str:
    """One line of the table."""
    warnings.simplefilter("ignore")
    make, num_rows = TABLES[name]
    rng = np.random.default_rng(0)
    table, column = make(rng, num_rows)
    same, _ = make(rng, BATCH)
    moved, permuted = same.copy(), same.copy()
    moved[:, column] = table[:, column].max() - moved[:, column]
    permuted[:, column] = rng.permutation(permuted[:, column])
    before, start = peak(), time.process_time()
    detector = hld.HLDDetector(rng=0).fit(table)
    fitted, memory = time.process_time() - start, peak() - before
    detector.test(same)
    start = time.process_time()
    results = [detector.test(batch) for batch in (same, moved, permuted)]
    tested, start = (time.process_time() - start) / 3, time.process_time()
    places = [first(result.columns, lambda one: one.name == f"x{column}") for result in results]
    pair = first(results[2].pairs, lambda one: f"x{column}" in one.names)
    told = (time.process_time() - start) / 4
    return (
        f"| {name} | {num_rows:,} x {table.shape[1]:,} | {fitted:.1f} | {memory / 2**20:,.0f} | {tested:.2f} "
        f"| {told:.2f} | {results[0].pvalue:.2g} | {results[1].pvalue:.2g}, {places[1]} "
        f"| {results[2].pvalue:.2g}, {pair} |"
    )


def first(shifts: tuple, is_it) -> int:
    """The place, from 1, of the first shift that is the one."""
    return next((i for i, one in enumerate(shifts, 1) if is_it(one)), 0)


def peak() -> int:
    """Largest memory of the process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(names: list[str]) -> None:
    """Print a line for each table."""
    print(
        "| table | rows x columns | fit (s) | memory (MB) | test (s) | columns or pairs (s) | p, no shift "
        "| p, moved; place of the column | p, permuted; place of its first pair |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for name in names or list(TABLES):
        if names == [name]:
            print(measure(name), flush=True)
            continue
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_wide", name],
            check=True,
            capture_output=True,
            text=True,
        )
        print(run.stdout.splitlines()[-1], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
