r"""Spectra of quadratic forms: sorted, scaled, merged and compressed once, used many times.

Everything that the law of :math:`Q = \sum_j \lambda_j \chi^2_1` asks of its weights is a sum over them,

.. math:: \sum_j f(\lambda_j) = \int f \, dN, \qquad N = \text{counting measure of the weights},

with :math:`f(\lambda) = \log(1 - 2 \lambda s)` or one of its derivatives in s. So the spectrum is a
*measure*, and three things make a measure cheap to integrate against:

* scaling: :math:`r_j = \lambda_j / \lambda_1 \in (0, 1]`, kept together with the gap :math:`1 - r_j`, which
  is computed as :math:`(\lambda_1 - \lambda_j)/\lambda_1` so that weights close to the largest keep their
  digits;
* merging: equal weights become one atom with a multiplicity (any positive real: a gamma variable of shape
  n/2);
* compression: a long spectrum is cut at r = 1/2, 1/4, ... and at 1 - r = 1/2, 1/4, ...; in each piece the
  atoms are replaced by the 12-point Gauss rule of their own measure, which keeps the first 24 power sums of
  the piece exactly (Golub and Meurant 2010, chapter 6).

Why twelve points are enough for every s: f is analytic in r except at r = 1/s', s' = 2 lambda_1 s, and the
contour of `gchi2.saddle_contour` leaves its real starting point, left of the branch cut, at 60 degrees or more. So
1/s' stays off [0, 1], and seen from a piece it lies outside the ellipse that has the piece's ends for foci
and half-axes summing to rho > 4.3 half-lengths. Gauss's rule with n points then errs by rho^(-2n) / n or so:
below 1e-16 per unit of mass at the worst point of the worst contour, and less by decades elsewhere.

========================  =============================================================
`Spectrum`                the prepared weights, immutable
`prepare`                 makes one, and checks the weights
`_compress`               Gauss rules piece by piece
========================  =============================================================

References
----------
Golub and Welsch (1969), Calculation of Gauss quadrature rules, Mathematics of Computation 23, 221-230.
Golub and Meurant (2010), Matrices, Moments and Quadrature with Applications, Princeton University Press.
Trefethen (2008), Is Gauss quadrature better than Clenshaw-Curtis?, SIAM Review 50, 67-87, theorem 4.5.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import check_numbers

_GAUSS_POINTS = 12
# Below this many atoms the rules cost more to build than they save per evaluation (measured).
_COMPRESS_ABOVE = 128
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
    degrees : float
        Degrees of freedom: sum of `counts`, weights equal to 0 left out.
    power_sums : tuple of 3 floats
        sum counts * ratios^k for k = 1, 2, 3, of the weights before compression.
    shifts : (k,) float64 array
        Noncentralities, at least 0.  With them `power_sums` are sum (counts + k shifts) ratios^k.
    """

    scale: float
    ratios: np.ndarray = field(repr=False)
    gaps: np.ndarray = field(repr=False)
    counts: np.ndarray = field(repr=False)
    degrees: float
    power_sums: tuple[float, float, float]
    shifts: np.ndarray = field(repr=False)

    @property
    def mean(self) -> float:
        """E Q, the sum of the weights, each times its degrees of freedom and noncentrality."""
        return self.scale * self.power_sums[0]

    @property
    def variance(self) -> float:
        """Var Q, twice the sum of the squared weights, each times its degrees of freedom and twice its shift."""
        return 2.0 * self.scale * self.scale * self.power_sums[1]


def prepare(
    weights: ArrayLike | Spectrum,
    multiplicities: ArrayLike | None = None,
    noncentralities: ArrayLike | None = None,
) -> Spectrum:
    r"""Sort, scale, merge and compress the weights of :math:`Q = \sum_j \lambda_j \chi^2_{n_j}(\delta_j)`.

    Parameters
    ----------
    weights : (m,) array_like of float, or Spectrum
        The lambda_j, in any order. Values down to -16 m eps max(lambda) count as the round-off of an
        eigenvalue routine and become 0; zeros contribute nothing. A `Spectrum` is returned as it is.
    multiplicities : (m,) array_like of float, optional
        The n_j, positive, not necessarily integers; default 1 each.
    noncentralities : (m,) array_like of float, optional
        The delta_j: a sum :math:`\sum (N_i + d_i)^2` of squares of shifted standard normal variables has the law
        :math:`\chi^2_n(\delta)` with :math:`\delta = \sum d_i^2`; default 0 each.  Such spectra are not compressed.

    Returns
    -------
    Spectrum
        Immutable; holds copies, never views, of the input.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind; if `weights` is empty, not one-dimensional, not finite or negative beyond
        round-off; if `multiplicities` has another shape, an entry that is not positive and finite or a sum below 1e-6;
        if `noncentralities` has another shape or an entry that is negative or not finite; or if one of them accompanies
        a `Spectrum`.

    Notes
    -----
    O(m log m). Above 128 distinct weights about 12 atoms per factor of two remain.

    Examples
    --------
    >>> spectrum = prepare([1.0, 3.0, 3.0, 0.0])
    >>> spectrum.scale, spectrum.counts.tolist(), spectrum.degrees
    (3.0, [2.0, 1.0], 3.0)
    >>> spectrum.mean, spectrum.variance
    (7.0, 38.0)
    """
    if isinstance(weights, Spectrum):
        if multiplicities is not None or noncentralities is not None:
            name = "multiplicities" if multiplicities is not None else "noncentralities"
            raise ValueError(
                f"`{name}` was given beside a prepared Spectrum, which has its own: pass "
                "the plain weights instead"
            )
        return weights
    values, counts, shifts = _checked(weights, multiplicities, noncentralities)
    scale = float(values[0]) if values.size else 0.0
    degrees = float(counts.sum())
    if scale and degrees < _LEAST_DEGREES:
        raise ValueError(
            f"`multiplicities` of the positive weights sum to {degrees:.6g}, expected at least "
            f"{_LEAST_DEGREES:g}: so few degrees of freedom are numerically none"
        )
    ratios, gaps = values / (scale or 1.0), (scale - values) / (scale or 1.0)
    first, second, third = (float((counts + k * shifts) @ ratios**k) for k in (1, 2, 3))
    if ratios.size > _COMPRESS_ABOVE and not shifts.any():
        ratios, gaps, counts = _compress(ratios, gaps, counts)
        shifts = np.zeros(ratios.size)
    for array in (ratios, gaps, counts, shifts):
        array.flags.writeable = False
    return Spectrum(scale, ratios, gaps, counts, degrees, (first, second, third), shifts)


def _checked(
    weights: Any, multiplicities: Any, noncentralities: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Validated, positive, descending weights (k,) without ties, their multiplicities and shifts (k,)."""
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
    counts, shifts = np.ones(values.size), np.zeros(values.size)
    if multiplicities is not None:
        expected = f"{values.size} finite positive numbers, one per weight"
        counts = check_numbers(multiplicities, "multiplicities", expected, counts.shape, above=0)
    if noncentralities is not None:
        expected = f"{values.size} finite numbers of at least 0, one per weight"
        shifts = check_numbers(noncentralities, "noncentralities", expected, counts.shape, least=0)
    # Weights this small move log P by less than 1e-290 unless q is as small, where P is no number any more.
    kept = np.flatnonzero(values > max(top, 0.0) * 1e-290)
    order = kept[np.argsort(values[kept])[::-1]]
    values, counts, shifts = values[order], counts[order], shifts[order]
    if not values.size:
        return values, counts, shifts
    first = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    return values[first], np.add.reduceat(counts, first), np.add.reduceat(shifts, first)


def _compress(ratios: Any, gaps: Any, counts: Any) -> Any:
    """Atoms (k,) replaced piece by piece by the Gauss rule of the piece; pieces of few atoms stay."""
    near = gaps < 0.5
    # frexp cuts at powers of two: the coordinate of an atom in its piece is the mantissa, in [1/2, 1).
    mantissa, exponent = np.frexp(np.where(near, gaps, ratios))
    start = np.flatnonzero(
        np.concatenate(([True], (np.diff(exponent) != 0) | (np.diff(near) != 0)))
    )
    length = np.diff(np.append(start, ratios.size))
    long = length > _GAUSS_POINTS
    stay = np.repeat(~long, length)
    begin = np.concatenate(([0], np.cumsum(length[long])))[:-1]
    nodes, masses = _gauss_rules(mantissa[~stay], counts[~stay], begin, length[long])
    nodes = np.ldexp(nodes, exponent[start[long], None]).ravel()
    is_gap = np.repeat(near[start[long]], _GAUSS_POINTS)
    new_ratios = np.concatenate((ratios[stay], np.where(is_gap, 1.0 - nodes, nodes)))
    new_gaps = np.concatenate((gaps[stay], np.where(is_gap, nodes, 1.0 - nodes)))
    masses = np.concatenate((counts[stay], masses.ravel()))
    order = np.lexsort((-new_ratios, new_gaps))
    order = order[masses[order] > 0.0]
    return new_ratios[order], new_gaps[order], masses[order]


def _gauss_rules(points: Any, counts: Any, begin: Any, length: Any) -> Any:
    """Gauss nodes and weights (pieces, 12) of all pieces points[begin:begin + length] at once.

    Lanczos' recurrence gives a Jacobi matrix per piece, its eigenvalues and eigenvectors the rule (Golub and Welsch).
    """
    piece = np.repeat(np.arange(begin.size), length)
    mass = np.add.reduceat(counts, begin)
    jacobi = np.zeros((begin.size, _GAUSS_POINTS, _GAUSS_POINTS))
    previous, beta = np.zeros_like(points), np.zeros_like(mass)
    current = (1.0 / np.sqrt(mass))[piece]
    for k in range(_GAUSS_POINTS):
        jacobi[:, k, k] = alpha = np.add.reduceat(counts * points * current**2, begin)
        if k + 1 == _GAUSS_POINTS:
            break
        following = (points - alpha[piece]) * current - beta[piece] * previous
        beta = np.sqrt(np.add.reduceat(counts * following**2, begin))
        jacobi[:, k, k + 1] = jacobi[:, k + 1, k] = beta
        # A piece of numerically equal points ends early: beta = 0 splits the matrix, later nodes get mass 0.
        inverse = np.divide(1.0, beta, out=np.zeros_like(beta), where=beta > 0.0)
        previous, current = current, following * inverse[piece]
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes, mass[:, None] * vectors[:, 0, :] ** 2
