"""Two batches of one distribution that is not the learned one: how often their summaries are said to differ.

    HLD_DATA=... python -m benchmarks.bench_two_summaries [--pairs 100]      prints the table of docs/summaries.md

Adult: a detector learns 3,000 rows of people of low income.  Both batches of T rows are of people of low income, or
both of people of high income.  Shares of pairs that `hld.two_sample` rejects at level 0.05 by rows (199 divisions) and
by summaries.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import hld

from .bench_summaries import incomes

SIZES, LEARNED = (20, 200), 3_000


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=100)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    values, levels, poor, rich = incomes(rng)
    detector = hld.HLDDetector(num_epochs=10, categorical=levels).fit(values[poor[:LEARNED]])
    print("| both batches | T | rows | summaries |\n| --- | ---: | ---: | ---: |")
    for name, places in (("as learned", poor[LEARNED:]), ("of high income", rich)):
        for T in SIZES:
            found = []
            for seed in range(args.pairs):
                first, second = values[rng.choice(places, (2, T), replace=False)]
                by_rows = hld.two_sample(detector, first, second, num_permutations=199, rng=seed)
                by_sums = hld.two_sample(
                    detector, detector.summarize(first), detector.summarize(second)
                )
                found.append([by_rows.reject, by_sums.reject])
            print(
                f"| {name} | {T} | {' | '.join(f'{one:.3f}' for one in np.mean(found, axis=0))} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
