"""The smaller tail at one point with its slope, against gamma laws and at the two ends of the doubles."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from hld import gchi2
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


@pytest.mark.parametrize("shifts", [None, [1.0, 2.0, 0.5]])
def test_around_the_mean_one_tail_goes_on_where_the_other_ends(shifts):
    """There the pole lies on the contour; what a tail loses over a step is the integral of slope over it."""
    spectrum = prepare([1.0, 0.6, 0.05], None, shifts)
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


# Weights, noncentralities, q, P(Q >= q), P(Q < q): conditioned on the second variable, x = sqrt(q / l) sin(t) - d, the
# tail is that of one normal variable; mpmath.quad over t at 30 digits.
TWO = [
    ([1.0, 0.3], [4.0, 1.0], 1.725, 0.823247200033449461, 0.176752799966550539),
    ([1.0, 0.3], [4.0, 1.0], 5.6, 0.410080949446828445, 0.589919050553171555),
    ([1.0, 0.3], [4.0, 1.0], 14.212, 0.0466357012655203363, 0.953364298734479664),
    ([1.0, 0.3], [4.0, 1.0], 48.658, 4.24981719807259046e-7, 0.999999575018280193),
    ([1.0, 0.01], [0.25, 100.0], 0.691, 0.992628061896651925, 0.00737193810334807497),
    ([1.0, 0.01], [0.25, 100.0], 2.26, 0.324355845481439292, 0.675644154518560708),
    ([1.0, 0.01], [0.25, 100.0], 5.747, 0.0508061620872653765, 0.949193837912734624),
    ([1.0, 0.01], [0.25, 100.0], 19.696, 0.0000669991876315959427, 0.999933000812368404),
    ([1.0, 0.9], [0.0, 9.0], 4.847, 0.813487140963308063, 0.186512859036691937),
    ([1.0, 0.9], [0.0, 9.0], 10.0, 0.438553137061140611, 0.561446862938859389),
    ([1.0, 0.9], [0.0, 9.0], 21.451, 0.0415732229449034102, 0.95842677705509659),
    ([1.0, 0.9], [0.0, 9.0], 67.254, 1.60076923287617132e-8, 0.999999983992307671),
]


@pytest.mark.parametrize(("weights", "shifts", "q", "upper", "lower"), TWO)
def test_two_weights_in_thirty_digits(weights, shifts, q, upper, lower):
    spectrum = gchi2.prepare(weights, noncentralities=shifts)
    for found, expected in ((gchi2.sf(q, spectrum), upper), (gchi2.cdf(q, spectrum), lower)):
        assert found == pytest.approx(expected, rel=2e-13, abs=0)
    value, error = gchi2.sf_with_error(q, spectrum)
    assert abs(value - upper) <= error + 2e-16 * upper


@pytest.mark.parametrize(
    ("count", "shift"), [(1, 0.5), (1, 25.0), (3, 4.0), (10, 1000.0), (2, 1e-3), (0.5, 3.0)]
)
def test_one_weight_is_the_noncentral_chi_square(count, shift):
    spectrum, law = gchi2.prepare([2.0], [count], [shift]), stats.ncx2(count, shift, scale=2.0)
    assert (spectrum.mean, spectrum.variance) == (
        pytest.approx(law.mean()),
        pytest.approx(law.var()),
    )
    q = law.ppf([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(gchi2.sf(q, spectrum), law.sf(q), rtol=1e-10)
    np.testing.assert_allclose(gchi2.cdf(q, spectrum), law.cdf(q), rtol=1e-10)
    slopes = [tail_probability(spectrum, one / 2.0) for one in q]
    np.testing.assert_allclose([one.slope * one.value for one in slopes], q * law.pdf(q), rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_quantiles_invert_tails(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 40))
    spectrum = gchi2.prepare(
        10.0 ** rng.uniform(-4, 0, m), noncentralities=10.0 ** rng.uniform(-3, 3, m)
    )
    p = np.array([1e-12, 1e-3, 0.3, 0.7, 0.999])
    np.testing.assert_allclose(gchi2.sf(gchi2.isf(p, spectrum), spectrum), p, rtol=1e-11)


def test_weights_may_fall_far_and_shifts_be_large():
    # far below the others a shifted weight is a constant and a normal variable: N(c, 4 l c)
    spectrum = gchi2.prepare([1.0, 1e-12], noncentralities=[0.0, 3e12])
    assert gchi2.sf(5.0, spectrum) == pytest.approx(gchi2.sf(2.0, [1.0]), rel=1e-9)


# weights 1 and 1e-4, noncentralities 0 and 1e5: scipy's noncentral law of the second, integrated over the first by
# scipy.integrate.quad to 1e-10
STEEP = [
    (9.0, 6.8699787501e-61),
    (9.5, 3.5902558884e-17),
    (10.0, 0.0815255480211),
    (12.0, 0.8425345335411),
]


@pytest.mark.parametrize(("q", "lower"), STEEP)
def test_a_small_weight_that_is_shifted_far_beside_a_large_one_has_its_lower_tail(q, lower):
    """The mean is 11: the saddle point is beyond what the bracket ended at."""
    spectrum = gchi2.prepare([1.0, 1e-4], noncentralities=[0.0, 1e5])
    assert gchi2.cdf(q, spectrum) == pytest.approx(lower, rel=1e-9, abs=0)
    for log_p in (-230.0, -28.0, -7.0, -1.2):
        assert log_tail(spectrum, quantile(spectrum, log_p, False), False) == pytest.approx(
            log_p, abs=1e-11
        )


def test_bad_noncentralities_are_refused():
    for bad in ([1.0], [-1.0, 0.0], [np.nan, 0.0], [np.inf, 0.0], ["a", "b"]):
        with pytest.raises((TypeError, ValueError), match="`noncentralities` must be"):
            gchi2.prepare([1.0, 2.0], noncentralities=bad)
    with pytest.raises(ValueError, match="`noncentralities` was given beside a prepared Spectrum"):
        gchi2.prepare(gchi2.prepare([1.0]), noncentralities=[1.0])


def test_the_lower_tail_tends_to_the_power_law_of_the_central_one():
    """At 0 every density has lost the same exp(-sum delta / 2); below 1e-155 the saddle point's bracket overflowed."""
    weights, shifts = [2.0, 1.0, 0.1], [5.0, 0.0, 2.0]
    spectrum = gchi2.prepare(weights, noncentralities=shifts)
    for q in (1e-100, 1e-154, 1e-156, 1e-200):
        assert gchi2.cdf(q, spectrum) == pytest.approx(
            gchi2.cdf(q, weights) * np.exp(-3.5), rel=1e-12, abs=0
        )


SPECTRA = {
    "one": ([1.0], None, None),
    "steep": ([0.5**k for k in range(12)], None, None),
    "rare": ([3.0, 1.0], [0.01, 0.02], None),
    "many": ([1.0, 0.9], [300.0, 500.0], None),
    "shifted": ([2.0, 1.0, 0.1], None, [5.0, 0.0, 2.0]),
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


@pytest.mark.parametrize(
    ("weights", "counts", "shifts", "p"),
    [
        ([5.9, 3.8e-50], [3.6, 57.0], None, 1e-10),
        ([48840.0, 2970.0, 2.4, 1.06], None, [64.3, 194.2, 32642.0, 0.0], 1e-300),
    ],
)
def test_a_step_far_beyond_the_quantile_is_taken_back(weights, counts, shifts, p):
    """There the other tail is 0, and so was the slope that was divided by."""
    spectrum = prepare(weights, counts, shifts)
    x = quantile(spectrum, math.log(p), False)
    assert log_tail(spectrum, x, False) == pytest.approx(math.log(p), rel=1e-12)


def test_a_quantile_that_underflows_is_zero_also_with_a_shift():
    """P(Q < 1e-290) is exp(-1/2) or so with 6e-5 degrees of freedom: a third of it is far below all doubles."""
    assert quantile(prepare([2.0], [6e-5], [1.0]), math.log(0.3), False) == 0.0
