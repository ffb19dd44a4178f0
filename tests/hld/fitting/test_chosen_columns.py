"""Choices of columns in a table with a column of groups, which is taken out before the others are learned."""

import numpy as np
import pytest

import hld
from hld.fitting.chosen_columns import without_column


@pytest.mark.parametrize(
    ("chosen", "names", "expected"),
    [
        ([0, 2], None, [0, 1]),
        ((2, "x0"), None, [1, "x0"]),
        ([0, 2], ("a", "b", "c"), ["a", "c"]),
        ([], None, []),
        (np.array([2]), None, [1]),
        (None, None, None),
        ("a", None, "a"),
        (5, None, 5),
        ([True, 0.5], None, [True, 0.5]),
    ],
)
def test_choices_in_a_table_are_choices_without_its_column_of_groups(chosen, names, expected):
    assert without_column(chosen, "categorical", names, 3, 1) == expected


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ([1], "position 1, the column of `groups`"),
        ([3], r"position 3, expected 0\.\.2"),
        ([-1], "position -1, exp"),
    ],
)
def test_the_column_of_groups_and_what_is_no_position_are_refused(chosen, said):
    with pytest.raises(ValueError, match=f"^`categorical` holds {said}"):
        without_column(chosen, "categorical", ("a", "b", "c"), 3, 1)


@pytest.mark.parametrize("is_named", [False, True])
def test_kinds_are_given_by_positions_in_the_table_with_its_column_of_groups(is_named):
    """They had been counted without that column, so that the next one was taken."""
    rng = np.random.default_rng(0)
    table = np.column_stack([np.arange(300) // 10, rng.integers(0, 9, (300, 3))])
    given = dict(zip("gabc", table.T, strict=True)) if is_named else table
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, categorical=[2], rng=0).fit(
        given, groups=0
    )
    assert [one.kind for one in detector.encoder_.columns] == ["integer", "categorical", "integer"]
