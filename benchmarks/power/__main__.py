"""Power of tests for a shifted batch, at equal size, and nominal size.

    HLD_DATA=... python -m benchmarks.power --output FILE.json [--tables adult nltcs ...] [--kinds permuted ...]
                                            [--sizes 10 50 200 1000] [--methods default columns ...]
                                            [--batches 100] [--columns 2] [--rows 4000]
    python -m benchmarks.power report FILE.json

A cell is a data set, a kind of shift, a column and a batch size.  Each cell is written to the file when it is done, and
a run with the same file continues where the last one ended, so that a grid can be run in pieces.
"""

import numpy as np

from .methods import METHODS, SLOW
from .pieces import run
from .report import report
from .shifts import SHIFTS, columns_for, fresh_batches, shifted_batches
from .tables import MOST_TRAIN, TABLES, load_source

ALPHA = 0.05


def main():
    """Run the cells that are not there yet, or report; twice as many unshifted batches as shifted ones in a cell."""
    run(
        __doc__,
        study,
        report,
        TABLES,
        kinds=tuple(SHIFTS),
        sizes=(10, 50, 200, 1000),
        methods=tuple(name for name in METHODS if name not in SLOW),
        batches=100,
        columns=2,
        rows=MOST_TRAIN,
    )


def study(name, options, done):
    """Cells of one data set that are not done."""
    done = {(cell["kind"], cell["column"], cell["T"], cell["method"]) for cell in done}
    source = load_source(name, options.rows)
    todo = {
        T: [(kind, v) for kind in options.kinds for v in columns_for(kind, source, options.columns)]
        for T in options.sizes
        if len(source.fresh) >= 2 * T
    }
    built, shared = {}, {}
    for method in options.methods:
        for T, cells in todo.items():
            left = [(kind, v) for kind, v in cells if (kind, v, T, method) not in done]
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
