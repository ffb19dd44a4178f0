"""Which lines do the tests run?  The suite with the NumPy engine, then with compiled kernels; one table of both.

    python tests/covered.py                                the whole suite, twice: an hour and a half of one core
    python tests/covered.py --engine numpy                 only the first half
    python tests/covered.py --keep /tmp/covered            goes on where it stopped, with what that folder holds
    python tests/covered.py --quick                        in several processes: not for planted bugs
    python tests/covered.py tests/hld/answers --only hld/answers --engine numpy

The suite is run in pieces, one process at a time (`measured`).  Lines of kernels are not counted: they run as machine
code, which no tracer sees.  What they compute is compared with their NumPy twins.  Nor are lines that only other
processes run, as those that the tests of the command line start.  The exit status is 1 if a module that both packages
show to users is under 95 % in the two runs together.  Needs `pip install pytest-cov`.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile

import measured

LEAST = 95.0
ENGINES = ("numpy", "numba")


def share(statements: int, ran: int) -> float:
    """Per cent of the statements that ran."""
    return 100.0 * ran / statements if statements else 100.0


def table(found: dict[str, dict], only: str) -> list[str]:
    """Print totals and the modules under the least share by any engine; returns those under it by all."""
    paths = sorted({path for files in found.values() for path in files if path.startswith(only)})
    under = []
    print(
        "| module | "
        + " | ".join(found)
        + " | lines that no run has |\n| --- |"
        + " --- |" * (len(found) + 1)
    )
    for path in paths:
        entries = [files.get(path, (0, 0, [])) for files in found.values()]
        shares = [share(*entry[:2]) for entry in entries]
        missing = set.intersection(*(set(entry[2]) for entry in entries))
        if min(shares) < LEAST:
            cells = " | ".join(f"{value:.0f} %" for value in shares)
            print(f"| {path} | {cells} | {', '.join(map(str, sorted(missing)))} |")
        if share(entries[0][0], entries[0][0] - len(missing)) < LEAST:
            under.append(path)
    for engine, files in found.items():
        sums = [
            sum(entry[i] for path, entry in files.items() if path.startswith(only)) for i in (0, 1)
        ]
        print(f"\n{engine}: {share(*sums):.1f} % of {sums[0]} statements")
    return under


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 if a module is under the least share."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", help="tests to run; all of them by default")
    parser.add_argument("--engine", choices=[*ENGINES, "both"], default="both")
    parser.add_argument("--only", default="", help="count only files whose path begins like this")
    parser.add_argument(
        "--quick", action="store_true", help="in several processes, without the tests of each line"
    )
    parser.add_argument(
        "--keep", type=pathlib.Path, help="folder that keeps what each piece of the suite has run"
    )
    options = parser.parse_args(arguments)
    engines = ENGINES if options.engine == "both" else (options.engine,)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or pathlib.Path(temporary)).resolve()
        pieces = [options.paths] if options.paths else measured.pieces()
        under = table(
            {
                engine: measured.lines_of(
                    measured.quick(engine, folder)
                    if options.quick
                    else [measured.measure(engine, folder, piece) for piece in pieces]
                )
                for engine in engines
            },
            options.only,
        )
    print(
        f"\n{len(under)} modules under {LEAST:.0f} %" + "".join(f"\n    {path}" for path in under)
    )
    return bool(under)


if __name__ == "__main__":
    sys.exit(main())
