"""The monitor on real rows: false alarms of unshifted streams, and delays of shifts.

    HLD_DATA=... python -m benchmarks.bench_streams --tables adult connect4 covertype --streams 40

A detector learns from 5,000 rows of a table in random order; a stream is 200 further rows, then 2,000 in which
something changed.  The delay is the number of changed rows up to the alarm; an earlier alarm counts as early.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

import hld

from .paper import datasets

LEARNED, CALM, ROWS, ALPHA = 5_000, 200, 2_000, 0.05


def unchanged(rows, rng, v):
    """The rows as they are."""
    return rows


def moved(rows, rng, v):
    """A column is increased by half a standard deviation."""
    rows[:, v] += 0.5 * rows[:, v].std()
    return rows


def scaled(rows, rng, v):
    """A column is in another unit."""
    rows[:, v] *= 1000
    return rows


def constant(rows, rng, v):
    """A column does not change any more."""
    rows[:, v] = rows[0, v]
    return rows


def permuted(rows, rng, v):
    """A column belongs to other rows."""
    rows[:, v] = rng.permutation(rows[:, v])
    return rows


def with_holes(rows, rng, v):
    """A fifth of a column is missing."""
    rows[rng.random(len(rows)) < 0.2, v] = np.nan
    return rows


CHANGES = (unchanged, moved, scaled, constant, permuted, with_holes)


def main(argv=None) -> None:
    """Print a line for each table and change."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=["adult"], choices=datasets.TABULAR)
    parser.add_argument("--streams", type=int, default=20)
    args = parser.parse_args(argv)
    print("| table | change | found | early | median delay |\n| --- | --- | --- | --- | --- |")
    for name in args.tables:
        table = np.asarray(datasets.load_table(name).values, dtype=float)
        rng = np.random.default_rng(0)
        table = table[rng.permutation(len(table))]
        detector = hld.HLDDetector(num_epochs=20).fit(table[:LEARNED])
        for change in CHANGES:
            delays = [
                delay(detector, table[LEARNED:], change, seed) for seed in range(args.streams)
            ]
            early = sum(one <= 0 for one in delays)
            found = [one for one in delays if 0 < one < np.inf]
            median = f"{np.median([one if one > 0 else np.inf for one in delays]):.0f}"
            print(
                f"| {name} | {change.__name__} | {len(found)} of {len(delays)} | {early} | {median} |",
                flush=True,
            )


def delay(detector, table, change, seed) -> float:
    """Changed rows up to the alarm, at most 0 where it came before, infinite without one."""
    rng = np.random.default_rng(seed)
    rows = table[rng.choice(len(table), CALM + ROWS, replace=False)]
    monitor = hld.Monitor(detector, ALPHA, seed=seed)
    monitor.update(rows[:CALM])
    result = monitor.update(change(rows[CALM:].copy(), rng, int(rng.integers(rows.shape[1]))))
    return np.inf if result.alarm_row is None else result.alarm_row - CALM


if __name__ == "__main__":
    sys.exit(main())
