"""Which columns are covariates: by name or position, some and not all, and only where rows are the reference."""
import numpy as np
import pytest

import hld
from hld.conditional.covariates import covariate_mask
from hld.tables.calendar import Derived

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
    with pytest.raises(ValueError, match="one of 'age', 'sex', 'income', or a position from 0 to 2") as found:
        covariate_mask(NAMES, [column], "auto")
    assert f"`covariates` names the column {column!r}" in str(found.value)


@pytest.mark.parametrize(("names", "covariates", "reference", "said"), [
    (NAMES, [], "auto", "`covariates` names no column: give at least one, or None"),
    (NAMES, [2, 0, "sex"], "auto", "`covariates` names all 3 columns: leave out those that are tested"),
    (("age",), [0], "auto", "`covariates` names the only column: leave out those that are tested"),
    (NAMES, ["age"], "circuit", "use reference='held-out', found reference='circuit'")])
def test_what_leaves_nothing_to_test_or_to_compare_with_is_refused(names, covariates, reference, said):
    with pytest.raises(ValueError, match=said):
        covariate_mask(names, covariates, reference)


def test_positions_are_those_of_the_table_and_parts_of_a_column_go_together():
    """With a column of ids left out, the third column of the table had been the fourth."""
    table_names, names = ("id", "age", "when", "sex"), ("age", "sex", "when_weekday", "when_hour")
    parts = [Derived("when_weekday", "when", "weekday"), Derived("when_hour", "when", "hour")]
    for covariates, expected in (([1], [True, False, False, False]), ([3], [False, True, False, False]),
                                 (["when"], [False, False, True, True]), ([2, "sex"], [False, True, True, True])):
        assert covariate_mask(names, covariates, "auto", table_names, parts).tolist() == expected


def test_covariates_of_a_detector_are_columns_of_its_table():
    rng = np.random.default_rng(0)
    table = np.column_stack([[f"id {k}" for k in range(300)], rng.integers(0, 2, 300), rng.integers(0, 3, 300),
                             rng.integers(0, 4, 300)]).astype(object)
    with pytest.warns(UserWarning, match="left out: 'x0'"):
        detector = hld.HLDDetector(num_latents=2, num_epochs=2, covariates=[2], rng=0).fit(table)
    assert [one.name for one in detector.test(table[:50]).columns if np.isnan(one.pvalue)] == ["x2"]
    with pytest.warns(UserWarning, match="left out: 'x0'"), pytest.raises(ValueError, match=(
            r"`covariates` names the column 0 \('x0'\), which is left out of what is learned, expected one of 'x1'")):
        hld.HLDDetector(num_latents=2, num_epochs=2, covariates=[0], rng=0).fit(table)
