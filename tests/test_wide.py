"""The wide numbers themselves, against rational arithmetic."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rationals import fraction
from wide import Wide, power_of_two, relative_errors, square_root

DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
LISTS = st.lists(DOUBLES, min_size=1, max_size=9)
ROUND_OFF = Fraction(2) ** -100


@given(DOUBLES, DOUBLES)
def test_products_and_quotients(a, b):
    product = fraction(Wide.of(a) * Wide.of(b))
    assert abs(product - Fraction(a) * Fraction(b)) <= ROUND_OFF * abs(product)
    if b:
        quotient = fraction(Wide.of(a) / Wide.of(b))
        assert abs(quotient * Fraction(b) - Fraction(a)) <= ROUND_OFF * abs(Fraction(a))


@given(LISTS, st.lists(st.integers(-5000, 5000), min_size=9, max_size=9))
def test_sums_lose_only_what_cancels(values, exponents):
    exponents = exponents[: len(values)]
    terms = [Fraction(v) * Fraction(2) ** e for v, e in zip(values, exponents, strict=True)]
    wide = Wide.of(values) * power_of_two(exponents)
    size = sum(map(abs, terms))
    for total in (wide.sum(axis=0), sum(wide[1:], start=wide[0]) if len(values) > 1 else wide[0]):
        assert abs(fraction(total) - sum(terms)) <= ROUND_OFF * size


@given(st.floats(1e-300, 1e300), st.integers(-9000, 9000))
def test_roots_and_logarithms(value, exponent):
    wide = Wide.of(value) * power_of_two(exponent)
    root = fraction(square_root(wide))
    assert abs(root * root / fraction(wide) - 1) <= 4 * ROUND_OFF
    with localcontext() as context:
        context.prec = 45
        expected = Decimal(value).ln() + exponent * Decimal(2).ln()
        assert abs(Wide(*(part[None] for part in wide._parts())).logs()[0] - expected) <= Decimal(
            "1e-38"
        )


def test_matrix_products_of_extreme_numbers():
    rng = np.random.default_rng(0)
    left, right = (
        rng.uniform(size=(3, 4)) * 10.0 ** rng.integers(-300, 1, (3, 4)),
        rng.uniform(size=(4, 2)),
    )
    product = Wide.of(left) @ Wide.of(right)
    for i in range(3):
        for j in range(2):
            expected = sum(
                Fraction(a) * Fraction(b) for a, b in zip(left[i], right[:, j], strict=True)
            )
            assert abs(fraction(product[i, j]) - expected) <= ROUND_OFF * expected


def test_doubles_come_back_and_overflow_is_infinite():
    values = np.array([0.0, -0.0, 1.0, -3.5, 5e-324, 2.2e-308, 1.7e308])
    np.testing.assert_array_equal(Wide.of(values).to_double(), values)
    far = Wide.of([1.0, 1.0, 0.0]) * power_of_two([4000, -4000, 4000])
    np.testing.assert_array_equal(far.to_double(), [np.inf, 0.0, 0.0])
    assert Wide.of(np.zeros((0, 2))).sum(axis=0).to_double().tolist() == [0.0, 0.0]


def test_relative_errors_of_zero():
    zero = Wide.of(np.array([0.0, 0.0, 2.0]))
    assert relative_errors(np.array([0.0, 1e-300, 2.0 + 2.0**-51]), zero).tolist() == [
        0.0,
        np.inf,
        2.0**-52,
    ]
    assert relative_errors(np.array([0.5]), zero[:1], Wide.of([2.0]))[0] == pytest.approx(0.25)
