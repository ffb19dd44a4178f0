"""What a detector is said to find before deployment, and what it finds: `HLDDetector.power` beside `hld.audit`.

    HLD_DATA=... python -m benchmarks.bench_planning [--tables adult connect4 census] [--batches 60] [--splits 5]

A detector learns 6,000 rows of a table and plans the power of edits: the most frequent level of a nominal column
becomes more frequent by 5 or 10 % of the rows.  The audit then counts how many batches, drawn from 30,000 other rows so
that the level is that much more frequent, are rejected.  What is found depends on the held-out rows, which are 3,000 of
those learned: so there are several splits.  Means over six columns and all splits, and the largest difference of a
column in the mean over splits.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

import hld
from hld.planning.counts import shared_level
from hld.planning.of_tables import alternative_of_table
from hld.planning.power import power

from .bench_audit import parts
from .paper import datasets

SIZES, CHANGES, COLUMNS = (100, 300, 1000), (0.05, 0.1), 6


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="+", default=["adult", "connect4", "census"])
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--splits", type=int, default=5)
    args = parser.parse_args()
    print(
        "| table | rows | change | planned | found | planned, distance alone | largest difference of a column |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in args.tables:
        found: dict = {}
        for seed in range(args.splits):
            train, held_out, _ = parts(datasets.load_table(name), seed)
            detector = hld.HLDDetector(num_epochs=20, rng=seed).fit(train)
            for T in SIZES:
                for by in CHANGES:
                    edits = [hld.Edit(column, level, by) for column, level in most_frequent(train)]
                    found.setdefault((T, by), []).append(
                        compared(detector, held_out, edits, T, args.batches)
                    )
        for (T, by), several in found.items():
            planned, rates, alone = np.mean(several, axis=(0, 2))
            spread = np.abs(np.mean([one[0] - one[1] for one in several], axis=0)).max()
            print(
                f"| {name} | {T} | {100 * by:+.0f} % | {planned:.3f} | {rates:.3f} | {alone:.3f} | {spread:.2f} |",
                flush=True,
            )


def most_frequent(train) -> list:
    """The most frequent levels of some nominal columns, those from 5 to 85 % of the rows."""
    found = []
    for column in train:
        if train[column].dtype.kind not in "if":
            share = train[column].value_counts(normalize=True)
            found += [(column, share.index[0])] if 0.05 < share.iloc[0] < 0.85 else []
    return [found[i] for i in np.linspace(0, len(found) - 1, min(len(found), COLUMNS)).astype(int)]


def compared(detector, held_out, edits, T, batches) -> np.ndarray:
    """(3, edits) planned power, share of batches rejected, and planned power of the distance alone."""
    planned = [detector.power(edit, T) for edit in edits]
    level = shared_level(detector, T, 0.05).distance
    alone = [
        power(detector.test_, alternative_of_table(detector, edit).moments, T, level)
        for edit in edits
    ]
    rows = hld.audit(detector, held_out, [T], edits, num_batches=batches).rows
    return np.array(
        [
            planned,
            [row.rate for row in rows if row.situation not in ("random rows", "in order")],
            alone,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
