r"""What noncentrality adds to the contour integral of `gchi2.saddle_contour`.

If the normal variables behind :math:`Q = \sum_j \lambda_j \chi^2_{n_j}(\delta_j)` have means whose squares sum to
:math:`\delta_j`, the cumulant generating function is

.. math:: K(s) = -\tfrac12 \sum_j n_j \log(1 - 2\lambda_j s) + \tfrac12 \sum_j \delta_j
          \Big(\frac{1}{1 - 2\lambda_j s} - 1\Big)

(Imhof 1961).  The branch points become essential singularities, but the cut is the same, K' still increases from 0 to
infinity on the real line left of it, and one contour serves both.  With s = c + z and 1 - 2 lambda_j s in proportion to
1 - a_j z, the terms beyond the linear one are

.. math:: \tfrac12 \sum_j p_j \frac{(a_j z)^2}{1 - a_j z}, \qquad p_j = \frac{\delta_j}{1 - 2\lambda_j c},

each with the real part - Re(az) - 1 + Re(1 / (1 - az)): negative and falling along every ray of 60 to 90 degrees, like
that of psi.  So nothing cancels, as many nodes are needed, and both tails have relative accuracy.

References
----------
Imhof (1961), Computing the distribution of quadratic forms in normal variables, Biometrika 48, 419-426.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from hld.gchi2.spectrum import Spectrum

_CLOSE = 0.03  # of the peak's width: the sum keeps the linear term


def shifted_saddle(spectrum: Spectrum, x: float) -> tuple[float, np.ndarray]:
    """The scaled distance delta of the saddle point from the cut, and the factors a_j (k,).

    Solves sum_j n_j r_j / g_j + delta_j r_j / g_j^2 = x, g_j = (1 - r_j) + r_j delta, by Newton's iteration on
    logarithms inside a bracket: every r_j / g_j is at most 1 / delta, and the first is 1 / delta.

    Returns factors (k,).
    """
    ratios, gaps, counts = spectrum.ratios, spectrum.gaps, spectrum.counts
    shifts = np.zeros(len(counts)) if spectrum.shifts is None else spectrum.shifts
    low, high = (
        _root(counts[0], shifts[0], x),
        max(
            _root(counts.sum(), shifts.sum(), x),
            min(float(counts.sum() + shifts.sum()) / x, sys.float_info.max),
        ),
    )
    delta = math.sqrt(low) * math.sqrt(high)  # of the product, which may be no double
    for _ in range(200):
        numerator = ratios * delta
        inverse = 1.0 / (gaps + numerator)
        factors = numerator * inverse
        first, second = (float((counts + k * shifts * inverse) @ factors**k) for k in (1, 2))
        if first > x * delta:
            low = delta
        else:
            high = delta
        # d log(first / delta) / d log(delta) = -second / first
        step = first / second * math.log(first / (x * delta))
        if abs(step) * math.sqrt(second) <= _CLOSE or high <= low * (1.0 + 1e-15):
            break
        moved = delta * math.exp(min(max(step, -50.0), 50.0))
        delta = moved if low < moved < high else math.sqrt(low) * math.sqrt(high)
    return delta, factors


def pulled(pulls: np.ndarray, reach: np.ndarray, path: np.ndarray) -> np.ndarray:
    """(1/2) sum_j p_j (a_j z)^2 / (1 - a_j z) at the nodes z = b path (nodes,); reach is b a_j (k,).

    Shapes: pulls (k,), reach (k,), path (nodes,) -> (nodes,).
    """
    total = np.zeros(path.size, dtype=np.complex128)
    for pull, own in zip(pulls.tolist(), reach.tolist(), strict=True):
        if pull > 0.0:
            scaled = own * path
            total += (0.5 * pull) * scaled * scaled / (1.0 - scaled)
    return total


def _root(count: Any, shift: Any, x: Any) -> Any:
    """The delta with count / delta + shift / delta^2 = x."""
    return float((count + math.sqrt(count * count + 4.0 * x * shift)) / (2.0 * x))
