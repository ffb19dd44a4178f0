"""Methods beside functions: the same text twice, named for type checkers, loaded when first used."""
import ast
import inspect
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit.startup.methods import METHODS

CIRCUIT = zoo.two_coins()


@pytest.mark.parametrize(("method", "function"), METHODS.items())
def test_methods_are_the_functions(method, function):
    bound = getattr(CIRCUIT, method)
    assert bound.__func__ is getattr(pcircuit, function)
    assert bound.__self__ is CIRCUIT
    assert inspect.getdoc(bound) == inspect.getdoc(getattr(pcircuit, function))
    first = next(iter(inspect.signature(getattr(pcircuit, function)).parameters))
    assert first in ("circuit", "a")
    assert method in dir(CIRCUIT)


def test_methods_answer_as_the_functions_do():
    rows = [[0, np.nan], [-1, 1]]
    np.testing.assert_array_equal(CIRCUIT.log_likelihood(rows), pcircuit.log_likelihood(CIRCUIT, [[0, -1], [-1, 1]]))
    assert CIRCUIT.condition({0: 1}).prune() == pcircuit.prune(pcircuit.condition(CIRCUIT, {0: 1}))
    np.testing.assert_array_equal(CIRCUIT.sample(5, rng=0), pcircuit.sample(CIRCUIT, 5, rng=0))
    assert CIRCUIT.latent_posterior([np.nan, 0.0])[2] == pytest.approx([1])
    assert CIRCUIT.most_probable_state([np.nan, 0]).state.tolist() == \
        pcircuit.most_probable_state(CIRCUIT, [-1, 0]).state.tolist()


def test_type_checkers_see_the_same_names():
    tree = ast.parse(pathlib.Path(inspect.getfile(pcircuit.Circuit)).read_text(encoding="utf-8"))
    circuit = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Circuit")
    block = [node for node in ast.walk(circuit) if isinstance(node, ast.If)
             and ast.unparse(node.test) == "TYPE_CHECKING"]
    named = {node.targets[0].id: ast.unparse(node.value) for branch in block for node in branch.body
             if isinstance(node, ast.Assign)}
    assert named == {method: f"pcircuit.{function}" for method, function in METHODS.items()}


def test_methods_are_there_however_a_circuit_is_met_and_load_nothing_before():
    program = """
import sys
from pcircuit import Circuit
print("sample" in dir(Circuit), "pcircuit.inference.sampling" in sys.modules)
Circuit.sample
print("pcircuit.inference.sampling" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "False", "True"]
