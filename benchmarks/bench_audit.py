"""Which detectors keep their level, on which table: `hld.audit` of this library's and of five others.

    python -m benchmarks.peers_tables install FOLDER           an environment for each library
    HLD_DATA=... python -m benchmarks.bench_audit FOLDER [--tables ...] [--libraries ...] [--batches 100]

Each detector is fitted to 6,000 rows of a table and judges disjoint batches of 50 and of 300 rows out of 30,000
others, all drawn at random, and as many in which the most frequent level of a nominal column has become more frequent
by a tenth of the rows.  A detector is its script in `benchmarks/peers_tables`, with the library's own defaults, run in
the library's environment: it answers with alarm or none, which is all that `hld.audit` needs.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd

import hld

from .paper import datasets
from .peers_tables.__main__ import PACKAGES, SETTINGS

TABLES = ("adult", "connect4", "covertype", "census")
SIZES, LEARNED, HELD_OUT, RAISED = (50, 300), 6_000, 30_000, 0.1
SCRIPTS = pathlib.Path(__file__).parent / "peers_tables"


class Remote:
    """The detector of a library in an environment of its own, as a function of a batch."""

    def __init__(
        self, folder: pathlib.Path, name: str, train: pd.DataFrame, scratch: pathlib.Path
    ) -> None:
        train.to_csv(scratch / "train.csv", index=False)
        command = [
            folder / name / "bin/python",
            "-W",
            "ignore",
            SCRIPTS / "answering.py",
            "with_" + name.replace("-", "_"),
            scratch / "train.csv",
        ]
        self.batch, self.name = scratch / "batch.csv", name
        self.errors = scratch / "errors"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **SETTINGS},
            )
        self._answer("READY")

    def __call__(self, batch: pd.DataFrame) -> bool:
        """Whether the detector raises an alarm."""
        batch.to_csv(self.batch, index=False)
        print(self.batch, file=self.process.stdin, flush=True)
        return self._answer("ALARM", "NONE") == "ALARM"

    def _answer(self, *expected: str) -> str:
        """The next line that is an answer: libraries print as well."""
        for line in self.process.stdout:
            if line.strip() in expected:
                return line.strip()
        raise RuntimeError(f"{self.name} ended: {self.errors.read_text().strip()[-300:]}")


def main(argv=None) -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--libraries", nargs="+", choices=tuple(PACKAGES), default=tuple(PACKAGES))
    parser.add_argument("--batches", type=int, default=100)
    args = parser.parse_args(argv)
    print(
        "| table | detector | rows | false alarms | 95 % interval | keeps its level | alarms, one level + 10 % |"
    )
    print("| --- | --- | ---: | ---: | --- | --- | ---: |")
    for name in args.tables:
        train, held_out, edits = parts(datasets.load_table(name))
        for library in args.libraries:
            with tempfile.TemporaryDirectory() as scratch:
                try:
                    detector = Remote(args.folder.absolute(), library, train, pathlib.Path(scratch))
                    found = hld.audit(
                        {library: detector}, held_out, SIZES, edits, num_batches=args.batches
                    )
                    show(name, found)
                except RuntimeError as error:
                    print(
                        f"| {name} | {library} | fails: {str(error).splitlines()[-1]} | | | | |",
                        flush=True,
                    )


def parts(table, seed=0) -> tuple:
    """Rows to learn from, rows held out, and the shift that is planned, if a column is nominal."""
    places = np.random.default_rng(seed).permutation(len(table.values))[: LEARNED + HELD_OUT]
    values = np.asarray(table.values)[places]
    columns = {
        f"x{v}": values[:, v]
        if numeric
        else np.char.add("level ", values[:, v].astype(int).astype(str))
        for v, numeric in enumerate(table.is_numeric)
    }
    rows = pd.DataFrame(columns)
    nominal = [name for name in rows if rows[name].dtype.kind not in "if"]
    edits = [hld.Edit(nominal[0], str(rows[nominal[0]].mode()[0]), RAISED)] if nominal else []
    return rows[:LEARNED], rows[LEARNED:].reset_index(drop=True), edits


def show(table: str, found: hld.AuditResult) -> None:
    """A line for each size of batch."""
    for size in SIZES:
        level, *power = [
            row for row in found.rows if row.num_rows == size and row.situation != "in order"
        ]
        print(
            f"| {table} | {level.detector} | {size} | {level.num_alarms} of {level.num_batches} | {level.low:.3f} to "
            f"{level.high:.3f} | {'yes' if level.low <= found.alpha else 'no'} | "
            f"{f'{power[0].num_alarms} of {power[0].num_batches}' if power else ''} |",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
