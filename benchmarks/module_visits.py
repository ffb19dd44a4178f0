"""From a table to a verdict: which files `fit` and `test` visit, and how often.

A visit of a file begins where a function of it is called from another file of the two packages; calls within a file
make no visit.  A file that is visited once for each epoch of EM, each column of the table or each region of the circuit
is where the work is; one that is visited often for the same thing would be a detour.

    python -m benchmarks.module_visits            a table in Markdown, room by room in the order of the first visits
    python -m benchmarks.module_visits --files    the same, file by file
"""

import argparse
import collections
import pathlib
import sys
import threading

import numpy as np

import hld

from .measure import markdown, show

ROOT = pathlib.Path(hld.__file__).resolve().parents[1]
ROWS, EPOCHS = 400, 10
PACKAGES = tuple(str(ROOT / name) + "/" for name in ("hld", "pcircuit"))


class Trace:
    """Visits and calls by file, in order of the first visit; a context manager around what is traced."""

    def __init__(self):
        self.visits = collections.Counter()  # by file
        self.calls = collections.Counter()  # by file and name of the function

    def __enter__(self):
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)

    def _seen(self, frame, event, _):
        """Called by the interpreter at each call of a function."""
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(PACKAGES) or frame.f_code.co_name.startswith("<"):
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGES):
            caller = caller.f_back
        name = pathlib.Path(name).relative_to(ROOT).as_posix()
        self.calls[name, frame.f_code.co_name] += 1
        self.visits[name] += caller is None or caller.f_code.co_filename != frame.f_code.co_filename


def mixed_table(num_rows, rng):
    """Three whole-numbered, two continuous columns that depend on one hidden cause."""
    cause = rng.integers(0, 3, size=num_rows)
    return np.column_stack(
        [
            *(cause + rng.integers(0, 2, size=num_rows) for _ in range(3)),
            *(cause + rng.normal(size=num_rows) for _ in range(2)),
        ]
    )


def room(name):
    """The folder of a file, or the file where it stands beside the folders of hld."""
    folder = name.rpartition("/")[0]
    return name if folder == "hld" else f"{folder}/"


def main(arguments=None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.module_visits", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--files", action="store_true")
    asked = parser.parse_args(arguments)
    rng = np.random.default_rng(0)
    table, batch = mixed_table(ROWS, rng), mixed_table(50, rng)
    hld.HLDDetector(num_epochs=1).fit(table).test(
        batch
    )  # so that nothing is imported or compiled in between
    with Trace() as fit:
        detector = hld.HLDDetector(num_epochs=EPOCHS).fit(table)
    with Trace() as test:
        detector.test(batch)
    print(
        f"{ROWS} rows of {table.shape[1]} columns, {EPOCHS} epochs, a batch of {len(batch)} rows\n"
    )
    heads = ["files", "visits of `fit`", "files", "visits of `test`"]
    print(markdown(["file" if asked.files else "room", *heads]), end="")
    groups = {}
    for name in dict.fromkeys([*fit.visits, *test.visits]):
        groups.setdefault(name if asked.files else room(name), []).append(name)
    groups["together"] = list({**fit.visits, **test.visits})
    for group, names in groups.items():
        counts = [
            (sum(name in trace.visits for name in names), sum(trace.visits[name] for name in names))
            for trace in (fit, test)
        ]
        show(group, *(count for pair in counts for count in pair))
    return 0


if __name__ == "__main__":
    sys.exit(main())
