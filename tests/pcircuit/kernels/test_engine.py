"""Which engine is chosen: by the variable, by a context, by the size of the job; and forks while kernels compile."""

import logging
import os
import subprocess
import sys

import pytest
import zoo
from engines import needs_numba

from pcircuit import log_likelihood
from pcircuit.kernels.engine import (
    ENGINE_VARIABLE,
    ENGINES,
    SMALL_JOB,
    Kernels,
    chosen_engine,
    engine_is_numpy,
    engine_set_to,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_variable_is_read_at_every_call(engine, monkeypatch):
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    assert chosen_engine() == engine
    assert engine_is_numpy() == (engine == "numpy")


def test_without_a_choice_or_with_an_empty_one_it_is_auto(monkeypatch):
    monkeypatch.setenv(ENGINE_VARIABLE, "")
    assert chosen_engine() == "auto"
    monkeypatch.delenv(ENGINE_VARIABLE)
    assert chosen_engine() == "auto"
    assert not engine_is_numpy()


@pytest.mark.parametrize("engine", ["cuda", "NumPy", " numpy"])
@pytest.mark.parametrize(
    "ask", [chosen_engine, engine_is_numpy, lambda: log_likelihood(zoo.two_coins(), [[0, 0]])]
)
def test_unknown_engines_are_refused(ask, engine, monkeypatch):
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    with pytest.raises(ValueError) as caught:
        ask()
    assert str(caught.value) == (
        f"environment variable PCIRCUIT_ENGINE is {engine!r}, expected 'auto', 'numpy' or 'numba'"
    )


def test_a_context_comes_before_the_variable_and_ends_with_its_block(monkeypatch):
    monkeypatch.setenv(ENGINE_VARIABLE, "numba")
    with engine_set_to("numpy"):
        with engine_set_to("auto"):
            assert chosen_engine() == "auto"
        with pytest.raises(ZeroDivisionError), engine_set_to("auto"):
            raise ZeroDivisionError
        assert engine_is_numpy()
        assert os.environ[ENGINE_VARIABLE] == "numba"  # which other threads read
    assert chosen_engine() == "numba"


@pytest.fixture
def kernels(monkeypatch):
    """Kernels of a kind of its own; `met` lists the engines under which their tiny job ran."""
    monkeypatch.delenv(ENGINE_VARIABLE, raising=False)
    met = []
    made = Kernels("tests", lambda: met.append(chosen_engine()))
    made.met = met
    return made


@pytest.mark.parametrize(
    ("engine", "small", "large"),
    [("", True, False), ("auto", True, False), ("numpy", True, True), ("numba", False, False)],
)
def test_the_engine_is_a_function_of_the_job(engine, small, large, kernels, monkeypatch):
    """In any order, as often as one likes."""
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    for seconds in (0.0, 1e9, SMALL_JOB, 0.99 * SMALL_JOB, 1e9) * 40:
        assert kernels.in_numpy(seconds) == (small if seconds < SMALL_JOB else large)
    assert kernels.met == ([] if small and large else ["numba"])


def test_the_first_large_job_says_what_it_waits_for(kernels, caplog):
    with caplog.at_level(logging.INFO, "pcircuit.kernels"):
        for _ in range(3):
            kernels.in_numpy(1.0)
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]
    before, after = (record.message for record in caplog.records)
    assert before == "kernels for tests: compiling, or reading them from Numba's cache"
    assert after.startswith("kernels for tests: ready after ")


def test_kernels_that_fail_are_tried_again(kernels):
    kernels._tiny_job = lambda: 1 / 0
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kernels.in_numpy(1.0)


FORK = """
import os, sys, threading, time
from pcircuit.kernels.engine import Kernels

def compiled(x):
    import numba
    return numba.njit(lambda y: y + x)(1)

def work():
    while not enough.is_set():
        Kernels("forks", lambda: [compiled(x) for x in range(3)]).make_ready()   # under the lock of kernels
        compiled(3)                                                             # under Numba's alone

enough = threading.Event()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
answers = []
for tenth in range(10):
    time.sleep(0.07 * tenth)
    child = os.fork()
    if child == 0:
        kernels = Kernels("child", lambda: None if compiled(41) == 42 else os._exit(1))
        kernels.make_ready()
        os._exit(7)
    answers.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
enough.set()
for thread in threads:
    thread.join()
print(answers)
"""


@needs_numba
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_may_fork_while_kernels_compile():
    """Ten times, the first before Numba is imported; no child inherits a lock that is held."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORK], capture_output=True, text=True, timeout=300
    )
    assert (done.stderr, done.stdout) == ("", f"{[7] * 10}\n")
