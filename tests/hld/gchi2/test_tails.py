"""Tails against published values and against series, sums over poles and lattices of their own."""

import csv
import math
import os
import pathlib
import subprocess
import sys
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from hld import gchi2
from hld.gchi2 import spectrum as _spectrum

EPS = 2.0**-53


def relative(expected, rtol):
    """`expected` to a relative error of `rtol` (pytest.approx alone forgives an absolute 1e-12 as well)."""
    return pytest.approx(expected, rel=rtol, abs=0.0)


# Four decimals, as printed. Imhof (1961), table 1: P(Q > q). Davies (1980), table 1: P(Q < q).
CLASSICAL = [
    ("imhof Q1", [0.6, 0.3, 0.1], [1, 1, 1], "sf", [(0.1, 0.9458), (0.7, 0.5064), (2.0, 0.1240)]),
    ("imhof Q2", [0.6, 0.3, 0.1], [2, 2, 2], "sf", [(2.0, 0.3998), (6.0, 0.0161)]),
    ("imhof Q3", [0.6, 0.3, 0.1], [6, 4, 2], "sf", [(1.0, 0.9973), (5.0, 0.4353), (12.0, 0.0088)]),
    ("imhof Q4", [0.6, 0.3, 0.1], [2, 4, 6], "sf", [(1.0, 0.9666), (3.0, 0.4196), (8.0, 0.0087)]),
    ("davies 1", [6.0, 3.0, 1.0], [1, 1, 1], "cdf", [(1.0, 0.0542), (7.0, 0.4936), (20.0, 0.8760)]),
    (
        "davies 2",
        [6.0, 3.0, 1.0],
        [2, 2, 2],
        "cdf",
        [(2.0, 0.0065), (20.0, 0.6002), (60.0, 0.9839)],
    ),
    (
        "davies 3",
        [6.0, 3.0, 1.0],
        [6, 4, 2],
        "cdf",
        [(10.0, 0.0027), (50.0, 0.5647), (120.0, 0.9912)],
    ),
]
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
    ("weights", "counts", "tail", "points"),
    [c[1:] for c in CLASSICAL],
    ids=[c[0] for c in CLASSICAL],
)
def test_published_probabilities(weights, counts, tail, points):
    spectrum = gchi2.prepare(weights, counts)
    for q, printed in points:
        assert getattr(gchi2, tail)(q, spectrum) == pytest.approx(printed, abs=5.001e-5)


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
        if sf > 1e-3:
            assert gchi2.ppf(cdf, spectrum) == relative(q, 1e-12), case


def ruben(q, weights):
    """(sf, cdf) by Ruben's series (Ruben 1962): a mixture of chi-square laws with positive weights a_k.

    a_0 = prod (beta/lambda)^(1/2), a_k = (1/k) sum_{r<k} g_{k-r} a_r, g_r = (1/2) sum (1 - beta/lambda)^r.
    """
    beta, ratio = weights.min(), 1.0 - weights.min() / weights
    terms = 60 + int(80.0 / -math.log(max(ratio.max(), 1e-9)))
    g = 0.5 * np.array([(ratio**r).sum() for r in range(terms)])
    a = np.zeros(terms)
    a[0] = math.exp(0.5 * np.log(beta / weights).sum())
    for k in range(1, terms):
        a[k] = g[k:0:-1] @ a[:k] / k
    shapes = 0.5 * weights.size + np.arange(terms)
    return a @ special.gammaincc(shapes, 0.5 * q / beta), a @ special.gammainc(
        shapes, 0.5 * q / beta
    )


def erlang_pairs(q, weights):
    """P(Q >= q) if every weight of `weights` occurs twice: a sum over the poles, one exponential each."""
    total = 0.0
    for i, weight in enumerate(weights):
        others = np.delete(weights, i)
        total += np.prod(weight / (weight - others)) * math.exp(-0.5 * q / weight)
    return total


def davies_lattice(q, weights):
    """P(Q >= q) from the characteristic function phi on a lattice (Davies 1980), absolute error about 1e-13.

    P(Q < q) = 1/2 - sum_k Im[phi(u_k) exp(-i u_k q)] / (pi (k + 1/2)), u_k = (k + 1/2) D, up to the
    probability outside q +- 2 pi / D.
    """
    spread = math.sqrt(2.0 * (weights**2).sum())
    delta = 2.0 * math.pi / (abs(q - weights.sum()) + 12.0 * spread + 70.0 * weights.max())
    total, k = 0.0, np.arange(500.0)
    while True:
        u = (k + 0.5) * delta
        twice = 2.0 * np.multiply.outer(weights, u)
        decay, phase = -0.25 * np.log1p(twice**2).sum(axis=0), 0.5 * np.arctan(twice).sum(axis=0)
        total += (np.exp(decay) * np.sin(phase - u * q) / (math.pi * (k + 0.5))).sum()
        if decay[-1] < -40.0:
            return 0.5 + total
        k += k.size


@pytest.mark.parametrize("seed", range(12))
def test_ruben_series_agrees_in_both_tails(seed):
    rng = np.random.default_rng(seed)
    weights = np.exp(rng.uniform(0.0, 2.0, rng.integers(1, 25)))
    for p in (0.999999, 0.9, 0.5, 0.05, 1e-6, 1e-12):
        q = gchi2.isf(p, weights)
        upper, lower = ruben(q, weights)
        rtol = 1e-12 + 4.0 * q * EPS  # cond is below q / (2 lambda_min), and here lambda_min > 1
        assert gchi2.sf(q, weights) == relative(upper, rtol)
        assert gchi2.cdf(q, weights) == relative(lower, rtol)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 101, 3000])
def test_equal_weights_are_a_chi_square(m):
    for p in (0.999, 0.5, 0.01, 1e-12, 1e-100):
        q = stats.chi2.isf(p, m)
        rtol = 1e-12 + 8.0 * q * EPS  # cond = q f / P, below q
        assert gchi2.sf(0.3 * q, np.full(m, 0.3)) == relative(stats.chi2.sf(q, m), rtol)
        assert gchi2.isf(p, np.full(m, 0.3)) == relative(0.3 * q, 1e-12)
    q = stats.chi2.ppf(1e-12, m)
    assert gchi2.cdf(q, np.ones(m)) == relative(stats.chi2.cdf(q, m), 1e-11)


@pytest.mark.parametrize("degrees", [1e-5, 1e-3, 0.02, 0.3, 0.9, 1.7, 2.5, 33.3])
def test_real_multiplicities_are_gamma_laws(degrees):
    spectrum = gchi2.prepare([2.0], [degrees])
    for x in (1e-3 * degrees, 0.3 * degrees, degrees, 3.0 * degrees, 1.0, 10.0, 40.0):
        upper, error = gchi2.sf_with_error(x, spectrum)
        expected = special.gammaincc(0.5 * degrees, 0.25 * x)
        assert upper == pytest.approx(expected, rel=1e-12, abs=error + 1e-13 * expected)
        assert gchi2.cdf(x, spectrum) == relative(special.gammainc(0.5 * degrees, 0.25 * x), 1e-12)
        assert error <= 1e-10


def test_quantiles_of_laws_with_most_mass_near_zero():
    for degrees in (1e-3, 0.02, 0.3):
        spectrum = gchi2.prepare([3.0, 1.0], [0.5 * degrees, 0.5 * degrees])
        for p in (1e-9, 0.01 * degrees, 0.3 * degrees, 0.1, 0.4, 0.5, 0.7):
            q = gchi2.isf(p, spectrum)
            if p > 1e-3:
                assert gchi2.ppf(1.0 - p, spectrum) == relative(q, 1e-14 / degrees)
            if q > 1e-280:
                assert gchi2.sf(q, spectrum) == relative(p, 1e-12 + 1e-16 / degrees)
            else:
                assert gchi2.sf(1e-280, spectrum) < p


def test_pairs_are_a_sum_over_poles():
    weights = 0.5 ** np.arange(8.0)
    for q in (0.5, 4.0, 30.0, 120.0):
        expected = erlang_pairs(q, weights)
        # The residues alternate in sign: their cancellation bounds what the route itself can say.
        rounding = (
            8.0
            * EPS
            * sum(
                abs(np.prod(w / (w - np.delete(weights, i)))) * math.exp(-0.5 * q / w)
                for i, w in enumerate(weights)
            )
        )
        assert gchi2.sf(q, np.repeat(weights, 2)) == pytest.approx(
            expected, rel=1e-12, abs=rounding
        )


@pytest.mark.parametrize("law", ["uniform", "power", "spread", "spike"])
def test_davies_lattice_agrees_absolutely_for_many_weights(law):
    rng = np.random.default_rng(3)
    weights = {
        "uniform": rng.uniform(0.0, 1.0, 900),
        "power": np.arange(1.0, 801.0) ** -0.7,
        "spread": 10.0 ** rng.uniform(-12.0, 0.0, 700),
        "spike": np.append(1.0, rng.uniform(0.01, 0.02, 1000)),
    }[law]
    mean, spread = weights.sum(), math.sqrt(2.0 * (weights**2).sum())
    for q in mean + spread * np.array([-1.5, -0.3, 0.0, 1.0, 4.0]):
        assert gchi2.sf(float(q), weights) == pytest.approx(
            davies_lattice(q, weights), rel=0.0, abs=2e-13
        )


@pytest.mark.parametrize("law", ["uniform", "power", "spread", "near one", "twins"])
def test_compression_changes_nothing_but_round_off(law, monkeypatch):
    rng = np.random.default_rng(8)
    weights = {
        "uniform": rng.uniform(0.0, 1.0, 2000),
        "power": np.arange(1.0, 2001.0) ** -1.3,
        "spread": 10.0 ** rng.uniform(-25.0, 0.0, 2500),
        "near one": 1.0 - 10.0 ** rng.uniform(-16.0, -0.4, 900),
        "twins": np.append(1.0 + 1e-15 * np.arange(400), 0.3 + 1e-14 * rng.uniform(size=400)),
    }[law]
    short = gchi2.prepare(weights)
    monkeypatch.setattr(_spectrum, "_COMPRESS_ABOVE", 10**9)
    full = gchi2.prepare(weights)
    assert short.ratios.size < 0.9 * full.ratios.size
    assert np.all(np.diff(short.ratios) <= 0.0)
    assert short.counts.sum() == relative(full.counts.sum(), 1e-13)
    for power in range(1, 2 * _spectrum._GAUSS_POINTS):
        expected = full.counts @ full.ratios**power
        assert short.counts @ short.ratios**power == relative(expected, 1e-13)
    for p in (1.0 - 1e-9, 0.6, 1e-3, 1e-12, 1e-200):
        q = gchi2.isf(p, full)
        upper, error = gchi2.sf_with_error(q, full)
        assert gchi2.sf(q, short) == pytest.approx(upper, rel=0.0, abs=2.0 * error)
        log_lower, lower = math.log(gchi2.cdf(q, short)), math.log(gchi2.cdf(q, full))
        assert log_lower == pytest.approx(lower, rel=1e-13, abs=1e-12)


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
        assert gchi2.ppf(math.exp(expected), spectrum) == relative(q, 1e-12)
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
