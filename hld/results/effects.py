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

**The batch's own covariance.**  Rows that have moved need not vary as those of the reference do: a level that was rare
and is not any more varies far more.  With the rows L_t of the batch at hand, and mean L,

.. math:: C = S \Bigl(\frac{1}{n} + \frac{1}{T^2}\Bigr) + \frac{1}{T^2} \sum_t (L_t - \bar L)(L_t - \bar L)^T,

that is, the batch's covariance is that of its own rows and of one more row that varies as the reference does: all there
is to know for T = 1.  The powers of C are taken from its two parts, without its eigenvalues.  The unit tr S is that of
the reference as it is known, its error is no part of the interval.

**Holes.**  A node that T_j rows of the batch and n_j of the reference show has been weighed with g_j
(`hld.references.available`), so that its difference has the variance that it has without holes.  The effect is that of
the differences themselves: they are divided by g_j, and nodes that too few rows show are left out, here and in tr S.

References
----------
Pearson (1959), Note on an approximation to the distribution of non-central chi-square, Biometrika 46, 364.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LEVEL = 0.95
STEPS = 60
LEAST_TRACE = 1e-280  # units of less would make effects infinite
CAREFUL = 3.0  # deviations of |Delta|^2 without a shift, up to which its direction counts as the one that varies most


def effect_interval(
    deltas: np.ndarray,
    spectrum: tuple[Any, ...],
    share: float,
    *,
    own: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> tuple[float, float]:
    """Confidence interval of the effect size, which covers it with probability `LEVEL`.

    Shapes: deltas (m,), own (r, m), weights (m,).
    O(m^2), with r rows O(r m^2), with holes O((r + m) m^2).
    """
    values, vectors = np.maximum(spectrum[0], 0.0), spectrum[1]
    total = float(values.sum() if weights is None else (vectors[weights > 0] ** 2 @ values).sum())
    if not total > LEAST_TRACE:
        return 0.0, 0.0
    # in units of both traces: third powers of small eigenvalues would be 0, and those of large ones infinite
    unit = total if own is None else total + float((own**2).sum())
    c, rows = values / unit * share, np.zeros((0, len(values)))
    if own is not None:
        rows = own @ vectors / math.sqrt(unit)
    if weights is not None:
        inverse = np.divide(1.0, weights, out=np.zeros(len(weights)), where=weights > 0)
        rows = np.concatenate([np.sqrt(c)[:, None] * ((vectors.T * inverse) @ vectors), rows])
        c, deltas = np.zeros(len(c)), deltas * inverse
    along = vectors.T @ deltas / math.sqrt(unit)
    sums, most, pulled = _powers(c, rows, along)
    observed, outside = float(along @ along), (1 - LEVEL) / 2
    found, noise = max(observed - sums[0], 0.0), CAREFUL * math.sqrt(2 * sums[1])
    if not noise > 0:
        return 0.0, 0.0
    pulls = [
        (min(max(pulled[k] - sums[k + 1], 0.0), found * most[k]) + noise * most[k])
        / (found + noise)
        for k in (0, 1)
    ]
    ends = [_root(observed, sums, pulls, p) for p in (outside, 1 - outside)]
    low, high = (math.sqrt(end * (unit / total)) for end in ends)
    return _shortened(low), _shortened(high)


def _powers(
    c: np.ndarray, rows: np.ndarray, x: np.ndarray
) -> tuple[list[float], list[float], list[float]]:
    """Of C = diag(c) + rows^t rows: tr C^k, k = 1, 2, 3; bounds on the largest eigenvalue and its square; x^t C^k x."""
    sums = [float((c**k).sum()) for k in (1, 2, 3)]
    moved, largest = c * x, float(c.max())
    if len(rows):
        rows = np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > len(c) else rows
        gram, scaled = rows @ rows.T, rows * c
        cube = float(np.sum((gram @ gram) * gram))
        sums[0] += float(np.trace(gram))
        sums[1] += float(2 * np.sum(scaled * rows) + np.sum(gram * gram))
        sums[2] += float(3 * np.sum(scaled * scaled) + 3 * np.sum((scaled @ rows.T) * gram)) + cube
        moved, largest = moved + (rows @ x) @ rows, largest + cube ** (1 / 3)
    return sums, [largest, largest**2], [float(x @ moved), float(moved @ moved)]


def _shortened(x: float) -> float:
    """Nine digits: the last ones of eigenvalues depend on where in memory LAPACK works, and would not come back."""
    return float(f"{x:.9g}")


def _root(observed: Any, sums: Any, pulls: Any, p: Any) -> float:
    """The t at which a distance of at least the observed one has the probability p; it grows with t."""

    def tail(t: Any) -> Any:
        return _pearson_tail(
            observed, sums[0] + t, 2 * sums[1] + 4 * t * pulls[0], 8 * sums[2] + 24 * t * pulls[1]
        )

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

    scale = third / variance / 2
    shape = variance / scale**2
    return float(gammaincc(shape, max((x - mean) / scale + shape, 0.0)))
