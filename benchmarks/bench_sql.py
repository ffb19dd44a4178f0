"""Tables in a database: level of the test by counts, and its time in DuckDB beside that of the test of rows.

    HLD_DATA=... python -m benchmarks.bench_sql level [--splits 40]       unshifted real rows: how often p <= alpha
    python -m benchmarks.bench_sql time [--rows 1e7] [--columns 20]       seconds in DuckDB, and of reading the rows

Level: for each split a detector is fitted to `ROWS` random rows with its defaults and tests batches of other real rows;
a rate is the mean over splits, its error their deviation over the square root of their number.  A star marks a rate
above its level by more than three errors (or three binomial errors of as many batches).  Counts are made here with the
encoder, which gives the counts that databases give (tests/hld/sql), so that no time goes into queries.
"""

import argparse
import functools
import os
import pathlib
import tempfile
import time
import warnings

import numpy as np

import hld
import hld.sql
from hld.answers.profile import profile_of
from hld.sql.judging import judge_counts
from hld.sql.slots import counted_column
from hld.sql.tables import TableInDatabase
from hld.tables.schemas.encoder import EncodingReport
from hld.witnesses.count_law import merged_codes

from .bench_level import ALPHAS, cells_of
from .measure import markdown, show

ROWS, SIZES, BATCHES = 3000, (30, 100, 300, 1000, 3000), 40


def main():
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("level", "time"))
    parser.add_argument("--sources", nargs="*", default=["adult", "plants", "accidents", "census"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--columns", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    {"level": level, "time": timed}[options.what](options)


def level(options):
    """One row for each source and size."""
    print(markdown(["source", "T", "batches", *(f"at {alpha:g}" for alpha in ALPHAS)]), end="")
    for name in options.sources:
        rates = {T: [] for T in SIZES}
        for split in range(options.splits):
            rng = np.random.default_rng([split, 77])
            detector, pool = fitted(name, rng, options.epochs)
            for T in SIZES:
                batches = [pool.iloc[rng.integers(0, len(pool), T)] for _ in range(BATCHES)]
                p = np.array([by_counts(detector, batch).pvalue for batch in batches])
                rates[T].append((p[:, None] <= np.array(ALPHAS)).mean(axis=0))
        for T, found in rates.items():
            show(name, T, len(found) * BATCHES, *cells_of(np.array(found), len(found) * BATCHES))


def fitted(name, rng, epochs):
    """A detector fitted to random rows of a source, and a table of the others."""
    table = source(name)
    order = rng.permutation(len(table))
    detector = hld.HLDDetector(num_epochs=epochs).fit(
        table.iloc[order[:ROWS]].reset_index(drop=True)
    )
    return detector, table.iloc[order[ROWS:]].reset_index(drop=True)


@functools.cache
def source(name):
    """A real table as a data frame."""
    import pandas as pd

    folder = pathlib.Path(os.environ["HLD_DATA"])
    if name == "adult":
        return pd.read_csv(
            folder / "adult" / "adult.data.gz", header=None, skipinitialspace=True, na_values="?"
        ).rename(columns=str)
    path = folder / (
        "census_income_kdd/census_income_kdd.npz" if name == "census" else f"binary/{name}.npz"
    )
    with np.load(path, allow_pickle=False) as file:
        rows = np.concatenate([file[key] for key in file.files if file[key].ndim == 2])
    return pd.DataFrame(rows[:60_000], columns=[f"x{v}" for v in range(rows.shape[1])])


def by_counts(detector, batch):
    """The test by the counts of a data frame."""
    codes, report, absent, extra = detector.encoder_.encode_counting(batch)
    columns = tuple(map(counted_column, detector.encoder_.columns))
    profile = profile_of(
        merged_codes(detector.encoder_.columns, codes),
        tuple(c.num_categories for c in columns),
        detector.profile_.edges,
    )
    kept = np.array([not getattr(column, "merged", False) for column in columns])
    report = EncodingReport(
        report.num_rows,
        report.num_missing,
        report.num_unseen * kept,
        report.num_out_of_range,
        report.num_rare,
        report.num_odd,
    )
    return judge_counts(
        detector, TableInDatabase(columns, profile, report, tuple(absent), tuple(extra), 0), 0.05
    )


def timed(options):
    """Seconds of the counts in DuckDB, beside those of reading the same rows and testing them here."""
    import duckdb

    rows, V = int(options.rows), options.columns
    with tempfile.TemporaryDirectory() as folder:
        base = duckdb.connect(f"{folder}/rows.db", config={"threads": 2})
        numbers = ", ".join(f"(random() + random() + g) AS n{v}" for v in range(V // 2))
        texts = ", ".join(
            f"'level ' || CAST(floor(6 * random() + 4 * g) AS INT) AS t{v}"
            for v in range(V - V // 2)
        )
        base.execute(
            f"CREATE TABLE rows AS SELECT {numbers}, {texts} FROM (SELECT random() AS g FROM range({rows}))"
        )
        base.execute("CHECKPOINT")
        train = base.execute(
            "SELECT * FROM rows USING SAMPLE reservoir(20000 ROWS) REPEATABLE (1)"
        ).df()
        detector = hld.HLDDetector(num_epochs=10, metric="likelihoods").fit(train)
        for label, run in (
            ("counts in DuckDB", lambda: hld.sql.test(detector, base, "rows")),
            ("rows here, in chunks", lambda: hld.judge_chunks(detector, chunks(base))),
        ):
            wall, cpu = time.perf_counter(), time.process_time()
            result = run()
            print(
                f"{label}: {rows} rows x {V} columns in {time.perf_counter() - wall:.1f} s, "
                f"{time.process_time() - cpu:.1f} s of processor time; p = {result.pvalue:.3g}",
                flush=True,
            )


def chunks(base):
    """The rows of the table, a million at a time."""
    reader = base.execute("SELECT * FROM rows").to_arrow_reader(1_000_000)
    yield from reader


if __name__ == "__main__":
    main()
