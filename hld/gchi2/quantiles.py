r"""Quantiles of :math:`Q = \sum_j \lambda_j \chi^2_{n_j}` by Halley's iteration on a logarithm.

The equation is solved on the side where the probability is small, for a function that is nearly straight
there:

* upper side, P(Q >= x) = p: G(x) = log P(Q >= x) - log p in x, since the tail is nearly exponential;
* lower side, P(Q < x) = p: G(y) = log P(Q < e^y) - log p in y = log x, since the tail is nearly a power.

With f the density and f' its derivative, both from the nodes that gave P (see `gchi2.saddle_contour`), Halley's
step

.. math:: \Delta = - \frac{2 G G'}{2 G'^2 - G G''}

triples the number of correct digits: a step below 1e-5 leaves an error below 1e-15. A bracket catches the
rest.

The start is a quantile of a gamma law with the first moments of Q, by Wilson and Hilferty's cube:
Pearson III (three moments) above, Satterthwaite (two moments) below, where also the bound

.. math:: P(Q < x) \le \prod_j r_j^{-n_j/2} \frac{(x/2)^{n/2}}{\Gamma(n/2 + 1)}, \qquad n = \sum_j n_j,

gives a rigorous lower end for the bracket (drop exp(-x_j / 2r_j) <= 1 from the joint density).

References
----------
Wilson and Hilferty (1931), The distribution of chi-square, Proceedings of the National Academy of Sciences
17, 684-688.

Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics Bulletin 2,
110-114.

Imhof (1961), Computing the distribution of quadratic forms in normal variables, Biometrika 48, 419-426
(Pearson's three-moment approximation).
"""

from __future__ import annotations

import math
from typing import Any

from hld.gchi2.saddle_contour import tail_probability
from hld.gchi2.spectrum import Spectrum

_SMALLEST = 1e-290  # from here down P(Q < x) is a pure power and one step is exact
_POWER_LAW = _SMALLEST * (1.0 + 1e-12)  # the same, whichever way the bisection is rounded


def quantile(spectrum: Spectrum, log_p: float, upper: bool) -> float:
    """Return x with P(Q / scale >= x) = p (`upper`) or P(Q / scale < x) = p, for p of about 1/2 or less."""
    low, high, floor = 0.0, math.inf, 1e-3 * spectrum.power_sums[0] if upper else 0.0
    if upper:
        x = max(floor, _gamma_start(spectrum, log_p, upper))
    else:
        low, high = (
            _power_law_bound(spectrum, log_p),
            spectrum.power_sums[0] / -math.expm1(log_p),
        )  # Markov
        x = max(low, min(_gamma_start(spectrum, log_p, upper), high), _SMALLEST)
    previous = 1.0
    for _ in range(200):
        misfit, step, slope, noise = _halley(spectrum, x, log_p, upper)
        if (misfit > 0.0) == upper:
            low = max(low, x)
        else:
            high = min(high, x)
        if high <= floor:
            # Multiplicities far below 1 put most of the mass near 0, where only the lower side is straight.
            return quantile(spectrum, math.log1p(-math.exp(log_p)), upper=False)
        moved = x * (1.0 + step if upper else math.exp(min(step, 700.0)))
        # Cubic convergence: the next step would be about |step| (|step| / previous)^3.
        settled = abs(step) * max(slope, 1.0) <= 1e-5 and abs(step) ** 4 <= 1e-15 * previous**3
        # Before the bracket is asked: at the root round-off may put a settled step outside.
        if settled or abs(misfit) <= noise or moved <= x <= _POWER_LAW:
            return moved
        previous = abs(step)
        x = max(moved if low < moved < high else _between(low, high), floor)
    raise ArithmeticError(f"the quantile iteration did not settle between {low!r} and {high!r}.")


def _halley(spectrum: Spectrum, x: float, log_p: float, upper: bool) -> tuple[float, ...]:
    """Misfit G of the logarithms, Halley's step relative to x (or in log x), |dG / dlog x|, noise of G."""
    tail = tail_probability(spectrum, x, density=True)
    log_value, odds = tail.log_value, 1.0
    if tail.upper != upper:
        log_value, odds = math.log1p(-tail.value), tail.value / (1.0 - tail.value)
    slope, bend = odds * tail.slope, odds * tail.bend
    misfit = log_value - log_p
    first, second = (-slope, -bend - slope**2) if upper else (slope, slope + bend - slope**2)
    if first == 0.0:  # so far on the other side that only the bracket helps
        return misfit, math.nan, slope, 0.0
    curved = 2.0 * first**2 - misfit * second
    # Far from the root the parabola may point the wrong way: there take Newton's step.
    step = -2.0 * misfit * first / curved if curved > first**2 else -misfit / first
    return misfit, step, slope, odds * tail.error


def _gamma_start(spectrum: Spectrum, log_p: float, upper: bool) -> float:
    """Quantile of a gamma law with the first three (upper) or two (lower) moments of Q / scale."""
    first, second, third = spectrum.power_sums
    degrees, unit = (
        (second**3 / third**2, third / second) if upper else (first**2 / second, second / first)
    )
    z = _normal_deviate(log_p) if upper else -_normal_deviate(log_p)
    spread = 2.0 / (9.0 * degrees)
    cube = max(0.0, 1.0 - spread + z * math.sqrt(spread)) ** 3
    return first + unit * degrees * (cube - 1.0) if upper else unit * degrees * cube


def _normal_deviate(log_p: float) -> float:
    """Normal deviate z >= 0 with P(Z > z) = p <= 1/2, to 5e-4 (Abramowitz and Stegun 1964, 26.2.23)."""
    t = math.sqrt(-2.0 * log_p)
    top = 2.515517 + t * (0.802853 + 0.010328 * t)
    return t - top / (1.0 + t * (1.432788 + t * (0.189269 + 0.001308 * t)))


def _power_law_bound(spectrum: Spectrum, log_p: float) -> float:
    """A lower bound of the lower quantile, and its limit as p goes to 0."""
    half = 0.5 * spectrum.degrees
    return 2.0 * math.exp((log_p + 0.5 * spectrum.log_ratio_sum + math.lgamma(half + 1.0)) / half)


def _between(low: Any, high: Any) -> Any:
    """A point inside the bracket, on a logarithmic scale."""
    if high == math.inf:
        return 2.0 * low
    return math.sqrt(max(low, _SMALLEST)) * math.sqrt(high)
