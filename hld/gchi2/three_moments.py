r"""A sum of weighted chi-squares by its first three cumulants: a shifted gamma law, in closed form.

Q = sum_j lambda_j chi2_1 has the cumulants c_1, 2 c_2 and 8 c_3 with c_k = sum_j lambda_j^k.  The law

.. math:: Q \approx c_1 + s (\chi^2_l - l), \qquad s = c_3 / c_2, \quad l = c_2^3 / c_3^2

has the same three (Pearson's type III).  It costs one incomplete gamma function.  Its tails are within 10 % of those
of `hld.gchi2` down to 1e-2 and too thin below, by up to a half at 1e-4.  So it serves as a scale where very many
values are needed and their distribution is found by drawing (`hld.nulls.score`).

With s = lambda_1, the most that it can be, the law is that of c_2 / lambda_1^2 weights lambda_1 and
of the remaining sum spread infinitely thin.  Its tails below 5 % are wider than those of any weights with this
largest one and these sums (`hld.nulls.ranks.confirmation`).

A factor v on the variance at unchanged mean multiplies the weights by v and their multiplicities by 1 / v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hld.gchi2.upper_gamma import upper_gamma


@dataclass(frozen=True)
class ThreeMoments:
    """The shifted gamma law with three cumulants of a sum of weighted chi-squares."""

    first: float
    second: float
    scale: float

    def tail(self, x: Any, v: float = 1.0) -> np.ndarray:
        """P(Q >= x), with the variance times v."""
        x = np.asarray(x, dtype=np.float64)
        if not self.second > 0:
            return np.where(x <= self.first, 1.0, 0.0)
        scale, dof = self._shape(v)
        bound = np.maximum((x - self.first) / scale + dof, 0.0) / 2
        if x.size == 1:  # of one batch
            return np.full(x.shape, upper_gamma(float(dof / 2), bound.item()))
        from scipy.special import gammaincc

        return gammaincc(dof / 2, bound)

    def quantile(self, p: float, v: float = 1.0) -> np.ndarray:
        """The value that Q exceeds with probability p, with the variance times v; at least 0."""
        from scipy.special import gammainccinv

        if not self.second > 0:
            return np.full(np.shape(p), self.first)
        scale, dof = self._shape(v)
        return np.maximum(self.first + scale * (2 * gammainccinv(dof / 2, p) - dof), 0.0)

    def _shape(self, v: float) -> tuple[float, float]:
        """s and l."""
        return v * self.scale, self.second / (v * self.scale**2)


def three_moments(values: np.ndarray, counts: np.ndarray | float = 1.0) -> ThreeMoments:
    """The law of sum_j lambda_j chi2_1 for weights with multiplicities.

    Shapes: values (k,).
    """
    unit = float(values.max(initial=0.0)) or 1.0
    squares = counts * (values / unit) ** 2
    scale = float((squares * values).sum()) / (float(squares.sum()) or 1.0)
    return ThreeMoments(float((counts * values).sum()), float((counts * values**2).sum()), scale)
