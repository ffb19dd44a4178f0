"""The bugs that are planted: what a mutation is, and that the list of those chosen by hand is up to date."""

import json
import pathlib

import mutants
import pytest
from mutations import mutations

SOURCE = '''
"""Text < text."""
WIDTH = 5


def f(x, y: int = 3):
    """Not 1 < 2."""
    if x < y and not y:
        raise ValueError(f"{x + 1} is wrong")
    total = -x * 2.5
    x[0] = max(total, y)
    log.debug("x < y")
    store(x)
    total += x[1]
    return total
'''


def changes(source):
    return {
        (m.line, m.change): m.apply(source)
        for m in mutations("f.py", source)
        if m.is_syntax(source)
    }


def test_what_is_changed_and_what_is_left_alone():
    found = changes(SOURCE)
    assert {change for _, change in found} == {
        "3 -> 4",
        "condition turned around",
        "< -> <=",
        "and -> or",
        "not left out",
        "raise left out",
        "* -> /",
        "sign left out",
        "2.5 -> 5.0",
        "assignment left out",
        "0 -> 1",
        "max -> min",
        "call left out",
        "+= -> -=",
        "1 -> 2",
    }
    assert "if x <= y and not y:" in found["if x < y and not y:", "< -> <="]
    assert (
        "        pass\n    total"
        in found['raise ValueError(f"{x + 1} is wrong")', "raise left out"]
    )
    assert "if not (x < y and not y):" in found["if x < y and not y:", "condition turned around"]
    assert "    x[0] = min(total, y)\n" in found["x[0] = max(total, y)", "max -> min"]
    assert "(x) * 2.5" in found["total = -x * 2.5", "sign left out"]


@pytest.fixture(scope="module")
def bugs():
    return mutants.chosen(0)


@pytest.mark.thorough
def test_every_bug_has_tests_that_exist(bugs):
    for path in {bug.path for bug in bugs}:
        for _, arguments in mutants.plan(path):
            assert (mutants.ROOT / arguments[0]).exists(), (path, arguments)


def test_reasons_are_of_bugs_that_are_planted():
    if not mutants.EQUIVALENT.exists():
        return
    reasons = json.loads(mutants.EQUIVALENT.read_text(encoding="utf-8"))
    assert all(reasons.values())
    files = {key.split(" :: ")[0] for key in reasons}
    assert all((pathlib.Path(mutants.ROOT) / file).exists() for file in files)
