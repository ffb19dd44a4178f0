"""What holds for every law: order, scale, symmetry, quantiles that invert."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hld import gchi2

EPS = 2.0**-53


def relative(expected, rtol):
    """`expected` to a relative error of `rtol` (pytest.approx alone forgives an absolute 1e-12 as well)."""
    return pytest.approx(expected, rel=rtol, abs=0.0)


positive = st.floats(1e-12, 1.0) | st.floats(0.01, 1.0)
spectra = st.lists(positive, min_size=1, max_size=12).map(np.array)
fractions = st.floats(1e-3, 30.0)
examples = settings(max_examples=60, deadline=None, derandomize=True)


@examples
@given(spectra, fractions, st.floats(1e-6, 0.5))
def test_decreasing_in_q(weights, fraction, growth):
    q = fraction * weights.sum()
    further = q * (1.0 + growth)
    assert gchi2.logsf(further, weights) < gchi2.logsf(q, weights) or gchi2.cdf(q, weights) < 1e-10
    assert gchi2.cdf(further, weights) >= gchi2.cdf(q, weights)


@examples
@given(spectra, fractions)
def test_tails_add_to_one(weights, fraction):
    q = fraction * weights.sum()
    assert gchi2.sf(q, weights) + gchi2.cdf(q, weights) == pytest.approx(
        1.0, rel=0.0, abs=2.0 * EPS
    )


@examples
@given(spectra, fractions, st.integers(-600, 600))
def test_scale_does_not_matter(weights, fraction, exponent):
    q, unit = fraction * weights.sum(), 2.0**exponent  # a power of two scales without rounding
    assert gchi2.logsf(unit * q, unit * weights) == gchi2.logsf(q, weights)
    assert gchi2.isf(0.03, unit * weights) == unit * gchi2.isf(0.03, weights)


@examples
@given(spectra, fractions, st.randoms(use_true_random=False), st.integers(1, 5))
def test_order_and_zeros_do_not_matter(weights, fraction, random, zeros):
    q, shuffled = fraction * weights.sum(), list(weights) + [0.0] * zeros
    random.shuffle(shuffled)
    assert gchi2.sf(q, shuffled) == gchi2.sf(q, weights)
    assert gchi2.cdf(q, shuffled) == gchi2.cdf(q, weights)


@examples
@given(spectra, st.lists(st.integers(1, 6), min_size=12, max_size=12), fractions)
def test_repetition_is_multiplicity(weights, counts, fraction):
    counts = counts[: weights.size]
    q = fraction * float(weights @ counts)
    assert gchi2.logsf(q, gchi2.prepare(weights, counts)) == gchi2.logsf(
        q, np.repeat(weights, counts)
    )


@examples
@given(spectra, st.floats(-140.0, -0.31), st.booleans())
def test_quantile_inverts(weights, log10_p, upper):
    p = 10.0**log10_p
    tail, quantile = (gchi2.sf, gchi2.isf) if upper else (gchi2.cdf, gchi2.ppf)
    q = quantile(p, weights)
    # d log P / d log q is below q / (2 lambda_max) + m/2 above and below m/2 below: the rounding of q.
    cond = 0.5 * q / weights.max() + 0.5 * weights.size
    assert tail(q, weights) == relative(p, 1e-12 + 16.0 * EPS * (cond - math.log(p)))


@examples
@given(spectra, st.floats(0.5, 1.0, exclude_min=True, exclude_max=True), st.booleans())
def test_quantile_of_a_large_probability_is_that_of_the_other_tail(weights, p, upper):
    quantile, other = (gchi2.isf, gchi2.ppf) if upper else (gchi2.ppf, gchi2.isf)
    assert quantile(p, weights) == other(1.0 - p, weights)
