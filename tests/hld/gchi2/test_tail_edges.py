"""The ends of the support, extreme magnitudes, shapes and threads."""

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from hld import gchi2

EPS = 2.0**-53


def relative(expected, rtol):
    """`expected` to a relative error of `rtol` (pytest.approx alone forgives an absolute 1e-12 as well)."""
    return pytest.approx(expected, rel=rtol, abs=0.0)


def test_outside_and_at_the_ends_of_the_support():
    weights = [1.0, 0.25]
    for q in (0.0, -0.0, -1.0, -math.inf):
        assert (gchi2.sf(q, weights), gchi2.cdf(q, weights), gchi2.logsf(q, weights)) == (
            1.0,
            0.0,
            0.0,
        )
    assert gchi2.sf_with_error(0.0, weights) == (1.0, EPS)
    assert (gchi2.sf(math.inf, weights), gchi2.cdf(math.inf, weights)) == (0.0, 1.0)
    assert gchi2.logsf(math.inf, weights) == -math.inf
    assert (gchi2.isf(0.0, weights), gchi2.ppf(1.0, weights)) == (math.inf, math.inf)
    assert (gchi2.isf(1.0, weights), gchi2.ppf(0.0, weights)) == (0.0, 0.0)


def test_the_logarithm_of_nearly_one_is_minus_the_other_tail():
    """log(1 - p) as log1p: p far below 2**-53 still shows."""
    for q in (0.2, 1e-6, 1e-20, 1e-40):
        lower = gchi2.cdf(q, [1.0, 0.5, 0.25])
        assert gchi2.logsf(q, [1.0, 0.5, 0.25]) == relative(math.log1p(-lower), 1e-15)
    assert -1e-50 < gchi2.logsf(1e-40, [1.0, 0.5, 0.25]) < 0


def test_nan_gives_nan():
    for function in (gchi2.sf, gchi2.cdf, gchi2.logsf, gchi2.isf, gchi2.ppf):
        assert math.isnan(function(math.nan, [1.0, 2.0]))
    assert all(math.isnan(part) for part in gchi2.sf_with_error(math.nan, [1.0]))


def test_all_zero_weights_are_a_point_mass_at_zero():
    for weights in ([0.0], [0.0, -0.0, 0.0]):
        assert [gchi2.sf(q, weights) for q in (-1.0, 0.0, 1e-300, 1.0)] == [1.0, 1.0, 0.0, 0.0]
        assert [gchi2.cdf(q, weights) for q in (-1.0, 0.0, 1e-300, 1.0)] == [0.0, 0.0, 1.0, 1.0]
        assert [gchi2.isf(p, weights) for p in (0.0, 0.5, 1.0)] == [0.0, 0.0, 0.0]
        assert gchi2.logsf(1.0, weights) == -math.inf
        assert gchi2.prepare(weights).degrees == 0.0


def test_round_off_below_zero_counts_as_zero():
    tiny = 16.0 * 3 * np.finfo(float).eps
    assert gchi2.sf(3.0, [1.0, 0.5, -0.99 * tiny]) == gchi2.sf(3.0, [1.0, 0.5])
    with pytest.raises(
        ValueError, match=r"`weights` contains -1\.17\S+ beside .* 1, more than round-off"
    ):
        gchi2.sf(3.0, [1.0, 0.5, -1.1 * tiny])


def test_extreme_magnitudes():
    expected = 0.1239590741623263  # Imhof's first example
    for scale in (1e-300, 1e300):
        assert gchi2.sf(2.0 * scale, scale * np.array([0.6, 0.3, 0.1])) == relative(expected, 1e-12)
    # Two weights without common scale: the small one moves nothing, but the lower tail knows it is there.
    assert gchi2.sf(3.0, [1.0, 1e-200]) == relative(stats.chi2.sf(3.0, 1), 1e-13)
    assert gchi2.cdf(1e-210, [1.0, 1e-200]) == relative(0.5e-210 / 1e-100, 1e-9)
    assert gchi2.logsf(1e300, [1.0]) == relative(-5e299, 1e-15)
    assert gchi2.sf(1.0, [1e-320]) == 0.0
    assert gchi2.sf(1e-320, [1e10]) == 1.0
    assert gchi2.isf(0.01, [1.7e308]) == math.inf


def test_very_many_degrees_of_freedom():
    for degrees in (1e6, 1e10):
        spectrum = gchi2.prepare([1.0], [degrees])
        q = degrees + 4.0 * math.sqrt(2.0 * degrees)
        value, error = gchi2.sf_with_error(q, spectrum)
        assert value == relative(stats.chi2.sf(q, degrees), 1e-15 * q)
        assert error < 1e-14 * q * value


@pytest.mark.parametrize("p", [-0.1, 1.0000001, math.inf, [0.5, 2.0]])
def test_bad_probabilities_are_refused(p):
    for function in (gchi2.isf, gchi2.ppf):
        with pytest.raises(
            ValueError, match=r"`p` contains .*, expected probabilities between 0 and 1"
        ):
            function(p, [1.0])


def test_numbers_give_floats_and_arrays_give_arrays():
    weights = np.array([1.0, 0.5])
    for function in (gchi2.sf, gchi2.cdf, gchi2.logsf, gchi2.isf, gchi2.ppf):
        for scalar in (0.5, np.float64(0.5), np.array(0.5), np.float32(0.5)):
            assert type(function(scalar, weights)) is float
        grid = np.array([[0.1, 0.2, 0.3], [0.4, math.nan, 0.9]])
        values = function(grid, weights)
        assert values.shape == grid.shape
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values.ravel(), [function(v, weights) for v in grid.ravel()])
        assert function([], weights).shape == (0,)
        assert function(np.zeros((2, 0)), weights).shape == (2, 0)
    assert type(gchi2.sf(1, weights)) is float


def test_error_bound_has_the_shape_of_q():
    value, error = gchi2.sf_with_error(np.ones((2, 3)), [1.0])
    assert value.shape == error.shape == (2, 3)
    assert [part.shape for part in gchi2.sf_with_error(np.zeros((0, 4)), [1.0])] == [(0, 4), (0, 4)]
    assert [type(part) for part in gchi2.sf_with_error(1.0, [1.0])] == [float, float]


def test_weights_are_not_modified():
    weights = np.array([1.0, -1e-17, 0.5])
    copy = weights.copy()
    gchi2.sf(1.0, weights)
    np.testing.assert_array_equal(weights, copy)


def test_needs_numpy_only():
    script = (
        "import sys, hld.gchi2 as g; g.isf(1e-9, [1.0, 2.0]); "
        "sys.exit(' '.join({'scipy', 'numba', 'pandas', 'statistics'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
