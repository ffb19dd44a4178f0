"""Verdicts of one library, line by line: python answering.py with_NAME TRAIN.csv < names of CSV files of batches.

Learns from the first file, then prints ALARM or NONE for each batch: a detector in an environment of its own that a
program in another one can ask (`benchmarks.bench_audit`).
"""

import importlib
import sys
import warnings

import pandas as pd


def main(name: str, train: str) -> None:
    """Answer until there are no more lines."""
    warnings.simplefilter("ignore")
    peer = importlib.import_module(name)
    model = peer.prepare(pd.read_csv(train))
    print("READY", flush=True)
    for line in sys.stdin:
        alarm = peer.detect(model, pd.read_csv(line.strip()))
        print("ALARM" if alarm else "NONE", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
