"""Columns that only identify rows are recognised, and others are not."""

import numpy as np
import pandas as pd
import pytest

import hld
from hld.schemas.columns import fit_column
from hld.schemas.identifiers import AS_TEXT, identifier_note


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"id {i}" for i in range(200)], "left out"),
        ([f"id {i % 190}" for i in range(200)], "left out"),  # 180 of 200 occur in one row only
        ([f"id {i % 150}" for i in range(200)], "categorical"),
        ([f"id {i}" for i in range(60)], "categorical"),  # few enough to be kept
        (list(range(1000, 1200)), "left out"),
        (list(range(200))[::-1], "left out"),
        (np.random.default_rng(0).permutation(200).tolist(), "left out"),
        ((np.random.default_rng(0).permutation(200) * 7 % 1000).tolist(), "continuous"),
        (np.linspace(0, 1, 200).tolist(), "continuous"),
        (list(range(90)), "continuous"),
    ],
)
def test_columns_that_tell_rows_apart_are_left_out(values, kind):
    table = pd.DataFrame({"x": values, "y": np.arange(len(values)) % 2})
    schema = hld.learn_schema(table)
    assert schema["x"].kind == kind
    asked = hld.learn_schema(table, categorical=["x"])
    assert asked["x"].kind == "categorical"
    assert (schema["x"].note == "") == (kind != "left out")


def note(values):
    """What is said of a column that is fitted by itself."""
    values = np.asarray(values)
    return identifier_note(
        "x", values, fit_column("x", values, None, num_bins=8, max_categories=64)
    )


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (range(100), "in the order of the rows"),
        (range(500, 0, -3), "in the order of the rows"),
        (range(99), ""),
        ([*range(100, 199), 198], ""),
        ([*range(500, 200, -3), 203], ""),
        ([*range(0, 300, 3), 297], ""),  # one twice
        ([0, *range(2, 100), 1, 100], "all different, without a gap"),
        ([0, *range(2, 100), 1, 101], ""),
        ([-(2**63), *range(98), 2**63 - 1], "in the order of the rows"),
        ([-(2**63), *range(98, 0, -1), 2**63 - 1], ""),
    ],
)
@pytest.mark.parametrize("dtype", [np.int64, object])
def test_row_numbers_are_ascending_descending_or_without_a_gap(numbers, words, dtype):
    """Objects, as lists of rows with a text in them hold, had been cut into bins."""
    found = note(np.array(list(map(int, numbers)), dtype=dtype))
    assert words in found
    assert (found == "") == (words == "")


def test_numbers_that_are_not_whole_number_no_rows():
    for cells in ([*range(199), None], [True, *range(2, 201)], [*range(199), 200.0]):
        assert note(np.array(cells, dtype=object)) == ""
    assert note(np.arange(200.0)) == ""
    table = [[i, "ab"[i % 2], 0.5] for i in range(200)]
    assert [column.name for column in hld.learn_schema(table).left_out] == ["x0"]


def test_a_note_says_how_many_values_occur_once_and_how_many_read_as_numbers():
    words = [f"w{i}" for i in range(90)] + ["often"] * 10
    assert note(words) == "nearly unique: 90 of 100 values occur in one row only"
    assert note([*words, "often"]) == ""  # 90 of 101 are less than nine in ten
    assert note(np.array([*words, None, None], object)) == note(words)
    numbers = [f"{i},5" for i in range(51)]
    assert (
        note(words[:49] + numbers)
        == f"{AS_TEXT}: 51 of 100 values read as numbers, 100 occur in one row only"
    )
    assert (
        note(words[:50] + numbers[:50]) == "nearly unique: 100 of 100 values occur in one row only"
    )
