"""Where the time of `HLDDetector.fit` goes, stage by stage, beside 100 epochs of EM, and the memory that it takes.

    HLD_DATA=... python -m benchmarks.bench_fit [--cases digits sparse ...] [--engine numpy]

One fit with the defaults for each table, in a process of its own, kernels compiled beforehand.  CPU seconds, each stage
without the stages inside it; OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1 for one thread of BLAS.  "Calibration" is
everything from the fitted circuit to the test, the sum of the last six stages; memory is the peak of the process over
what it had before the fit, in parts of the table.
"""

import argparse
import contextlib
import gzip
import importlib
import os
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np

from .measure import machine

# stage -> where its functions are looked up
STAGES = {
    "read": ["hld.detector.learning.read_table"],
    "schema": ["hld.detector.learning.learn_schema"],
    "encode": [
        "hld.tables.schemas.encoder.TableEncoder.encode_training",
        "hld.tables.schemas.encoder.TableEncoder.encode",
    ],
    "tree": ["pcircuit.chow_liu_tree"],
    "facts": ["hld.detector.learning.table_facts"],
    "EM": ["pcircuit.fit_em"],
    "reference": ["hld.references.rows.row_reference"],
    "metrics": ["hld.testing.goodness_of_fit.build_metric"],
    "laws": ["hld.laws.auto.limit_laws"],
    "joint law": ["hld.laws.auto.combined"],
    "draws": ["hld.laws.auto.settle"],
    "rest": ["hld.detector.learning.build_test"],
}
CALIBRATION = ("reference", "metrics", "laws", "joint law", "draws", "rest")


def main() -> None:
    """Print one table, a row a case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--engine", default="numba", choices=["numba", "numpy", "auto"])
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        return measure(options.only)
    print(machine() + "\n")
    heads = ["table", "rows x columns", *STAGES, "calibration / EM", "memory"]
    print(f"| {' | '.join(heads)} |\n| :--- | :--- |" + " ---: |" * (len(heads) - 2), flush=True)
    for case in options.cases:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_fit", "--only", case],
            check=True,
            env={**os.environ, "PCIRCUIT_ENGINE": options.engine},
        )
    return None


def measure(case: str) -> None:
    """Fit one table and print its row."""
    import hld
    import pcircuit

    pcircuit.warm_up()
    table = CASES[case]()
    found = dict.fromkeys(STAGES, 0.0)
    open_stages: list[list] = []
    if "numba" not in os.environ.get("PCIRCUIT_ENGINE", "numba"):
        hld.HLDDetector(num_epochs=2).fit(table[:50, :5])  # what is imported at the first call
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with timed(found, open_stages):
        hld.HLDDetector().fit(table)
    peak = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    ratio = sum(found[stage] for stage in CALIBRATION) / max(found["EM"], 1e-9)
    cells = [
        case,
        f"{table.shape[0]:,} x {table.shape[1]}",
        *(f"{seconds:.2f}" for seconds in found.values()),
        f"{ratio:.2f}",
        f"{peak / table.nbytes:.2f}",
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


@contextlib.contextmanager
def timed(found, open_stages):
    """Context in which the functions of STAGES add their seconds to `found`."""
    with contextlib.ExitStack() as patches:
        for stage, names in STAGES.items():
            for name in names:
                owner, attribute = resolve(name)
                original = getattr(owner, attribute)
                setattr(owner, attribute, stopwatch(original, stage, found, open_stages))
                patches.callback(setattr, owner, attribute, original)
                if stage == "reference":  # looked up in a table
                    references = importlib.import_module("hld.references.rows").REFERENCES
                    references["training"] = getattr(owner, attribute)
                    patches.callback(references.__setitem__, "training", original)
        yield


def stopwatch(function, stage, found, open_stages):
    """The function, which adds its CPU seconds to a stage, and subtracts them from the stage around it."""

    def call(*arguments, **keywords):
        started = time.process_time()
        open_stages.append([0.0])
        try:
            return function(*arguments, **keywords)
        finally:
            inside, taken = open_stages.pop()[0], time.process_time() - started
            found[stage] += taken - inside
            if open_stages:
                open_stages[-1][0] += taken

    return call


def resolve(name: str):
    """Owner and attribute of a dotted name."""
    owner, _, attribute = name.rpartition(".")
    try:
        return importlib.import_module(owner), attribute
    except ModuleNotFoundError:
        module, _, kind = owner.rpartition(".")
        return getattr(importlib.import_module(module), kind), attribute


def _binary(*names, rows=None, columns=None):
    """Training rows of binary sets, side by side."""
    folder = pathlib.Path(os.environ["HLD_DATA"]) / "binary"
    parts = [np.load(folder / f"{name}.npz")["train"] for name in names]
    rows = rows or min(map(len, parts))
    return np.concatenate([part[:rows] for part in parts], axis=1)[:, :columns]


def _digits(rows=3500):
    """Images of 28 x 28 pixels, as they are."""
    path = pathlib.Path(os.environ["HLD_DATA"]) / "mnist" / "train-images-idx3-ubyte.gz"
    with gzip.open(path) as file:
        return np.frombuffer(file.read(16 + rows * 784), np.uint8, offset=16).reshape(-1, 784)


def _chain(rows, columns):
    """Continuous columns, each with the one before it in its sum."""
    table = np.random.default_rng(0).normal(size=(rows, columns))
    table[:, 1:] += table[:, :-1]
    return table


def _long():
    """A million rows: whole numbers and continuous columns."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 8, size=(1_000_000, 14)).astype(float)
    table[:, 1:] = (table[:, 1:] + table[:, :-1]) // 2
    table[:, ::3] += rng.normal(size=table[:, ::3].shape)
    return table


CASES = {
    "short": lambda: _chain(2000, 20),
    "broad": lambda: _chain(2000, 200),
    "images": lambda: _digits(10_000),
    "many": lambda: _chain(100_000, 50),
    "small": lambda: _chain(1000, 50),
    "sensors": lambda: _chain(5000, 134),
    "dna": lambda: _binary("dna"),
    "three sets": lambda: _binary("audio", "netflix", "accidents", columns=293),
    "book": lambda: _binary("book"),
    "digits": _digits,
    "wide": lambda: np.random.default_rng(0).integers(0, 3, size=(60, 5000)),
    "long": _long,
}

if __name__ == "__main__":
    main()
