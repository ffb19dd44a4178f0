r"""Noise in the sums of a summary, so that no row can be inferred from them: (epsilon, delta)-differential privacy.

**Guarantee.**  Two batches of T rows are neighbours if they differ in one row.  The released sums y satisfy
P(y in A) <= exp(epsilon) P'(y in A) + delta for all neighbours and all A.  The number T, the model and the noise are
public.  What a summary otherwise says besides its sums (counts of categories, missing cells, the spread) is left out.

**Sensitivity.**  Exchanging a row x for x' changes the sums by L(x) - L(x').  The likelihood of node j stays between
bounds a_j <= L_j <= b_j (`hld.vectors.ranges`); the inputs of one variable see the same value, so that together they
change by the difference of two columns of their table P.  In units s_j,

.. math:: \Delta^2 = \sum_v \max_{c, c'} \sum_{j \in v} \Big(\frac{P_{jc} - P_{jc'}}{s_j}\Big)^2
          + \sum_{j \text{ inner}} \Big(\frac{b_j - a_j}{s_j}\Big)^2 .

**Noise.**  N(0, tau^2 s_j^2) is added to each sum, with the smallest tau for which

.. math:: \Phi\Big(\frac{\Delta}{2\tau} - \frac{\epsilon\tau}{\Delta}\Big)
          - e^\epsilon \Phi\Big(-\frac{\Delta}{2\tau} - \frac{\epsilon\tau}{\Delta}\Big) \le \delta,

which is necessary and sufficient for normal noise (Balle and Wang 2018).  The units are free: with the ranges
r_j = b_j - a_j, the sum over j of noise variances over row variances is tau^2 sum s_j^2 / sigma_j^2 with tau^2 in
proportion to sum r_j^2 / s_j^2, and by Cauchy and Schwarz their product is least for s_j^2 = r_j sigma_j.

**Test.**  The noise is independent of the rows and its law is known, so it becomes part of the null: the difference of
means has the covariance S (1/T + 1/n) + diag(tau^2 s_j^2) / T^2 (`hld.testing.summed_batch`).  Noise fades as 1/T where
sampling fades as 1/sqrt(T): it is the larger part below T of about tau^2 s_j^2 / sigma_j^2.  Summaries of several sites
add up, and so do their variances; each row is at one site, so the guarantee is that of one summary.

Features of the score have no such bound: they are replaced by those of the reference, so that the metric "score" says
nothing (its p-value is 1); the law of all metrics together is not adapted to that, which makes it conservative.

**Limits.**  Noise comes from the operating system's generator; the noisy sum is rounded to a grid of 2^-20 standard
deviations, which removes the low digits that could reveal the sum without noise, but the arithmetic is in doubles and
no proof covers its last digits (Mironov 2012).  Sums of what no row can change have no noise and are not rounded.  Two
summaries of the same rows add up epsilon and delta: keep account.

References
----------
Balle and Wang (2018), Improving the Gaussian mechanism for differential privacy: analytical calibration and optimal
denoising, ICML.
Dwork and Roth (2014), The algorithmic foundations of differential privacy, Foundations and Trends in Theoretical
Computer Science 9, 211.
Mironov (2012), On significance of the least significant bits for differential privacy, CCS.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np

import pcircuit
from hld.references.reference import MAX_FULL_SPECTRUM
from hld.summaries.summary import BatchSummary, Privacy
from hld.vectors.ranges import unit_ranges
from pcircuit.arguments import check_fraction, check_generator, check_number

MOST_CATEGORIES = 2000  # whose pairs are all compared
LEAST_SHARE = 1e-3  # of the range, below which no deviation counts
GRID = 2.0**-20  # of the deviation of the noise


def check_privacy(epsilon: float | None, delta: float) -> tuple[Any, ...]:
    """Both as floats, refused unless epsilon is positive or None and delta strictly between 0 and 1."""
    epsilon = None if epsilon is None else check_number(epsilon, "epsilon", above=0)
    return epsilon, check_fraction(delta, "delta")


def check_noise_can_be_judged(test: Any, argument: str) -> None:
    """Raise unless the test has a null for sums with noise: before noise is drawn, which spends a budget of privacy."""
    kept = test.calibration.kept
    if len(test.mean) > MAX_FULL_SPECTRUM or (kept is not None and kept.has_holes):
        found = (
            "one with holes" if kept is not None and kept.has_holes else f"{len(test.mean)} nodes"
        )
        raise ValueError(
            f"{argument}, whose null needs at most {MAX_FULL_SPECTRUM} nodes and a reference without "
            f"holes, found {found}: make summaries without `epsilon` for this model"
        )


def with_noise(
    test: Any,
    summary: BatchSummary,
    epsilon: float,
    delta: float,
    rng: int | np.random.Generator | None = None,
) -> BatchSummary:
    """The summary with noise in its sums, and nothing else about the rows."""
    check_noise_can_be_judged(test, "`epsilon` asks for noise")
    deviations = noise_deviations(test.circuit, test.nodes, test.stds, epsilon, delta)
    m = size = len(test.nodes)
    if rng is None:
        system = random.SystemRandom()
        noise = np.array([system.gauss(0.0, 1.0) for _ in range(size)])
    else:
        noise = check_generator(rng).standard_normal(size)
    grid = np.exp2(np.floor(np.log2(np.where(deviations > 0, deviations, 1.0)))) * GRID
    sums = np.where(
        deviations > 0,
        np.round((summary.sums[:m] + noise * deviations) / grid) * grid,
        summary.sums[:m],
    )
    rest = test.mean[
        m:
    ]  # in place of features of the score, for which no bound is known: their metric says nothing
    return replace(
        summary,
        sums=np.append(sums, summary.num_rows * rest),
        spread=None,
        table=None,
        privacy=Privacy(epsilon, delta, np.append(deviations**2, np.zeros(len(rest)))),
    )


def noise_deviations(
    circuit: pcircuit.Circuit, nodes: np.ndarray, stds: np.ndarray, epsilon: float, delta: float
) -> np.ndarray:
    """(m,) tau s_j, the deviation of the noise in each sum.

    Shapes: nodes (m,), stds (m,) -> (m,).
    """
    low, high = unit_ranges(circuit)[nodes].T
    ranges = high - low
    units = np.sqrt(ranges * np.maximum(stds[: len(nodes)], LEAST_SHARE * ranges))
    return units * sensitivity(circuit, nodes, units) * gaussian_factor(epsilon, delta)


def sensitivity(circuit: pcircuit.Circuit, nodes: np.ndarray, units: np.ndarray) -> float:
    """Delta, a bound on |(L(x) - L(x')) / s| over all pairs of rows; numbers with the unit 0 cannot vary.

    Shapes: nodes (m,), units (m,).
    """
    ranges, first = np.diff(unit_ranges(circuit)[nodes]).ravel(), circuit.offsets
    regions, kinds, total = circuit.nodes.region[nodes], circuit.nodes.kind[nodes], 0.0
    scaled = np.divide(ranges, units, out=np.zeros(len(nodes)), where=units > 0)
    for r in np.unique(regions).tolist():
        places = np.flatnonzero((regions == r) & (units > 0))
        region = circuit.regions[r]
        is_table = (
            isinstance(region, pcircuit.InputRegion) and region.num_categories <= MOST_CATEGORIES
        )
        if not len(places):
            continue
        if is_table and (kinds[places] == "input").all():
            probs = region.probs[nodes[places] - first[r]]
            points = (
                (probs - probs[:, :1]) / units[places, None]
            ).T  # exact differences, however alike they are
            norms = (points**2).sum(axis=1)
            total += float((norms[:, None] + norms - 2 * points @ points.T).max())
        else:
            total += float((scaled[places] ** 2).sum())
    return math.sqrt(max(total, 0.0) * (1 + 1e-12))


def gaussian_factor(epsilon: float, delta: float) -> float:
    """tau / Delta: the deviation of the noise for sensitivity 1 (Balle and Wang 2018, theorem 8)."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr, ndtr

    def excess(log_factor: Any) -> Any:
        a = math.exp(log_factor)
        lost = ndtr(0.5 / a - epsilon * a) - math.exp(
            min(epsilon + log_ndtr(-0.5 / a - epsilon * a), 0.0)
        )
        return lost - delta

    low, high = -1.0, 1.0
    while excess(low) < 0:
        low -= 1.0
    while excess(high) > 0:
        high += 1.0
    return math.exp(brentq(excess, low, high, xtol=1e-13)) * (1 + 1e-9)
