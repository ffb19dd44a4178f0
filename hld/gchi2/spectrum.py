r"""Spectra of quadratic forms: sorted, scaled and merged once, used many times.

Everything that the law of :math:`Q = \sum_j \lambda_j \chi^2_{n_j}` asks of its weights is a sum over them, so that
equal weights become one with a multiplicity (any positive number: a gamma variable of shape n/2).  The weights are
scaled to :math:`r_j = \lambda_j / \lambda_1 \in (0, 1]` and kept together with the gaps :math:`1 - r_j`, which are
computed as :math:`(\lambda_1 - \lambda_j)/\lambda_1`, so that weights close to the largest keep their digits.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import check_numbers

_LEAST_DEGREES = 1e-6  # the contour has a finite length


@dataclass(frozen=True, eq=False, slots=True)
class Spectrum:
    """Weights of a sum of chi-squares, made by `prepare`; every function of `gchi2` takes it for `weights`.

    Attributes
    ----------
    scale : float
        The largest weight; 0 if all weights are 0, and then the arrays are empty.
    ratios : (k,) float64 array
        Distinct weights over `scale`, descending, in (0, 1]; the first is 1. Read-only, as are the next two.
    gaps : (k,) float64 array
        1 - `ratios`, with full relative accuracy.
    counts : (k,) float64 array
        Multiplicities, positive.
    """

    scale: float
    ratios: np.ndarray = field(repr=False)
    gaps: np.ndarray = field(repr=False)
    counts: np.ndarray = field(repr=False)

    @property
    def degrees(self) -> float:
        """Degrees of freedom: sum of `counts`, weights equal to 0 left out."""
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        """E Q, the sum of the weights, each times its degrees of freedom."""
        return self.scale * float(self.counts @ self.ratios)

    @property
    def variance(self) -> float:
        """Var Q, twice the sum of the squared weights, each times its degrees of freedom."""
        return 2.0 * self.scale * self.scale * float(self.counts @ self.ratios**2)


def prepare(weights: ArrayLike | Spectrum, multiplicities: ArrayLike | None = None) -> Spectrum:
    r"""Sort, scale and merge the weights of :math:`Q = \sum_j \lambda_j \chi^2_{n_j}`.

    Parameters
    ----------
    weights : (m,) array_like of float, or Spectrum
        The lambda_j, in any order. Values down to -16 m eps max(lambda) count as the round-off of an
        eigenvalue routine and become 0; zeros contribute nothing. A `Spectrum` is returned as it is.
    multiplicities : (m,) array_like of float, optional
        The n_j, positive, not necessarily integers; default 1 each.

    Returns
    -------
    Spectrum
        Immutable; holds copies, never views, of the input.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind; if `weights` is empty, not one-dimensional, not finite or negative beyond
        round-off; if `multiplicities` has another shape, an entry that is not positive and finite or a sum below 1e-6,
        or accompanies a `Spectrum`.

    Notes
    -----
    O(m log m).

    Examples
    --------
    >>> spectrum = prepare([1.0, 3.0, 3.0, 0.0])
    >>> spectrum.scale, spectrum.counts.tolist(), spectrum.degrees
    (3.0, [2.0, 1.0], 3.0)
    >>> spectrum.mean, spectrum.variance
    (7.0, 38.0)
    """
    if isinstance(weights, Spectrum):
        if multiplicities is not None:
            raise ValueError(
                "`multiplicities` was given beside a prepared Spectrum, which has its own: pass "
                "the plain weights instead"
            )
        return weights
    values, counts = _checked(weights, multiplicities)
    scale = float(values[0]) if values.size else 0.0
    degrees = float(counts.sum())
    if scale and degrees < _LEAST_DEGREES:
        raise ValueError(
            f"`multiplicities` of the positive weights sum to {degrees:.6g}, expected at least "
            f"{_LEAST_DEGREES:g}: so few degrees of freedom are numerically none"
        )
    ratios, gaps = values / (scale or 1.0), (scale - values) / (scale or 1.0)
    for array in (ratios, gaps, counts):
        array.flags.writeable = False
    return Spectrum(scale, ratios, gaps, counts)


def _checked(weights: Any, multiplicities: Any) -> tuple[np.ndarray, np.ndarray]:
    """Validated, positive, descending weights (k,) without ties, and their multiplicities (k,)."""
    values = check_numbers(weights, "weights", "a one-dimensional array of finite numbers")
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"`weights` has shape {values.shape}, expected a non-empty one-dimensional array"
        )
    top, bottom = float(values.max()), float(values.min())
    if bottom < -16.0 * values.size * np.finfo(float).eps * max(top, 0.0):
        raise ValueError(
            f"`weights` contains {bottom:.6g} beside a largest weight of {top:.6g}, more than "
            "round-off explains, expected weights >= 0: check that the matrix whose eigenvalues "
            "they are is positive semi-definite"
        )
    counts = np.ones(values.size)
    if multiplicities is not None:
        expected = f"{values.size} finite positive numbers, one per weight"
        counts = check_numbers(multiplicities, "multiplicities", expected, counts.shape, above=0)
    # Weights this small move log P by less than 1e-290 unless q is as small, where P is no number any more.
    kept = values > max(top, 0.0) * 1e-290
    distinct, place = np.unique(values[kept], return_inverse=True)
    return distinct[::-1].copy(), np.bincount(place, counts[kept], len(distinct))[::-1].copy()
