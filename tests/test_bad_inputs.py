"""Every public function refuses bad arguments with one sentence that names the argument; twenty are on a page."""

import inspect
import pathlib
import re

import bad_inputs
import numpy as np
import pytest
from test_public_names import FUNCTIONS, section

import hld
import pcircuit

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "bad-inputs.md"
# a batch is a table to a detector's encoder, and a table is the argument of the family Categorical
NAMED_OTHERWISE = {"detector.test": "table", "pcircuit.InputRegion": "probs"}
# no argument that could be bad, or one that is examined elsewhere
ELSEWHERE = {"pcircuit.warm_up", "hld.exact_moments", "hld.select_nodes"}


@pytest.fixture(scope="module")
def tried():
    """(function, argument, kind, call, exception) of all calls with a bad argument."""
    functions = [*{**dict.fromkeys(FUNCTIONS), **dict.fromkeys(bad_inputs.OWN)}]
    return [
        (function, *case, bad_inputs.outcome(case[-1]))
        for function in functions
        if function not in ELSEWHERE
        for case in bad_inputs.calls(function)
    ]


@pytest.mark.parametrize("kind", [*bad_inputs.KINDS, "of one function"])
def test_one_sentence_names_the_argument(kind, tried):
    wrong = []
    for function, argument, its_kind, call, error in tried:
        if its_kind != kind:
            continue
        said = str(error)
        names = {argument, NAMED_OTHERWISE.get(function, argument)}
        if not isinstance(error, (TypeError, ValueError, OSError)):
            wrong.append(f"{call} -> {error!r}")
        elif "\n" in said or " at 0x" in said or len(said) > 330:
            wrong.append(f"{call} -> not a sentence: {said}")
        elif not isinstance(error, OSError) and not names & set(re.findall(r"`(\w+)", said)):
            wrong.append(f"{call} -> does not name it: {said}")
    assert wrong == []


def test_every_argument_of_a_public_function_is_in_the_table():
    unknown = [
        (function, name)
        for function, thing in FUNCTIONS.items()
        for name in inspect.signature(thing).parameters
        if function not in ELSEWHERE
        if name not in bad_inputs.ARGUMENTS.keys() | bad_inputs.OWN.get(function, {}).keys()
    ]
    assert unknown == []


def test_docstrings_say_which_exceptions_bad_arguments_raise(tried):
    wrong = []
    for function, _, _, call, error in tried:
        lines = section(inspect.getdoc(eval(function, bad_inputs.namespace())), "Raises")
        heads = [line for line in lines or () if line and not line.startswith(" ")]
        said = {name.strip().rpartition(".")[2] for head in heads for name in head.split(",")}
        if said and not said & {one.__name__ for one in type(error).__mro__}:
            wrong.append(f"{call} -> {error!r}, not among {sorted(said)}")
    assert wrong == []


def test_the_page_is_up_to_date():
    assert len(bad_inputs.MISTAKES) == 20
    assert PAGE.read_text(encoding="utf-8") == bad_inputs.page(), (
        "write it again: python -m tests.bad_inputs > docs/bad-inputs.md"
    )


def test_wrong_options_are_refused_before_anything_is_learned(monkeypatch):
    names = bad_inputs.namespace()
    monkeypatch.setattr(pcircuit, "hclt", None)
    monkeypatch.setattr(pcircuit, "fit_em", None)
    table = np.tile([[0, 1], [1, 0]], (20, 1))
    default = {
        name: one.default for name, one in inspect.signature(hld.HLDDetector).parameters.items()
    }
    for option, kind in bad_inputs.DETECTOR.items():
        for text in kind if isinstance(kind, list) else bad_inputs.KINDS[kind]:
            value = eval(text, names)
            if value is None and default[option] is None:
                continue
            with pytest.raises((TypeError, ValueError), match=f"`{option}`"):
                hld.HLDDetector(**{option: value}).fit(table)
    drawn, single = "`null` 'monte-carlo' draws from the circuit", "needs a single `metric`"
    for options, message in [
        ({"null": "monte-carlo"}, drawn),
        ({"null": "monte-carlo", "reference": "held-out"}, drawn),
        ({"null": "normal"}, single),
        ({"null": "normal", "metric": ["euclidean", "whitened"]}, single),
    ]:
        with pytest.raises(ValueError, match=message):
            hld.HLDDetector(**options).fit(table)
