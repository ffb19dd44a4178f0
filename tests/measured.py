"""Which lines does each test run?  The suite in pieces, one a folder of tests, each traced by coverage.

`covered` makes a table of the lines, and `mutants` chooses the tests that can see a bug.  What has been measured is
kept in a folder, and a piece that is there is not run again:

    numpy/tests.hld.answers.data       for coverage: lines and, as contexts, the tests that ran them
    numpy/tests.hld.answers.log        what pytest printed
    numpy/tests.hld.answers.json       seconds of each test, and the tests of each line by its text
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parents[1]
KERNELS = (
    "pcircuit/compiled/*",
    "pcircuit/inference/compiled/*",
    "pcircuit/moments/compiled/*",
    "pcircuit/learning/compiled/*",
    "hld/monitoring/kernel.py",
    "hld/streams/kernel.py",
)
DURATION = re.compile(r"^\s*([\d.]+)s (?:call|setup|teardown)\s+(\S.*)$")


def pieces() -> list[list[str]]:
    """Paths for pytest whose runs are the whole suite: the tests and examples of each room, then all others."""
    found = []
    for package in ("pcircuit", "hld"):
        folder = ROOT / "tests" / package
        rooms = sorted(
            room.name for room in folder.iterdir() if room.is_dir() and any(room.rglob("test_*.py"))
        )
        others = sorted(
            room.name for room in (ROOT / package).iterdir() if (room / "__init__.py").exists()
        )
        found += [
            [f"tests/{package}/{room}", *([f"{package}/{room}"] if room in others else [])]
            for room in rooms
        ]
        found.append(
            [
                *_files(folder, "test_*.py"),
                *_files(ROOT / package, "*.py"),
                *(f"{package}/{room}" for room in others if room not in rooms),
            ]
        )
    return [*found, _files(ROOT / "tests", "test_*.py")]


def _files(folder, pattern):
    """Files of a folder by their paths from the root."""
    return sorted(file.relative_to(ROOT).as_posix() for file in folder.glob(pattern))


def quick(engine: str, folder: pathlib.Path) -> list[pathlib.Path]:
    """Run `pytest` and `pytest -m thorough` with an engine, unless that was done; returns the files with their lines.

    Which test runs a line remains unknown; but this takes several processes, and from Python 3.12 on not much longer
    than the tests themselves (sys.monitoring).
    """
    folder = folder / f"{engine}-quick"
    folder.mkdir(parents=True, exist_ok=True)
    return [_run(engine, folder, "all", []), _run(engine, folder, "thorough", ["-m", "thorough"])]


def _run(engine: str, folder: pathlib.Path, name: str, selection: list[str]) -> pathlib.Path:
    """One of the two."""
    data, processes = folder / f"{name}.data", str(min(os.cpu_count() or 1, 4))
    if data.exists():
        return data
    # the number of processes is given here, as pytest-cov looks for it on the command line
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        processes,
        "--dist",
        "worksteal",
        "-p",
        "no:cacheprovider",
        "--cov=pcircuit",
        "--cov=hld",
        f"--cov-config={config(folder)}",
        "--cov-report=",
        *selection,
    ]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with open(folder / f"{name}.log", "w+", encoding="utf-8") as log:
        subprocess.run(
            command,
            cwd=ROOT,
            check=False,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                **threads,
                "PCIRCUIT_ENGINE": engine,
                "COVERAGE_FILE": str(data),
                **({"COVERAGE_CORE": "sysmon"} if sys.version_info >= (3, 12) else {}),
                "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            },
        )
        log.seek(0)
        print(f"{engine}, {name}: {log.read().splitlines()[-1].strip('= ')}", flush=True)
    return data


def measure(engine: str, folder: pathlib.Path, paths: list[str]) -> pathlib.Path:
    """Run one piece with an engine, unless it has been run; returns the file with its lines."""
    name = ".".join(pathlib.PurePath(paths[0]).with_suffix("").parts)
    folder = folder / engine
    folder.mkdir(parents=True, exist_ok=True)
    data, facts = folder / f"{name}.data", folder / f"{name}.json"
    if facts.exists():
        return data
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "--cov=pcircuit",
        "--cov=hld",
        f"--cov-config={config(folder)}",
        "--cov-report=",
        "--cov-context=test",
        "--durations=0",
        "-vv",
        *paths,
    ]
    with open(folder / f"{name}.log", "w+", encoding="utf-8") as log:
        subprocess.run(
            command,
            cwd=ROOT,
            check=False,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "PCIRCUIT_ENGINE": engine,
                "COVERAGE_FILE": str(data),
                "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            },
        )
        log.seek(0)
        lines = log.read().splitlines()
    if not data.exists():
        raise SystemExit(
            f"no lines were measured, see {folder / name}.log: is pytest-cov installed?"
        )
    print(f"{engine}: {' '.join(paths)[:70]}: {lines[-1].strip('= ')}", flush=True)
    seconds = defaultdict(float)
    for match in filter(None, map(DURATION.match, lines)):
        seconds[match[2]] += float(match[1])
    facts.write_text(
        json.dumps({"seconds": seconds, "tests": tests_by_line(data)}), encoding="utf-8"
    )
    return data


def config(folder: pathlib.Path) -> pathlib.Path:
    """Write what coverage is to leave out."""
    path = folder / "coveragerc"
    path.write_text(
        "[run]\nrelative_files = true\nomit =\n"
        + "".join(f"    {kernel}\n" for kernel in KERNELS)
        + "[report]\nexclude_also =\n    if TYPE_CHECKING:\n",
        encoding="utf-8",
    )
    return path


def tests_by_line(data_file: pathlib.Path) -> dict[str, dict[str, list[str]]]:
    """The tests that ran each line: {file: {text of the line: tests}}; a module stands for what sets up its tests."""
    import coverage

    data = coverage.CoverageData(str(data_file))
    data.read()
    found = {}
    for path in sorted(data.measured_files()):
        text, tests = (ROOT / path).read_text(encoding="utf-8").splitlines(), defaultdict(set)
        for number, contexts in data.contexts_by_lineno(path).items():
            for test, _, phase in (context.rpartition("|") for context in contexts if context):
                tests[text[number - 1].strip()].add(
                    test if phase == "run" else test.partition("::")[0]
                )
        found[str(pathlib.PurePath(path).as_posix())] = {
            line: sorted(names) for line, names in tests.items()
        }
    return found


def lines_of(data_files: list[pathlib.Path]) -> dict[str, tuple[int, int, list[int]]]:
    """Statements, statements that ran, and the lines that did not, of each file, in several runs together."""
    import coverage

    folder = data_files[0].parent
    measured, report = (
        coverage.Coverage(str(folder / "all"), config_file=str(config(folder))),
        folder / "all.json",
    )
    with _inside(ROOT):
        measured.combine([str(file) for file in data_files], keep=True)
        measured.json_report(outfile=str(report))
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    return {
        pathlib.PurePath(path).as_posix(): (
            entry["summary"]["num_statements"],
            entry["summary"]["covered_lines"],
            entry["missing_lines"],
        )
        for path, entry in files.items()
    }


class _inside:
    """A block that runs in a folder."""

    def __init__(self, folder):
        self.folder, self.before = folder, pathlib.Path.cwd()

    def __enter__(self):
        os.chdir(self.folder)

    def __exit__(self, *_):
        os.chdir(self.before)
