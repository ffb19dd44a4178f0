"""Quantiles from logarithms of probabilities, also of those that no double holds."""

import math

import pytest
from scipy import stats

from hld.gchi2 import quantiles
from hld.gchi2.quantiles import quantile
from hld.gchi2.saddle_contour import tail_probability
from hld.gchi2.spectrum import prepare

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


@pytest.mark.parametrize("degrees", [1, 2, 5, 1000])
def test_equal_weights_have_quantiles_of_a_chi_square(degrees):
    spectrum = prepare([0.3], [degrees])
    for p in (0.5, 0.05, 1e-9):
        assert quantile(spectrum, math.log(p), True) == pytest.approx(
            stats.chi2.isf(p, degrees), rel=1e-12
        )
        assert quantile(spectrum, math.log(p), False) == pytest.approx(
            stats.chi2.ppf(p, degrees), rel=1e-12
        )


def test_two_degrees_of_freedom_have_exponential_quantiles():
    """P(Q >= x) = exp(-x/2) to any depth; P(Q < x) = p at x = -2 log(1 - p), which is 2 p for tiny p."""
    spectrum = prepare([1.0, 1.0])
    for log_p in (-1.0, -100.0, -1e4, -1e8, -1e50):
        assert quantile(spectrum, log_p, True) == pytest.approx(-2 * log_p, rel=1e-14)
    for log_p in (-1.0, -100.0, -600.0):
        assert quantile(spectrum, log_p, False) == pytest.approx(
            -2 * math.log1p(-math.exp(log_p)), rel=1e-12
        )
    assert quantile(spectrum, -1e6, False) == 0.0  # it underflows


def test_an_upper_quantile_near_zero_is_found_from_the_lower_side():
    """Few degrees of freedom: P(Q >= x) falls below a half only where x is tiny."""
    spectrum = prepare([1.0], [0.01])
    for p in (0.01, 0.03, 0.4):
        x = quantile(spectrum, math.log(p), True)
        assert math.exp(log_tail(spectrum, x, True)) == pytest.approx(p, rel=1e-11)


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


@pytest.mark.parametrize("p", [1e-2, 1e-3, 1e-5])
def test_far_from_the_root_newtons_step_is_taken_where_the_parabola_points_the_wrong_way(
    p, monkeypatch
):
    """With a hundredth of a degree of freedom the search begins far below; bisection would take 16 to 22 steps."""
    places = []

    def counted(spectrum, x, **options):
        places.append(x)
        return tail_probability(spectrum, x, **options)

    monkeypatch.setattr(quantiles, "tail_probability", counted)
    spectrum, log_p = prepare([1.0], [0.01]), math.log(p)
    assert quantile(spectrum, log_p, True) == pytest.approx(stats.chi2.isf(p, 0.01), rel=1e-12)
    assert len(places) <= 8
    x = places[0]
    slope, misfit = (
        x * stats.chi2.pdf(x, 0.01) / stats.chi2.sf(x, 0.01),
        log_tail(spectrum, x, True) - log_p,
    )
    assert places[1] == pytest.approx(x * (1 + misfit / slope), rel=1e-9)


def test_a_quantile_that_underflows_is_zero_also_with_a_shift():
    """P(Q < 1e-290) is exp(-1/2) or so with 6e-5 degrees of freedom: a third of it is far below all doubles."""
    assert quantile(prepare([2.0], [6e-5], [1.0]), math.log(0.3), False) == 0.0
