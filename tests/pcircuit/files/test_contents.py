"""What files hold."""

import numpy as np
import pytest

from pcircuit.files.contents import (
    check_names,
    finite_array,
    saved_count,
    saved_number,
    under_prefix,
    with_prefix,
)


def test_arrays_of_files():
    arrays = {
        "a": np.ones((2, 3)),
        "b": np.array([1.0, np.nan]),
        "c": np.array([True]),
        "d": np.ones(2, np.float32),
    }
    assert finite_array(arrays, "a", (2, None)) is arrays["a"]
    assert finite_array(arrays, "d", (2,), np.float32) is arrays["d"]
    for name, shape in (("a", (2,)), ("a", (3, 3)), ("b", (2,)), ("c", (1,)), ("d", (2,))):
        with pytest.raises(ValueError, match=f"array '{name}' must hold"):
            finite_array(arrays, name, shape)
    assert under_prefix("x.", with_prefix("x.", arrays) | {"y": None}) == arrays


def test_numbers_of_files():
    scalars = {"a": 2, "b": 0.5, "c": True, "d": "2", "e": float("nan"), "f": -1}
    assert saved_count(scalars, "a") == 2
    assert saved_number(scalars, "a") == 2.0
    assert type(saved_number(scalars, "a")) is float
    assert saved_number(scalars, "b", most=0.5) == 0.5
    for name in "bcdef":
        with pytest.raises(ValueError, match=f"'{name}' must be a whole number from 1"):
            saved_count(scalars, name)
    for name in "cdef":
        with pytest.raises(ValueError, match=f"'{name}' must be a number from 0"):
            saved_number(scalars, name)
    with pytest.raises(ValueError, match="'g' is missing"):
        saved_number(scalars, "g")


def test_names_of_files():
    check_names({"a": 1}, ["a"], "the header")
    with pytest.raises(ValueError, match=r"the header lacks \['a'\]$"):
        check_names(set(), ["a"], "the header")
