"""Checks of arrays: what each accepts, unchanged, and what it refuses, with which sentence."""

import decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcircuit.arguments import check_integers, check_numbers, for_ranking


def test_numbers_of_any_precision_and_layout_are_taken():
    plain = np.array([[0.0, 1.0], [2.0, 0.0]])
    for dtype in ("f2", ">f4", ">f8", "g", "i1", ">u8", "O"):
        for array in (
            plain.astype(dtype),
            np.asfortranarray(plain.astype(dtype)),
            plain.astype(dtype).T.copy().T,
        ):
            taken = check_numbers(array, "w", "numbers", (2, 2), least=0, most=2)
            assert taken.dtype == np.float64
            assert taken.dtype.isnative
            np.testing.assert_array_equal(taken, plain)
    np.testing.assert_array_equal(check_numbers([[True, False]], "w", "numbers"), [[1.0, 0.0]])
    assert check_numbers(plain, "w", "numbers") is plain
    assert check_numbers([], "w", "numbers").shape == (0,)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["1", "2"], "<U1 instead of numbers"),
        ([b"1", b"2"], "S1 instead of numbers"),
        ([1, 2j], "complex128 instead of numbers"),
        ([1, None], "None at position 1"),
        ([1, "2"], "instead of numbers"),
        (np.array([1, "2"], dtype=object), "'2' at position 1"),
        ([1, decimal.Decimal(2)], "Decimal"),
        (np.array([1, 2], dtype="M8[D]"), "datetime64"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "None at position 1"),
        ([1, np.ma.masked], "None at position 1"),
        ([[1, np.ma.masked]], "None at row 0, column 1"),
        ([np.ma.array([1.0, 2.0], mask=[0, 1])], "None at row 0, column 1"),
        ({}, "{} instead|{}"),
        (None, "None"),
    ],
)
def test_arrays_of_what_is_no_number_are_refused(values, found):
    with pytest.raises(TypeError, match=f"^`w` must be three numbers, found .*({found})"):
        check_numbers(values, "w", "three numbers")


@pytest.mark.parametrize(
    ("values", "limits", "found"),
    [
        ([1.0, np.nan], {}, "nan at position 1"),
        ([1.0, np.inf], {}, "inf at position 1"),
        ([10**400, 1], {}, "inf at position 0|1000"),
        (np.array([[1.0], [-np.inf]]), {}, "-inf at row 1, column 0"),
        ([1.0, -1.0], {"least": 0}, "-1.0 at position 1"),
        ([1.0, 0.0], {"above": 0}, "0.0 at position 1"),
        ([1.0, 3.0], {"most": 2}, "3.0 at position 1"),
        ([np.longdouble("1e4000")], {}, "1e\\+4000 at position 0"),
        ([1.0, 2.0], {"shape": (3,)}, r"shape \(2,\)"),
        ([[1.0, 2.0], [1.0]], {}, "rows of different lengths"),
    ],
)
def test_arrays_out_of_range_are_refused(values, limits, found):
    with pytest.raises(ValueError, match=f"^`w` must be three numbers, found ({found})"):
        check_numbers(values, "w", "three numbers", **limits)


@given(
    st.lists(
        st.one_of(
            st.floats(),
            st.integers(-(2**1100), 2**1100),
            st.booleans(),
            st.none(),
            st.text(),
            st.complex_numbers(),
            st.just(np.ma.masked),
        ),
        max_size=5,
    )
)
def test_numbers_are_what_was_given(values):
    try:
        taken = check_numbers(values, "w", "numbers")
    except (TypeError, ValueError):
        with pytest.raises((TypeError, ValueError), match=r"^`w` must be numbers, found "):
            check_numbers(values, "w", "numbers")
        return
    assert taken.tolist() == [float(value) for value in values]


@given(
    st.lists(
        st.one_of(
            st.integers(-(2**70), 2**70),
            st.integers(-5, 5),
            st.booleans(),
            st.none(),
            st.text(),
            st.floats(),
            st.just(np.ma.masked),
        ),
        max_size=5,
    )
)
def test_integers_are_what_was_given(values):
    try:
        taken = check_integers(values, "n", "integers", -4, 2**62)
    except (TypeError, ValueError):
        with pytest.raises((TypeError, ValueError), match=r"^`n` must be integers, found "):
            check_integers(values, "n", "integers", -4, 2**62)
        return
    assert taken.tolist() == values
    assert taken.dtype == np.int64


@pytest.mark.parametrize(
    "values",
    [
        [1.0],
        ["1"],
        [True],
        np.array([True]),
        [None],
        [np.ma.masked],
        1.5,
        "12",
        np.ma.array([1, 2], mask=[1, 0]),
        np.array([1], dtype="M8[D]"),
    ],
)
def test_what_are_no_integers_are_refused(values):
    with pytest.raises(TypeError, match=r"^`n` must be integers, found"):
        check_integers(values, "n", "integers")


@pytest.mark.parametrize(
    "values",
    [
        [np.uint64(3), 1],
        (1, np.uint64(3), np.int8(2)),
        [[np.uint64(1)], [np.int64(2)]],
        [np.array([3], np.uint64), np.array([1])],
    ],
)
def test_lists_of_integers_of_several_types_are_integers(values):
    """NumPy makes an array of doubles of them, as no type of its own holds uint64 and int64."""
    assert np.asarray(values).dtype == np.float64
    taken = check_integers(values, "nodes", "node ids", 0, 3)
    assert taken.dtype == np.int64
    np.testing.assert_array_equal(taken, values)
    with pytest.raises(
        ValueError, match="`nodes` must be node ids, found 9223372036854775808 at position 0"
    ):
        check_integers([2**63, -1], "nodes", "node ids")


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300, 5e-324])
def test_numbers_that_differ_by_round_off_alone_are_ranked_as_ties(scale, rng):
    values = rng.integers(-9, 9, 50) * scale
    noisy = values * (1 + rng.uniform(-1e-15, 1e-15, 50))
    assert (for_ranking(values) == for_ranking(noisy)).all()
    for one in (values, noisy):
        assert (
            np.argsort(for_ranking(one), kind="stable") == np.argsort(values, kind="stable")
        ).all()
    assert (for_ranking([0.0, 0.0]) == 0).all()
    assert len(for_ranking([])) == 0
    assert np.unique(for_ranking([1.0, 1.0 + 1e-8])).size == 2
