"""Which lines do the tests run?  The suite with the NumPy engine, then with compiled kernels; one table of both.

    python -m tests.covered                            the whole suite, twice: half an hour on two cores
    python -m tests.covered --engine numpy             only the first half
    python -m tests.covered tests/hld/answers --only hld/answers --engine numpy

Lines of kernels are not counted: they run as machine code, which no tracer sees.  What they compute is compared with
their NumPy twins.  The exit status is 1 if a module that both packages show to users is under 95 % in the better of the
two.  Needs `pip install pytest-cov`.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEAST = 95.0
KERNELS = ("pcircuit/compiled/*", "pcircuit/moments/compiled/*", "hld/monitoring/kernel.py")
ENGINES = ("numpy", "numba")


def measured(engine: str, paths: list[str]) -> dict[str, tuple[int, int, list[int]]]:
    """Statements, statements that ran, and the lines that did not, of each file, from one run of tests."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config, report = folder / "coveragerc", folder / "coverage.json"
        config.write_text("[run]\nomit =\n" + "".join(f"    {kernel}\n" for kernel in KERNELS)
                          + "[report]\nexclude_also =\n    if TYPE_CHECKING:\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "--cov=pcircuit", "--cov=hld", f"--cov-config={config}",
                   f"--cov-report=json:{report}", "--durations=0", "--durations-min=60", *paths]
        run = subprocess.run(command, cwd=ROOT, check=False, env={
            **os.environ, "PCIRCUIT_ENGINE": engine, "COVERAGE_FILE": str(folder / "data"),
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])})
        if not report.exists():
            raise SystemExit(f"pytest ended with status {run.returncode} and without a report: "
                             "is pytest-cov installed?")
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
    return {pathlib.PurePath(path).as_posix(): (entry["summary"]["num_statements"], entry["summary"]["covered_lines"],
                                                entry["missing_lines"]) for path, entry in files.items()}


def share(statements: int, ran: int) -> float:
    """Per cent of the statements that ran."""
    return 100.0 * ran / statements if statements else 100.0


def table(found: dict[str, dict], only: str) -> list[str]:
    """Print totals and the modules under the least share by any engine; returns those under it by all."""
    paths = sorted({path for files in found.values() for path in files if path.startswith(only)})
    under = []
    print("| module | " + " | ".join(found) + " | lines that no run has |\n| --- |" + " --- |" * (len(found) + 1))
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
        sums = [sum(entry[i] for path, entry in files.items() if path.startswith(only)) for i in (0, 1)]
        print(f"\n{engine}: {share(*sums):.1f} % of {sums[0]} statements")
    return under


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 if a module is under the least share."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", help="tests to run; all of them by default")
    parser.add_argument("--engine", choices=[*ENGINES, "both"], default="both")
    parser.add_argument("--only", default="", help="count only files whose path begins like this")
    options = parser.parse_args(arguments)
    engines = ENGINES if options.engine == "both" else (options.engine,)
    under = table({engine: measured(engine, options.paths) for engine in engines}, options.only)
    print(f"\n{len(under)} modules under {LEAST:.0f} %" + "".join(f"\n    {path}" for path in under))
    return bool(under)


if __name__ == "__main__":
    sys.exit(main())
