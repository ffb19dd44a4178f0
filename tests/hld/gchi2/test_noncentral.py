"""Noncentral chi-squares: against scipy's law of one weight, and integrals of two in 30 digits."""

import numpy as np
import pytest
from scipy import integrate, stats

from hld import gchi2

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
    np.testing.assert_allclose(gchi2.pdf(q, spectrum), law.pdf(q), rtol=1e-9)


def test_no_shift_is_the_central_law():
    weights, q = [3.0, 1.0, 0.2], [0.1, 4.2, 30.0]
    assert gchi2.prepare(weights, noncentralities=[0.0] * 3).shifts is None
    close = gchi2.prepare(weights, noncentralities=[1e-14] * 3)
    np.testing.assert_allclose(gchi2.sf(q, close), gchi2.sf(q, weights), rtol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_quantiles_invert_tails_and_the_density_integrates(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 40))
    spectrum = gchi2.prepare(
        10.0 ** rng.uniform(-4, 0, m), noncentralities=10.0 ** rng.uniform(-3, 3, m)
    )
    p = np.array([1e-12, 1e-3, 0.3, 0.7])
    np.testing.assert_allclose(gchi2.sf(gchi2.isf(p, spectrum), spectrum), p, rtol=1e-11)
    np.testing.assert_allclose(gchi2.cdf(gchi2.ppf(p, spectrum), spectrum), p, rtol=1e-11)
    low, high = gchi2.ppf(0.2, spectrum), gchi2.ppf(0.6, spectrum)
    mass, _ = integrate.quad(lambda q: gchi2.pdf(q, spectrum), low, high, epsabs=0, epsrel=1e-10)
    assert mass == pytest.approx(0.4, rel=1e-9)


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
    p = np.array([1e-100, 1e-12, 1e-3, 0.3])
    np.testing.assert_allclose(gchi2.cdf(gchi2.ppf(p, spectrum), spectrum), p, rtol=1e-11)


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
    assert gchi2.cdf(gchi2.ppf(1e-300, spectrum), spectrum) == pytest.approx(
        1e-300, rel=1e-11, abs=0
    )
