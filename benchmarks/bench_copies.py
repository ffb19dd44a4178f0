"""Copies of rows in the training table: how often unshifted batches are called shifted then.

    HLD_DATA=... python -m benchmarks.bench_copies [--splits 10] [--copies 1 2 10]      prints the table

Adult: detectors learn 2,000 rows, each of which stands in their table once, twice, or ten times; and once, but sorted
by all columns.  Batches of T are of rows that no table has.  Shares of them that are rejected at level 0.05, over
random splits of the table, 30 batches of each; "warned": tables of which `fit` says that they have copies.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import hld

from .paper import datasets

SIZES, LEARNED, BATCHES = (50, 200, 1000), 2_000, 30


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 2, 10])
    args = parser.parse_args()
    print(
        f"| rows | {' | '.join(f'T = {T}' for T in SIZES)} | warned |\n| --- |{' ---: |' * (len(SIZES) + 1)}"
    )
    for copies, is_sorted in [*((copies, False) for copies in args.copies), (1, True)]:
        found = [split(seed, copies, is_sorted) for seed in range(args.splits)]
        cells = " | ".join(f"{one:.3f}" for one in np.mean([levels for levels, _ in found], axis=0))
        name = "sorted" if is_sorted else f"each {copies} times"
        print(
            f"| {name} | {cells} | {sum(warned for _, warned in found)} of {len(found)} |",
            flush=True,
        )


def split(seed: int, copies: int, is_sorted: bool) -> tuple[list[float], bool]:
    """Share of batches that are rejected, for each size, and whether `fit` warned of copies."""
    loaded = datasets.load_table("adult")
    values, numeric = np.asarray(loaded.values), np.asarray(loaded.is_numeric)
    order = np.random.default_rng(seed).permutation(len(values))
    train, fresh = np.tile(values[order[:LEARNED]], (copies, 1)), values[order[LEARNED:]]
    if is_sorted:
        train = train[np.lexsort(train.astype(str).T[::-1])]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        detector = hld.HLDDetector(
            num_epochs=10, categorical=np.flatnonzero(~numeric).tolist(), rng=seed
        ).fit(train)
    levels = [
        np.mean([detector.test(fresh[b * T : (b + 1) * T]).reject for b in range(BATCHES)])
        for T in SIZES
    ]
    return levels, any("copies of rows" in str(one.message) for one in said)


if __name__ == "__main__":
    main()
