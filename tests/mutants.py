"""Do the tests notice bugs?  Plants some hundreds, one at a time, and runs the tests that should fail.

    python tests/mutants.py --work /tmp/mutants --seed 7            200 bugs; goes on where it stopped
    python tests/mutants.py --work /tmp/mutants --minutes 30        stops after the bug in hand by then
    python tests/mutants.py --work /tmp/mutants --again --wide      tries survivors against all tests of the package
    python tests/mutants.py --work /tmp/mutants --report            only the table and the survivors

The bugs are those of `PLANTED` below, chosen by hand because they once went unnoticed, and a random choice, by the
seed, of the mutations of `mutations`, a few per module.  Everything happens in a copy of the checkout inside the work
folder.  A bug is *caught* when a test fails, an import fails or the time is up, and the same test passes without the
bug.  Tests run in the order of `plan`: those of the folder with the name of the bug's room, the nearest first, then
those that import from its file elsewhere; they stop at the first failure.  Each run is a fork of one process that has
imported what all of them need.  Kernels run as plain Python (NUMBA_DISABLE_JIT), since Numba's cache does not see that
a function which another one calls has changed; all else runs on the NumPy engine.

Bugs that no test can notice, because results stay the same, are listed with the reason in `mutants_equivalent.json`.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import itertools
import json
import math
import os
import pathlib
import py_compile
import random
import re
import resource
import shutil
import signal
import sys
import time
from collections import defaultdict
from functools import cache

from mutations import Mutation, mutations

ROOT = pathlib.Path(__file__).resolve().parents[1]
EQUIVALENT = pathlib.Path(__file__).with_name("mutants_equivalent.json")
KERNELS = "numba, interpreted"
NOT_NUMBA = ["-k", "not numba"]
LINES_PER_MUTANT, MOST_PER_MODULE = 220, 3
QUICK_SECONDS, CPU_SECONDS = 40, 240  # of one run of tests, if it is not wide and if it is
CONFIRM = 20  # bugs after which the tests that noticed them are run without
PATIENCE = 8  # seconds on the wall for one of the processor, before a run counts as stuck
MEMORY = 12 << 30  # bytes of addresses
BROWSER = (
    "tests/hld/serve/test_page.py",
    "tests/hld/answers/reports/test_page.py::test_a_browser_lays_pages_out",
    "tests/hld/answers/reports/test_page.py::test_pages_are_printed_on_white_and_nothing_is_cut",
    "tests/hld/answers/reports/test_page.py::test_the_browser_finds_what_is_too_wide_and_too_pale",
    "tests/pcircuit/pictures/test_circuits.py::test_a_page_zooms_and_folds_as_python_arranges",
)
# ... which are left out: a browser reserves more addresses than that
ENVIRONMENTS = {
    "numpy": {"PCIRCUIT_ENGINE": "numpy"},
    KERNELS: {"NUMBA_DISABLE_JIT": "1", "PCIRCUIT_ENGINE": "numba"},
}

# text that occurs once in the packages, and what it becomes: found by hand, not by chance
PLANTED = [
    ("e = r if per_region else 0", "e = 0"),
    ("        if packed.check_sums[r]:\n", "        if False:\n"),
    ("x if x != 0.0 or risky else np.inf", "x if x != 0.0 else np.inf"),
    ("0.0 + math.log1p(-tail.value)", "0.0 + math.log(1.0 - tail.value)"),
    ("<= 1e-5 and", "<= 1e-1 and"),
    ("_STEP = math.pi / 3.0, 2.0, 0.07", "_STEP = math.pi / 3.0, 2.0, 0.2"),
    ("NORMALIZED_TOLERANCE = 1e-9", "NORMALIZED_TOLERANCE = 1e-3"),
    ("RANGE = 1000", "RANGE = 1100"),
    ("HIGHEST = 960.0", "HIGHEST = 1100.0"),
    ("MAX_SHIFT = 900", "MAX_SHIFT = 1100"),
    ("SPARE = 4.0", "SPARE = 0.0"),
    ("TIE = 1e-9", "TIE = 1e-3"),
    ("QUANTILE_TOLERANCE = 1e-3", "QUANTILE_TOLERANCE = 0.1"),
]


def chosen(seed: int, root: pathlib.Path = ROOT, count: int = 200) -> list[Mutation]:
    """Bugs to plant in the checkout at `root`, in random order: those by hand, and a few for each file."""
    found, by_hand = [], []
    for file in sorted([*(root / "pcircuit").rglob("*.py"), *(root / "hld").rglob("*.py")]):
        source, path = file.read_text(encoding="utf-8"), file.relative_to(root).as_posix()
        by_hand += [planted(path, source, *pair) for pair in PLANTED if source.count(pair[0]) == 1]
        rng = random.Random(f"{seed} {path}")
        possible = mutations(path, source)
        most = min(MOST_PER_MODULE, -(-source.count("\n") // LINES_PER_MUTANT))
        shuffled = (m for m in rng.sample(possible, len(possible)) if m.is_syntax(source))
        found += itertools.islice(shuffled, most)
    random.Random(seed).shuffle(found)  # spread over both packages, wherever the choice ends
    return [*by_hand, *found[: count - len(by_hand)]]


def planted(path: str, source: str, old: str, new: str) -> Mutation:
    """A bug of `PLANTED` in the file that has its text."""
    start = source.index(old)
    return Mutation(path, "by hand", old.strip(), f"-> {new.strip()}", start, start + len(old), new)


def plan(
    path: str, root: pathlib.Path = ROOT, *, wide: bool = False
) -> list[tuple[str, list[str]]]:
    """(environment, arguments of pytest) of the runs for a bug in a file; `wide` adds all tests of the package."""
    package, *rooms, name = pathlib.PurePath(path).with_suffix("").parts
    above = (
        rooms[:-1] if rooms[1:] and rooms[-1] == "compiled" else rooms
    )  # whose tests run kernels
    folder = pathlib.PurePath("tests", package, *above)
    while not list((root / folder).glob("**/test_*.py")):  # rooms that are tested in the one above
        folder = folder.parent
    near, elsewhere = nearest(path, folder, root), importers(path, package, folder, root)
    whole = [f"tests/{package}"] * wide
    if "kernels" in rooms or name == "kernel":
        return [(KERNELS, files) for files in (near[:2], near[2:], elsewhere, whole) if files]
    return [("numpy", [*files, *NOT_NUMBA]) for files in ([path, *near], elsewhere, whole) if files]


def nearest(path: str, folder: pathlib.PurePath, root: pathlib.Path) -> list[str]:
    """The files of a folder of tests: that with the name of a source file, then those that name most of it."""
    source = (root / path).read_text(encoding="utf-8")
    stem = pathlib.PurePath(path).stem
    names = {stem, *re.findall(r"^(?:def|class) (\w+)", source, re.MULTILINE)}
    rank = {}
    for file in sorted((root / folder).glob("**/test_*.py")):
        words = set(re.findall(r"\w+", file.read_text(encoding="utf-8")))
        rank[file.relative_to(root).as_posix()] = file.stem != f"test_{stem}", -len(names & words)
    return sorted(rank, key=rank.__getitem__)


def importers(path: str, package: str, folder: pathlib.PurePath, root: pathlib.Path) -> list[str]:
    """The files of tests outside of a folder that import from a source file."""
    statement = f"from {path.removesuffix('.py').replace('/', '.')} import"
    texts = _texts(root, package)
    return [str(file) for file in texts if statement in texts[file] and folder not in file.parents]


@cache
def _texts(root: pathlib.Path, package: str) -> dict[pathlib.Path, str]:
    """The files of tests of a package, from the root, with what they say."""
    files = sorted((root / "tests" / package).glob("**/test_*.py"))
    return {file.relative_to(root): file.read_text(encoding="utf-8") for file in files}


def run(
    copy: pathlib.Path, environment: str, arguments: list[str], log: pathlib.Path, seconds: int
) -> str:
    """Run tests in a child of this process: "passed", "failed" or "time is up"."""
    pid = os.fork()
    if pid == 0:
        _run_tests(copy, environment, arguments, log, seconds)
    end = time.monotonic() + PATIENCE * seconds
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > end:  # waits for something that does not come
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.02)
    status = ended[1]
    if os.WIFSIGNALED(status):
        return "time is up" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "failed"
    return {0: "passed", 5: "passed"}.get(os.WEXITSTATUS(status), "failed")  # 5: no tests


def _run_tests(copy, environment, arguments, log, seconds):
    """What the child does; it never returns."""
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(copy)
        os.environ.update(ENVIRONMENTS[environment], PYTHONPATH=str(copy))
        sys.path[:] = [
            entry for entry in sys.path if entry not in ("", str(ROOT), str(ROOT / "tests"))
        ]
        import numba

        numba.config.DISABLE_JIT = environment == KERNELS
        import pytest

        code = pytest.main(
            [
                "-x",
                "-q",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:randomly",
                "-p",
                "no:xdist",
                "-p",
                "no:pytest_cov",
                "-W",
                "ignore::RuntimeWarning",
                "-W",
                "ignore::pytest.PytestAssertRewriteWarning",
                *arguments,
            ]
        )
        os._exit(int(code))
    except BaseException as error:
        print(repr(error))
        os._exit(99)


class Work:
    """The work folder: a copy of the checkout, and what has been found so far."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.copy = folder, folder / "copy"
        self.results, self.log = folder / "results.jsonl", folder / "last.log"
        folder.mkdir(parents=True, exist_ok=True)
        self.known = {}  # outcomes
        self.broken, self.sound = (
            set(BROWSER),
            set(),
        )  # tests that fail without a bug; those that were seen to pass
        if self.results.exists():
            for line in self.results.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self.known[entry["key"]] = entry

    def renew(self):
        """Copy the checkout as it is now."""
        shutil.rmtree(self.copy, ignore_errors=True)
        usual = shutil.ignore_patterns(".git", "__pycache__", ".pytest_cache", "*.egg-info")
        shutil.copytree(
            ROOT,
            self.copy,
            ignore=lambda folder, names: (
                {"results", "figures"}
                if folder == str(ROOT / "benchmarks")
                else usual(folder, names)
            ),
        )
        for package in (
            "pcircuit",
            "hld",
        ):  # by their text: what was compiled with a bug is not used without it
            compileall.compile_dir(
                self.copy / package,
                quiet=1,
                invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH,
            )

    def deselected(self):
        """Options that leave out the tests that fail anyway."""
        return [f"--deselect={test}" for test in sorted(self.broken)]

    def note(self, **entry):
        """Keep one result."""
        self.known[entry["key"]] = entry
        with open(self.results, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def judge(work: Work, mutation: Mutation, *, wide: bool = False) -> dict:
    """Plant one bug, run the tests, take it out again; whether what fails is sound is looked at later (`confirm`)."""
    target = work.copy / mutation.path
    source = target.read_text(encoding="utf-8")
    started, by, where = time.perf_counter(), "", ""
    seconds = CPU_SECONDS if wide else QUICK_SECONDS
    for environment, arguments in plan(mutation.path, work.copy, wide=wide):
        arguments = [*arguments, *work.deselected()]
        try:
            target.write_text(mutation.apply(source), encoding="utf-8")
            result = run(work.copy, environment, arguments, work.log, seconds)
        finally:
            target.write_text(source, encoding="utf-8")
        if result == "failed":
            by, where = (*failures(work.log), "nothing can be imported")[0], environment
            if (
                not failures(work.log)
                and run(work.copy, environment, [*arguments, "--collect-only"], work.log, seconds)
                != "passed"
            ):
                raise RuntimeError(f"no tests run, with a bug or without: see {work.log}")
        elif (
            result == "time is up"
            and wide
            and run(work.copy, environment, arguments, work.log, seconds) == "passed"
        ):
            by = result
        if by:
            break
    return {
        "key": mutation.key,
        "outcome": "caught" if by else "survived",
        "by": by[:200],
        "where": where,
        "seconds": round(time.perf_counter() - started, 1),
    }


def confirm(work: Work, entries: list[dict]) -> list[dict]:
    """Run once, without any bug, the tests that noticed bugs; returns the entries whose test fails anyway."""
    doubtful = []
    for environment in ENVIRONMENTS:
        mine = [entry for entry in entries if entry["where"] == environment]
        tests = sorted(
            {entry["by"] for entry in mine if "tests" in entry["by"] or "::" in entry["by"]}
            - work.sound
        )
        if (
            tests
            and run(work.copy, environment, [*tests, "--maxfail=1000"], work.log, CPU_SECONDS)
            != "passed"
        ):
            work.broken |= set(failures(work.log))
            print(f"left out, since they fail without a bug: {sorted(work.broken)}", flush=True)
        work.sound |= set(tests) - work.broken
        doubtful += [entry for entry in mine if entry["by"] in work.broken]
    return doubtful


def failures(log: pathlib.Path) -> list[str]:
    """The tests that failed in a run, by its last lines."""
    lines = log.read_text(errors="replace").splitlines()
    return [
        line.partition(" ")[2].partition(" - ")[0]
        for line in lines
        if line.startswith(("FAILED ", "ERROR "))
    ]


def report(work: Work, bugs: list[Mutation]) -> None:
    """Print caught and survived per room, and the survivors."""
    reasons = json.loads(EQUIVALENT.read_text(encoding="utf-8")) if EQUIVALENT.exists() else {}
    rooms, survivors = defaultdict(lambda: [0, 0, 0]), []
    for bug in bugs:
        entry = work.known.get(bug.key)
        if entry is None:
            continue
        survived = entry["outcome"] == "survived"
        kind = 0 if not survived else 1 if bug.key in reasons else 2
        rooms[str(pathlib.PurePath(bug.path).parent)][kind] += 1
        if survived:
            survivors.append(
                bug.key
                + ("   [equivalent: " + reasons[bug.key] + "]" if bug.key in reasons else "")
            )
    print("| room | caught | equivalent | survived |\n| --- | --- | --- | --- |")
    for room, counts in sorted(rooms.items()):
        print(f"| {room} | " + " | ".join(map(str, counts)) + " |")
    caught, equal, survived = (sum(counts[i] for counts in rooms.values()) for i in range(3))
    total = caught + survived
    print(f"| all | {caught} | {equal} | {survived} |\n")
    print(
        f"{caught} of {total} bugs that change a result are caught: {100 * caught / max(total, 1):.1f} %\n"
    )
    print("\n".join(survivors))


def main():
    """Plant bugs until all have been judged."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--work", type=pathlib.Path, required=True, help="folder for the copy and the results"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200, help="how many bugs")
    parser.add_argument("--only", default="", help="only files whose path holds this")
    parser.add_argument("--again", action="store_true", help="try the survivors once more, first")
    parser.add_argument(
        "--wide", action="store_true", help="run all tests of the package in the end"
    )
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="begin no further bug after so long"
    )
    parser.add_argument("--report", action="store_true", help="print what has been found and stop")
    options = parser.parse_args()
    work = Work(options.work)
    if options.report:
        bugs = chosen(options.seed, count=options.count)
        report(work, [bug for bug in bugs if options.only in bug.path])
        return
    judge_all(work, options)


def judge_all(work: Work, options) -> None:
    """Plant what has not been judged yet in a new copy of the checkout."""
    import numba  # noqa: F401  what every run needs is imported once, before forking
    import numpy  # noqa: F401
    import pandas  # noqa: F401
    import pytest  # noqa: F401
    import scipy.sparse.linalg
    import scipy.stats  # noqa: F401

    with contextlib.suppress(ImportError):
        import hypothesis  # noqa: F401
        import matplotlib.pyplot  # noqa: F401
        import polars  # noqa: F401
        import pyarrow.csv  # noqa: F401
    work.renew()
    bugs = [
        bug for bug in chosen(options.seed, work.copy, options.count) if options.only in bug.path
    ]
    end = time.monotonic() + 60 * options.minutes
    outcomes = {"caught", *(() if options.again else ("survived",))}
    reasons = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    left = [
        bug
        for bug in bugs
        if work.known.get(bug.key, {}).get("outcome") not in outcomes
        and not (bug.key in work.known and bug.key in reasons)
    ]
    left.sort(key=lambda bug: bug.key not in work.known)  # survivors first
    while left and time.monotonic() < end:
        batch, left = left[:CONFIRM], left[CONFIRM:]
        judge_batch(work, batch, end, wide=options.wide)
    report(work, bugs)


def judge_batch(work: Work, bugs: list[Mutation], end: float, *, wide: bool) -> None:
    """Plant some bugs; those that a test noticed which fails anyway once more, without it."""
    while bugs:
        entries = []
        for bug in bugs:
            if time.monotonic() > end:
                break
            entries.append(judge(work, bug, wide=wide))
            entry = entries[-1]
            print(
                f"{entry['outcome']:8} {entry['seconds']:6.1f} s  {bug.key}  {entry['by']}",
                flush=True,
            )
        again = {entry["key"] for entry in confirm(work, entries)}
        for entry in entries:
            if entry["key"] not in again:
                work.note(**entry)
        bugs = [bug for bug in bugs if bug.key in again]


if __name__ == "__main__":
    main()
