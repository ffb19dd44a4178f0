"""Which columns are covariates: by name or position, some and not all, and only where rows are the reference."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hld
from hld.tables.derived import Derived
from hld.testing.conditional.covariates import (
    choose_functions,
    covariate_mask,
    value_groups,
)
from tests import binomial_bounds

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
                r"`covariates` names the column 0 \('x0', which is left out of what is learned\), expected one of 'x1'"
            ),
        ),
    ):
        hld.HLDDetector(num_latents=2, num_epochs=2, covariates=[0], rng=0).fit(table)


@pytest.mark.parametrize(
    ("column", "expected"),
    [(1, [0]), (3, [1]), (2, [2, 3]), ("when", [2, 3]), ("when_hour", [3]), (np.uint8(3), [1])],
)
def test_positions_are_those_of_the_training_table(column, expected):
    parts = [Derived("when_weekday", "when", "weekday"), Derived("when_hour", "when", "hour")]
    names, table_names = ("age", "sex", "when_weekday", "when_hour"), ("id", "age", "when", "sex")
    found = covariate_mask(names, [column], "auto", table_names, parts)
    assert np.flatnonzero(found).tolist() == expected


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (
            "id",
            r"column 'id' \('id', which is left out of what is learned\), expected one of 'age', 'sex', or a position",
        ),
        (0, r"column 0 \('id', which is left out of what is learned\), expected one of"),
        (3, "column 3, expected one of"),
        (-1, "column -1, expected"),
        (True, "column True, expected"),
        (1.0, "column 1.0, expected"),
        (None, "column None, expected"),
        (["age"], r"column \['age'\], expected"),
    ],
)
def test_what_is_no_fitted_column_is_refused_with_the_reason(column, said):
    with pytest.raises(ValueError, match=f"^`covariates` names the {said}"):
        covariate_mask(("age", "sex"), [column], "auto", ("id", "age", "sex"))


@given(st.lists(st.integers(0, 50), min_size=3, max_size=40), st.sampled_from([2, 4, 8]))
@settings(max_examples=200, deadline=None)
def test_groups_ascend_without_gaps_and_are_few(counts, num_groups):
    groups = value_groups(np.array(counts), num_groups)
    assert groups.shape == (len(counts),)
    assert groups[:2].tolist() == [0, 1]
    assert set(np.diff(groups).tolist()) <= {0, 1}
    assert groups[-1] <= num_groups
    if len(counts) - 1 <= num_groups:
        assert groups.tolist() == list(range(len(counts)))


def test_each_row_has_one_value_of_each_covariate_and_pair():
    """Written out once more with loops."""
    rng, num_categories = np.random.default_rng(0), [3, 30, 2, 12]
    rows = np.column_stack([rng.integers(-1, C, 4000) for C in num_categories])
    given_columns = np.array([True, True, False, True])
    functions = choose_functions(rows, given_columns, num_categories, 400)
    found = functions(rows)
    expected, places = [np.ones(len(rows))], [0, 1, 3]
    groups = dict(zip(places, functions.groups, strict=True))
    for v in places:
        expected += [rows[:, v] == value for value in range(-1, num_categories[v])]
    sizes = {v: groups[v][-1] + 1 for v in places}
    pairs = sorted(
        itertools.combinations(places, 2), key=lambda pair: sizes[pair[0]] * sizes[pair[1]]
    )
    for v, w in pairs:
        one, other = (groups[u][rows[:, u] + 1] for u in (v, w))
        expected += [(one == a) & (other == b) for a in range(sizes[v]) for b in range(sizes[w])]
    np.testing.assert_array_equal(found, np.array(expected).T)
    assert groups[1][-1] == groups[3][-1] == 8


@pytest.mark.parametrize(("most", "group_count"), [(2000, 8), (150, 4), (100, 2)])
def test_groups_get_coarser_until_all_pairs_fit(most, group_count):
    rows = np.random.default_rng(0).integers(0, 16, size=(5000, 3))
    functions = choose_functions(rows, np.ones(3, bool), [16] * 3, most)
    assert {int(one[-1]) for one in functions.groups} == {group_count}
    assert functions.num_functions == 1 + 3 * 17 + 3 * (group_count + 1) ** 2 <= most


def test_covariates_of_many_values_that_act_together_keep_the_level():
    """What the rest is, depends on the product of two covariates of fifty values, which a small circuit cannot say."""
    rng, trials = np.random.default_rng(1), 40

    def rows(n, tilt):
        pool = rng.integers(0, 50, size=(12 * n, 2))
        weights = np.exp(tilt * pool.sum(axis=1) / 50)
        x = pool[rng.choice(len(pool), n, replace=False, p=weights / weights.sum())]
        y = rng.random((n, 3)) < np.where((x[:, :1] > 24) == (x[:, 1:] > 24), 0.8, 0.2)
        return {"a": x[:, 0], "b": x[:, 1], **{f"y{i}": y[:, i] for i in range(3)}}

    detector = hld.HLDDetector(
        num_latents=2, num_epochs=5, null="exact", covariates=["a", "b"]
    ).fit(rows(8000, 0.0))
    judge, found = detector.judge_, []
    assert len(judge.beta) == 1 + 52 + 52 + 81  # with the unseen values and a hole
    for _ in range(trials):
        batch = rows(1000, 1.5)
        object.__setattr__(
            judge, "covariate_pvalue", lambda codes: 1.0
        )  # which takes most of the time
        found.append(detector.test(batch).pvalue)
    assert sum(p <= 0.05 for p in found) <= binomial_bounds.at_most(trials, 0.05)
    assert detector.test(rows(1000, 1.5) | {"y0": rng.random(1000) < 0.5}).reject
