"""Edges of bins: quantiles, spare bins, atoms, gaps; what they must do for every column of numbers."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import FINITE

from hld.schemas.bin_edges import FEWEST, bin_edges, mark_texts
from hld.schemas.encoder import fit_encoder


def codes(values, edges):
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
    assert set(codes(values, edges)) == set(range(len(edges) + 1))
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
            codes(values.astype(np.float32).astype(float), edges), codes(values, edges)
        )


def test_values_that_are_all_different_give_bins_of_equal_size():
    edges = bin_edges(np.arange(1.0, 81.0), np.ones(80, int), 8)
    assert np.bincount(codes(np.arange(1.0, 81.0), edges)).tolist() == [10] * 8
    assert edges == (10.5, 20.5, 30.5, 40.5, 50.5, 60.5, 70.5)


def test_what_nine_in_ten_have_leaves_the_other_bins_to_the_rest():
    values, counts = np.arange(0.0, 101.0), np.array([900] + [1] * 100)
    edges = bin_edges(values, counts, 8)
    sizes = np.bincount(np.repeat(codes(values, edges), counts)).tolist()
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
    assert np.flatnonzero(np.diff(codes(values, edges))).tolist() == [start - 1 for start in starts]


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
    assert codes(atom, edges) != codes(moved, edges)


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
        assert codes(np.array(values), edges).tolist() == list(range(len(values)))


def test_an_edge_at_zero_has_no_sign():
    (edge,) = bin_edges(
        np.array([-0.5, 0.2]), np.array([3, 3]), 2
    )  # rounding the middle gives -0.0
    assert str(edge) == "0.0"


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


def test_stamps_in_milliseconds_are_told_apart_in_descriptions():
    """Six digits made 1.73569e+12 of each of them."""
    encoder = fit_encoder([[1735689600000.0 + 1000 * second] for second in range(30)], num_bins=2)
    assert encoder.describe() == (
        "'x0': continuous, 2 bins cut at 1.73568961e+12; values beyond the training range [1.7356896e+12, "
        "1.73568963e+12] fall into the outermost bins; missing is -1"
    )


def test_dates_are_texts_of_dates():
    first = datetime.date(2025, 1, 1)
    encoder = fit_encoder({"day": [first + datetime.timedelta(day) for day in range(9)]})
    column = encoder.columns[0]
    assert column.texts([column.low, column.high]) == ["2025-01-01", "2025-01-09"]
