"""Tables in a database: the test by counts in DuckDB, beside the test of the same rows read from it in chunks.

python -m benchmarks.bench_sql [--rows 1e7] [--columns 20]       seconds, of all cores and of the processor
"""

import argparse
import tempfile
import time
import warnings

import hld
import hld.sql


def main():
    """Seconds of the counts in DuckDB, beside those of reading the same rows and testing them here."""
    import duckdb

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--columns", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
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
            (
                "rows here, in chunks",
                lambda: hld.judge_chunks(
                    detector, base.sql("FROM rows").to_arrow_reader(1_000_000)
                ),
            ),
        ):
            wall, cpu = time.perf_counter(), time.process_time()
            result = run()
            print(
                f"{label}: {rows} rows x {V} columns in {time.perf_counter() - wall:.1f} s, "
                f"{time.process_time() - cpu:.1f} s of processor time; p = {result.pvalue:.3g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
