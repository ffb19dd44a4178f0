"""Columns of the table encoder: which kind a column is, its levels, its bins."""

import datetime
import fractions
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import FINITE, column

from hld.tables.schemas.columns import (
    FEWEST,
    LevelColumn,
    bin_edges,
    fit_column,
    mark_texts,
    narrowed_column,
)
from hld.tables.schemas.learn_schema import fit_encoder

# Kinds of columns


@pytest.mark.parametrize(
    ("cells", "kind", "levels"),
    [
        (["b", "a", "b"], "categorical", ("a", "b")),
        ([True, False, True], "boolean", (False, True)),
        ([np.True_, None], "boolean", (True,)),
        ([3, -1, 3], "integer", (-1, 3)),
        ([3.0, np.nan, -1.0], "integer", (-1, 3)),
        ([np.int8(3), 2.0, True], "integer", (1, 2, 3)),
        ([0.5, 0.5], "constant", (0.5,)),
        ([2, "a", 1.5, True, None, "b"], "categorical", (True, 1.5, 2, "a", "b")),
        ([1, 1.0, True, "1"], "categorical", (1, "1")),
        ([None, np.nan], "categorical", ()),
        ([b"x", "x"], "categorical", ("x",)),
        ([datetime.date(2020, 1, 2), pd.NaT], "categorical", ("2020-01-02",)),
        ([Decimal("0.5"), fractions.Fraction(1, 2)], "constant", (0.5,)),
        ([-0.0, 0.0], "integer", (0,)),
        ([2**70, 1], "integer", (1, 2**70)),
        ([Decimal("3.00"), Decimal(5)], "integer", (3, 5)),
        ([Decimal("Infinity"), "x"], "categorical", (float("inf"), "x")),
    ],
)
def test_levels_of_a_column_of_objects(cells, kind, levels):
    (fitted,) = fit_encoder(column(*cells)).columns
    assert (fitted.kind, fitted.levels) == (kind, levels)
    assert list(map(type, fitted.levels)) == list(map(type, levels))
    assert fitted.num_categories == len(levels) + 1


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.array([[True], [False]]), "boolean"),
        (np.array([[2], [5]], dtype=np.uint8), "integer"),
        (np.array([[2.0], [np.nan]], dtype=np.float16), "integer"),
        (np.array([[0.25], [1.0]]), "continuous"),
        (np.array([["x"], ["y"]]), "categorical"),
        (np.array([[b"x"], [b"y"]]), "categorical"),
        (np.array([["2020-01-01"], ["NaT"]], dtype="datetime64[ns]"), "categorical"),
        (np.arange(65)[:, None], "continuous"),
        (np.repeat(np.arange(64), 4)[:, None], "integer"),
        (np.repeat(np.arange(64), 4)[1:, None], "continuous"),
        (np.arange(8)[:, None], "integer"),
        (np.arange(9)[:, None], "continuous"),
        (np.array([[1.0], [np.inf]]), "continuous"),
    ],
)
def test_kind_follows_the_dtype_and_the_values(values, kind):
    assert fit_encoder(values).columns[0].kind == kind


def test_kind_can_be_given_by_name_or_position():
    table = pd.DataFrame({"a": [1, 2, 3, 4], "b": [1.5, 2.5, 1.5, 9.0], "c": ["x", "y", "x", "x"]})
    encoder = fit_encoder(table, continuous=["a"], categorical=[1])
    assert [fitted.kind for fitted in encoder.columns] == [
        "continuous",
        "categorical",
        "categorical",
    ]
    assert encoder.columns[1].levels == (1.5, 2.5, 9.0)
    assert fit_encoder(table, categorical=np.array([0])).columns[0].kind == "categorical"


def test_declared_categories_stay_levels():
    table = pd.DataFrame({"a": pd.Categorical([3, 1, 3]), "b": pd.Categorical(["x", None, "y"])})
    encoder = fit_encoder(table)
    assert [(fitted.kind, fitted.levels) for fitted in encoder.columns] == [
        ("integer", (1, 3)),  # numbers are taken as what they are
        ("categorical", ("x", "y")),
    ]
    assert encoder.encode(table)[0].tolist() == [[1, 0], [0, -1], [1, 1]]


def test_rare_levels_share_a_category_and_unseen_ones_have_their_own():
    cells = ["c"] * 3 + ["b"] * 2 + ["a"] * 2 + ["d"] * 2 + ["e"]
    encoder = fit_encoder(column(*cells), max_categories=3)
    (fitted,) = encoder.columns
    assert fitted.levels == ("a", "c")  # c is most frequent; a, b and d tie, a comes first
    assert encoder.num_categories == (4,)
    codes, report = encoder.encode(column("a", "b", "c", "e", "new", None, b"e"))
    assert codes[:, 0].tolist() == [0, 2, 1, 2, 3, -1, 2]
    assert report.num_unseen.tolist() == [1]


def test_training_rows_are_written_as_they_are_seen_from_the_others():
    cells = ["c"] * 3 + ["b"] * 2 + ["a"] * 2 + ["e", None, "d", "d"]
    encoder = fit_encoder(column(*cells), max_categories=3)
    codes, report = encoder.encode_training(column(*cells))
    assert codes[:, 0].tolist() == [1, 1, 1, 2, 2, 0, 0, 3, -1, 2, 2]  # e is in one row only
    assert report.num_unseen.tolist() == [1]
    all_kept = fit_encoder(column(*cells))
    assert (
        all_kept.encode_training(column(*cells))[0].tolist()
        == all_kept.encode(column(*cells))[0].tolist()
    )


@pytest.mark.parametrize("rare", [b"x" * 7, b"b" * 8 + b"a" * 8, b"a" * 16, b"a" * 9])
def test_impossible_digests_are_refused(rare):
    with pytest.raises(ValueError, match="column 'x0' has impossible digests of rare levels"):
        LevelColumn("x0", "categorical", ("a",), rare=rare)
    with pytest.raises(ValueError, match="impossible digests"):
        LevelColumn("x0", "integer", (1,), rare=b"a" * 8)


# Bins


def test_more_bins_than_rows_need_no_memory():
    assert fit_encoder(np.array([[0.5], [1.5], [2.5]]), num_bins=2**31 - 2).num_categories == (3,)


def test_values_beyond_the_range_are_binned_and_counted():
    encoder = fit_encoder(np.linspace(0, 1, 101)[:, None], num_bins=4)
    table = np.array(
        [[-0.1], [0.0], [1.0], [1.1], [np.inf], [-np.inf], [np.nan], [np.nextafter(1, 2)]]
    )
    codes, report = encoder.encode(table)
    assert codes[:, 0].tolist() == [0, 0, 3, 3, 3, 0, -1, 3]
    assert report.num_out_of_range.tolist() == [5]
    assert report.num_missing.tolist() == [1]
    assert report.num_unseen.tolist() == [0]


def test_few_infinite_training_values_do_not_move_the_edges():
    values = np.linspace(0, 1, 81)
    with_infinities = np.concatenate([values, [np.inf] * 7, [-np.inf]])
    encoder = fit_encoder(with_infinities[:, None])
    assert encoder == fit_encoder(values[:, None])
    codes, report = encoder.encode(with_infinities[:, None])
    assert codes[-1, 0] == 0
    assert set(codes[81:88, 0]) == {7}
    assert report.num_out_of_range.tolist() == [8]


def test_whole_numbers_stay_levels_in_the_part_of_the_rows_that_is_learned_from():
    """Their kind is that of all rows, however few of these a value has in a part."""
    values = np.repeat(np.arange(30), 4)
    column = fit_column("x", values, None, num_bins=8, max_categories=64)
    found = narrowed_column(column, values[::4][:20], num_bins=8, max_categories=64)
    assert (column.kind, found.kind, found.levels) == ("integer", "integer", tuple(range(20)))
    assert narrowed_column(column, np.full(3, np.nan), num_bins=8, max_categories=64) is column


def bins_of(values, edges):
    """The bins of some values."""
    return np.searchsorted(edges, values, side="right")


@given(
    st.lists(FINITE | st.integers(-3, 3).map(float), min_size=2, max_size=60),
    st.integers(2, 12),
    st.booleans(),
)
def test_every_bin_holds_training_values_and_edges_ascend(numbers, num_bins, in_gaps):
    values, counts = np.unique(numbers, return_counts=True)
    edges = bin_edges(values, counts, num_bins, in_gaps=in_gaps)
    assert list(edges) == sorted(set(edges))
    assert set(bins_of(values, edges)) == set(range(len(edges) + 1))
    assert len(edges) < num_bins
    assert bool(edges) == (len(values) > 1)
    assert all(type(edge) is float for edge in edges)


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=60, unique=True),
    st.integers(2, 12),
    st.sampled_from([1.0, 0.01, 1 / 3]),
)
def test_numbers_in_four_bytes_stay_in_their_bins(numbers, num_bins, unit):
    """A rounded number moves by at most 2^-24 of itself, which is less than a quarter of these gaps."""
    values = np.unique(np.array(numbers) * unit)
    for counts in (np.ones(len(values), int), np.where(np.arange(len(values)) % 3, 1, 1000)):
        edges = bin_edges(values, counts, num_bins)
        np.testing.assert_array_equal(
            bins_of(values.astype(np.float32).astype(float), edges), bins_of(values, edges)
        )


def test_what_nine_in_ten_have_leaves_the_other_bins_to_the_rest():
    values, counts = np.arange(0.0, 101.0), np.array([900] + [1] * 100)
    edges = bin_edges(values, counts, 8)
    sizes = np.bincount(np.repeat(bins_of(values, edges), counts)).tolist()
    assert sizes[0] == 900
    assert len(sizes) == 8
    assert min(sizes) >= FEWEST
    assert max(sizes[1:]) <= 2 * min(sizes[1:]) + 1  # by halving


def test_spare_bins_stay_unused_where_they_would_hold_next_to_nothing():
    assert (
        len(bin_edges(np.arange(0.0, 2 * FEWEST), np.array([900] + [1] * (2 * FEWEST - 1)), 8)) == 1
    )
    assert (
        len(bin_edges(np.arange(0.0, 2 * FEWEST + 1), np.array([900] + [1] * 2 * FEWEST), 8)) == 2
    )


@pytest.mark.parametrize(
    ("counts", "num_bins", "starts"),
    [
        (
            [40, 5, 40, 15],
            3,
            [1, 2],
        ),  # the bins of two values and of what is between and above them are four
        ([40, 5, 40, 15], 4, [1, 2, 3]),
        ([20, 60, 20], 2, [1]),
        ([20, 60, 20], 3, [1, 2]),
        ([60, 20, 20], 2, [1]),
        ([1, 1, 96, 1, 1], 8, [2, 3]),
    ],
)
def test_very_frequent_values_have_bins_of_their_own_where_there_are_enough(
    counts, num_bins, starts
):
    values = np.arange(len(counts), dtype=float)
    edges = bin_edges(values, np.array(counts), num_bins)
    assert np.flatnonzero(np.diff(bins_of(values, edges))).tolist() == [
        start - 1 for start in starts
    ]


@pytest.mark.parametrize(
    ("values", "counts", "moved"),
    [
        ([0.0, 155.0, 200.0, 300.0], [960, 20, 10, 10], 100.0),  # nothing lost, and a hundred
        ([0.0, 155.0, 200.0, 300.0], [960, 20, 10, 10], 1.0),
        ([10.5, 20.0, 30.25, 40.0], [20, 10, 10, 960], 39.8),
        ([10.5, 20.0, 30.25, 40.0, 50.0], [20, 10, 960, 5, 5], 31.0),
        ([9.0, 10.0, 11.0], [500, 10, 490], 9.64),
    ],
)
def test_rows_that_move_off_an_atom_change_their_bin(values, counts, moved):
    """They could be seen by their absence: no test that keeps counts of bins sees them if they stay in one."""
    edges = bin_edges(np.array(values), np.array(counts), 8)
    atom = values[int(np.argmax(counts))]
    assert bins_of(atom, edges) != bins_of(moved, edges)


def test_edges_have_few_digits():
    values = np.sort(np.random.default_rng(0).lognormal(10, 1, size=1000))
    edges = bin_edges(values, np.ones(1000, int), 8)
    assert all(len(f"{edge:.17g}") <= 9 for edge in edges)
    at = np.searchsorted(values, edges)
    lower, upper = values[at - 1], values[at]
    assert (
        np.abs(np.array(edges) - (lower + upper) / 2) <= (upper - lower) / 4 * (1 + 1e-12)
    ).all()


@pytest.mark.parametrize(
    "values",
    [
        [1.0, np.nextafter(1.0, 2.0)],
        [-1e308, 1e308],
        [5e-324, 1e-323],
        [0.0, 5e-324],
        [-5e-324, 0.0, 5e-324],
        [1e300, 1.5e308],
        [-1.7976931348623157e308, 0.0, 1.7976931348623157e308],
    ],
)
def test_numbers_at_the_ends_of_what_doubles_hold(values):
    for counts in (
        [10] * len(values),
        [100] + [10] * (len(values) - 1),
        [10] * (len(values) - 1) + [100],
    ):
        edges = bin_edges(np.array(values), np.array(counts), 4)
        assert bins_of(np.array(values), edges).tolist() == list(range(len(values)))


def test_edges_of_times_are_times_of_the_table():
    days = np.datetime64("2024-03-01", "us") + np.arange(80) * np.timedelta64(1, "D")
    (column,) = fit_encoder(days[:, None], num_bins=4, continuous=[0]).columns
    assert {edge % 86_400 for edge in column.edges} == {0.0}


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5), st.sampled_from([4, 6]))
def test_marks_are_rounded_but_different_ones_stay_different(marks, digits):
    texts = mark_texts(marks, digits)
    assert len(set(texts)) == len(set(marks))
    np.testing.assert_allclose(
        list(map(float, texts)), marks, rtol=0.6 * 10.0 ** (1 - digits), atol=5e-324
    )


def test_as_many_digits_as_needed_and_no_exponent_below_ten_millions():
    assert mark_texts([1.5, 2.0, float("inf")], 6) == ["1.5", "2", "inf"]
    assert mark_texts([-123456.7, 1234567.8, 2e9], 4) == ["-123500", "1235000", "2e+09"]
    assert mark_texts([1.0, np.nextafter(1.0, 2.0)], 4) == ["1.0", "1.0000000000000002"]
