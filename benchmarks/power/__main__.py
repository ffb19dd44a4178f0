"""Power of tests for a shifted batch, at equal size, and nominal size.

    HLD_DATA=... python -m benchmarks.power --output FILE.json [--tables adult nltcs ...] [--kinds permuted ...]
                                            [--sizes 10 50 200 1000] [--methods default columns ...]
                                            [--batches 100] [--columns 2] [--quick]
    python -m benchmarks.power report FILE.json

A cell is a data set, a kind of shift, a column and a batch size.  Each cell is written to the file when it is done, and
a run with the same file continues where the last one ended, so that a grid can be run in pieces.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
import warnings

import numpy as np

from .methods import METHODS, SLOW
from .report import report
from .shifts import SHIFTS, columns_for, fresh_batches, shifted_batches
from .tables import MOST_TRAIN, TABLES, load_source

ALPHA = 0.05
SIZES = (10, 50, 200, 1000)


def main():
    """Run the cells that are not there yet, or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", nargs="?", choices=["report"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--output")
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--kinds", nargs="*", default=tuple(SHIFTS))
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument(
        "--methods", nargs="*", default=[name for name in METHODS if name not in SLOW]
    )
    parser.add_argument(
        "--batches", type=int, default=100, help="shifted ones in a cell; twice as many unshifted"
    )
    parser.add_argument("--columns", type=int, default=2, help="columns of each data set and kind")
    parser.add_argument("--rows", type=int, default=MOST_TRAIN, help="training rows, at most")
    parser.add_argument("--quick", action="store_true", help="three tables, T = 50, 40 batches")
    options = parser.parse_args()
    if options.report:
        return print(report(json.loads(pathlib.Path(options.file).read_text())))
    if options.quick:
        options.tables, options.sizes, options.batches = ("nltcs", "adult", "plants"), (50,), 40
    warnings.simplefilter("ignore")
    path = pathlib.Path(options.output or "benchmarks/results/power.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = json.loads(path.read_text()) if path.exists() else []
    for name in options.tables:
        started = time.perf_counter()
        for cell in study(name, options, {key_of(cell) for cell in cells}):
            cells.append(cell)
            path.write_text(json.dumps(cells))
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    return print(report(cells))


def key_of(cell) -> tuple:
    """What tells a cell from others."""
    return cell["table"], cell["kind"], cell["column"], cell["T"], cell["method"]


def study(name, options, done):
    """Cells of one data set that are not done."""
    source = load_source(name, options.rows)
    todo = {
        T: [(kind, v) for kind in options.kinds for v in columns_for(kind, source, options.columns)]
        for T in options.sizes
        if len(source.fresh) >= 2 * T
    }
    built, shared = {}, {}
    for method in options.methods:
        for T, cells in todo.items():
            left = [(kind, v) for kind, v in cells if (name, kind, v, T, method) not in done]
            if not left:
                continue
            if method not in built:
                built[method] = METHODS[method](source, shared)
            test = built[method]
            unshifted = [test(batch) for batch in fresh_batches(source, T, 2 * options.batches, 0)]
            threshold = np.quantile(
                [statistic for statistic, _ in unshifted], 1 - ALPHA, method="higher"
            )
            size = (
                None
                if unshifted[0][1] is None
                else float(np.mean([p <= ALPHA for _, p in unshifted]))
            )
            for kind, v in left:
                found = [
                    test(batch) for batch in shifted_batches(kind, source, v, T, options.batches, 1)
                ]
                yield {
                    "table": name,
                    "kind": kind,
                    "column": v,
                    "T": T,
                    "method": method,
                    "size": size,
                    "power": float(np.mean([statistic > threshold for statistic, _ in found])),
                    "nominal": None
                    if size is None
                    else float(np.mean([p <= ALPHA for _, p in found])),
                    "batches": options.batches,
                }


if __name__ == "__main__":
    main()
