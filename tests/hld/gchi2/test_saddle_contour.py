"""The smaller tail at one point with its slope, against gamma laws and at the two ends of the doubles."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from hld.gchi2.saddle_contour import tail_probability
from hld.gchi2.spectrum import prepare
from hld.gchi2.tails import quantile


@pytest.mark.parametrize("degrees", [0.5, 1.0, 3.0, 80.0])
@pytest.mark.parametrize("share", [0.05, 0.7, 0.999, 1.0, 1.3, 6.0])
def test_the_smaller_tail_slope_are_those_of_a_gamma_law(degrees, share):
    x = share * degrees
    found, law = tail_probability(prepare([2.0], [degrees]), x), stats.chi2(degrees)
    assert found.upper == (x >= degrees)
    expected = law.sf(x) if found.upper else law.cdf(x)
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert abs(found.value / expected - 1) <= found.error + 1e-13  # SciPy's own
    assert found.log_value == pytest.approx(math.log(expected), rel=1e-12)
    assert found.slope == pytest.approx(x * law.pdf(x) / expected, rel=1e-11)


def test_around_the_mean_one_tail_goes_on_where_the_other_ends():
    """There the pole lies on the contour; what a tail loses over a step is the integral of slope over it."""
    spectrum = prepare([1.0, 0.6, 0.05])
    points = spectrum.mean * np.linspace(0.9, 1.1, 201)
    tails = [tail_probability(spectrum, x) for x in points]
    assert {one.upper for one in tails} == {True, False}
    above = np.array([one.value if one.upper else 1 - one.value for one in tails])
    density = np.array([one.slope * one.value for one in tails]) / points
    lost = integrate.simpson(density, x=points)
    assert above[0] - above[-1] == pytest.approx(lost, rel=1e-9)


def test_beyond_the_doubles_only_the_leading_terms_are_left():
    """log P = -x/2 far above; far below P is a power of x, here sqrt(2 x / pi) times prod r^(-1/2)."""
    far = tail_probability(prepare([1.0, 0.5]), 1e120)
    assert far[:2] == (True, 0.0)
    assert (far.log_value, far.slope) == (pytest.approx(-5e119), pytest.approx(5e119))
    near = tail_probability(prepare([1.0, 0.25], [0.5, 0.5]), 1e-300)
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


SPECTRA = {
    "one": ([1.0], None),
    "steep": ([0.5**k for k in range(12)], None),
    "rare": ([3.0, 1.0], [0.01, 0.02]),
    "many": ([1.0, 0.9], [300.0, 500.0]),
}


def log_tail(spectrum, x, upper):
    """log P(Q / scale >= x), or of the other side."""
    tail = tail_probability(spectrum, x)
    return tail.log_value if tail.upper == upper else math.log1p(-tail.value)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("log_p", [-0.7, -3.0, -40.0, -700.0, -20_000.0])
def test_a_quantile_has_the_probability_that_was_asked_for(name, upper, log_p):
    spectrum = prepare(*SPECTRA[name])
    x = quantile(spectrum, log_p, upper)
    if x < 1e-300:  # the lower quantile underflows: so does every probability below it
        assert log_tail(spectrum, 1e-290, upper) >= log_p
        return
    # a relative error e of x changes log P by e times x f / P, at most x/2 and some degrees of freedom
    noise = 1e-15 * (x + spectrum.degrees + abs(log_p))
    assert log_tail(spectrum, x, upper) == pytest.approx(log_p, rel=1e-13, abs=1e-12 + 10 * noise)


def test_a_step_far_beyond_the_quantile_is_taken_back():
    """There the other tail is 0, and so was the slope that was divided by."""
    spectrum = prepare([5.9, 3.8e-50], [3.6, 57.0])
    x = quantile(spectrum, math.log(1e-10), False)
    assert log_tail(spectrum, x, False) == pytest.approx(math.log(1e-10), rel=1e-12)
