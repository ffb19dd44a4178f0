"""Methods beside functions: the same text twice, loaded when first used."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit.methods import Method

CIRCUIT = zoo.two_coins()
MIXTURE = pcircuit.Mixture([CIRCUIT])
RENAMED = {"plot": "plot_circuit"}
METHODS = [
    (one, name)
    for one in (CIRCUIT, MIXTURE)
    for name in dir(one)
    if isinstance(vars(type(one)).get(name), Method) or name in pcircuit.__all__
]


@pytest.mark.parametrize(("one", "method"), METHODS)
def test_methods_are_the_functions(one, method):
    bound = getattr(one, method)
    function = "save_mixture" if (one, method) == (MIXTURE, "save") else RENAMED.get(method, method)
    assert bound.__func__ is getattr(pcircuit, function)
    assert bound.__self__ is one
    assert inspect.getdoc(bound) == inspect.getdoc(getattr(pcircuit, function))
    first = next(iter(inspect.signature(getattr(pcircuit, function)).parameters))
    assert first in ("circuit", "a", "mixture")
    assert len(METHODS) > 30


def test_methods_answer_as_the_functions_do():
    rows = [[0, np.nan], [-1, 1]]
    np.testing.assert_array_equal(
        CIRCUIT.log_likelihood(rows), pcircuit.log_likelihood(CIRCUIT, [[0, -1], [-1, 1]])
    )
    assert CIRCUIT.condition({0: 1}).prune() == pcircuit.prune(pcircuit.condition(CIRCUIT, {0: 1}))
    np.testing.assert_array_equal(CIRCUIT.sample(5, rng=0), pcircuit.sample(CIRCUIT, 5, rng=0))
    assert CIRCUIT.latent_posterior([np.nan, 0.0])[2] == pytest.approx([1])
    assert (
        CIRCUIT.most_probable_state([np.nan, 0]).state.tolist()
        == pcircuit.most_probable_state(CIRCUIT, [-1, 0]).state.tolist()
    )


def test_a_mixture_is_asked_as_a_circuit_is(tmp_path):
    np.testing.assert_allclose(
        MIXTURE.log_likelihood([[0, -1]]), CIRCUIT.log_likelihood([[0, -1]]), rtol=1e-14
    )
    assert MIXTURE.sample(3, rng=0).shape == (3, 2)
    MIXTURE.save(tmp_path / "m.pcm")
    assert pcircuit.load_mixture(tmp_path / "m.pcm").circuits == (CIRCUIT,)


def test_methods_are_there_however_a_circuit_is_met_and_load_nothing_before():
    program = """
import sys
from pcircuit import Circuit
print("sample" in dir(Circuit), "pcircuit.inference.sampling" in sys.modules)
Circuit.sample
print("pcircuit.inference.sampling" in sys.modules)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["True", "False", "True"]
