"""Numbers of speed that matter to users, as ratios to something that they know ([how fast](../docs/how-fast.md)).

    python -m benchmarks.bench_fast [start] [fit] [table] [request]

Processor seconds of one thread (OPENBLAS_NUM_THREADS=1), medians of five, kernels compiled beforehand; the two sides
of a ratio take turns, so that a busy machine slows both.  Tables have 20 columns of numbers.
"""

from __future__ import annotations

import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

import numpy as np

from .bench_cluster import rows_of
from .measure import machine

RUNS = 5


def main() -> None:
    """Print a line for each number that is asked for."""
    asked = sys.argv[1:] or [*NUMBERS]
    print(
        machine() + "\n\n| what | processor time | beside it | ratio |\n| --- | ---: | --- | ---: |"
    )
    for name in asked:
        what, own, beside, other = NUMBERS[name]()
        times = np.array([(own(), other()) for _ in range(RUNS + 1)][1:])
        here, ratio = np.median(times[:, 0]), np.median(times[:, 0] / times[:, 1])
        print(f"| {what} | {1e3 * here:,.0f} ms | {beside} | {ratio:.2f} |", flush=True)


def seconds(function):
    """A function that returns the processor seconds of a call, threads included."""

    def timed() -> float:
        start = time.process_time()
        function()
        return time.process_time() - start

    return timed


def process(*command):
    """A function that runs a process and returns its processor seconds."""

    def timed() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], check=False, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return sum(
            getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime")
        )

    return timed


def fitted(num_rows: int = 2000, has_holes: bool = False):
    """A detector, and a function that draws a batch."""
    import hld

    def drawn(i: int, n: int) -> np.ndarray:
        rows = rows_of(i, n, 20)
        rows[(np.random.default_rng(i).random(rows.shape) < 0.05) & has_holes] = np.nan
        return rows

    return hld.HLDDetector().fit(drawn(0, num_rows)), drawn


def as_csv(rows: np.ndarray) -> str:
    """Rows as a CSV file with a header."""
    lines = [",".join(f"c{v}" for v in range(rows.shape[1]))]
    lines += [",".join("" if cell != cell else repr(cell) for cell in row) for row in rows.tolist()]
    return "\n".join(lines)


def start():
    """A test in the shell, imports included."""
    folder = pathlib.Path(tempfile.mkdtemp())
    detector, drawn = fitted()
    detector.save(folder / "model.hld")
    (folder / "batch.csv").write_text(as_csv(drawn(1, 100)))
    own = process("-m", "hld", "test", str(folder / "model.hld"), str(folder / "batch.csv"))
    return (
        "`hld test` of 100 rows in the shell",
        own,
        "import numpy, pandas",
        process("-c", "import numpy, pandas"),
    )


def fit():
    """A fit, beside EM on half of the rows, which is in it."""
    import pcircuit

    rows = rows_of(0, 2000, 20)
    codes = (np.argsort(np.argsort(rows[::2], axis=0), axis=0) // 125).astype(np.uint8)
    circuit = pcircuit.hclt(codes, 4)
    em = seconds(lambda: pcircuit.fit_em(circuit, codes, num_epochs=100))
    return "fit of 2,000 rows", seconds(fitted), "its 100 epochs of EM", em


def table():
    """A test of a large table, beside sorting its columns."""
    detector, drawn = fitted()
    rows = drawn(1, 1_000_000)
    ordered = seconds(lambda: np.sort(rows, axis=0))
    return "test of 1,000,000 rows", seconds(lambda: detector.test(rows)), "sorting them", ordered


def request():
    """A request to the service, without HTTP, beside reading its body with pandas."""
    import io

    import pandas

    from hld.apps.serve.limits import Limits
    from hld.apps.serve.work import Batch, judge

    detector, drawn = fitted(has_holes=True)
    model, body = SimpleNamespace(detector=detector), as_csv(drawn(1, 100)).encode()
    batch = Batch(body, "csv", 0.05)
    own = seconds(lambda: judge(model, batch, True, {}, Limits()))
    read = seconds(lambda: pandas.read_csv(io.BytesIO(body)))
    return "request with 100 rows and holes, full answer", own, "pandas.read_csv of it", read


NUMBERS = {"start": start, "fit": fit, "table": table, "request": request}

if __name__ == "__main__":
    main()
