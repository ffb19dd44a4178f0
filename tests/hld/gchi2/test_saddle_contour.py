"""The smaller tail at one point with its slope and bend, against gamma laws and at the two ends of the doubles."""

import math

import numpy as np
import pytest
from scipy import special, stats

from hld.gchi2.saddle_contour import tail_probability
from hld.gchi2.spectrum import prepare


@pytest.mark.parametrize("degrees", [0.5, 1.0, 3.0, 80.0])
@pytest.mark.parametrize("share", [0.05, 0.7, 0.999, 1.0, 1.3, 6.0])
def test_the_smaller_tail_slope_and_bend_are_those_of_a_gamma_law(degrees, share):
    """f is proportional to x^(n/2 - 1) exp(-x/2), so x f' / f = n/2 - 1 - x/2."""
    x = share * degrees
    found, law = tail_probability(prepare([2.0], [degrees]), x, density=True), stats.chi2(degrees)
    assert found.upper == (x >= degrees)
    expected = law.sf(x) if found.upper else law.cdf(x)
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert abs(found.value / expected - 1) <= found.error + 1e-13  # SciPy's own
    assert found.log_value == pytest.approx(math.log(expected), rel=1e-12)
    assert found.slope == pytest.approx(x * law.pdf(x) / expected, rel=1e-11)
    assert found.bend == pytest.approx(
        found.slope * (degrees / 2 - 1 - x / 2), rel=1e-9, abs=1e-10 * found.slope
    )


def test_slope_and_bend_are_computed_when_asked_for_and_change_nothing():
    spectrum = prepare([1.0, 0.5, 0.1])
    plain, more = (tail_probability(spectrum, 2.0, density=density) for density in (False, True))
    assert math.isnan(plain.slope)
    assert math.isnan(plain.bend)
    assert plain[:4] == more[:4]


@pytest.mark.parametrize("shifts", [None, [1.0, 2.0, 0.5]])
def test_around_the_mean_one_tail_goes_on_where_the_other_ends(shifts):
    """There the pole lies on the contour; what a tail loses over a step is the integral of slope and bend over it."""
    spectrum = prepare([1.0, 0.6, 0.05], None, shifts)
    points = spectrum.mean * np.linspace(0.9, 1.1, 201)
    tails = [tail_probability(spectrum, x, density=True) for x in points]
    assert {one.upper for one in tails} == {True, False}
    above = np.array([one.value if one.upper else 1 - one.value for one in tails])
    density = np.array([one.slope * one.value for one in tails]) / points
    bend = np.array([one.bend * one.value for one in tails]) / points**2
    h = np.diff(points)
    lost = h / 2 * (density[:-1] + density[1:]) - h**2 / 12 * np.diff(bend)  # up to a part of h^5
    np.testing.assert_allclose(-np.diff(above), lost, rtol=0, atol=1e-13)


def test_beyond_the_doubles_only_the_leading_terms_are_left():
    """log P = -x/2 far above; far below P is a power of x, here sqrt(2 x / pi) times prod r^(-1/2)."""
    far = tail_probability(prepare([1.0, 0.5]), 1e120, density=True)
    assert far[:3] == (True, 0.0, -5e119)
    assert (far.slope, far.bend) == (5e119, pytest.approx(-0.25e240))
    near = tail_probability(prepare([1.0, 0.25], [0.5, 0.5]), 1e-300, density=True)
    assert not near.upper
    expected = 0.5 * math.log(0.5e-300) - special.gammaln(1.5) - 0.25 * math.log(0.25)
    assert near.log_value == pytest.approx(expected, rel=1e-14)
    assert near.value == pytest.approx(math.exp(expected), rel=1e-11)
    assert near.slope == pytest.approx(0.5, rel=1e-12)


def test_multiplicities_far_below_one_refine_the_step_and_keep_the_error_bound():
    degrees = np.array([1e-5, 2e-5])
    spectrum = prepare([1.0, 1.0], degrees)
    for x in (1e-3, 1.0, 30.0):
        found = tail_probability(spectrum, x)
        expected = special.gammaincc(degrees.sum() / 2, x / 2)
        assert found.upper
        assert abs(found.value / expected - 1) <= found.error + 1e-12
        assert found.error < 1e-9
