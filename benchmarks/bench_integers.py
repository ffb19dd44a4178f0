"""Whole numbers as levels or as bins, by the number of rows: which finds more.

    python -m benchmarks.bench_integers

Ages of a normal law, rounded, beside a column that depends on them and one that does not.  The detector has the ages as
levels or in eight bins; batches of 60 rows drift by five years, or a fifth of their rows has one age.  Shares of 100
batches that are rejected at level 0.05, of 25 detectors.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import hld

SHIFTS = ((20, 8.0, 0.0), (60, 5.0, 0.0), (60, 0.0, 0.2))


def main(detectors: int = 25, batches: int = 4) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    print("| rows | ages | as | 20 rows, drift 8 | 60 rows, drift 5 | 60 rows, one age |")
    print("| ---: | ---: | --- | ---: | ---: | ---: |")
    for n in (150, 300, 600):
        found: dict = {"integer": [], "continuous": []}
        for _ in range(detectors):
            train = people(n, rng)
            for kind, several in found.items():
                schema = hld.TableSchema((hld.ColumnSchema("age", kind),))
                detector = hld.HLDDetector(num_epochs=10, num_resamples=99, schema=schema).fit(
                    train
                )
                several.append(
                    [
                        np.mean(
                            [
                                detector.test(people(T, rng, drift, heap)).reject
                                for _ in range(batches)
                            ]
                        )
                        for T, drift, heap in SHIFTS
                    ]
                )
        for kind, several in found.items():
            print(
                f"| {n} | {len(set(train['age'].tolist()))} | {kind} | "
                + " | ".join(f"{share:.2f}" for share in np.mean(several, axis=0))
                + " |",
                flush=True,
            )


def people(n, rng, drift=0.0, heap=0.0) -> dict:
    """Rows, with ages that have drifted, or of which a share is 18."""
    age = rng.normal(40 + drift, 12, n).round().astype(int)
    age = np.where(rng.random(n) < heap, 18, age)
    return {"age": age, "class": age // 8 + rng.integers(0, 3, n), "group": rng.integers(0, 3, n)}


if __name__ == "__main__":
    sys.exit(main())
