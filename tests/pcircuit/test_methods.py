"""Methods beside functions: the same text twice, loaded when first used."""

import inspect
import subprocess
import sys

import pytest
import zoo

import pcircuit
from pcircuit.circuit import Method

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
