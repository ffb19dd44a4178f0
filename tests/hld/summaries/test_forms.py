"""Summaries as JSON: read back exactly, and nothing else is taken for one."""

import json

import numpy as np
import pytest

import hld

SCALARS = {"model": "0123456789abcdef" * 4, "num_rows": 3, "num_missing": 2}
ALL_SCALARS = SCALARS | {"absent": ["a"], "extra": ["naïve ☃", ""]}
ALL_ARRAYS = {
    "sums": np.array([0.1 + 0.2, -0.0, 5e-324]),
    "seen": np.array([3, 0, 2]),
    "squares": np.array([1 / 3, 1e300]),
    "fourths": np.array([1.0, 2.0]),
    "odd": np.array([0, 3]),
    "sketch": np.arange(8.0).reshape(2, 2, 2),
    "cells": np.zeros((5, 1), int),
    "categories": np.array([1, 2]),
    "pairs": np.array([2, 0, 1]),
    "odd_rows": np.zeros(0, int),
}


def in_json(scalars, arrays):
    """A text with any scalars and arrays."""
    return json.dumps({"format": "hld.summary", "version": 1, **scalars, "arrays": arrays})


def test_every_part_is_read_back_to_the_last_bit():
    lists = {name: array.tolist() for name, array in ALL_ARRAYS.items()}
    found = hld.BatchSummary.from_json(in_json(ALL_SCALARS, lists))
    for name, value in ALL_SCALARS.items():
        assert getattr(found, name) == (tuple(value) if isinstance(value, list) else value)
    for name, array in ALL_ARRAYS.items():
        own = found.arrays[name]
        assert (own.dtype, own.shape) == (array.dtype, array.shape)
        assert own.tobytes() == array.tobytes()
    assert json.loads(found.to_json()) == json.loads(in_json(ALL_SCALARS, lists))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        *((name, 1, "must be|lacks|unknown") for name in ("sums", "seen", "squares", "cells")),
        *((name, [1], "lacks|unknown") for name in ("model", "num_rows", "absent")),
        ("sums", [0.5, True, 1.0], "'sums' of the summary must be finite numbers"),
        ("seen", [3, False, 2], "'seen' of the summary must be counts of at most 3 rows"),
        ("sketch", [[[1.0, 2.0], [True, 4.0]]] * 2, "'sketch' of the summary must be finite"),
        *(("sums", [float(bad)] * 3, "must be finite numbers") for bad in ("nan", "inf")),
    ],
)
def test_what_is_in_the_place_of_another_is_refused(name, value, said):
    """Numbers for an array, an array for a number, and truths, which beside numbers had been 1 and 0."""
    scalars = {key: one for key, one in ALL_SCALARS.items() if key != name}
    arrays = {key: array.tolist() for key, array in ALL_ARRAYS.items() if key != name}
    (scalars if value == 1 else arrays)[name] = value
    with pytest.raises(ValueError, match=said):
        hld.BatchSummary.from_json(in_json(scalars, arrays))


def damaged(found):
    """Texts that are no summaries, each with a word of what is said."""
    good = json.loads(found.to_json())
    changes = [
        ("format", "x", "format"),
        ("version", 2, "newer"),
        ("version", "1", "version"),
        ("model", "x", "model"),
        ("model", 3, "model"),
        ("num_rows", -1, "num_rows"),
        ("num_rows", 1.5, "num_rows"),
        ("num_missing", None, "num_missing"),
        ("extra", [3], "extra"),
        ("absent", "a", "absent"),
        ("epsilon", 1.0, "unknown"),
        ("surprise", 1, "unknown"),
    ]
    yield from ((json.dumps(good | {name: value}), word) for name, value, word in changes)
    arrays = [
        ("sums", [], "fit together"),
        ("sums", ["a"], "numbers"),
        ("sums", [[1.0]], "1-dimensional"),
        ("odd", [51] * 4, "counts"),
        ("odd", [-1] * 4, "counts"),
        ("odd", [0.5] * 4, "counts"),
        ("squares", [-1.0] * 4, "fit together"),
        ("squares", [0.0], "fit together"),
        ("cells", [[0]], "fit together"),
        ("seen", [1], "fit together"),
        ("x", [1], "unknown"),
        ("sums", [10**400] * 400, "numbers"),
        ("categories", [2**63] * 12, "counts"),
    ]
    yield from (
        (json.dumps(good | {"arrays": good["arrays"] | {name: value}}), word)
        for name, value, word in arrays
    )
    for text in ("", "[]", "{", "3", "[" * 10_000, "{}", json.dumps(good | {"arrays": 3})):
        yield text, "summary"


def test_texts_that_are_no_summaries_are_refused(found):
    for text, word in damaged(found):
        with pytest.raises(ValueError, match=word):
            hld.BatchSummary.from_json(text)
    for wrong in (None, b"{}", 3):
        with pytest.raises(TypeError, match="`text` must be"):
            hld.BatchSummary.from_json(wrong)


def test_a_name_that_occurs_twice_is_refused(found):
    text = found.to_json()
    for name in ("num_rows", "sums"):
        twice = text.replace(f'"{name}"', f'"{name}": [], "{name}"', 1)
        assert json.loads(twice)  # the last one would win
        with pytest.raises(ValueError, match=f"an object has the name '{name}' twice"):
            hld.BatchSummary.from_json(twice)
