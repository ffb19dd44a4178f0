"""Tails against published values and against series, sums over poles and lattices of their own."""

import csv
import dataclasses
import math
import os
import pathlib
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hld import gchi2
from hld.gchi2.tails import quantile

EPS = 2.0**-53


def relative(expected, rtol):
    """`expected` to a relative error of `rtol` (pytest.approx alone forgives an absolute 1e-12 as well)."""
    return pytest.approx(expected, rel=rtol, abs=0.0)


# Four decimals, as printed. Imhof (1961), table 1: P(Q > q). Davies (1980), table 1: P(Q < q).
# Upper points of two limit laws with infinitely many weights: weights, their sum, then (level, printed point,
# error allowed). Cramer-von Mises: Anderson and Darling (1952), table 1. Anderson-Darling: Marsaglia and
# Marsaglia (2004), who found the older 3.857 to be 3.878125.
LIMIT_LAWS = [
    (
        "cramer-von mises",
        lambda j: 1.0 / (math.pi * j) ** 2,
        1.0 / 6.0,
        [(0.10, 0.34730, 5.1e-6), (0.05, 0.46136, 5.1e-6), (0.01, 0.74346, 5.1e-6)],
    ),
    (
        "anderson-darling",
        lambda j: 1.0 / (j * (j + 1.0)),
        1.0,
        [
            (0.10, 1.93295783274159, 1e-10),
            (0.05, 2.49236716004941, 1e-10),
            (0.01, 3.87812502160539, 1e-10),
        ],
    ),
]


@pytest.mark.parametrize(
    ("weight", "total", "points"), [c[1:] for c in LIMIT_LAWS], ids=[c[0] for c in LIMIT_LAWS]
)
def test_published_critical_values_of_infinite_spectra(weight, total, points):
    weights = weight(np.arange(1.0, 6001.0))
    # The dropped weights add their sum to Q, and a variance below 3e-12 that moves the points no further.
    dropped = total - weights.sum()
    for level, printed, allowed in points:
        assert gchi2.isf(level, weights) + dropped == pytest.approx(printed, rel=0.0, abs=allowed)


def exact_weights(text):
    """Weights (m,) from a specification as in the reference table, each rounded once from 40 digits."""
    if text.startswith("pairs("):
        return np.repeat(exact_weights(text[len("pairs(") : -1]), 2)
    if "+" in text:
        return np.concatenate([exact_weights(piece) for piece in text.split("+")])
    kind, *arguments = text.split(":")
    if kind == "list":
        items = [item.partition("^") for item in arguments[0].split(";")]
        return np.repeat(
            [float(value) for value, _, _ in items], [int(count or 1) for _, _, count in items]
        )
    with localcontext() as context:
        context.prec = 40
        return np.array([float(value) for value in _family(kind, [Decimal(a) for a in arguments])])


def _family(kind, arguments):
    *parameters, m = arguments
    index = [Decimal(j) for j in range(1, int(m) + 1)]
    pi = Decimal("3.141592653589793238462643383279502884197")
    if kind == "equal":
        return [parameters[0] for _ in index]
    if kind == "geom":
        return [parameters[0] ** (j - 1) for j in index]
    if kind == "power":
        return [j ** -parameters[0] for j in index]
    if kind == "shift":
        return [(1 + (j - 1) / parameters[1]) ** -parameters[0] for j in index]
    if kind == "lin":
        first, last = parameters
        return [first + (last - first) * (j - 1) / (m - 1) for j in index]
    if kind == "cvm":
        return [1 / (pi * j) ** 2 for j in index]
    if kind == "ad":
        return [1 / (j * (j + 1)) for j in index]
    raise ValueError(f"unknown family {kind!r}")


@pytest.fixture(scope="module")
def table():
    """Rows of the reference table: (case, spectrum, q, sf, cdf, cond)."""
    folder = os.environ.get("HLD_DATA")
    if not folder or not (pathlib.Path(folder) / "gchi2_reference.csv").exists():
        pytest.skip("gchi2_reference.csv not found: set HLD_DATA to the folder that holds it")
    spectra, rows = {}, []
    with open(pathlib.Path(folder) / "gchi2_reference.csv", newline="") as file:
        for row in csv.DictReader(file):
            text = row["lambdas"]
            if text not in spectra:
                weights = exact_weights(text)
                assert weights.size == int(row["m"]), text
                spectra[text] = gchi2.prepare(weights)
            rows.append(
                (
                    f"{row['case']} q={row['q']}",
                    spectra[text],
                    float(row["q"]),
                    float(row["sf"]),
                    float(row["cdf"]),
                    float(row["cond"]),
                )
            )
    assert len(rows) > 60
    return rows


def test_table_both_tails(table):
    for case, spectrum, q, sf, cdf, cond in table:
        rtol = 1e-12 + 4.0 * cond * EPS
        pairs = (sf, gchi2.sf(q, spectrum)), (cdf, gchi2.cdf(q, spectrum))
        (small, smaller), (large, larger) = sorted(pairs)
        assert smaller == relative(small, rtol), case
        # The larger tail is 1 minus the smaller: the same absolute error, and a rounding.
        assert larger == pytest.approx(large, rel=0.0, abs=rtol * small + 2.0 * EPS), case
        assert math.exp(gchi2.logsf(q, spectrum)) == relative(sf, rtol), case


def test_table_error_bound_holds(table):
    for case, spectrum, q, sf, _, _ in table:
        value, error = gchi2.sf_with_error(q, spectrum)
        assert value == gchi2.sf(q, spectrum)
        assert abs(value - sf) <= error, case
        assert error <= 1e-12 * sf, case


def test_table_quantiles(table):
    for case, spectrum, q, sf, cdf, _ in table:
        if cdf > 1e-3:
            assert gchi2.isf(sf, spectrum) == relative(q, 1e-12), case
        elif cdf > 0.0:
            x = quantile(spectrum, math.log(cdf), upper=False)
            assert spectrum.scale * x == relative(q, 1e-12), case


def test_far_tail_tends_to_zolotarevs_constant():
    """P(Q > q) / P(lambda_1 chi2_1 > q) tends to prod (1 - lambda_j / lambda_1)^(-1/2) (Zolotarev 1961)."""
    weights, q = np.array([1.0, 0.5, 0.25]), 1e9
    expected = (
        -0.5 * np.log(1.0 - weights[1:]).sum() + stats.norm.logsf(math.sqrt(q)) + math.log(2.0)
    )
    assert gchi2.logsf(q, weights) == relative(expected, 1e-15)


def test_lower_tail_tends_to_a_power_law():
    """P(Q < q) ~ prod lambda^(-1/2) (q/2)^(m/2) / Gamma(m/2 + 1), down to where doubles end."""
    weights = np.array([1.0, 0.5, 0.25])
    for q in (1e-200, 1e-289, 1e-290, 1e-291, 1e-305):
        spectrum = gchi2.prepare(weights, [0.5, 0.5, 0.5])
        expected = -0.25 * np.log(weights).sum() + 0.75 * math.log(0.5 * q) - math.lgamma(1.75)
        assert math.log(gchi2.cdf(q, spectrum)) == relative(expected, 1e-14)
        assert quantile(spectrum, expected, upper=False) == relative(q, 1e-12)
        assert gchi2.sf(q, spectrum) == 1.0


positive = st.floats(1e-12, 1.0) | st.floats(0.01, 1.0)
spectra = st.lists(positive, min_size=1, max_size=12).map(np.array)


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
    assert (gchi2.isf(0.0, weights), gchi2.isf(1.0, weights)) == (math.inf, 0.0)


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
    with pytest.raises(
        ValueError, match=r"`p` contains .*, expected probabilities between 0 and 1"
    ):
        gchi2.isf(p, [1.0])


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


fractions = st.floats(1e-3, 30.0)
examples = settings(max_examples=60, deadline=None, derandomize=True)


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
    p, spectrum = 10.0**log10_p, gchi2.prepare(weights)
    tail = gchi2.sf if upper else gchi2.cdf
    q = spectrum.scale * quantile(spectrum, math.log(p), upper)
    # d log P / d log q is below q / (2 lambda_max) + m/2 above and below m/2 below: the rounding of q.
    cond = 0.5 * q / weights.max() + 0.5 * weights.size
    assert tail(q, weights) == relative(p, 1e-12 + 16.0 * EPS * (cond - math.log(p)))


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
    for function in (gchi2.sf, gchi2.cdf, gchi2.logsf, gchi2.sf_with_error, gchi2.isf):
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
    for array in (spectrum.ratios, spectrum.gaps, spectrum.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
