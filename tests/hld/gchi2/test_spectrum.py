"""Spectra: what is refused, what is kept, their moments."""

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hld import gchi2


def relative(expected, rtol):
    """`expected` to a relative error of `rtol` (pytest.approx alone forgives an absolute 1e-12 as well)."""
    return pytest.approx(expected, rel=rtol, abs=0.0)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            [1.0, math.nan],
            "`weights` must be a one-dimensional array of finite numbers, found nan at position 1",
        ),
        (
            [1.0, math.inf],
            "`weights` must be a one-dimensional array of finite numbers, found inf at position 1",
        ),
        (
            [1.0, -math.inf],
            "`weights` must be a one-dimensional array of finite numbers, found -inf at position 1",
        ),
        ([1.0, -0.5], "`weights` contains -0.5 beside a largest weight of 1"),
        ([-1e-30], "`weights` contains -1e-30 beside a largest weight of -1e-30"),
        ([], r"`weights` has shape \(0,\), expected a non-empty one-dimensional array"),
        (3.0, r"`weights` has shape \(\)"),
        ([[1.0, 2.0]], r"`weights` has shape \(1, 2\)"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    for function in (gchi2.sf, gchi2.cdf, gchi2.logsf, gchi2.sf_with_error, gchi2.isf, gchi2.ppf):
        with pytest.raises(ValueError, match=message):
            function(0.5, weights)


@pytest.mark.parametrize(
    ("multiplicities", "message"),
    [
        (
            [1.0],
            r"`multiplicities` must be 2 finite positive numbers, one per weight, found shape \(1,\)",
        ),
        (
            [1.0, 0.0],
            "`multiplicities` must be 2 finite positive numbers, one per weight, found 0.0 at position 1",
        ),
        (
            [1.0, math.nan],
            "`multiplicities` must be 2 finite positive numbers, one per weight, found nan at position 1",
        ),
        (
            [1e-7, 1e-7],
            "`multiplicities` of the positive weights sum to 2e-07, expected at least 1e-06",
        ),
    ],
)
def test_bad_multiplicities_are_refused(multiplicities, message):
    with pytest.raises(ValueError, match=message):
        gchi2.prepare([1.0, 2.0], multiplicities)


def test_a_spectrum_takes_no_second_multiplicities():
    spectrum = gchi2.prepare([1.0, 2.0])
    assert gchi2.prepare(spectrum) is spectrum
    with pytest.raises(ValueError, match="beside a prepared Spectrum"):
        gchi2.prepare(spectrum, [1.0, 1.0])


def test_spectrum_is_immutable_and_independent_of_its_input():
    weights = np.array([3.0, 1.0, 2.0])
    spectrum = gchi2.prepare(weights)
    before = gchi2.sf(4.0, spectrum)
    weights[:] = 7.0
    assert gchi2.sf(4.0, spectrum) == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        spectrum.scale = 2.0
    for array in (
        spectrum.ratios,
        spectrum.gaps,
        spectrum.counts,
        gchi2.prepare(np.arange(500.0)).counts,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


def test_moments_of_a_spectrum():
    weights = np.random.default_rng(0).uniform(size=700)
    spectrum = gchi2.prepare(weights)
    assert spectrum.mean == relative(weights.sum(), 1e-13)
    assert spectrum.variance == relative(2.0 * (weights**2).sum(), 1e-13)
    assert "degrees=700.0" in repr(spectrum)


def test_threads_share_a_spectrum():
    spectrum = gchi2.prepare(np.arange(1.0, 400.0) ** -1.0)
    points = np.linspace(3.0, 40.0, 200)
    serial = gchi2.sf(points, spectrum)
    with ThreadPoolExecutor(8) as pool:
        np.testing.assert_array_equal(
            list(pool.map(lambda q: gchi2.sf(q, spectrum), points)), serial
        )
