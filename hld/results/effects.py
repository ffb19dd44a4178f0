r"""How large a shift is, with a confidence interval: an effect size in units of a single row.

The squared distance of a batch's mean from the reference overestimates that of the distributions, as sampling adds to
it.  With Delta = delta + noise of covariance C = S (1/T + 1/n) and tr S = |sigma|^2,

.. math:: \hat e^2 = \frac{|\Delta|^2 - \mathrm{tr}\, C}{\mathrm{tr}\, S}, \qquad
          e^2 = \frac{|\delta|^2}{\mathrm{tr}\, S}

is unbiased: e = 0.1 means that the means are a tenth of the typical distance of a single row apart, which is the unit
of `tolerance`, too.  Given e, |Delta|^2 is a noncentral generalised chi-square with the cumulants

.. math:: \kappa_1 = \sum_j c_j + t, \quad \kappa_2 = 2 \sum_j c_j^2 + 4 t \sum_j w_j c_j, \quad
          \kappa_3 = 8 \sum_j c_j^3 + 24 t \sum_j w_j c_j^2, \qquad t = e^2\, \mathrm{tr}\, S,

c_j the eigenvalues of C and w_j the share of direction j in |delta|^2.  Sums over w_j are estimated without bias by

.. math:: \sum_j w_j c_j^k \approx \frac{\Delta^T C^k \Delta - \mathrm{tr}\, C^{k+1}}{|\Delta|^2 - \mathrm{tr}\, C},

clipped to between 0 and the largest c_j^k; nothing depends on the choice of eigenvectors for equal eigenvalues.
Small shifts say little about these sums, so they are mixed with their largest possible values, in the proportion of
|Delta|^2 - tr C to three of its standard deviations.  The interval contains all e for which |Delta|^2 lies between the
two quantiles of the law of Pearson's third type with these cumulants.  It contains 0 where the distance is no larger
than sampling explains.

References
----------
Pearson (1959), Note on an approximation to the distribution of non-central chi-square, Biometrika 46, 364.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

STEPS = 60
LEAST_TRACE = 1e-280  # units of less would make effects infinite
CAREFUL = 3.0  # deviations of |Delta|^2 without a shift, up to which its direction counts as the one that varies most


def effect_interval(deltas: np.ndarray, spectrum: tuple[Any, ...], share: float,
                    level: float = 0.95) -> tuple[float, float]:
    """Confidence interval of the effect size.

    Parameters
    ----------
    deltas : (m,) float array
        Differences of the means.
    spectrum : ((m,), (m, m)) float arrays
        Eigenvalues and eigenvectors of S.
    share : float
        1/T + 1/n.
    level : float
        Coverage of the interval.

    Returns
    -------
    float, float
        Both at least 0, to nine digits.

    Examples
    --------
    >>> low, high = effect_interval(np.array([0.5]), (np.array([1.0]), np.eye(1)), 1 / 100)
    >>> round(low, 2), round(high, 2)                  # 0.5 and 1.96 times 0.1
    (0.3, 0.7)
    """
    values, vectors = spectrum
    total = float(values.sum())
    if not total > LEAST_TRACE:
        return 0.0, 0.0
    # in units of the trace: third powers of small eigenvalues would be 0
    c, squares = np.maximum(values, 0.0) / total * share, (vectors.T @ deltas) ** 2 / total
    sums, observed, outside = [float((c ** k).sum()) for k in (1, 2, 3)], float(squares.sum()), (1 - level) / 2
    found, noise = max(observed - sums[0], 0.0), CAREFUL * math.sqrt(2 * sums[1])
    most = [float(c.max()) ** k for k in (1, 2)]
    along = [float(squares @ c ** k) - sums[k] for k in (1, 2)]
    pulls = [(min(max(along[k], 0.0), found * most[k]) + noise * most[k]) / (found + noise) for k in (0, 1)]
    ends = [_root(observed, sums, pulls, p) for p in (outside, 1 - outside)]
    return _shortened(math.sqrt(ends[0])), _shortened(math.sqrt(ends[1]))


def _shortened(x: float) -> float:
    """Nine digits: the last ones of eigenvalues depend on where in memory LAPACK works, and would not come back."""
    return float(f"{x:.9g}")


def _root(observed: Any, sums: Any, pulls: Any, p: Any) -> float:
    """The t at which a distance of at least the observed one has the probability p; it grows with t."""
    def tail(t: Any) -> Any:
        return _pearson_tail(observed, sums[0] + t, 2 * sums[1] + 4 * t * pulls[0], 8 * sums[2] + 24 * t * pulls[1])
    if tail(0.0) >= p:
        return 0.0
    low, high = 0.0, max(observed, sums[0])
    while tail(high) < p:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) >= p else (middle, high)
    return high


def _pearson_tail(x: Any, mean: Any, variance: Any, third: Any) -> float:
    """P(Q >= x) of the shifted gamma law with these cumulants."""
    from scipy.special import gammaincc
    shape, scale = 4 * variance ** 3 / third ** 2, third / (2 * variance)
    return float(gammaincc(shape, max((x - mean) / scale + shape, 0.0)))
