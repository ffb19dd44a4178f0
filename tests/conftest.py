"""Fixtures of all tests, the hypothesis profile, and the rule for slow tests."""
import os
import pathlib
import random

import hypothesis
import numpy as np
import pytest
from engines import HAS_NUMBA, WITHOUT_NUMBA

# tests whose results depend on floating-point arithmetic: `python -m tests.matrix` runs them as on other machines
NUMERICAL = tuple(f"tests/{name}" for name in (
    "pcircuit/compiled", "pcircuit/inference", "pcircuit/learning", "pcircuit/moments", "pcircuit/operations",
    "pcircuit/test_rounding", "hld/baselines", "hld/gchi2", "hld/metrics", "hld/monitoring", "hld/nulls",
    "hld/references", "hld/vectors", "hld/test_calibration", "hld/test_goodness_of_fit", "hld/test_localization"))

hypothesis.settings.register_profile("pcircuit", deadline=None, derandomize=True)
hypothesis.settings.load_profile("pcircuit")


class _WithoutKernels:
    """Leaves out kernel modules and the tests of single kernels, which cannot be imported without Numba."""

    @staticmethod
    def pytest_ignore_collect(collection_path):
        is_kernel = collection_path.parent.name == "compiled" or collection_path.name == "kernel.py"
        return True if is_kernel else None

    @staticmethod
    def pytest_report_header():
        return "Numba is not installed: folders named compiled are left out, tests that compare engines are skipped"


def pytest_configure(config):
    if HAS_NUMBA:
        return
    if os.environ.get("PCIRCUIT_ENGINE") != "numpy":
        raise pytest.UsageError("Numba is not installed: run PCIRCUIT_ENGINE=numpy python -m pytest, or install it")
    config.pluginmanager.register(_WithoutKernels())


def pytest_addoption(parser):
    parser.addoption("--unchecked", action="store_true", help="also run what tests/unchecked.txt lists")
    parser.addoption("--shuffle", metavar="SEED", help="run the files, and the tests in each, in a random order")


def pytest_collection_modifyitems(config, items):
    """Mark what computes, shuffle if asked to, and skip what is marked slow unless the option -m speaks of it."""
    for item in items:
        if item.path.relative_to(config.rootpath).as_posix().startswith(NUMERICAL):
            item.add_marker(pytest.mark.numerical)
    if seed := config.getoption("--shuffle"):
        _shuffle(items, random.Random(seed))
    if not config.getoption("--unchecked"):
        _skip_unchecked(config, items)
    if "slow" in config.getoption("-m"):
        return
    skip = pytest.mark.skip(reason="a slow statistical study: run it with `python -m pytest -m slow`")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)


def _shuffle(items, chance):
    """Reorder tests in place: files, and tests within their file."""
    by_file = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    files = list(by_file.values())
    chance.shuffle(files)
    for tests in files:
        chance.shuffle(tests)
    items[:] = [item for tests in files for item in tests]


@pytest.fixture(scope="session")
def data_folder():
    """Folder with the real data sets, named by the environment variable HLD_DATA."""
    name = os.environ.get("HLD_DATA")
    if not name:
        pytest.skip("needs the folder of data sets: set the environment variable HLD_DATA to it")
    folder = pathlib.Path(name)
    if not folder.is_dir():
        pytest.fail(f"HLD_DATA names {name!r}, which is not a folder")
    return folder


@pytest.fixture
def rng():
    """A generator with the same numbers in every test."""
    return np.random.default_rng(20260)


@pytest.fixture(params=["numba", "numpy"])
def engine(request, monkeypatch):
    """Run the test with the kernels and with the NumPy text."""
    if request.param == "numba" and not HAS_NUMBA:
        pytest.skip(WITHOUT_NUMBA)
    monkeypatch.setenv("PCIRCUIT_ENGINE", request.param)
    return request.param


def _unchecked(config):
    """Prefixes of the names of tests that have not passed, or not been run, since the last large change."""
    lines = (config.rootpath / "tests" / "unchecked.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def pytest_ignore_collect(collection_path, config):
    """Leave out whole files of unchecked tests, unless asked for them."""
    path = collection_path.relative_to(config.rootpath).as_posix()
    files = tuple(prefix for prefix in _unchecked(config) if "::" not in prefix)
    is_left_out = collection_path.is_file() and path.startswith(files) and not config.getoption("--unchecked")
    return True if is_left_out else None


def pytest_report_header(config):
    """Say what is left out."""
    return None if config.getoption("--unchecked") else (
        f"tests/unchecked.txt leaves out {len(_unchecked(config))} files or tests: --unchecked runs them, too")


def _skip_unchecked(config, items):
    """Skip single tests that are unchecked."""
    prefixes = _unchecked(config)
    skip = pytest.mark.skip(reason="not checked since the last large change: --unchecked runs it")
    for item in items:
        if item.nodeid.startswith(prefixes):
            item.add_marker(skip)
