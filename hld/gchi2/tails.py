r"""The law of a weighted sum of chi-squares, to full precision in both tails.

.. math:: Q = \sum_{j=1}^{m} \lambda_j Z_j^2, \qquad Z_j \sim N(0, 1) \text{ independent}, \
          \lambda_j \ge 0.

If a vector of m means has covariance S / T and is asymptotically normal, then T times its squared length
tends to Q with the eigenvalues of S for weights: this is the null law of the HLD statistic (HLD paper,
"Goodness-of-Fit Test using HLD"), and of many other quadratic statistics (Cramer-von Mises, Anderson-Darling,
MMD). Its density has no closed form unless the weights come in equal pairs, so P(Q >= q) is computed from the
moment generating function, the product of :math:`(1 - 2\lambda_j s)^{-1/2}`, by Bromwich's integral

.. math:: P(Q \ge q) = \frac{1}{2\pi i} \int_{c - i\infty}^{c + i\infty}
          \prod_j (1 - 2\lambda_j s)^{-1/2}\, e^{-qs}\, \frac{ds}{s}, \qquad
          0 < c < \frac{1}{2\lambda_{\max}}.

Any path from below to above that keeps the pole s = 0 on its left and the branch points 1/(2 lambda_j) on its
right gives the same value; the numerical error does depend on it:

* the imaginary axis (Imhof 1961; Davies 1980) turns the integral into an oscillating one of size 1, so the
  error is absolute, 1e-6 to 1e-14, and a p-value of 1e-12 is noise;
* a series of chi-square laws with positive terms (Ruben 1962) keeps relative accuracy, but needs about
  q / (2 lambda_min) terms: hopeless for a spectrum that spreads over decades;
* the path through the saddle point of the integrand (Rice 1980; Lugannani and Rice 1980 for its leading term)
  neither oscillates nor cancels. Bent to a hyperbola, it costs 50 to 80 evaluations of the product for *any*
  spectrum and gives 13 to 15 correct digits of 0.5 and of 1e-40 alike. `gchi2.saddle_contour` has the details.

Functions
---------
=================  ==================================================  ============================
`sf`               P(Q >= q), the p-value of a statistic q             relative accuracy
`logsf`            its natural logarithm                               never underflows
`sf_with_error`    P(Q >= q) and a bound on its error                  a posteriori
`cdf`              P(Q < q) = 1 - sf                                   relative accuracy
`isf`              q with P(Q >= q) = p, the critical value            p down to 1e-308
`prepare`          weights sorted and merged: a `Spectrum`             do it once per spectrum
=================  ==================================================  ============================

Arguments
---------
`weights` is a one-dimensional array of lambda_j in any order, or a `Spectrum` made by `prepare`, which saves
the preparation in every call (50 microseconds for 100 weights) and is the way to give multiplicities. It is
immutable: threads may share it. Weights slightly below zero, as eigenvalue routines return for singular
matrices, count as zero; see `prepare`. `q` and `p` are numbers or arrays: a number gives a Python float, an
array an array of its shape, one contour per entry.

Conventions: q <= 0 gives sf = 1 exactly, q = inf gives 0, NaN gives NaN. If all weights are zero, Q is 0:
then sf(q) = 0 for every q > 0 and all quantiles are 0. `cdf` is P(Q < q), so that sf + cdf = 1 also there.

References
----------
K, S and Krishnan (2026), A Probabilistic Circuit-Induced Pseudo-Metric for Out-of-Distribution Detection.

Imhof (1961), Computing the distribution of quadratic forms in normal variables, Biometrika 48, 419-426.

Ruben (1962), Probability content of regions under spherical normal distributions IV, Annals of Mathematical
Statistics 33, 542-570.

Davies (1980), Algorithm AS 155: the distribution of a linear combination of chi-squared random variables,
Applied Statistics 29, 323-333.

Rice (1980), Distribution of quadratic forms in normal random variables: evaluation by numerical integration,
SIAM Journal on Scientific and Statistical Computing 1, 438-448.

Lugannani and Rice (1980), Saddle point approximation for the distribution of the sum of independent random
variables, Advances in Applied Probability 12, 475-490.

Trefethen and Weideman (2014), The exponentially convergent trapezoidal rule, SIAM Review 56, 385-458.

Quantiles are found by Newton's iteration on a logarithm, inside a bracket, on the side where the probability is small
and its logarithm nearly straight: above, P(Q >= x) is nearly exponential in x; below, P(Q < x) is nearly a power.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hld.gchi2.saddle_contour import SMALLEST, Tail, tail_probability
from hld.gchi2.spectrum import Spectrum, prepare
from pcircuit.arguments import check_numbers


def sf(q: ArrayLike, weights: ArrayLike | Spectrum) -> Any:
    r"""Survival function :math:`P(Q \ge q)` of :math:`Q = \sum_j \lambda_j \chi^2_1`.

    Parameters
    ----------
    q : float or array_like of float
        Where to evaluate, in the units of the weights.
    weights : (m,) array_like of float, or Spectrum
        The lambda_j >= 0.

    Returns
    -------
    float or ndarray of the shape of `q`
        Probabilities; relative error about 1e-15 times the condition number q f(q) / P, below 1e-13 in
        practice.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or the weights are not finite, not one-dimensional or not non-negative (see
        `prepare`).

    Notes
    -----
    About 50 nodes times m: 0.2 ms for 150 weights, 1.5 ms for 1,500.

    Examples
    --------
    Imhof's first example (Imhof 1961, table 1), and the same form where quadrature has nothing left to say:

    >>> round(sf(2.0, [0.6, 0.3, 0.1]), 4)
    0.124
    >>> f"{sf(31.0358, [0.6, 0.3, 0.1]):.6e}"
    '9.999580e-13'
    """
    return _of_tails(q, weights, lambda tail: tail.above)


def logsf(q: ArrayLike, weights: ArrayLike | Spectrum) -> Any:
    r"""Natural logarithm of :math:`P(Q \ge q)`, also where the probability underflows.

    Parameters
    ----------
    q : float or array_like of float
        Where to evaluate.
    weights : (m,) array_like of float, or Spectrum
        The lambda_j >= 0.

    Returns
    -------
    float or ndarray of the shape of `q`
        In [-inf, 0].

    Raises
    ------
    TypeError, ValueError
        As `sf`.

    Examples
    --------
    >>> round(logsf(20_000.0, [0.6, 0.3, 0.1]), 6)
    -16671.661892
    """
    return _of_tails(q, weights, lambda tail: tail.log_of(True))


def sf_with_error(q: ArrayLike, weights: ArrayLike | Spectrum) -> Any:
    r"""Survival function :math:`P(Q \ge q)` together with a bound on its absolute error.

    The bound adds the error of the quadrature, judged from the rule with three times the step on the same
    nodes, and the round-off of the exponent; it covers a relative error of 2**-53 in q and in the weights,
    too.

    Parameters
    ----------
    q : float or array_like of float
        Where to evaluate.
    weights : (m,) array_like of float, or Spectrum
        The lambda_j >= 0.

    Returns
    -------
    probability, error : two floats, or two ndarrays of the shape of `q`
        The first is `sf`.

    Raises
    ------
    TypeError, ValueError
        As `sf`.

    Examples
    --------
    >>> probability, error = sf_with_error(31.0358, [0.6, 0.3, 0.1])
    >>> error < 1e-13 * probability
    True
    """
    pair = _of_tails(q, weights, _upper_with_error)
    return pair if isinstance(pair, tuple) else (pair[..., 0], pair[..., 1])


def cdf(q: ArrayLike, weights: ArrayLike | Spectrum) -> Any:
    r"""Distribution function :math:`P(Q < q) = 1 - P(Q \ge q)`, with relative accuracy in the lower tail.

    Parameters
    ----------
    q : float or array_like of float
        Where to evaluate.
    weights : (m,) array_like of float, or Spectrum
        The lambda_j >= 0.

    Returns
    -------
    float or ndarray of the shape of `q`
        Probabilities.

    Raises
    ------
    TypeError, ValueError
        As `sf`.

    Examples
    --------
    Davies' first example (Davies 1980, table 1, weights 6, 3, 1):

    >>> cdf([1.0, 7.0, 20.0], [6.0, 3.0, 1.0]).round(4).tolist()
    [0.0542, 0.4936, 0.876]
    """
    return _of_tails(q, weights, lambda tail: tail.below)


def isf(p: ArrayLike, weights: ArrayLike | Spectrum) -> Any:
    r"""Critical value: the q with :math:`P(Q \ge q) = p`.

    Parameters
    ----------
    p : float or array_like of float
        Upper tail probabilities in [0, 1]; 0 gives infinity, 1 gives 0.
    weights : (m,) array_like of float, or Spectrum
        The lambda_j >= 0.

    Returns
    -------
    float or ndarray of the shape of `p`
        Quantiles, relative error about 1e-15.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or a probability is outside [0, 1]; otherwise as `sf`.

    Notes
    -----
    Some five evaluations of the contour.

    Examples
    --------
    >>> round(isf(0.05, [1.0]), 6)
    3.841459
    >>> round(sf(isf(1e-12, [0.6, 0.3, 0.1]), [0.6, 0.3, 0.1]) / 1e-12, 9)
    1.0
    """
    spectrum = prepare(weights)
    return _each(lambda value: _quantile(value, spectrum, is_upper=True), p, "p")


def ppf(p: ArrayLike, weights: ArrayLike | Spectrum) -> Any:
    r"""Quantile function: the q with :math:`P(Q < q) = p`; for p near 1, which p itself hardly holds, use `isf`.

    Parameters
    ----------
    p : float or array_like of float
        Lower tail probabilities in [0, 1]; 0 gives 0, 1 gives infinity.
    weights : (m,) array_like of float, or Spectrum
        The lambda_j >= 0.

    Returns
    -------
    float or ndarray of the shape of `p`
        Quantiles, relative error about 1e-15.

    Raises
    ------
    TypeError, ValueError
        As `isf`.

    Examples
    --------
    >>> round(ppf(0.5, [1.0, 1.0]) / (2.0 * math.log(2.0)), 12)
    1.0
    """
    spectrum = prepare(weights)
    return _each(lambda value: _quantile(value, spectrum, is_upper=False), p, "p")


def _of_tails(q: Any, weights: Any, value: Callable[[Tail], Any]) -> Any:
    """A value of the tail at q, a number or an array of numbers."""
    spectrum = prepare(weights)
    return _each(lambda one: value(_tail(one, spectrum)), q, "q")


def _each(function: Callable[..., Any], values: Any, name: str) -> Any:
    """`function` of a number, or of every entry of an array; tuples of results become a last axis."""
    array = check_numbers(values, name, "a number or an array of numbers", finite=False)
    if array.ndim == 0:
        return function(float(array))
    results = [function(value) for value in array.ravel().tolist()]
    # Evaluated once at NaN only if there is nothing to evaluate, to learn the shape of one result.
    shape = np.shape(results[0] if results else function(math.nan))
    return np.array(results, dtype=float).reshape(array.shape + shape)


def _tail(q: float, spectrum: Spectrum) -> Tail:
    """The tail of Q at a float q that is easier to compute, degenerate cases included."""
    if math.isnan(q):
        return Tail(True, q, q, q, q)
    x = q / spectrum.scale if spectrum.scale > 0.0 else q * math.inf if q > 0.0 else 0.0
    if x <= 0.0:
        return Tail(False, 0.0, -math.inf, 0.0, math.nan)
    if x == math.inf:
        return Tail(True, 0.0, -math.inf, 0.0, math.nan)
    return tail_probability(spectrum, x)


def _upper_with_error(tail: Tail) -> tuple[float, float]:
    """P(Q >= q), and its error: the rounding of 1 - value counts only where the other tail was computed."""
    return tail.above, tail.error * tail.value + (0.0 if tail.upper else 2.0**-53)


def _quantile(p: float, spectrum: Spectrum, is_upper: bool) -> float:
    """The quantile for a float p of the upper or lower tail, degenerate cases included."""
    if math.isnan(p):
        return p
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"`p` contains {p!r}, expected probabilities between 0 and 1")
    if spectrum.scale == 0.0 or p == is_upper:
        return 0.0
    if p == 1.0 - is_upper:
        return math.inf
    # Always solve for the smaller of p and 1 - p, which is exact for p >= 1/2.
    is_small = p <= 0.5
    log_p = math.log(p if is_small else 1.0 - p)
    return spectrum.scale * quantile(spectrum, log_p, is_small == is_upper)


def quantile(spectrum: Spectrum, log_p: float, upper: bool) -> float:
    """Return x with P(Q / scale >= x) = p (`upper`) or P(Q / scale < x) = p, for p of about 1/2 or less."""
    low, high, x = -1.0, math.inf, float(spectrum.counts @ spectrum.ratios)
    floor = 1e-3 * x if upper else 0.0
    for _ in range(200):
        tail = tail_probability(spectrum, x)
        slope = tail.slope
        if tail.upper != upper:
            slope *= tail.value / (1.0 - tail.value)
        misfit = tail.log_of(upper) - log_p
        if (misfit > 0.0) == upper:
            low = x
        else:
            high = x
        if high <= floor:
            # Multiplicities far below 1 put most of the mass near 0, where only the lower side is straight.
            return quantile(spectrum, math.log1p(-math.exp(log_p)), upper=False)
        step = (
            misfit / slope if slope else math.inf
        )  # so far on the other side that only the bracket helps
        moved = x * (1.0 + step if upper else math.exp(min(-step, 700.0)))
        if abs(step) * max(slope, 1.0) <= 1e-8 or moved <= x <= SMALLEST:
            return moved
        if not low < moved < high:
            moved = 2.0 * low if high == math.inf else math.sqrt(max(low, SMALLEST) * high)
        x = max(moved, floor, SMALLEST)
    return x
