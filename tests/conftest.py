"""Fixtures of all tests, the hypothesis profile, and the rule for tests that `pytest` alone leaves out."""

import os
import pathlib
import random

import hypothesis
import numpy as np
import pytest
from engines import HAS_NUMBA, WITHOUT_NUMBA

import pcircuit
from pcircuit.kernels.engine import engine_is_numpy

# tests whose results depend on floating-point arithmetic: run with the BLAS kernels of other machines, too
NUMERICAL = tuple(
    f"tests/{name}"
    for name in (
        "pcircuit/kernels",
        "pcircuit/inference",
        "pcircuit/learning",
        "pcircuit/moments",
        "pcircuit/operations",
        "pcircuit/test_accuracy",
        "hld/baselines",
        "hld/gchi2",
        "hld/metrics",
        "hld/sequential",
        "hld/nulls",
        "hld/references",
        "hld/results",
        "hld/testing",
        "hld/vectors",
    )
)

BLAS_THREADS = "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"
QUICK = "not thorough"  # what `pytest` alone selects; files and tests that are named run whole
SELECTED = "HLD_TESTS_SELECTED"  # tells workers
MOST_PROCESSES = 4  # of the whole suite: each compiles kernels of its own in a fresh checkout

hypothesis.settings.register_profile("pcircuit", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.load_profile("pcircuit")


class _WithoutKernels:
    """Leaves out kernel modules and the tests of single kernels, which cannot be imported without Numba."""

    @staticmethod
    def pytest_ignore_collect(collection_path):
        is_kernel = collection_path.parent.name == "kernels" and collection_path.suffix == ".py"
        is_kernel &= collection_path.stem not in ("engine", "test_engine")
        return True if is_kernel or collection_path.name == "kernel.py" else None

    @staticmethod
    def pytest_report_header():
        return "Numba is not installed: folders named kernels are left out, tests that compare engines are skipped"


def pytest_configure(config):
    if (
        "PYTEST_XDIST_WORKER" in os.environ and not config.option.markexpr
    ):  # workers parse the command line anew
        config.option.markexpr = os.environ.get(SELECTED, "")
    if HAS_NUMBA:
        return
    if os.environ.get("PCIRCUIT_ENGINE") != "numpy":
        raise pytest.UsageError(
            "Numba is not installed: run PCIRCUIT_ENGINE=numpy python -m pytest, or install it"
        )
    config.pluginmanager.register(_WithoutKernels())


def pytest_report_header(config):
    return (
        "left out: tests marked thorough (python -m pytest -m thorough)"
        if config.option.markexpr == QUICK
        else None
    )


def pytest_addoption(parser):
    parser.addoption(
        "--shuffle", metavar="SEED", help="run the files, and the tests in each, in a random order"
    )


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at its options
def pytest_cmdline_main(config):
    """Run the whole suite without what is thorough, if -m says nothing else, in as many processes as there are cores.

    The latter where pytest-xdist is installed and no -n given.
    """
    whole = (
        config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and "PYTEST_XDIST_WORKER" not in os.environ
    )
    if whole and not config.option.markexpr:
        config.option.markexpr = os.environ[SELECTED] = QUICK
    alone = (
        config.getoption("collectonly")
        or config.getoption("usepdb")
        or config.getoption("-m") == "slow"
    )
    if (
        whole
        and not alone
        and config.pluginmanager.hasplugin("xdist")
        and config.option.numprocesses is None
    ):
        config.option.numprocesses, config.option.dist = (
            min(os.cpu_count() or 1, MOST_PROCESSES),
            "worksteal",
        )
        for name in (
            BLAS_THREADS
        ):  # the workers' own: with as many as cores in each they wait for one another
            os.environ.setdefault(name, "1")


def pytest_sessionstart(session):
    """Compile what most tests need before the first one, and say so; before workers begin, what each would compile."""
    options = session.config.option
    if engine_is_numpy() or options.collectonly or "PYTEST_XDIST_WORKER" in os.environ:
        return
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    pcircuit.warm_up(
        report=None
        if reporter is None
        else lambda name: reporter.write_line(f"kernels of {name}: compiled if the cache has none"),
    )


def pytest_collection_modifyitems(config, items):
    """Mark what computes, shuffle if asked to, and skip what is marked slow unless the option -m speaks of it."""
    for item in items:
        if item.path.relative_to(config.rootpath).as_posix().startswith(NUMERICAL):
            item.add_marker(pytest.mark.numerical)
    if seed := config.getoption("--shuffle"):
        _shuffle(items, random.Random(seed))
    if "slow" in config.getoption("-m"):
        return
    skip = pytest.mark.skip(
        reason="a slow statistical study: run it with `python -m pytest -m slow`"
    )
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
