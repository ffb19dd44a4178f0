"""A program over data sets that writes the cells of each when they are done, and goes on where it stopped.

python -m PROGRAM --output FILE.json [--tables adult ...] [its own options]
python -m PROGRAM report FILE.json
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time


def run(description, study, report, tables, **defaults):
    """Run the data sets that a file does not have yet, and print the report of all that are asked for.

    `study(name, options)` gives the cells of a data set, dictionaries with its name at "table"; `report(cells)` a text.
    Options of the program are `defaults`, numbers or tuples of numbers.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("report", nargs="?", choices=["report"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--output")
    parser.add_argument("--tables", nargs="*", default=tables)
    for name, value in defaults.items():
        several = {"nargs": "*"} if isinstance(value, tuple) else {}
        parser.add_argument(f"--{name}", type=int, default=value, **several)
    options = parser.parse_args()
    path = pathlib.Path(options.file or options.output)
    cells = json.loads(path.read_text()) if path.exists() else []
    for name in () if options.report else options.tables:
        started = time.perf_counter()
        if name not in {cell["table"] for cell in cells}:
            cells += study(name, options)
            path.write_text(json.dumps(cells))
            print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    print(report([cell for cell in cells if cell["table"] in options.tables]))
