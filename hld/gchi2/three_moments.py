r"""A sum of weighted chi-squares by its first three cumulants: a shifted gamma law, in closed form.

Q = sum_j lambda_j chi2_1 has the cumulants c_1, 2 c_2 and 8 c_3 with c_k = sum_j lambda_j^k.  The law

.. math:: Q \approx c_1 + s (\chi^2_l - l), \qquad s = c_3 / c_2, \quad l = c_2^3 / c_3^2

has the same three (Pearson's type III).  It costs one incomplete gamma function.  Its tails are within 10 % of those
of `hld.gchi2` down to 1e-2 and too thin below, by up to a half at 1e-4.  So it serves as a scale where very many
values are needed and their distribution is found by drawing (`hld.laws.drawn`).

With s = lambda_1, the most that it can be, the law is that of c_2 / lambda_1^2 weights lambda_1 and
of the remaining sum spread infinitely thin.  Its tails below 5 % are wider than those of any weights with this
largest one and these sums (`hld.laws.ranks.confirmation`).

A factor v on the variance at unchanged mean multiplies the weights by v and their multiplicities by 1 / v.

The regularised upper incomplete gamma function

.. math:: Q(a, x) = \frac{1}{\Gamma(a)} \int_x^\infty t^{a - 1} e^{-t} dt

is the tail of a gamma law, and Q(dof / 2, x / 2) that of a chi-square.  A test of a batch needs a dozen values, and
importing that of `scipy.special` takes 0.4 s of processor time, more than all the rest of a first test (``python -X
importtime -c "import scipy.special"``).  So single values are computed here (`upper_gamma`) as in every textbook:
below a + 1 from the series, and above from Legendre's continued fraction,

.. math:: 1 - Q = \frac{x^a e^{-x}}{\Gamma(a + 1)} \sum_{n \ge 0} \frac{x^n}{(a + 1) \cdots (a + n)}, \qquad
          Q = \frac{x^a e^{-x}}{\Gamma(a)}\,
              \cfrac{1}{x + 1 - a - \cfrac{1 (1 - a)}{x + 3 - a - \cfrac{2 (2 - a)}{x + 5 - a - \cdots}}},

both of which take about six times the root of a steps near x = a and few elsewhere.  The rounding of the exponent
leaves relative errors of 1e-12, or 1e-11 for a of thousands.  For extreme shapes SciPy is used.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

LEAST_SHAPE, MOST_SHAPE = (
    0.5,
    10_000.0,
)  # beyond them SciPy is used: below 1 - P cancels, above steps are many
ENOUGH, MOST_STEPS = 1e-15, 5_000
HUGE = 1e300  # the first quotient of Lentz's method, which stands for infinity


def upper_gamma(a: float, x: float) -> float:
    """Q(a, x).

    5 to 50 microseconds.  For many values at once SciPy's is faster.
    """
    if not LEAST_SHAPE <= a <= MOST_SHAPE or not x < math.inf:
        from scipy.special import gammaincc

        return float(gammaincc(a, x))
    if x <= 0:
        return 1.0
    return 1.0 - _front(a, x) / a * _series(a, x) if x < a + 1 else _front(a, x) * _fraction(a, x)


def _series(a: float, x: float) -> float:
    """The sum, for x < a + 1."""
    term = total = 1.0
    for n in range(1, MOST_STEPS):
        term *= x / (a + n)
        total += term
        if term <= ENOUGH * total:
            break
    return total


def _fraction(a: float, x: float) -> float:
    """The continued fraction, for x >= a + 1, by the method of Lentz."""
    b = x + 1.0 - a
    c, d = HUGE, 1.0 / b
    result = d
    for n in range(1, MOST_STEPS):
        b += 2.0
        step = n * (a - n)
        d, c = 1.0 / (step * d + b), b + step / c
        result *= d * c
        if abs(d * c - 1.0) <= ENOUGH:
            break
    return result


def _front(a: float, x: float) -> float:
    """x^a e^-x / Gamma(a)."""
    return math.exp(a * math.log(x) - x - math.lgamma(a))


@dataclass(frozen=True)
class ThreeMoments:
    """The shifted gamma law with three cumulants of a sum of weighted chi-squares."""

    first: Any
    second: Any
    scale: Any

    def tail(self, x: Any, v: Any = 1.0) -> np.ndarray:
        """P(Q >= x), with the variance times v; the sums may be arrays, of several laws."""
        x = np.asarray(x, dtype=np.float64)
        varies = np.greater(
            self.second, 0
        )  # what does not is as large as it was expected to be, or larger than it can be
        scale = v * np.where(varies, self.scale, 1.0)
        dof = v * np.where(varies, self.second, 1.0) / scale**2
        bound = np.maximum((x - self.first) / scale + dof, 0.0) / 2
        if bound.size == 1:  # of one batch
            found: Any = np.full(
                bound.shape, upper_gamma(float(np.ravel(dof)[0]) / 2, bound.item())
            )
        else:
            from scipy.special import gammaincc

            found = gammaincc(dof / 2, bound)
        return np.where(varies, found, x <= self.first)

    def quantile(self, p: float, v: float = 1.0) -> np.ndarray:
        """The value that Q exceeds with probability p, with the variance times v; at least 0."""
        from scipy.special import gammainccinv

        if not self.second > 0:
            return np.full(np.shape(p), self.first)
        scale, dof = v * self.scale, self.second / (v * self.scale**2)
        return np.maximum(self.first + scale * (2 * gammainccinv(dof / 2, p) - dof), 0.0)


def three_moments(values: np.ndarray, counts: np.ndarray | float = 1.0) -> ThreeMoments:
    """The law of sum_j lambda_j chi2_1 for weights with multiplicities; shapes values (k,)."""
    unit = float(values.max(initial=0.0)) or 1.0
    squares = counts * (values / unit) ** 2
    scale = float((squares * values).sum()) / (float(squares.sum()) or 1.0)
    return ThreeMoments(float((counts * values).sum()), float((counts * values**2).sum()), scale)
