"""Tables larger than memory: CPU time and peak memory of a command of hld, and of the bare reader.

python -m benchmarks.long_tables write 10000000 /tmp/long.csv
python -m benchmarks.long_tables read /tmp/long.csv
python -m benchmarks.long_tables hld fit /tmp/long.csv -o /tmp/long.hld --num-epochs 20
python -m benchmarks.long_tables hld test /tmp/long.hld /tmp/long.csv
"""
import resource
import sys

import numpy as np

ROWS = 500_000  # written at a time


def write(num_rows: int, path: str) -> None:
    """A table of text, two numbers, whole numbers and booleans."""
    import pyarrow
    import pyarrow.csv
    rng, writer = np.random.default_rng(0), None
    with open(path, "wb") as file:
        for start in range(0, num_rows, ROWS):
            size = min(ROWS, num_rows - start)
            kind = rng.integers(0, 3, size)
            table = pyarrow.table({
                "city": pyarrow.array(np.array(["Oslo", "Lima", "Pune"])[kind]),
                "heat": (rng.normal(size=size) + 3 * kind).round(3), "wind": rng.exponential(size=size).round(3),
                "visits": rng.poisson(2, size), "rain": rng.random(size) < 0.3})
            writer = writer or pyarrow.csv.CSVWriter(file, table.schema)
            writer.write_table(table)
        writer.close()


def read(path: str) -> None:
    """What Arrow alone takes."""
    import pyarrow.csv
    print(sum(batch.num_rows for batch in pyarrow.csv.open_csv(path)), "rows")


def main(argv: list) -> None:
    """Run one of the lines above and print what it took."""
    if argv[0] == "write":
        write(int(argv[1]), argv[2])
    elif argv[0] == "read":
        read(argv[1])
    else:
        from hld.command import main as hld
        hld(argv[1:])
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{used.ru_utime + used.ru_stime:.1f} s of CPU, {used.ru_maxrss // 1024} MB at most")


if __name__ == "__main__":
    main(sys.argv[1:])
