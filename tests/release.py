"""One command that builds what a release consists of, and checks it as a stranger would.

    python -m tests.release                   build and check; the files are left in dist/
    python -m tests.release --whole           run all quick tests of the source distribution, not a selection
    python -m tests.release --out FOLDER      leave the files there

1. Builds the source distribution, and from it (not from this tree) the wheel.
2. Looks into both: the packages whole, the tests and documents in the one, nothing but the packages in the other, and
   version, dependencies and description as declared.
3. Installs the source distribution into a fresh virtual environment and runs tests there, against what is installed.
4. Installs the wheel alone into another one and fits, tests, saves and loads a detector, in Python and in the shell.

Needs a network or a full pip cache, for the dependencies.  Exit status 0 if all went well; nothing is uploaded.
"""

from __future__ import annotations

import argparse
import email
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = ("hld", "pcircuit")
NEVER = re.compile(r"__pycache__|\.(pyc|nbi|nbc)$")
BY_THE_BUILD = re.compile(r"\.egg-info/|^build/|^dist/")  # in the copied tree
SELECTION = (
    "tests/pcircuit/files/test_circuit_file.py",
    "tests/pcircuit/test_arguments.py",
    "tests/pcircuit/operations/test_conditions.py",
    "tests/hld/files",
    "tests/hld/schemas/test_columns.py",
    "tests/hld/command/console/test_csv_files.py",
)
BUILD = """
import setuptools.build_meta as backend, sys
print("built", getattr(backend, "build_" + sys.argv[1])(sys.argv[2]))
"""
USE = """
import pathlib, sys
import numpy as np
import hld, pcircuit
assert "site-packages" in hld.__file__ and "site-packages" in pcircuit.__file__, hld.__file__
rng = np.random.default_rng(0)
table = np.column_stack([rng.integers(0, 3, 200), rng.normal(size=200)])
np.savetxt("table.csv", table, delimiter=",", header="kind,size", comments="", fmt=["%d", "%.6f"])
detector = hld.HLDDetector(num_epochs=5).fit(table)
detector.save("model.hld")
assert hld.load("model.hld").test(table).pvalue == detector.test(table).pvalue
for package in (hld, pcircuit):
    assert all(getattr(package, name) is not None for name in package.__all__)
    assert pathlib.Path(package.__file__).with_name("py.typed").exists()
    print(package.__name__, package.__version__)
"""


def main(arguments=None) -> int:
    """Build, look, install, test."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.release", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--whole", action="store_true", help="all quick tests, not a selection")
    parser.add_argument(
        "--out", type=pathlib.Path, default=ROOT / "dist", help="folder of the built files"
    )
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        sdist, unpacked = build_sdist(work)
        wheel = build(work, "wheel", unpacked)
        files = {
            path.relative_to(work / "tree").as_posix()
            for path in (work / "tree").rglob("*")
            if path.is_file()
        }
        check_sdist(unpacked, files)
        check_wheel(wheel, files)
        test_sdist(work, sdist, unpacked, () if asked.whole else SELECTION)
        use_wheel(work, wheel)
        asked.out.mkdir(parents=True, exist_ok=True)
        for path in (sdist, wheel):
            shutil.copy(path, asked.out)
            say(f"{asked.out / path.name}: {path.stat().st_size / 1024:.0f} kB")
    return 0


def say(text) -> None:
    """A line about what comes."""
    print(f"== {text}", flush=True)


def run(*command, cwd, **environment) -> str:
    """The output of a command outside of this tree; SystemExit where it fails."""
    outside = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**outside, **environment},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}"
        )
    return done.stdout


def fresh(work, name) -> pathlib.Path:
    """The Python of a new virtual environment."""
    run(sys.executable, "-m", "venv", work / name, cwd=work)
    return work / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


# -- building ------------------------------------------------------------------------------------------------------


def build_sdist(work) -> tuple:
    """The source distribution of a clean copy of this tree, and the folder that it unpacks to."""
    for name in run(
        "git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT
    ).splitlines():
        if (ROOT / name).is_file():
            target = work / "tree" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    sdist = build(work, "sdist", work / "tree")
    with tarfile.open(sdist) as archive:
        archive.extractall(
            work / "unpacked", **({"filter": "data"} if sys.version_info >= (3, 12) else {})
        )
    return sdist, next((work / "unpacked").iterdir())


def build(work, kind, tree) -> pathlib.Path:
    """A distribution of a tree, built by the backend that it declares."""
    say(f"building the {kind}")
    is_new = not (work / "builder").exists()
    python = fresh(work, "builder")
    if is_new:
        requires = re.search(
            r"requires = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        ).group(1)
        run(
            python,
            "-m",
            "pip",
            "install",
            "-q",
            *re.findall(r'"(.*?)"', requires),
            "wheel",
            cwd=work,
        )
    built = run(python, "-c", BUILD, kind, work, cwd=tree).splitlines()
    return work / next(line for line in reversed(built) if line.startswith("built ")).removeprefix(
        "built "
    )


# -- looking -------------------------------------------------------------------------------------------------------


def check_sdist(unpacked, files) -> None:
    """Every file of the tree is in it, and what is compiled or cached is not."""
    held = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    missing = sorted(
        name for name in files - held - {".gitignore"} if not BY_THE_BUILD.search(name)
    )
    odd = sorted(name for name in held if NEVER.search(name))
    if missing or odd:
        raise SystemExit(f"the source distribution lacks {missing} and holds {odd}")
    say(f"the source distribution holds {len(held)} files")


def check_wheel(wheel, files) -> None:
    """The two packages whole, their metadata, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        metadata = next(name for name in held if name.endswith(".dist-info/METADATA"))
        declared = email.message_from_bytes(archive.read(metadata))
    expected = {
        name for name in files if name.startswith(tuple(f"{package}/" for package in PACKAGES))
    }
    found = {name for name in held if ".dist-info/" not in name}
    if found != expected:
        raise SystemExit(
            f"the wheel lacks {sorted(expected - found)} and holds {sorted(found - expected)}"
        )
    version = re.search(
        r'__version__ = "(.*)"', (ROOT / "pcircuit" / "__init__.py").read_text("utf-8")
    ).group(1)
    needs = {
        re.match(r"[\w-]+", line).group()
        for line in declared.get_all("Requires-Dist")
        if "extra ==" not in line
    }
    if (
        declared["Version"] != version
        or needs != {"numpy", "scipy", "numba"}
        or not declared.get_payload().strip()
    ):
        raise SystemExit(
            f"the wheel declares version {declared['Version']} and needs {needs}, expected {version}"
        )
    say(f"the wheel holds {len(found)} files, version {version}")


# -- installing ----------------------------------------------------------------------------------------------------


def test_sdist(work, sdist, unpacked, selection) -> None:
    """Run tests of the source distribution against what was installed from it."""
    say("installing the source distribution in a fresh environment")
    python = fresh(work, "from-sdist")
    run(python, "-m", "pip", "install", "-q", f"{sdist}[test]", cwd=work)
    say(f"running {' '.join(selection) or 'all quick tests'}")
    if selection:  # so that only what is installed can be imported
        for package in PACKAGES:
            shutil.rmtree(unpacked / package)
    engine = (
        {"PCIRCUIT_ENGINE": "numpy"} if selection else {}
    )  # compiling the kernels takes minutes
    said = run(python, "-m", "pytest", "-q", *selection, cwd=unpacked, **engine)
    say(said.splitlines()[-1])


def use_wheel(work, wheel) -> None:
    """Use the wheel as its README says: with nothing but its dependencies, then the shell with what reads files."""
    say("installing the wheel alone in a fresh environment")
    python = fresh(work, "from-wheel")
    run(python, "-m", "pip", "install", "-q", wheel, cwd=work)
    folder = work / "elsewhere"
    folder.mkdir()
    say(" ".join(run(python, "-c", USE, cwd=folder).split()))
    run(python, "-m", "pip", "install", "-q", f"{wheel}[cli]", cwd=work)
    shell = python.with_name("hld.exe" if os.name == "nt" else "hld")
    say(run(shell, "test", "model.hld", "table.csv", cwd=folder).strip())


test_sdist.__test__ = False  # a step of the release, not a test of this suite

if __name__ == "__main__":
    sys.exit(main())
