"""The source distribution holds what its own tests need: they can be run from it."""

import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest

pytestmark = pytest.mark.thorough

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEFT_OUT = ("__pycache__", ".*", "*.egg-info", "build", "dist")
KEPT = (".py", ".md", ".json", ".hld", ".pc", ".csv", ".txt")
BUILD = "import setuptools.build_meta, sys; print(setuptools.build_meta.build_sdist(sys.argv[1]))"


def test_tests_documents_and_benchmarks_are_in_it(tmp_path):
    pytest.importorskip("setuptools")
    tree = tmp_path / "tree"  # building writes into the folder
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
    run = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    with tarfile.open(tmp_path / run.stdout.split()[-1]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        path.relative_to(tree).as_posix()
        for folder in ("tests", "docs", "benchmarks", "hld", "pcircuit")
        for path in (tree / folder).rglob("*")
        if path.is_file() and path.suffix in KEPT
    }
    assert {"tests/zoo.py", "tests/naive.py", "tests/conftest.py", "docs/options.md"} <= wanted
    assert wanted - held == set()
    assert {"README.md", "LICENSE", "pyproject.toml", "setup.cfg"} <= held
    assert not any(name.endswith((".pyc", ".nbi", ".nbc")) for name in held)
