"""Batches that differ by nature: level of the test among groups, beside the test against independent rows.

    HLD_DATA=... python -m benchmarks.bench_groups                  prints the tables of benchmarks/groups.md

* real      Covertype by soil type, and with wilderness area, Census-Income by industry and occupation: a batch is 200
            rows of one group, which was neither learned from nor is among those of the reference
* columns   means of groups with heavy tails, one cause of four columns: how often any unmoved column is called moved
"""

import os
import pathlib
import sys
import warnings

import numpy as np

import hld
from hld.laws.exchangeable import ranked_parts

from .measure import markdown, show

ALPHA = 0.05


def main() -> None:
    """Print all tables."""
    warnings.simplefilter("ignore")
    columns()
    if os.environ.get("HLD_DATA"):
        for name, table, labels in (*covertype(), *census()):
            real(name, table, labels)


def columns(trials: int = 2000) -> None:
    """Draws in which a column that has not moved is called moved, without and with a moved column beside it."""
    parts = [np.array([0]), np.array([1, 2, 3]), np.array([4, 5]), np.array([6])]
    print(markdown(["groups", "none moved", "one moved far", "which is found"]), end="")
    for G in (5, 19, 99):
        rng, cells = np.random.default_rng(G), []
        for away in (0.0, 200.0):
            called, found = 0, 0
            for _ in range(trials):
                means = rng.standard_t(3, size=(G + 1, 1)) + rng.standard_t(4, size=(G + 1, 7))
                means *= np.array([1, 0.1, 0.3, 0.2, 10, 1, 0])
                means[0, parts[2]] += away
                adjusted = ranked_parts(means[0], means[1:], parts)[1]
                called += adjusted[[0, 1, 3] if away else [0, 1, 2, 3]].min() <= ALPHA
                found += adjusted[2] <= ALPHA
            cells += [called / trials] + [found / trials] * (away > 0)
        show(G, *(f"{cell:.3f}" for cell in cells))


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
