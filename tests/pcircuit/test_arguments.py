"""Checks of single values: what each accepts, unchanged, and what it refuses, with which sentence."""

import decimal
import fractions

import numpy as np
import pytest

from pcircuit.arguments import (
    check_choice,
    check_flag,
    check_generator,
    check_integers,
    check_number,
    check_numbers,
    check_whole_number,
)

NO_NUMBERS = [
    "1",
    b"1",
    None,
    1j,
    [1],
    np.array([1]),
    {},
    object,
    decimal.Decimal(1),
    np.ma.masked,
    np.datetime64(1, "D"),
    np.timedelta64(1, "s"),
]


@pytest.mark.parametrize(
    "value", [3, np.int8(3), np.uint64(3), np.array(3), np.array(3, dtype=">u2")]
)
def test_whole_numbers_are_taken(value):
    number = check_whole_number(value, "n", 0, 3)
    assert type(number) is int
    assert number == 3


@pytest.mark.parametrize(
    "value",
    [
        *NO_NUMBERS,
        3.0,
        True,
        np.bool_(True),
        np.float64(3),
        np.nan,
        np.ma.array(3, mask=True),
        np.ma.array(3),
    ],
)
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(TypeError, match=r"^`n` must be a whole number of at least 0, found"):
        check_whole_number(value, "n", 0)


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        (-1, (0,), "`n` must be a whole number of at least 0, found -1"),
        (5, (1, 4), "`n` must be a whole number of at least 1 and at most 4, found 5"),
        (5, (None, 4), "`n` must be a whole number of at most 4, found 5"),
        (
            10**300,
            (0, 4),
            "`n` must be a whole number of at least 0 and at most 4, found 100000000",
        ),
    ],
)
def test_whole_numbers_out_of_range(value, limits, message):
    with pytest.raises(ValueError, match=message) as caught:
        check_whole_number(value, "n", *limits)
    assert len(str(caught.value)) < 150


def test_numbers_that_python_does_not_write_out():
    huge = 10**5000
    for check in (
        lambda: check_whole_number(huge, "n", 0, 4),
        lambda: check_number(huge, "n"),
        lambda: check_integers([huge], "n", "integers"),
        lambda: check_generator(-huge, "n"),
    ):
        with pytest.raises(
            ValueError, match=r"^`n` must be .* found a number of thousands of digits"
        ):
            check()
    with pytest.raises(ValueError, match=r"^`n` must be numbers, found inf at position 0"):
        check_numbers([huge], "n", "numbers")


def test_none_is_a_whole_number_where_it_stands_for_something():
    assert check_whole_number(None, "n", 1, none="all") is None
    with pytest.raises(
        ValueError, match="`n` must be a whole number of at least 1, or None for all, found 0"
    ):
        check_whole_number(0, "n", 1, none="all")


@pytest.mark.parametrize(
    "value",
    [2, 2.0, np.float16(2), np.longdouble(2), np.uint8(2), fractions.Fraction(4, 2), np.array(2.0)],
)
def test_numbers_are_taken(value):
    number = check_number(value, "x", least=2, most=2)
    assert type(number) is float
    assert number == 2


@pytest.mark.parametrize("value", [*NO_NUMBERS, True, np.bool_(True), np.ma.array(2.0, mask=True)])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match=r"^`x` must be a finite number, found"):
        check_number(value, "x")


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        (np.nan, {}, "`x` must be a finite number, found nan"),
        (np.inf, {}, "`x` must be a finite number, found inf"),
        (-np.inf, {}, "found -inf"),
        (10**400, {}, "`x` must be a finite number, found 100"),
        (0, {"above": 0}, "`x` must be a finite number above 0, found 0"),
        (1, {"above": 0, "below": 1}, "`x` must be a finite number above 0 and below 1, found 1"),
        (-1e-300, {"least": 0}, "`x` must be a finite number of at least 0, found -1e-300"),
        (
            1.5,
            {"above": 0, "most": 1},
            "`x` must be a finite number above 0 and at most 1, found 1.5",
        ),
    ],
)
def test_numbers_out_of_range(value, limits, message):
    with pytest.raises(ValueError, match=message):
        check_number(value, "x", **limits)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("foo", ValueError),
        ("", ValueError),
        (None, TypeError),
        (1, TypeError),
        (["a"], TypeError),
        (np.array(["a"]), TypeError),
    ],
)
def test_unknown_names_are_refused(value, error):
    with pytest.raises(error, match=r"^`kind` must be one of 'a', 'b', found"):
        check_choice(value, "kind", ("a", "b"))


@pytest.mark.parametrize("value", [0, 1, "True", None, [], np.array([True]), np.ma.masked])
def test_flags_are_true_or_false(value):
    with pytest.raises(TypeError, match=r"^`log` must be True or False, found"):
        check_flag(value, "log")
    assert check_flag(np.bool_(False), "log") is False


@pytest.mark.parametrize(
    ("seed", "error"),
    [
        ("a", TypeError),
        (1.5, TypeError),
        (-1, ValueError),
        ([-1], ValueError),
        (True, TypeError),
        (np.nan, TypeError),
        ([1.5], TypeError),
        (np.ma.array([1], mask=[1]), TypeError),
        (object(), TypeError),
    ],
)
def test_what_is_no_seed_is_refused(seed, error):
    with pytest.raises(
        error, match=r"^`rng` must be a seed \(a whole number of at least 0\) or a numpy.random.Gen"
    ):
        check_generator(seed)


def test_seeds_and_generators_are_taken():
    generator = np.random.default_rng(3)
    assert check_generator(generator) is generator
    for seed in (3, np.uint8(3), np.random.SeedSequence(3)):
        assert check_generator(seed).random() == np.random.default_rng(3).random()
    assert check_generator(2**200).random() == np.random.default_rng(2**200).random()
    assert check_generator(None).random() != check_generator(None).random()
