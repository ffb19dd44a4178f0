"""Tables larger than memory: CPU time and peak memory of a command of hld, and of the bare reader.

python -m benchmarks.long_tables write 10000000 /tmp/long.csv
python -m benchmarks.long_tables read /tmp/long.csv
python -m benchmarks.long_tables hld fit /tmp/long.csv -o /tmp/long.hld --num-epochs 20
python -m benchmarks.long_tables hld test /tmp/long.hld /tmp/long.csv

Tables that are wide as well, of mixed types, in Parquet; the seed of the rows is the last number:

python -m benchmarks.long_tables wide 3000000 1000 0 /tmp/reference.parquet
python -m benchmarks.long_tables wide 300000 1000 1 /tmp/current.parquet
python -m benchmarks.long_tables hld fit /tmp/reference.parquet -o /tmp/wide.hld
python -m benchmarks.long_tables hld test /tmp/wide.hld /tmp/current.parquet --report /tmp/wide.html
"""

import resource
import sys
import time

import numpy as np

ROWS = 500_000  # written at a time
GROUP = 100_000  # rows of a wide table written at a time


def write(num_rows: int, path: str) -> None:
    """A table of text, two numbers, whole numbers and booleans."""
    import pyarrow
    import pyarrow.csv

    rng, writer = np.random.default_rng(0), None
    with open(path, "wb") as file:
        for start in range(0, num_rows, ROWS):
            size = min(ROWS, num_rows - start)
            kind = rng.integers(0, 3, size)
            table = pyarrow.table(
                {
                    "city": pyarrow.array(np.array(["Oslo", "Lima", "Pune"])[kind]),
                    "heat": (rng.normal(size=size) + 3 * kind).round(3),
                    "wind": rng.exponential(size=size).round(3),
                    "visits": rng.poisson(2, size),
                    "rain": rng.random(size) < 0.3,
                }
            )
            writer = writer or pyarrow.csv.CSVWriter(file, table.schema)
            writer.write_table(table)
        writer.close()


def wide(num_rows: int, num_columns: int, seed: int, path: str) -> None:
    """Numbers with two decimals, whole numbers, text of ten levels and flags, in ten dependent groups of columns."""
    import pyarrow
    import pyarrow.parquet

    rng, writer = np.random.default_rng(seed), None
    levels = pyarrow.array([f"level {k}" for k in range(10)])
    for start in range(0, num_rows, GROUP):
        size, table = min(GROUP, num_rows - start), {}
        hidden = rng.integers(0, 4, (10, size), dtype=np.int8)
        for v in range(num_columns):
            own, kind = hidden[v % 10], v // 10 % 10
            if kind < 4:
                table[f"amount {v}"] = (
                    (rng.standard_normal(size, dtype=np.float32) + own).round(2).astype(np.float64)
                )
            elif kind < 7:
                table[f"count {v}"] = (rng.integers(0, 20, size, dtype=np.int8) + 2 * own).astype(
                    np.int64
                )
            elif kind < 9:
                codes = 2 * own + rng.integers(0, 4, size, dtype=np.int8)
                table[f"kind {v}"] = pyarrow.DictionaryArray.from_arrays(codes, levels)
            else:
                table[f"flag {v}"] = rng.random(size, dtype=np.float32) < 0.2 + 0.2 * own
        part = pyarrow.table(table)
        writer = writer or pyarrow.parquet.ParquetWriter(path, part.schema)
        writer.write_table(part)
    writer.close()


def read(path: str) -> None:
    """What Arrow alone takes."""
    import pyarrow.csv

    print(sum(batch.num_rows for batch in pyarrow.csv.open_csv(path)), "rows")


def main(argv: list) -> None:
    """Run one of the lines above and print what it took."""
    started = time.perf_counter()
    if argv[0] == "write":
        write(int(argv[1]), argv[2])
    elif argv[0] == "wide":
        wide(int(argv[1]), int(argv[2]), int(argv[3]), argv[4])
    elif argv[0] == "read":
        read(argv[1])
    else:
        from hld.command import main as hld

        hld(argv[1:])
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{time.perf_counter() - started:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU, "
        f"{used.ru_maxrss // 1024} MB at most"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
