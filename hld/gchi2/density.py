r"""The density of a weighted sum of chi-squares, from the nodes of the contour that gives its tail."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hld.gchi2.saddle_contour import tail_probability
from hld.gchi2.spectrum import Spectrum, prepare
from pcircuit.arrays import check_numbers

_SMALLEST = 1e-290  # from here down P(Q < x) is a pure power of x, and a probability may underflow
_LARGEST_LOG = math.log(sys.float_info.max)


def pdf(q: ArrayLike, weights: ArrayLike | Spectrum) -> Any:
    r"""Density of :math:`Q = \sum_j \lambda_j \chi^2_{n_j}(\delta_j)`.

    Parameters
    ----------
    q : float or array_like of float
        Where to evaluate, in the units of the weights.
    weights : (m,) array_like of float, or Spectrum
        The lambda_j >= 0, or with degrees of freedom and noncentralities what `prepare` made.

    Returns
    -------
    float or ndarray of the shape of `q`
        Relative error about 1e-13.  0 for q < 0 and q = inf; NaN at q = 0, where it may have a pole, and for weights
        that are all 0.

    Raises
    ------
    TypeError, ValueError
        As `hld.gchi2.sf`.

    Examples
    --------
    >>> round(pdf(2.0, [1.0, 1.0]), 12), round(math.exp(-1) / 2, 12)
    (0.183939720586, 0.183939720586)
    """
    spectrum = prepare(weights)
    array = check_numbers(q, "q", "a number or an array of numbers", finite=False)
    values = [_density(value, spectrum) for value in array.ravel().tolist()]
    return values[0] if array.ndim == 0 else np.array(values, dtype=float).reshape(array.shape)


def _density(q: Any, spectrum: Any) -> float:
    """The density at a float."""
    if math.isnan(q) or q == 0.0 or spectrum.scale == 0.0:
        return math.nan
    if q < 0.0 or q == math.inf:
        return 0.0
    x = q / spectrum.scale
    if x == math.inf:
        return 0.0
    tail = tail_probability(spectrum, max(x, _SMALLEST), density=True)
    if x >= _SMALLEST and tail.value > _SMALLEST:
        return tail.slope * tail.value / q
    log_density = math.log(tail.slope) + tail.log_value - math.log(q)
    if x < _SMALLEST:  # where x may have lost digits
        log_density += (
            0.5 * spectrum.degrees * (math.log(q) - math.log(spectrum.scale) - math.log(_SMALLEST))
        )
    return math.exp(log_density) if log_density < _LARGEST_LOG else math.inf
