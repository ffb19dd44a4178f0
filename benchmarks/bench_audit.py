"""Which detectors keep their level, on which table: `hld.audit` of this library's and of others.

    HLD_DATA=... python -m benchmarks.bench_audit [TABLE ...]     prints the table of docs/planning.md, for adult

Each detector is fitted to 6,000 rows of a table and judges batches of 12,000 others, all drawn at random.  Frouros
(with its tests of single columns: Kolmogorov and Smirnov's for numbers, chi-square for names) is measured if it is
installed; `hld.audit` combines its p-values by Bonferroni's rule.  "No correction" alarms if any column has p <= 0.05.
"""
from __future__ import annotations

import importlib.util
import sys
import warnings

import numpy as np

import hld

from .paper import datasets

SIZES, BATCHES, LEARNED, HELD_OUT = (50, 300), 100, 6_000, 12_000


class Columns:
    """Frouros: a test of each column of a table of arrays."""

    def __init__(self, is_numeric: dict, corrected: bool) -> None:
        self.is_numeric, self.corrected = is_numeric, corrected

    def fit(self, table: dict) -> None:
        """Keep the reference."""
        from frouros.detectors.data_drift import ChiSquareTest, KSTest
        self.tests = {name: KSTest() if self.is_numeric[name] else ChiSquareTest() for name in table}
        for name, test in self.tests.items():
            test.fit(X=table[name])

    def test(self, batch: dict) -> dict:
        """All p-values, or the smallest."""
        found = [float(test.compare(X=batch[name])[0].p_value) for name, test in self.tests.items()]
        return {"p_val": np.nan_to_num(found, nan=1.0) if self.corrected else float(np.nanmin(found))}


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| table | detector | rows | false alarms | of batches | 95 % interval | keeps its level |")
    print("| --- | --- | ---: | ---: | ---: | --- | --- |")
    for name in sys.argv[1:] or ["adult"]:
        loaded, rng = datasets.load_table(name), np.random.default_rng(0)
        numeric = {f"x{v}": bool(flag) for v, flag in enumerate(loaded.is_numeric)}
        places = rng.permutation(len(loaded.values))
        train, held_out = (table_of(loaded, numeric, places[part])
                           for part in (slice(LEARNED), slice(LEARNED, LEARNED + HELD_OUT)))
        nominal = [column for column, flag in numeric.items() if not flag]
        detectors: dict = {"hld": hld.HLDDetector(num_epochs=20, categorical=nominal)}
        if importlib.util.find_spec("frouros"):
            detectors |= {"Frouros, Bonferroni": Columns(numeric, True),
                          "Frouros, no correction": Columns(numeric, False)}
        found = hld.audit(detectors, held_out, SIZES, num_batches=BATCHES, train=train)
        for row in found.rows:
            if row.situation == "unshifted":
                print(f"| {name} | {row.detector} | {row.num_rows} | {row.num_alarms} | {row.num_batches} | "
                      f"{row.low:.3f} to {row.high:.3f} | {'yes' if row.low <= found.alpha else 'no'} |", flush=True)


def table_of(loaded, numeric, places) -> dict:
    """Some rows as columns: numbers, or the names of levels."""
    values = np.asarray(loaded.values)[places]
    return {column: values[:, v] if flag else values[:, v].astype(int).astype(str)
            for v, (column, flag) in enumerate(numeric.items())}


if __name__ == "__main__":
    sys.exit(main())
