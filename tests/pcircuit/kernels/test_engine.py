"""Which engine is chosen: by the variable, by a context, by the size of the job; and forks while kernels compile."""

import logging
import os
import subprocess
import sys

import numpy as np
import pytest
import zoo
from engines import needs_numba

import pcircuit
from pcircuit import log_likelihood
from pcircuit.kernels import engine
from pcircuit.kernels.engine import (
    ENGINE_VARIABLE,
    ENGINES,
    SMALL_JOB,
    chosen_engine,
    engine_is_numpy,
    engine_set_to,
    in_numpy,
    kernel,
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


@pytest.mark.parametrize(
    ("engine", "small", "large"),
    [("", True, False), ("auto", True, False), ("numpy", True, True), ("numba", False, False)],
)
def test_the_engine_is_a_function_of_the_job(engine, small, large, monkeypatch):
    """In any order, as often as one likes."""
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    for seconds in (0.0, 1e9, SMALL_JOB, 0.99 * SMALL_JOB, 1e9) * 40:
        assert in_numpy(seconds) == (small if seconds < SMALL_JOB else large)


def doubled(values, rows):
    """A kernel."""
    for b in range(rows):
        values[b] *= 2.0


@needs_numba
def test_a_kernel_says_what_its_first_user_waits_for_and_keeps_its_arrays(caplog, monkeypatch):
    monkeypatch.setattr(engine, "_ready", {})
    values = np.arange(6.0)
    with caplog.at_level(logging.INFO, "pcircuit.kernels"):
        for rows in (4, 2):
            kernel(doubled, [values[1:]])(rows)
    assert values.tolist() == [0, 4, 8, 6, 8, 5]
    before, after = (record.message for record in caplog.records)
    assert before == "kernel doubled: compiling, or reading it from Numba's cache"
    assert after.startswith("kernel doubled: ready after ")


@needs_numba
def test_memory_with_gaps_is_refused():
    with pytest.raises((BufferError, TypeError, ValueError), match="contiguous"):
        kernel(doubled, [np.arange(6.0)[::2]])


FORK = """
import os, sys, threading, time
from pcircuit.kernels import engine, operations

def compiled(x):
    import numba
    return numba.njit(lambda y: y + x)(1)

def work():
    while not enough.is_set():
        engine._ready.clear()
        for operation in operations.OPERATIONS[:3]:
            engine.machine_code(operation)                 # under the lock of kernels
        compiled(3)                                        # under Numba's alone

enough = threading.Event()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
answers = []
for tenth in range(10):
    time.sleep(0.07 * tenth)
    child = os.fork()
    if child == 0:
        engine._ready.clear()
        engine.machine_code(operations.multiply)
        os._exit(7 if compiled(41) == 42 else 1)
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


@needs_numba
@pytest.mark.parametrize("engine_name", ["auto", "numba", "numpy"])
def test_warming_up_says_what_it_makes_and_makes_all(engine_name, monkeypatch):
    monkeypatch.setenv(ENGINE_VARIABLE, engine_name)
    made, said = [], []
    monkeypatch.setattr(engine, "machine_code", lambda function: made.append(function.__name__))
    pcircuit.warm_up(report=said.append)
    if engine_name == "numpy":
        assert made == said == []
    else:
        assert said == ["likelihoods and flows", "EM"]
        assert {"run", "transpose", "mix", "dot", "share"} < set(made)
    with pytest.raises(TypeError, match=r"^`report` must be a function or None, found 'stderr'$"):
        pcircuit.warm_up(report="stderr")


def sum_of_squares(values):
    total = 0.0
    for i in range(len(values)):
        total += values[i] * values[i]
    return total


@needs_numba
def test_kernels_of_others_round_as_python_does(rng):
    """Without fast-math: no term is moved, no product is fused with its sum."""
    from pcircuit.kernels.jit import compile_kernel

    compiled, values = compile_kernel(sum_of_squares), rng.normal(size=10_001)
    assert compiled(values) == sum_of_squares(values)
    assert np.isnan(compiled(np.array([np.inf, np.nan])))
