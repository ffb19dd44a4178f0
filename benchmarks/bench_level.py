"""False alarms of the default detector at every number of rows and every batch size, on unshifted rows.

    HLD_DATA=... python -m benchmarks.bench_level [--quick] [--sources nltcs lattice ...] [--rows 6 60 ...]
                                                  [--splits 200] [--sizes 1 10 ...]
                                                  [--holes 0.2] [--empty] [--train-holes 0.2] [--values-only]
                                                  [--reference held-out|training|circuit]

For each source and number of rows n: `splits` times n rows are taken at random, `HLDDetector()` is fitted to them
with its defaults, and tests batches of T other rows, at most BATCHES of each size (fewer large ones). All batches of
a split share its circuit, metrics and reference, so the error of a rate is computed between splits: rate +- the
standard deviation of the splits' rates over the square root of their number. A star marks a rate that exceeds its
level by more than three errors (or three binomial errors of as many batches, if that is more).

Sources named after data sets draw real rows without replacement; with `*` behind the name, a circuit with eight
states is fitted to the data set and rows are drawn from it, so that any number of rows can be had. `lattice` is a
circuit with six columns and 33 nodes, `mixed` one with twelve columns of two to four categories.

`--holes` and `--empty` make entries of batches missing. That by itself is a shift of what is missing, which the
default tests as well; `--values-only` leaves that out, so that what remains should be at its level.
"""

import argparse
import os
import pathlib
import time
import warnings
from functools import lru_cache

import numpy as np

import hld
import pcircuit

from .measure import markdown, show

ALPHAS = (0.1, 0.05, 0.01, 0.001)
ROWS = (6, 12, 20, 40, 80, 179, 500, 1000, 3000, 10_000)
SIZES = (1, 2, 3, 5, 10, 30, 100, 300, 1000, 3000, 10_000)
SOURCES = (
    "lattice",
    "mixed",
    "adult*",
    "plants*",
    "adult",
    "nltcs",
    "plants",
    "accidents",
    "kdd",
    "book",
)
BATCHES, MOST_ROWS = 50, 5_000  # for one size and split
POOL = 30_000  # fresh rows of one split


def main():
    """Print one row for each source, n and T."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="a minute: two sources, few rows, 20 splits"
    )
    parser.add_argument("--sources", nargs="*", default=SOURCES)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument(
        "--holes", type=float, default=0.0, help="share of the cells of batches that go missing"
    )
    parser.add_argument("--empty", action="store_true", help="one column of each batch is empty")
    parser.add_argument(
        "--train-holes", type=float, default=0.0, help="the same of the rows of the fit"
    )
    parser.add_argument("--values-only", action="store_true", help="do not test what is missing")
    parser.add_argument(
        "--reference", default="auto", choices=("auto", "held-out", "training", "circuit")
    )
    options = parser.parse_args()
    if options.quick:
        options.sources, options.rows, options.splits = ("lattice", "mixed"), (6, 60, 600), 20
    warnings.simplefilter("ignore", UserWarning)  # of few rows
    print(markdown(["source", "n", "T", "batches", *(f"at {alpha:g}" for alpha in ALPHAS)]), end="")
    for name in options.sources:
        for n in options.rows:
            report(name, n, options)


def report(name, n, options) -> None:
    """Print the rows of the table for one source and number of rows."""
    started, rates = time.perf_counter(), {}
    for split in range(options.splits):
        for T, rejected in study(name, n, split, options).items():
            rates.setdefault(T, []).append((len(rejected), *rejected.mean(axis=0)))
    for T, found in rates.items():
        found = np.array(found)
        batches = int(found[:, 0].sum())
        show(name, n, T, batches, *cells_of(found[:, 1:], batches))
    print(f"<!-- {name}, n = {n}: {time.perf_counter() - started:.0f} s -->", flush=True)


def cells_of(found, batches) -> list:
    """Rates with their errors as cells, from the shares (splits, alphas) of so many batches that were rejected."""
    rate, error = found.mean(axis=0), found.std(axis=0, ddof=1) / len(found) ** 0.5
    bound = 3 * np.maximum(error, np.sqrt(np.array(ALPHAS) * (1 - np.array(ALPHAS)) / batches))
    return [
        f"{r:.4f} +- {e:.4f}{'*' * bool(r > a + b)}"
        for r, e, a, b in zip(rate, error, ALPHAS, bound, strict=True)
    ]


def study(name, n, split, options) -> dict:
    """{T: (batches, alphas) whether rejected} of one random choice of n rows."""
    rng = np.random.default_rng([split, n])
    drawn = rows_of(name, n + POOL, rng)
    if drawn is None:
        return {}
    table, pool = punched(drawn[:n], options.train_holes, False, rng), drawn[n:]
    detector = hld.HLDDetector(
        categorical=list(range(table.shape[1])),
        rng=split,
        reference=options.reference,
        missingness=not options.values_only,
    )
    detector.fit(as_table(table))
    rejected = {}
    for T in options.sizes:
        if len(pool) < 2 * T:
            continue
        batches = [
            pool[
                rng.integers(0, len(pool), T)
                if len(pool) > 20 * T
                else rng.permutation(len(pool))[:T]
            ]
            for _ in range(int(np.clip(MOST_ROWS // T, 1, BATCHES)))
        ]
        pvalues = [
            detector.test(as_table(punched(batch, options.holes, options.empty, rng))).pvalue
            for batch in batches
        ]
        rejected[T] = np.array(pvalues)[:, None] <= np.array(ALPHAS) * (1 + 1e-12)
    return rejected


def punched(rows, share: float, empty: bool, rng) -> np.ndarray:
    """Rows with a share of their cells missing at random, and one column empty if asked for; -1 is missing."""
    if not share and not empty:
        return rows
    rows = np.where(rng.random(rows.shape) < share, -1, rows.astype(np.int64))
    if empty:
        rows[:, rng.integers(rows.shape[1])] = -1
    return rows


def as_table(rows) -> np.ndarray:
    """Rows as a user's table: floats with NaN where something is missing."""
    return rows if rows.dtype.kind == "u" or rows.min() >= 0 else np.where(rows < 0, np.nan, rows)


def rows_of(name, total, rng):
    """At most `total` rows of a source, in random order; None of a data set that has not half as many."""
    source = source_of(name)
    if isinstance(source, pcircuit.Circuit):
        return pcircuit.sample(source, total, rng=rng)
    return (
        source[rng.permutation(len(source))[:total]] if 2 * (total - POOL) < len(source) else None
    )


@lru_cache
def source_of(name):
    """A circuit, or the rows of a data set."""
    if name == "lattice":
        return pcircuit.rat_spn([2] * 6, num_units=3, depth=2, rng=3)
    if name == "mixed":
        return pcircuit.rat_spn([2, 3, 2, 4, 2, 2, 3, 2, 2, 2, 2, 3], num_units=4, depth=2, rng=7)
    rows = data_set(name.rstrip("*"))
    if not name.endswith("*"):
        return rows
    start = pcircuit.hclt(rows, 8, tuple((rows.max(axis=0) + 1).tolist()), 1.0, rng=0)
    return pcircuit.fit_em(start, rows, num_epochs=30, pseudocount=1.0)[0]


def data_set(name) -> np.ndarray:
    """All rows of a data set, or of one of its classes, as categories."""
    from .paper import datasets

    folder = pathlib.Path(os.environ["HLD_DATA"])
    if (folder / "binary" / f"{name}.npz").exists():
        parts = np.load(folder / "binary" / f"{name}.npz")
        return np.concatenate([parts["train"], parts["valid"], parts["test"]])
    id_class = datasets.ID_CLASSES[name][0]
    split = datasets.split_class(datasets.load_table(name), id_class, (), datasets.Choices())
    return np.concatenate([split.train, split.held_out])


if __name__ == "__main__":
    main()
