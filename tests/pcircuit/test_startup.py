"""Methods beside functions, which kernels are made ready before the first request, and kernels of one's own."""

import ast
import inspect
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import zoo
from engines import needs_numba

import pcircuit
from pcircuit.engine import Kernels
from pcircuit.startup import METHODS, OF_MIXTURES, compile_kernel

CIRCUIT = zoo.two_coins()
MIXTURE = pcircuit.Mixture([CIRCUIT])
OF_BOTH = ((CIRCUIT, METHODS), (MIXTURE, OF_MIXTURES))


@pytest.mark.parametrize(
    ("one", "method", "function"),
    [(one, *names) for one, functions in OF_BOTH for names in functions.items()],
)
def test_methods_are_the_functions(one, method, function):
    bound = getattr(one, method)
    assert bound.__func__ is getattr(pcircuit, function)
    assert bound.__self__ is one
    assert inspect.getdoc(bound) == inspect.getdoc(getattr(pcircuit, function))
    first = next(iter(inspect.signature(getattr(pcircuit, function)).parameters))
    assert first in ("circuit", "a", "mixture")
    assert method in dir(one)


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


@pytest.mark.parametrize(("one", "functions"), OF_BOTH)
def test_type_checkers_see_the_same_names(one, functions):
    tree = ast.parse(pathlib.Path(inspect.getfile(type(one))).read_text(encoding="utf-8"))
    kind = next(
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == type(one).__name__
    )
    block = [
        node
        for node in ast.walk(kind)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    named = {
        node.targets[0].id: ast.unparse(node.value)
        for branch in block
        for node in branch.body
        if isinstance(node, ast.Assign)
    }
    assert named == {method: f"pcircuit.{function}" for method, function in functions.items()}


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
    few = list(made)
    assert few == said == ["likelihoods", "EM"]
    made.clear()
    said.clear()
    pcircuit.warm_up(moments=np.True_, report=report)
    assert said == made
    assert made[:2] == few
    assert len(set(made)) == 5
    made.clear()
    pcircuit.warm_up()
    assert made == few


def test_with_numpy_there_is_nothing_to_make_or_to_say(made, monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    said = []
    pcircuit.warm_up(moments=True, report=said.append)
    assert made == said == []


@pytest.mark.parametrize("engine", ["numpy", "auto"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"moments": "no"}, "`moments` must be True or False, found 'no'"),
        ({"moments": 1}, "`moments` must be True or False, found 1"),
        ({"report": "stderr"}, "`report` must be a function or None, found 'stderr'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_made(
    options, message, engine, made, monkeypatch
):
    monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
    with pytest.raises(TypeError, match=f"^{message}$"):
        pcircuit.warm_up(**options)
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
