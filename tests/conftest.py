"""Fixtures of all tests, the hypothesis profile, and the rule for slow tests."""
import os
import pathlib

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("pcircuit", deadline=None, derandomize=True)
hypothesis.settings.load_profile("pcircuit")


def pytest_collection_modifyitems(config, items):
    """Skip what is marked slow unless the option -m speaks of it."""
    if "slow" in config.getoption("-m"):
        return
    skip = pytest.mark.skip(reason="a slow statistical study: run it with `python -m pytest -m slow`")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)


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
    monkeypatch.setenv("PCIRCUIT_ENGINE", request.param)
    return request.param
