"""Every public function refuses every bad input with one sentence that names the argument; the page says with which."""

import functools
import inspect
import itertools
import pathlib

import bad_inputs
import numpy as np
import pytest
from test_public_names import section

import hld
import pcircuit

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "bad-inputs.md"
CASES = {
    function: list(group)
    for function, group in itertools.groupby(sorted(bad_inputs.cases()), key=lambda case: case[0])
}
# functions without an argument that could be bad, or whose argument is a file that is examined elsewhere
ELSEWHERE = {"warm_up"}


@pytest.fixture(scope="module")
def names():
    return bad_inputs.namespace()


@pytest.fixture(scope="module")
def outcome(names):
    """Call -> the exception that it ends in, tried once."""
    return functools.cache(lambda call: bad_inputs.outcome(call, names))


@pytest.mark.parametrize("function", CASES)
def test_one_sentence_names_the_argument(function, outcome):
    for _, argument, _, _, call in CASES[function]:
        error = outcome(call)
        assert isinstance(error, (TypeError, ValueError, OSError)), f"{call} -> {error!r}"
        text = str(error)
        # a detector's batch is a table to its encoder
        named = [f"`{argument}`", f"`{argument}["] + ["`table`"] * (
            argument == "batch" and function == "detector.test"
        )
        assert isinstance(error, OSError) or any(name in text for name in named), (
            f"{call} -> {text}"
        )
        assert "\n" not in text, call
        assert " at 0x" not in text, call
        assert len(text) < 330, call


@pytest.mark.parametrize("function", CASES)
def test_the_docstring_says_which_exceptions_bad_inputs_raise(function, names, outcome):
    thing = eval(function, dict(names))
    known = inspect.isclass(thing) or inspect.isroutine(thing)
    lines = section((thing if known else type(thing).__call__).__doc__, "Raises")
    if lines is None:  # nothing is said, which is not false
        return
    heads = [line for line in lines if line and not line.startswith(" ")]
    said = {name.strip().rpartition(".")[2] for head in heads for name in head.split(",")}
    for _, _, _, _, call in CASES[function]:
        error = outcome(call)
        assert said & {one.__name__ for one in type(error).__mro__}, (
            f"{call} -> {error!r}, not among {sorted(said)}"
        )


def test_every_public_function_is_in_the_list():
    listed = {function.partition("(")[0] for function in CASES}
    for package in (pcircuit, hld):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isfunction(thing) and name not in ELSEWHERE and parameters(thing):
                assert f"{package.__name__}.{name}" in listed or f"pcircuit.{name}" in listed, name


def parameters(function):
    return inspect.signature(function).parameters


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == bad_inputs.page(), (
        "write it again: python tests/bad_inputs.py > docs/bad-inputs.md"
    )


@pytest.mark.parametrize("option", bad_inputs.DETECTOR)
def test_wrong_options_are_refused_before_anything_is_learned(option, names, monkeypatch):
    def learn(*arguments, **options):
        raise AssertionError("learned before the options were looked at")

    monkeypatch.setattr(pcircuit, "hclt", learn)
    monkeypatch.setattr(pcircuit, "fit_em", learn)
    kind = bad_inputs.DETECTOR[option]
    for value in bad_inputs.KINDS[kind] if isinstance(kind, str) else kind:
        with pytest.raises((TypeError, ValueError), match=f"`{option}`"):
            hld.HLDDetector(**{option: eval(value, dict(names))}).fit(
                np.tile([[0, 1], [1, 0]], (20, 1))
            )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"null": "monte-carlo"}, r"`null` 'monte-carlo' draws from the circuit"),
        (
            {"null": "monte-carlo", "reference": "held-out"},
            r"`null` 'monte-carlo' draws from the circuit",
        ),
        ({"null": "normal"}, "`null` 'normal' needs a single `metric`"),
        (
            {"null": "normal", "metric": ["euclidean", "whitened"]},
            "`null` 'normal' needs a single `metric`",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused_before_anything_is_learned(
    options, message, monkeypatch
):
    monkeypatch.setattr(pcircuit, "fit_em", None)
    with pytest.raises(ValueError, match=message):
        hld.HLDDetector(**options).fit(np.tile([[0, 1], [1, 0]], (20, 1)))
