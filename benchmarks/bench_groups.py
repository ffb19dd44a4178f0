"""Batches that differ by nature: level of the test among groups, beside the test against independent rows.

    HLD_DATA=... python -m benchmarks.bench_groups                  prints the table of benchmarks/groups.md

Covertype by soil type, and with wilderness area, Census-Income by industry and occupation: a batch is 200 rows of one
group, which was neither learned from nor is among those of the reference.
"""

import os
import pathlib
import sys
import warnings

import numpy as np

import hld

ALPHA = 0.05


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    for name, table, labels in (*covertype(), *census()):
        real(name, table, labels)


def real(name, table, labels, *, size=200, most=600, splits=75, fresh=4) -> None:
    """Level on values of a column that the detector has not seen."""
    rng, values, found = np.random.default_rng(0), np.unique(labels), []
    for _ in range(splits):
        order = rng.permutation(values)
        places = [rng.permutation(np.flatnonzero(labels == one))[:most] for one in order]
        old = np.concatenate(places[fresh:])
        detector = hld.HLDDetector(num_epochs=5, num_resamples=99).fit(
            table[old], groups=labels[old]
        )
        for one in places[:fresh]:
            codes = detector.encoder_.encode(table[one[:size]])[0]
            found.append((detector.judge_(codes).pvalue, detector.test_(codes).pvalue))
    shares = (np.array(found) <= ALPHA).mean(axis=0)
    print(
        f"\n{name}: {len(found)} batches, {detector.judge_.num_groups} groups: rejected at level {ALPHA} among "
        f"groups {shares[0]:.3f}, by independent rows {shares[1]:.2f}",
        flush=True,
    )


def covertype() -> tuple:
    """Ten quantitative columns; the soil type, and the wilderness area with it."""
    with np.load(
        pathlib.Path(os.environ["HLD_DATA"], "covertype", "covertype.npz"), allow_pickle=False
    ) as arrays:
        X = arrays["X"]
    table, area, soil = (
        X[:, :10].astype(float),
        X[:, 10:14].argmax(axis=1),
        X[:, 14:].argmax(axis=1),
    )
    return (
        ("Covertype by soil type", *large(table, soil)),
        ("Covertype by wilderness area and soil type", *large(table, 100 * area + soil)),
    )


def census() -> tuple:
    """Ten columns; the detailed industry, and the detailed occupation."""
    path = pathlib.Path(os.environ["HLD_DATA"], "census_income_kdd", "census_income_kdd.npz")
    with np.load(path, allow_pickle=False) as arrays:
        X = arrays["X_train"]
    table = X[:, [0, 1, 4, 5, 7, 10, 12, 19, 22, 30]]
    return (
        ("Census-Income by industry", *large(table, X[:, 2])),
        ("Census-Income by occupation", *large(table, X[:, 3])),
    )


def large(table, labels, least=300) -> tuple:
    """Rows of the groups with so many."""
    values, counts = np.unique(labels, return_counts=True)
    kept = np.isin(labels, values[counts >= least])
    return table[kept], labels[kept]


if __name__ == "__main__":
    sys.exit(main())
