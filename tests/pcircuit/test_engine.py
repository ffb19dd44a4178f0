"""Which engine is chosen: by the environment variable, by whoever calls within another one, and by nobody."""

import os
import threading

import pytest
import zoo

from pcircuit import log_likelihood
from pcircuit.engine import ENGINE_VARIABLE, ENGINES, chosen_engine, engine_is_numpy, engine_set_to


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


def test_the_engine_of_a_context_is_that_of_its_thread():
    found = []
    with engine_set_to("numba"):
        thread = threading.Thread(target=lambda: found.append(chosen_engine()))
        thread.start()
        thread.join()
        assert chosen_engine() == "numba"
    assert found == [chosen_engine()]
