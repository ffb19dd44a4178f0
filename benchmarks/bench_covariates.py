"""Shifted covariates and changed dependence on them, on real rows: the test given covariates, and the plain test.

    HLD_DATA=... python -m benchmarks.bench_covariates             prints the tables of docs/covariates.md

Held-out rows of four tables, with their class as one more column.  Covariates are those of `COVARIATES`.  "Covariates
move": rows are drawn with weights exp(force * score), where the score adds up the covariates in standard deviations
(numbers) and whether they have their most frequent level (names), and has standard deviation 1: P(rest | covariates)
is as it was.  "Classes change": a share of the rows has the class of another row with another class.
"""

import argparse
import sys
import warnings

import numpy as np

import hld

from .measure import markdown, show
from .paper import datasets

ALPHA = 0.05
# age, race, sex and native country; elevation, aspect and slope; age, kind of employer and education; six squares
COVARIATES = {
    "adult": (0, 8, 9, 13),
    "covertype": (0, 1, 2),
    "census": (0, 1, 4),
    "connect4": (0, 1, 2, 3, 4, 5),
}
LEFT_OUT = {"adult": (2,)}  # a weight
SITUATIONS = (
    ("as before", 0.0, 0.0),
    ("covariates move, force 0.3", 0.3, 0.0),
    ("covariates move, force 0.7", 0.7, 0.0),
    ("classes change in 10 %", 0.0, 0.1),
    ("both, 0.7 and 10 %", 0.7, 0.1),
)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="+", choices=tuple(COVARIATES), default=tuple(COVARIATES))
    parser.add_argument("--batches", type=int, default=200)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = ["table", "rows", "batch", "given covariates", "covariates", "all columns"]
    print(markdown(heads), end="")
    for name in args.tables:
        table, covariates = table_of(name)
        order = np.random.default_rng(0).permutation(len(table["class"]))
        learned, fresh = order[:24_000], order[24_000:]
        nominal = [column for column, cells in table.items() if cells.dtype.kind == "U"]
        detector = hld.HLDDetector(num_epochs=30, covariates=covariates, categorical=nominal)
        rejected(name, detector.fit(rows_of(table, learned)), table, fresh, args.batches)


def table_of(name) -> tuple:
    """Columns of numbers and of names, the class among them, and the names of the covariates."""
    loaded = datasets.load_table(name)
    values, keep = (
        np.asarray(loaded.values),
        np.setdiff1d(np.arange(len(loaded.is_numeric)), LEFT_OUT.get(name, ())),
    )
    table = {
        f"x{v}": values[:, v]
        if loaded.is_numeric[v]
        else np.char.add("level ", values[:, v].astype(int).astype(str))
        for v in keep
    }
    return table | {"class": np.asarray(loaded.labels).astype(str)}, [
        f"x{v}" for v in COVARIATES[name]
    ]


def rows_of(table, places) -> dict:
    """Some rows of a table of columns."""
    return {name: values[places] for name, values in table.items()}


def rejected(name, detector, table, fresh, num_batches) -> None:
    """Shares of batches that each test rejects."""
    rng, score, classes = (
        np.random.default_rng(1),
        score_of(detector.covariates, table)[fresh],
        table["class"],
    )
    for T in (100, 500, 2000):
        for situation, force, share in SITUATIONS:
            weights, found = np.exp(force * score), []
            for _ in range(num_batches):
                places = fresh[rng.choice(len(fresh), T, replace=False, p=weights / weights.sum())]
                changed, other = rng.random(T) < share, another(classes, places, rng)
                batch = rows_of(table, places) | {
                    "class": np.where(changed, other, classes[places])
                }
                result, codes = detector.test(batch), detector.encoder_.encode(batch)[0]
                found.append(
                    (
                        result.reject,
                        result.context.covariate_pvalue <= ALPHA,
                        detector.test_(codes).pvalue <= ALPHA,
                    )
                )
            show(name, T, situation, *(f"{one:.3f}" for one in np.mean(found, axis=0)))


def score_of(covariates, table) -> np.ndarray:
    """What the weights of moved covariates grow with, standard deviation 1."""
    total = np.zeros(len(table["class"]))
    for name in covariates:
        cells = table[name]
        if cells.dtype.kind == "U":
            levels, counts = np.unique(cells, return_counts=True)
            cells = (cells == levels[counts.argmax()]).astype(float)
        total += (cells - cells.mean()) / (cells.std() if table[name].dtype.kind != "U" else 1.0)
    return (total - total.mean()) / total.std()


def another(classes, places, rng) -> np.ndarray:
    """For each row the class of a random row that has another class."""
    found = classes[rng.integers(0, len(classes), len(places))]
    while (same := found == classes[places]).any():
        found[same] = classes[rng.integers(0, len(classes), same.sum())]
    return found


if __name__ == "__main__":
    sys.exit(main())
