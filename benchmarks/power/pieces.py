"""A program over data sets that writes each cell when it is done, and goes on where it stopped.

python -m PROGRAM --output FILE.json [--tables adult ...] [its own options]
python -m PROGRAM report FILE.json
"""

import argparse
import json
import pathlib
import time
import warnings


def run(description, study, report, tables, **defaults):
    """Run what a file does not have yet, and print the report of all data sets that are asked for.

    `study(name, options, done)` gives the further cells of a data set, dictionaries with its name at "table", after
    those that are `done`; `report(cells)` is a text.  Options of the program are `defaults`: values, or tuples of them.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("report", nargs="?", choices=["report"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--output")
    for name, value in {"tables": tuple(tables), **defaults}.items():
        several = isinstance(value, tuple)
        kind = type(value[0] if several else value)
        parser.add_argument(
            f"--{name}", type=kind, default=value, **({"nargs": "*"} if several else {})
        )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    path = pathlib.Path(options.file or options.output)
    cells = json.loads(path.read_text()) if path.exists() else []
    for name in () if options.report else options.tables:
        started = time.perf_counter()
        for cell in study(name, options, [one for one in cells if one["table"] == name]):
            cells.append(cell)
            path.write_text(json.dumps(cells))
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    print(report([cell for cell in cells if cell["table"] in options.tables]))
