"""Limits of a service: each is checked by its name, and gives what follows from it."""

import math
import os
from dataclasses import fields

import pytest

from hld.serve.limits import SPARE_COLUMNS, Limits

LEAST = {"max_bytes": 1, "max_rows": 1, "connections": 1, "workers": 0, "queue": 0}
NAMES = [field.name for field in fields(Limits)]


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_that_cannot_be_is_named(name):
    wrong = (
        [LEAST[name] - 1, 2.5, True, "9", None]
        if name in LEAST
        else [0, -1.0, math.nan, math.inf, "9", None]
    )
    for value in wrong:
        with pytest.raises(
            (TypeError, ValueError), match=f"`{name}` must be a (whole|finite) number"
        ):
            Limits(**{name: value})
    least = LEAST.get(name, 1e-9)
    assert getattr(Limits(**{name: least}), name) == least


def test_threads_are_as_many_as_asked_for_or_as_processors(monkeypatch):
    assert Limits(workers=3).threads == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 5}, raising=False)
    assert Limits().threads == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert Limits().threads == 1


def test_tables_may_have_twice_the_columns_and_some():
    assert [Limits().most_columns(number) for number in (1, 500)] == [
        SPARE_COLUMNS + 2,
        SPARE_COLUMNS + 1000,
    ]
