"""Sums in place of rows, two batches, intervals of the effect: level, power, coverage.

    HLD_DATA=... python -m benchmarks.bench_summaries [--batches 300]      prints the table of docs/summaries.md

Adult, people of low income: a detector learns 6,000 rows; batches of T of the other rows are unshifted, those with a
fifth of people of high income shifted.  Shares of batches rejected at level 0.05 by the test of rows, of their
summary, of the summary of two halves, and by the tests of two batches (by permutation, and by summaries) against an
unshifted batch of T rows.  "Covered": 95 % intervals of the effect that contain that of 10,000 rows.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

import hld

from .paper import datasets

SIZES, LEARNED, MIXED = (50, 200, 1000), 6_000, 0.2
NAMES = (
    "rows",
    "summary",
    "two summaries",
    "two batches",
    "two batches, summaries",
    "covered",
)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=300)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    values, levels, poor, rich = incomes(rng)
    detector = hld.HLDDetector(num_epochs=20, metric="likelihoods", categorical=levels).fit(
        values[poor[:LEARNED]]
    )
    fresh = poor[LEARNED:]
    print("| T | batches | " + " | ".join(NAMES) + " |\n| ---: | --- |" + " ---: |" * len(NAMES))
    for T in SIZES:
        for share in (0.0, MIXED):
            effect = (
                0.0
                if not share
                else detector.test(values[mixed(fresh, rich, 10_000, share, rng)]).effect
            )
            found = [
                judged(
                    detector,
                    values,
                    mixed(fresh, rich, T, share, rng),
                    rng.choice(fresh, T, replace=False),
                    effect,
                    seed,
                )
                for seed in range(args.batches)
            ]
            cells = " | ".join(f"{one:.3f}" for one in np.mean(found, axis=0))
            print(f"| {T} | {'a fifth rich' if share else 'as before'} | {cells} |", flush=True)


def incomes(rng) -> tuple:
    """Adult, its columns of levels, and places of people of low and of high income in random order."""
    loaded = datasets.load_table("adult")
    values, is_rich = np.asarray(loaded.values), np.asarray(loaded.labels) == ">50K"
    places = (rng.permutation(np.flatnonzero(is_rich == flag)) for flag in (False, True))
    return values, np.flatnonzero(~loaded.is_numeric).tolist(), *places


def mixed(fresh, rich, T, share, rng) -> np.ndarray:
    """Places of T rows, some of them of people of high income."""
    odd = rng.binomial(T, share)
    return np.concatenate(
        [rng.choice(fresh, T - odd, replace=False), rng.choice(rich, odd, replace=False)]
    )


def judged(detector, values, places, others, effect, seed) -> list:
    """Whether each test rejects a batch, and whether the interval covers."""
    batch, other = values[places], values[others]
    result, whole = detector.test(batch), detector.summarize(batch)
    halves = detector.summarize(batch[::2]) + detector.summarize(batch[1::2])
    low, high = result.effect_interval
    return [
        result.reject,
        detector.test(whole).reject,
        detector.test(halves).reject,
        hld.two_sample(detector, batch, other, num_permutations=199, rng=seed).reject,
        hld.two_sample(detector, whole, detector.summarize(other)).reject,
        low <= effect <= high,
    ]


if __name__ == "__main__":
    sys.exit(main())
