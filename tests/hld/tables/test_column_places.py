"""Columns by name or by position in the training table, of which some are left out, known by parts, or name groups."""
import numpy as np
import pytest

import hld
from hld.tables.calendar import Derived
from hld.tables.column_places import column_places, without_column


def test_a_position_is_a_plain_number_and_a_name_goes_before_it():
    assert column_places(("1", "0"), "0", "label") == [1]
    assert column_places(("1", "0"), 0, "label") == [0]
    names = ("age", "sex", "income")
    assert [type(one) for one in column_places(names, np.int8(2), "label")] == [int]
    assert column_places(np.array(names), np.str_("sex"), "label") == [1]
    with pytest.raises(ValueError, match="`label` names the column 'x', expected one of 'age', 'sex', 'income', or a"):
        column_places(names, "x", "label")


@pytest.mark.parametrize(("column", "expected"), [
    (1, [0]), (3, [1]), (2, [2, 3]), ("when", [2, 3]), ("when_hour", [3]), (np.uint8(3), [1])])
def test_positions_are_those_of_the_training_table(column, expected):
    parts = [Derived("when_weekday", "when", "weekday"), Derived("when_hour", "when", "hour")]
    names, table_names = ("age", "sex", "when_weekday", "when_hour"), ("id", "age", "when", "sex")
    assert column_places(names, column, "label", table_names, parts) == expected


@pytest.mark.parametrize(("column", "said"), [
    ("id", "column 'id', which is left out of what is learned, expected one of 'age', 'sex', or a position from 0 to"),
    (0, r"column 0 \('id'\), which is left out of what is learned, expected one of"),
    (3, "column 3, expected one of"), (-1, "column -1, expected"), (True, "column True, expected"),
    (1.0, "column 1.0, expected"), (None, "column None, expected"), (["age"], r"column \['age'\], expected")])
def test_what_is_no_fitted_column_is_refused_with_the_reason(column, said):
    with pytest.raises(ValueError, match=f"^`label` names the {said}"):
        column_places(("age", "sex"), column, "label", ("id", "age", "sex"))


@pytest.mark.parametrize(("chosen", "names", "expected"), [
    ([0, 2], None, [0, 1]), ((2, "x0"), None, [1, "x0"]), ([0, 2], ("a", "b", "c"), ["a", "c"]), ([], None, []),
    (np.array([2]), None, [1]), (None, None, None), ("a", None, "a"), (5, None, 5), ([True, 0.5], None, [True, 0.5])])
def test_choices_in_a_table_are_choices_without_its_column_of_groups(chosen, names, expected):
    assert without_column(chosen, "categorical", names, 3, 1) == expected


@pytest.mark.parametrize(("chosen", "said"), [
    ([1], "position 1, the column of `groups`"), ([3], r"position 3, expected 0\.\.2"), ([-1], "position -1, exp")])
def test_the_column_of_groups_and_what_is_no_position_are_refused(chosen, said):
    with pytest.raises(ValueError, match=f"^`categorical` holds {said}"):
        without_column(chosen, "categorical", ("a", "b", "c"), 3, 1)


@pytest.mark.parametrize("is_named", [False, True])
def test_kinds_are_given_by_positions_in_the_table_with_its_column_of_groups(is_named):
    """They had been counted without that column, so that the next one was taken."""
    rng = np.random.default_rng(0)
    table = np.column_stack([np.arange(300) // 10, rng.integers(0, 9, (300, 3))])
    given = dict(zip("gabc", table.T, strict=True)) if is_named else table
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, categorical=[2], rng=0).fit(given, groups=0)
    assert [one.kind for one in detector.encoder_.columns] == ["integer", "categorical", "integer"]
