"""Batches that differ by nature: level and power of the test among groups, beside the test against independent rows.

    HLD_DATA=... python -m benchmarks.bench_groups                  prints the tables of benchmarks/groups.md

* level     on simulated groups: 60 rows of two kinds, in proportions that differ from group to group
* real      Covertype by soil type, and with wilderness area, Census-Income by industry and occupation: a batch is 200
            rows of one group, which was neither learned from nor is among those of the reference
* power     the simulated groups again; a share of the rows of a batch is of a third kind
* columns   means of groups with heavy tails, one cause of four columns: how often any unmoved column is called moved
"""

from __future__ import annotations

import os
import pathlib
import sys
import warnings

import numpy as np

import hld
import pcircuit
from hld.nulls.exchangeable import exchangeable_pvalue
from hld.nulls.ranked_parts import ranked_parts
from hld.variation.group_test import group_test

ALPHA, ROWS = 0.05, 60


def main() -> None:
    """Print all tables."""
    warnings.simplefilter("ignore")
    simulated()
    columns()
    if os.environ.get("HLD_DATA"):
        for name, table, labels in (*covertype(), *census()):
            real(name, table, labels)


def columns(trials: int = 2000) -> None:
    """Draws in which a column that has not moved is called moved, without and with a moved column beside it."""
    parts = [np.array([0]), np.array([1, 2, 3]), np.array([4, 5]), np.array([6])]
    print(
        "\n| groups | none moved | one moved far | which is found |\n| ---: | ---: | ---: | ---: |"
    )
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
        print(f"| {G} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")


def simulated() -> None:
    """Level by number of groups, and power by the share of odd rows."""
    rng = np.random.default_rng(0)
    kinds = rng.dirichlet(np.full(3, 0.7), size=(3, 8))  # distribution of the rows of each kind
    pool = np.concatenate([groups(kinds, 0.0, rng) for _ in range(8)])
    circuit = pcircuit.fit_em(
        pcircuit.hclt(pool[:100].reshape(-1, 8), 4, [3] * 8, 1.0, rng),
        pool[:100].reshape(-1, 8),
        num_epochs=20,
    )[0]
    test, pool = (
        hld.HLDTest(circuit, metric=("euclidean", "standardized", "marginals", "whitened")),
        pool[100:],
    )
    kept = group_test(
        test, pool.reshape(-1, 8), np.repeat(np.arange(len(pool)), ROWS), seed=0
    ).groups
    independent = hld.HLDTest(
        circuit,
        metric="standardized",
        null="exact",
        reference="training",
        training_data=pool[:1000].reshape(-1, 8),
        rng=0,
    )
    others, metrics = kept.at(ROWS), test.calibration.metrics
    print("| groups | level | of trials | independent rows |\n| ---: | ---: | ---: | ---: |")
    plain = np.mean([independent(one).pvalue <= ALPHA for one in pool[-300:]])
    for G in (5, 20, 100, 1000):
        found = [
            exchangeable_pvalue(others[c[0]], others[c[1:]], metrics).value
            for c in (rng.permutation(len(pool))[: G + 1] for _ in range(400))
        ]
        print(
            f"| {G} | {np.mean(np.array(found) <= ALPHA):.3f} | {len(found)} | {plain:.2f} |",
            flush=True,
        )
    print(
        "\n| odd rows | times natural | G = 20 | G = 100 | G = 1000 |\n| ---: | ---: | ---: | ---: | ---: |"
    )
    for share in (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6):
        shifted = np.array([test.vectors.mean(one) for one in groups(kinds, share, rng)[:100]])
        away = np.linalg.norm(shifted.mean(axis=0) - others.mean(axis=0))
        cells = [
            np.mean(
                [
                    exchangeable_pvalue(one, others[rng.permutation(len(pool))[:G]], metrics).value
                    <= ALPHA
                    for one in shifted
                ]
            )
            for G in (20, 100, 1000)
        ]
        times = away / np.sqrt(kept.covariance_at(ROWS).trace)
        print(
            f"| {share:.0%} | {times:.2f} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |",
            flush=True,
        )


def groups(kinds, share, rng) -> np.ndarray:
    """(300, ROWS, V) rows of 300 groups of the first two kinds, a share of them replaced by rows of the third."""
    mixed = rng.beta(2, 2, size=(300, 1)) < rng.random((300, ROWS))
    kind = np.where(rng.random((300, ROWS)) < share, 2, mixed.astype(int))
    cumulated = kinds.cumsum(axis=2)[kind]  # (300, ROWS, V, 3)
    return (rng.random((300, ROWS, 8, 1)) > cumulated[..., :2]).sum(axis=3)


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
