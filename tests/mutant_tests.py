"""Which tests to run for a planted bug, or after a change of a file.

    python tests/mutant_tests.py hld/serve/pool.py         the tests of a file, the nearest first

Where the suite has been measured (`measured`), first those that run the line of the bug, the quickest first, up to
`SECONDS` of them, more if asked to look widely.  Then, and for kernels, whose lines no tracer sees, a list of runs by
the name of the file: its examples, the tests with its name, those of its room.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from collections import defaultdict
from functools import cache

from mutations import Mutation

ROOT = pathlib.Path(__file__).resolve().parents[1]
SECONDS = 45.0  # of tests for one bug, as measured, if not wide
MOST_SECONDS = 300.0
KERNELS = "numba, interpreted"
NOT_NUMBA = ["-k", "not numba"]
DIGITS = "keep_their_digits or stack_of_the_kernel"
MOMENTS = (
    "numba and not blocks and not learned and not threads and not every_single and not subsets"
)


class Measured:
    """The tests of each line, and how long they take, as `measured` wrote them with the NumPy engine."""

    def __init__(self, folder: pathlib.Path | None):
        self.seconds: dict[str, float] = defaultdict(float)
        self.tests: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for file in sorted((folder / "numpy").glob("*.json")) if folder is not None else []:
            facts = json.loads(file.read_text(encoding="utf-8"))
            for test, seconds in facts.get("seconds", {}).items():
                self.seconds[test] += seconds
                if "::" in test:  # a module, which stands for its tests
                    self.seconds[test.partition("::")[0]] += seconds
            for path, lines in facts.get("tests", {}).items():
                for line, tests in lines.items():
                    self.tests[path][line] |= {test for test in tests if "numba" not in test}

    def of(self, mutation: Mutation, source: str) -> list[str]:
        """The tests that run the line of a bug, the quickest first; of a line that none runs, those of the one above.

        A module stands for tests that share what was set up for the first of them; it comes after single tests.
        """
        lines = [line.strip() for line in source[: mutation.start].splitlines()]
        last = mutation.line if mutation.line else lines[-1]
        for line in [last, *reversed(lines[:-1])]:
            if self.tests[mutation.path][line]:
                return sorted(
                    self.tests[mutation.path][line],
                    key=lambda test: ("::" not in test, self.seconds[test]),
                )
            if line.startswith("def "):
                break
        return []


def runs(
    mutation: Mutation,
    source: str,
    measured: Measured,
    root: pathlib.Path = ROOT,
    *,
    wide: bool = False,
) -> list[tuple[str, list[str]]]:
    """(environment, arguments of pytest) of the runs for one bug in the checkout at `root`, in their order."""
    is_kernel = "/compiled/" in mutation.path or mutation.path.endswith("/kernel.py")
    tests = [] if is_kernel else measured.of(mutation, source)
    if not tests:
        return plan(mutation.path, root, wide=wide)
    taken, total = [], 0.0
    for test in tests:
        total += measured.seconds[test]
        if taken and total > (MOST_SECONDS if wide else SECONDS):
            break
        taken.append(test)
    return [("numpy", [*taken, *NOT_NUMBA]), *plan(mutation.path, root, wide=wide)]


def plan(
    path: str, root: pathlib.Path = ROOT, *, wide: bool = False
) -> list[tuple[str, list[str]]]:
    """(environment, arguments of pytest) of the runs for one source file, narrow ones first; `wide` adds packages.

    In one run: the examples, the tests with the name of the file, then those of its room that name most of what it
    defines.  In another: tests of other rooms that import from it.
    """
    package, *rooms, name = pathlib.PurePath(path).with_suffix("").parts
    folder = pathlib.PurePath("tests", package, *rooms)
    while not (root / folder).is_dir():  # rooms whose tests are one file of the package's folder
        folder = folder.parent
    mirror = [f"{folder}/test_{name}.py"] if (root / folder / f"test_{name}.py").exists() else []
    inner = ["tests/pcircuit/compiled"]
    if rooms[:2] == ["moments", "compiled"]:
        return [
            (KERNELS, mirror),
            *[
                (KERNELS, [f"tests/pcircuit/moments/test_{name}.py", "-k", selected])
                for name, selected in (("moments_scale", DIGITS), ("moments", MOMENTS))
            ],
        ]
    if "compiled" in rooms or (name == "kernel" and package == "pcircuit"):
        learning = ["tests/pcircuit/learning/test_em.py", "-k", "compiled or zero"]
        found = [
            ("numpy" if name == "jit" else KERNELS, [test]) for test in mirror
        ]  # the former is about compiling
        return found if found and not wide else [*found, (KERNELS, inner), (KERNELS, learning)]
    if name == "kernel":
        return [(KERNELS, mirror), (KERNELS, [str(folder)])]
    if name == "__init__":
        return [("numpy", ["tests/test_layers.py"])]
    if rooms[:1] == ["command"]:  # commands are tested together
        folder = pathlib.PurePath("tests", package, "command")
    others = [file for file in nearest(path, folder, root) if file not in mirror]
    elsewhere = importers(path, package, folder, root)
    found = [
        ("numpy", [path, *mirror, *others, *NOT_NUMBA]),
        *[("numpy", [*elsewhere, *NOT_NUMBA])] * bool(elsewhere),
    ]
    if wide:
        found += (
            [(KERNELS, inner)] if package == "pcircuit" and rooms in (["inference"], []) else []
        )
        found.append(("numpy", [f"tests/{package}", *NOT_NUMBA]))
    return found


def importers(path: str, package: str, folder: pathlib.PurePath, root: pathlib.Path) -> list[str]:
    """The files of tests outside of a folder that import from a source file."""
    statement = f"from {path.removesuffix('.py').replace('/', '.')} import"
    return [
        str(file)
        for file, text in _texts(root, package)
        if statement in text and folder not in file.parents
    ]


@cache
def _texts(root: pathlib.Path, package: str) -> list[tuple[pathlib.Path, str]]:
    """The files of tests of a package, from the root, with what they say."""
    return [
        (file.relative_to(root), file.read_text(encoding="utf-8"))
        for file in sorted((root / "tests" / package).glob("**/test_*.py"))
    ]


def nearest(path: str, folder: pathlib.PurePath, root: pathlib.Path) -> list[str]:
    """The files of a folder of tests, those first that name most of what a source file defines."""
    names = set(
        re.findall(r"^(?:def|class) (\w+)", (root / path).read_text(encoding="utf-8"), re.MULTILINE)
    )
    names.add(pathlib.PurePath(path).stem)
    pattern = "test_*.py" if folder.parts[2:] == () else "**/test_*.py"
    count = {}
    for file in sorted((root / folder).glob(pattern)):
        words = re.findall(r"\w+", file.read_text(encoding="utf-8"))
        count[file.relative_to(root).as_posix()] = -len(names & set(words))
    return sorted(count, key=count.__getitem__)


def main() -> None:
    """Print the files of the tests of each source file that is named."""
    for path in sys.argv[1:]:
        for _, arguments in plan(pathlib.Path(path).resolve().relative_to(ROOT).as_posix()):
            print(
                "\n".join(
                    one for one in arguments if one.endswith(".py") or one.startswith("tests/")
                )
            )


if __name__ == "__main__":
    main()
