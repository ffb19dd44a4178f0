"""Which kernels are made ready before the first request, and kernels of one's own."""

import numpy as np
import pytest
from engines import needs_numba

import pcircuit
from pcircuit.kernels.engine import Kernels, compile_kernel


@pytest.fixture
def made(monkeypatch):
    """The names of the kernels that are made ready; none is compiled."""
    names = []
    monkeypatch.setattr(Kernels, "make_ready", lambda kernels: names.append(kernels.name))
    return names


@needs_numba
@pytest.mark.parametrize("engine", ["auto", "numba"])
def test_kernels_are_announced_one_by_one_before_they_are_made(engine, made, monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
    said = []

    def report(words):
        assert made == said
        said.append(words)

    pcircuit.warm_up(report=report)
    assert made == said == ["likelihoods", "EM"]


def test_with_numpy_there_is_nothing_to_make_or_to_say(made, monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    said = []
    pcircuit.warm_up(report=said.append)
    assert made == said == []


@pytest.mark.parametrize("engine", ["numpy", "auto"])
def test_wrong_reports_are_refused_before_anything_is_made(engine, made, monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
    with pytest.raises(TypeError, match=r"^`report` must be a function or None, found 'stderr'$"):
        pcircuit.warm_up(report="stderr")
    assert made == []


def sum_of_squares(values):
    total = 0.0
    for i in range(len(values)):
        total += values[i] * values[i]
    return total


@needs_numba
def test_kernels_round_as_python_does(rng):
    """Without fast-math: no term is moved, no product is fused with its sum."""
    kernel = compile_kernel(sum_of_squares)
    values = rng.normal(size=10_001)
    assert kernel(values) == sum_of_squares(values)
    assert np.isnan(kernel(np.array([np.inf, np.nan])))
    assert kernel(np.zeros(0)) == 0.0
