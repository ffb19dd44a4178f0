"""Densities against closed forms and slopes of tails, also where a tail or a quotient is no double."""

import math

import numpy as np
import pytest
from scipy import stats

from hld import gchi2


@pytest.mark.parametrize("degrees", [0.3, 1.0, 2.0, 7.0, 400.0])
@pytest.mark.parametrize("scale", [1e-60, 0.3, 1e60])
def test_equal_weights_have_the_density_of_a_chi_square(degrees, scale):
    x = degrees * np.array([0.1, 0.5, 1.0, 1.7, 3.0])
    found = gchi2.pdf(scale * x, gchi2.prepare([scale], [degrees]))
    np.testing.assert_allclose(found * scale, stats.chi2.pdf(x, degrees), rtol=2e-12)


def test_two_pairs_have_a_difference_of_exponentials():
    """Each weight twice: f(q) = (exp(-q / 2a) - exp(-q / 2b)) / (2a - 2b)."""
    q, a, b = np.array([[0.1, 1.0], [4.0, 60.0]]), 3.0, 0.5
    expected = (np.exp(-q / (2 * a)) - np.exp(-q / (2 * b))) / (2 * (a - b))
    np.testing.assert_allclose(gchi2.pdf(q, [a, b, b, a]), expected, rtol=1e-12)


@pytest.mark.parametrize("noncentralities", [None, [3.0, 0.0, 1.0]])
def test_the_density_is_the_slope_of_the_tail(noncentralities):
    spectrum = gchi2.prepare([1.0, 0.4, 0.02], None, noncentralities)
    for q in (0.05, 1.0, 3.0, 20.0):
        step = 1e-4 * q
        ends = [gchi2.cdf(q + k * step, spectrum) for k in (-2, -1, 1, 2)]
        slope = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (
            12 * step
        )  # error of order step^4
        assert gchi2.pdf(q, spectrum) == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize(
    ("q", "scale", "degrees"),
    [
        (1e-70, 1.0, 10),
        (1e-60, 1.0, 11),
        (1e-300, 1e100, 1),
        (1e-200, 1e120, 3),
        (5e-324, 1.0, 1),
        (1e-280, 1e-280, 2),
        (1530.0 * 1e-280, 1e-280, 2),
        (1e-291, 1.0, 2),
    ],
)
def test_a_density_is_right_where_the_tail_underflows_or_the_quotient_does(q, scale, degrees):
    """Of the chi-square law: log f = (n/2 - 1) log(x/2) - x/2 - log(2 Gamma(n/2)) - log(scale)."""
    log_x, x = math.log(q) - math.log(scale), q / scale
    expected = math.exp(
        (degrees / 2 - 1) * (log_x - math.log(2))
        - x / 2
        - math.log(2)
        - math.lgamma(degrees / 2)
        - math.log(scale)
    )
    assert gchi2.pdf(q, np.full(degrees, scale)) == pytest.approx(expected, rel=1e-12)


def test_densities_beyond_the_doubles_are_zero_or_infinite():
    assert gchi2.pdf(1e300, [1e-10]) == 0.0  # q / scale is no double
    assert gchi2.pdf(5e-324, [1e-300]) == math.inf  # a pole at 0, of 2e311
    assert gchi2.pdf(1e5, [1.0, 1.0]) == 0.0


def test_the_density_where_there_is_none():
    """None below 0 nor at infinity; a pole may be at 0, and weights of 0 have no density."""
    np.testing.assert_array_equal(gchi2.pdf([-1.0, -np.inf, np.inf], [1.0, 2.0]), 0.0)
    assert np.isnan(gchi2.pdf([0.0, np.nan], [1.0, 2.0])).all()
    assert np.isnan(gchi2.pdf(1.0, [0.0, 0.0]))
