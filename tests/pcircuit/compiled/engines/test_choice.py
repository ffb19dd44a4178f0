"""NumPy is rented until kernels pay; what is bought, when, and that the results do not show it."""

import logging
import subprocess
import sys
import threading

import numpy as np
import pytest
from engines import needs_numba

import pcircuit
from pcircuit.compiled.engines import choice
from pcircuit.compiled.engines.choice import LOADING, Kernels, numpy_seconds
from pcircuit.engine import chosen_engine
from pcircuit.learning import em


@pytest.fixture
def kernels(monkeypatch):
    """Kernels of 10 seconds that are nowhere on disk; `compiled` lists the engines under which they were compiled."""
    monkeypatch.delenv("PCIRCUIT_ENGINE", raising=False)
    compiled = []
    made = Kernels("tests", 10.0, "compiled/none.none", lambda: compiled.append(chosen_engine()))
    monkeypatch.setattr(made, "_cached", False)
    made.compiled = compiled
    return made


@pytest.fixture
def begun(monkeypatch):
    """Jobs that would run in the background, done by nobody."""
    jobs = []
    monkeypatch.setattr(
        choice, "compile_in_background", lambda job: jobs.append(job) or threading.Event()
    )
    return jobs


def test_small_pieces_are_rented_until_the_rent_reaches_the_price(kernels, begun):
    assert all(kernels.in_numpy(3.0) for _ in range(3))
    assert not begun
    assert kernels.in_numpy(3.0)  # 12 of 10 seconds: bought, but not here yet
    assert kernels.is_compiling
    assert kernels.in_numpy(3.0)
    assert len(begun) == 1
    begun[0]()
    assert not kernels.in_numpy(0.0)
    assert kernels.compiled == ["numba"]


def test_a_piece_of_the_price_waits_for_the_kernels(kernels, begun):
    assert not kernels.in_numpy(10.0)
    assert kernels.compiled == ["numba"]
    assert not begun
    assert not kernels.in_numpy(0.0)
    assert kernels.compiled == ["numba"]


def test_kernels_on_disk_cost_no_more_than_loading(kernels, begun, monkeypatch):
    monkeypatch.setattr(kernels, "_cached", True)
    assert kernels.in_numpy(0.6 * LOADING)
    assert not kernels.in_numpy(0.6 * LOADING)
    assert not begun  # half a second is waited for


@pytest.mark.parametrize(("engine", "expected"), [("numpy", True), ("numba", False)])
def test_a_chosen_engine_is_never_questioned(kernels, begun, monkeypatch, engine, expected):
    monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
    assert kernels.in_numpy(0.0) == kernels.in_numpy(1e9) == expected
    assert not kernels.compiled
    assert not begun


def test_auto_is_the_default_by_name_too(kernels, monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "auto")
    assert kernels.in_numpy(1.0)
    assert not kernels.in_numpy(10.0)


def test_what_is_compiled_along_is_ready_too():
    part = Kernels("a part", 10.0, "compiled/none.none", lambda: None)
    Kernels("the whole", 10.0, "compiled/none.none", lambda: None, (part,)).compile_now()
    assert part.is_ready


def test_without_numba_numpy_goes_on_with_one_warning(kernels, caplog):
    def missing():
        raise ModuleNotFoundError("No module named 'numba'", name="numba")

    kernels._compile = missing
    with caplog.at_level(logging.WARNING, "pcircuit.compiled"):
        assert kernels.in_numpy(20.0)
        assert kernels.in_numpy(20.0)
    assert [record.message for record in caplog.records] == [
        "NumPy does all tests: No module named 'numba'; PCIRCUIT_ENGINE=numpy says so without a warning"
    ]


def test_kernels_that_fail_in_the_background_leave_the_work_to_numpy(kernels, begun, caplog):
    kernels._compile = lambda: 1 / 0
    assert kernels.in_numpy(9.0)
    assert kernels.in_numpy(9.0)
    begun[0]()
    assert "cannot be compiled" in caplog.text
    assert kernels.in_numpy(1e9)


def test_the_start_of_a_compilation_is_logged(kernels, caplog):
    with caplog.at_level(logging.INFO, "pcircuit.compiled"):
        kernels.make_ready()
    assert caplog.records[0].message == "compiling the kernels for tests, once: about 10 s"


def test_estimates_grow_with_the_work():
    assert numpy_seconds(10, 100, 1) < numpy_seconds(10, 100, 5000) < numpy_seconds(10, 1000, 5000)


WRITE = """
import numpy as np
from pcircuit.compiled.transpose import transpose_rows
from pcircuit.compiled.engines.choice import Kernels
kernels = Kernels("rows", 10.0, "compiled/transpose.transpose_rows", None)
print(kernels._is_on_disk())
transpose_rows(np.zeros((1, 1), np.int64), np.ones(1, np.int64), np.zeros((1, 8), np.uint16))
print(kernels._is_on_disk())
"""


@pytest.mark.thorough
@needs_numba
def test_a_cache_on_disk_is_found_where_numba_puts_it(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    result = subprocess.run(
        [sys.executable, "-c", WRITE], capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\nTrue\n"


def test_a_cache_of_another_python_is_none(tmp_path, monkeypatch):
    """It costs a whole compilation, which nobody should have to wait for."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    kernels = Kernels("rows", 10.0, "compiled/transpose.transpose_rows", None)
    (folder,) = choice._cache_folders(choice.ROOT / "compiled")
    folder.mkdir()
    (folder / "transpose.transpose_rows-1.py27.nbi").touch()
    assert not kernels._is_on_disk()
    own = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    (folder / f"transpose.transpose_rows-1.{own}.nbi").touch()
    assert kernels._is_on_disk()


def test_without_sources_on_disk_nothing_is_cached(tmp_path, monkeypatch):
    """As in a zip archive on the import path."""
    monkeypatch.setattr(choice, "ROOT", tmp_path)
    assert not Kernels("rows", 10.0, "compiled/transpose.transpose_rows", None)._is_on_disk()


@needs_numba
@pytest.mark.parametrize("kernel_from", [0, 3, 8])
def test_em_may_change_its_engine_between_epochs(kernel_from, monkeypatch, rng):
    """The digits that are documented: parameters and likelihoods agree to 1e-10 after eight epochs."""
    rows = rng.integers(-1, 3, size=(300, 5))
    start = pcircuit.hclt(np.maximum(rows, 0), 2, rng=0)
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    expected, history = pcircuit.fit_em(start, rows, num_epochs=8)
    epochs = iter(range(100))
    monkeypatch.setattr(em.EM, "in_numpy", lambda seconds: next(epochs) < kernel_from)
    found, same = pcircuit.fit_em(start, rows, num_epochs=8)
    np.testing.assert_allclose(same, history, rtol=1e-10)
    for mine, other in zip(found.regions, expected.regions, strict=True):
        name = "probs" if hasattr(mine, "probs") else "weights"
        np.testing.assert_allclose(
            getattr(mine, name), getattr(other, name), rtol=1e-10, atol=1e-12
        )
