"""Which columns are covariates: by name or position, some and not all, and only where rows are the reference."""
import numpy as np
import pytest

from hld.conditional.covariates import column_position, covariate_mask

NAMES = ("age", "sex", "income")


@pytest.mark.parametrize(("covariates", "expected"), [
    (["sex"], [False, True, False]), ([0, "income"], [True, False, True]), (("age", "age", 0), [True, False, False]),
    (np.array([2, 1]), [False, True, True]), (np.array(["sex"]), [False, True, False]),
    (range(2), [True, True, False])])
def test_columns_are_named_or_numbered_in_any_order_and_as_often_as_one_likes(covariates, expected):
    for reference in ("auto", "held-out", "training"):
        assert covariate_mask(NAMES, covariates, reference).tolist() == expected


def test_without_covariates_there_is_no_mask_whatever_the_reference():
    assert covariate_mask(NAMES, None, "circuit") is None


@pytest.mark.parametrize(("covariates", "said"), [
    ("age", "`covariates` is 'age', expected a sequence of column names or positions"),
    (b"age", "`covariates` is b'age', expected a sequence of column names or positions"),
    (0, "`covariates` is 0, expected a sequence of column names or positions")])
def test_one_name_is_no_sequence(covariates, said):
    with pytest.raises(TypeError, match=said):
        covariate_mask(NAMES, covariates, "auto")


@pytest.mark.parametrize("column", ["height", "Age", 3, -1, True, np.True_, 1.0, None, ["age"], b"age"])
def test_what_names_no_column_is_shown_with_those_that_there_are(column):
    for ask in (lambda: covariate_mask(NAMES, [column], "auto"), lambda: column_position(NAMES, column, "covariates")):
        with pytest.raises(ValueError, match="one of 'age', 'sex', 'income', or a position from 0 to 2") as found:
            ask()
        assert f"`covariates` names the column {column!r}" in str(found.value)


@pytest.mark.parametrize(("names", "covariates", "reference", "said"), [
    (NAMES, [], "auto", "`covariates` names no column: give at least one, or None"),
    (NAMES, [2, 0, "sex"], "auto", "`covariates` names all 3 columns: leave out those that are tested"),
    (("age",), [0], "auto", "`covariates` names the only column: leave out those that are tested"),
    (NAMES, ["age"], "circuit", "use reference='held-out', found reference='circuit'")])
def test_what_leaves_nothing_to_test_or_to_compare_with_is_refused(names, covariates, reference, said):
    with pytest.raises(ValueError, match=said):
        covariate_mask(names, covariates, reference)


def test_a_position_is_a_plain_number_and_a_name_goes_before_it():
    assert column_position(("1", "0"), "0", "label") == 1
    assert column_position(("1", "0"), 0, "label") == 0
    assert type(column_position(NAMES, np.int8(2), "label")) is int
    assert column_position(np.array(NAMES), np.str_("sex"), "label") == 1
    with pytest.raises(ValueError, match="`label` names the column 'x'"):
        column_position(NAMES, "x", "label")
