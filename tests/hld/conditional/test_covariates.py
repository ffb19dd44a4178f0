"""Which columns are covariates: by name or position, some and not all, and only where rows are the reference."""

import numpy as np
import pytest

import hld
from hld.conditional.covariates import column_places, covariate_mask
from hld.tables.calendar import Derived

NAMES = ("age", "sex", "income")


@pytest.mark.parametrize(
    ("covariates", "expected"),
    [
        (["sex"], [False, True, False]),
        ([0, "income"], [True, False, True]),
        (("age", "age", 0), [True, False, False]),
        (np.array([2, 1]), [False, True, True]),
        (np.array(["sex"]), [False, True, False]),
        (range(2), [True, True, False]),
    ],
)
def test_columns_are_named_or_numbered_in_any_order_and_as_often_as_one_likes(covariates, expected):
    for reference in ("auto", "held-out", "training"):
        assert covariate_mask(NAMES, covariates, reference).tolist() == expected


def test_without_covariates_there_is_no_mask_whatever_the_reference():
    assert covariate_mask(NAMES, None, "circuit") is None


@pytest.mark.parametrize(
    ("covariates", "said"),
    [
        ("age", "`covariates` is 'age', expected a sequence of column names or positions"),
        (b"age", "`covariates` is b'age', expected a sequence of column names or positions"),
        (0, "`covariates` is 0, expected a sequence of column names or positions"),
    ],
)
def test_one_name_is_no_sequence(covariates, said):
    with pytest.raises(TypeError, match=said):
        covariate_mask(NAMES, covariates, "auto")


@pytest.mark.parametrize(
    "column", ["height", "Age", 3, -1, True, np.True_, 1.0, None, ["age"], b"age"]
)
def test_what_names_no_column_is_shown_with_those_that_there_are(column):
    with pytest.raises(
        ValueError, match="one of 'age', 'sex', 'income', or a position from 0 to 2"
    ) as found:
        covariate_mask(NAMES, [column], "auto")
    assert f"`covariates` names the column {column!r}" in str(found.value)


@pytest.mark.parametrize(
    ("names", "covariates", "reference", "said"),
    [
        (NAMES, [], "auto", "`covariates` names no column: give at least one, or None"),
        (
            NAMES,
            [2, 0, "sex"],
            "auto",
            "`covariates` names all 3 columns: leave out those that are tested",
        ),
        (
            ("age",),
            [0],
            "auto",
            "`covariates` names the only column: leave out those that are tested",
        ),
        (NAMES, ["age"], "circuit", "use reference='held-out', found reference='circuit'"),
    ],
)
def test_what_leaves_nothing_to_test_or_to_compare_with_is_refused(
    names, covariates, reference, said
):
    with pytest.raises(ValueError, match=said):
        covariate_mask(names, covariates, reference)


def test_positions_are_those_of_the_table_and_parts_of_a_column_go_together():
    """With a column of ids left out, the third column of the table had been the fourth."""
    table_names, names = ("id", "age", "when", "sex"), ("age", "sex", "when_weekday", "when_hour")
    parts = [Derived("when_weekday", "when", "weekday"), Derived("when_hour", "when", "hour")]
    for covariates, expected in (
        ([1], [True, False, False, False]),
        ([3], [False, True, False, False]),
        (["when"], [False, False, True, True]),
        ([2, "sex"], [False, True, True, True]),
    ):
        assert covariate_mask(names, covariates, "auto", table_names, parts).tolist() == expected


def test_covariates_of_a_detector_are_columns_of_its_table():
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [
            [f"id {k}" for k in range(300)],
            rng.integers(0, 2, 300),
            rng.integers(0, 3, 300),
            rng.integers(0, 4, 300),
        ]
    ).astype(object)
    with pytest.warns(UserWarning, match="left out: 'x0'"):
        detector = hld.HLDDetector(num_latents=2, num_epochs=2, covariates=[2], rng=0).fit(table)
    assert [one.name for one in detector.test(table[:50]).columns if np.isnan(one.pvalue)] == ["x2"]
    with (
        pytest.warns(UserWarning, match="left out: 'x0'"),
        pytest.raises(
            ValueError,
            match=(
                r"`covariates` names the column 0 \('x0'\), which is left out of what is learned, expected one of 'x1'"
            ),
        ),
    ):
        hld.HLDDetector(num_latents=2, num_epochs=2, covariates=[0], rng=0).fit(table)


def test_a_position_is_a_plain_number_and_a_name_goes_before_it():
    assert column_places(("1", "0"), "0", "label") == [1]
    assert column_places(("1", "0"), 0, "label") == [0]
    names = ("age", "sex", "income")
    assert [type(one) for one in column_places(names, np.int8(2), "label")] == [int]
    assert column_places(np.array(names), np.str_("sex"), "label") == [1]
    with pytest.raises(
        ValueError,
        match="`label` names the column 'x', expected one of 'age', 'sex', 'income', or a",
    ):
        column_places(names, "x", "label")


@pytest.mark.parametrize(
    ("column", "expected"),
    [(1, [0]), (3, [1]), (2, [2, 3]), ("when", [2, 3]), ("when_hour", [3]), (np.uint8(3), [1])],
)
def test_positions_are_those_of_the_training_table(column, expected):
    parts = [Derived("when_weekday", "when", "weekday"), Derived("when_hour", "when", "hour")]
    names, table_names = ("age", "sex", "when_weekday", "when_hour"), ("id", "age", "when", "sex")
    assert column_places(names, column, "label", table_names, parts) == expected


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (
            "id",
            "column 'id', which is left out of what is learned, expected one of 'age', 'sex', or a position from 0 to",
        ),
        (0, r"column 0 \('id'\), which is left out of what is learned, expected one of"),
        (3, "column 3, expected one of"),
        (-1, "column -1, expected"),
        (True, "column True, expected"),
        (1.0, "column 1.0, expected"),
        (None, "column None, expected"),
        (["age"], r"column \['age'\], expected"),
    ],
)
def test_what_is_no_fitted_column_is_refused_with_the_reason(column, said):
    with pytest.raises(ValueError, match=f"^`label` names the {said}"):
        column_places(("age", "sex"), column, "label", ("id", "age", "sex"))
