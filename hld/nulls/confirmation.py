r"""An alarm against few reference rows, checked by the batch's own rows.

Mean and covariance of k reference rows are estimates.  A law made from them knows nothing of what these rows happen not
to show: a level that one row in fifty has, a row far from all others.  The batch has rows, too, and if nothing has
shifted they are as good as the reference's.  So before a batch is called shifted, its p-value is raised to the largest
of two more.

**Pooled.**  Under the null hypothesis all N = k + T rows are exchangeable, and given the rows, the covariance of the
difference of the two means over all ways to divide them is S_N (1/T + 1/k), S_N the sample covariance of all N:

    (N - 1) S_N = (k - 1) S_ref + (T - 1) S_batch + (k T / N) Z Z^t.

The p-value is that of the law with its eigenvalues as the metric shows them, of which three sums of powers are enough
(`hld.nulls.three_moments`).  Schatten norms obey the triangle inequality, |A + B|_p <= |A|_p + |B|_p with |A|_p^p the
sum of the p-th powers of the eigenvalues, and equality if A and B are proportional, as they are without a shift: so
nothing but three numbers of the reference is needed, and the law is never too narrow.  Its variance is stretched by

    v = 1 + excess (1/T^3 + 1/k^3) / (1/T + 1/k)^2,        excess = (E|y|^4 - tr^2) / (2 tr S^2) - 1 of all N rows.

A row that makes the difference large makes S_N and its excess large as well, wherever it stands: the pooled test keeps
its level where rows are few or tails are heavy, and loses little where neither is so.

**Odd rows.**  Let h rows of the batch be farther out than every reference row.  Among N exchangeable rows the h
farthest are all in the batch with probability

    p_out = prod_{i<h} (T - i) / (N - i).

An alarm that the other T - h rows do not give has to be as unlikely as that: p >= min(p_out, p_rest).  For a single row
this is 1 / (k + 1), what exchangeability allows.
"""
from __future__ import annotations

import numpy as np

from hld.nulls.monte_carlo import TIE
from hld.nulls.score import finite
from hld.nulls.three_moments import ThreeMoments
from hld.references.kept_rows import KeptRows

ASKED_BELOW = 0.25  # larger p-values are not checked
MOST_VECTORS = 1_000  # rows of a batch that its covariance is computed from


def confirmed(kept: KeptRows, metrics, score, vectors, squared, T: int) -> tuple:
    """For each metric the p-value that the batch's own rows allow.

    Parameters
    ----------
    kept : KeptRows
    metrics : tuple of LinearMap
    score : Score
        Of the reference.
    vectors : (R, m) float array
        Differences of likelihood vectors of the batch from the reference mean: of all T rows, or of some of many.
    squared : (q,) float array
        Squared distances of the batch, as they are tested.
    T : int

    Returns
    -------
    tuple of float
    """
    result = []
    for i, metric in enumerate(metrics):
        mapped = metric.apply(vectors)
        value = pooled_pvalue(kept.num_rows, kept.powers[i], kept.fourth[i], mapped, squared[i], T)
        if len(vectors) == T <= kept.num_rows:
            odd = odd_rows_pvalue(kept.num_rows, kept.farthest[i], score.laws[i], score.excesses[i], mapped)
            value = max(value, odd)
        result.append(value)
    return tuple(result)


def pooled_pvalue(k: int, powers, fourth: float, mapped, squared: float, T: int) -> float:
    """The pooled p-value of one metric.

    Parameters
    ----------
    k : int
        Reference rows.
    powers : (3,) float array
        Traces of the powers of their covariance.
    fourth : float
        Their mean fourth power.
    mapped : (R, l) float array
        What the metric makes of the differences of the batch's rows from the reference mean.
    squared : float
        The squared distance that is tested.
    T : int
    """
    N, center = k + T, mapped.mean(axis=0)
    distance = float(np.linalg.norm(center))
    within = (k - 1) * np.asarray(powers) ** (1 / np.array([1, 2, 3])) + (T - 1) * schatten_norms(mapped - center)
    norms = (within + k * T / N * distance ** 2) / (N - 1)
    law = ThreeMoments(*(float(norm) ** p for p, norm in enumerate(norms, start=1)))
    if not law.second > 0:
        return float(law.tail(squared))
    own = float((((mapped - T / N * center) ** 2).sum(axis=1) ** 2).mean())
    all_rows = (k * (fourth ** 0.25 + T / N * distance) ** 4 + T * own) / N
    excess = (all_rows - law.first ** 2) / (2 * law.second) - 1
    stretch = excess * (T ** -3.0 + k ** -3.0) / (1 / T + 1 / k) ** 2
    return float(law.tail(squared / (1 / T + 1 / k), max(1.0, 1.0 + stretch)))


def odd_rows_pvalue(k: int, farthest: float, law: ThreeMoments, excess: float, mapped) -> float:
    """The bound on the p-value of one metric that rows beyond all reference rows give; 0 where there are none."""
    T = len(mapped)
    odd = (mapped ** 2).sum(axis=1) > farthest * (1 + TIE)
    h = int(odd.sum())
    if h == 0:
        return 0.0
    out = float(np.prod((T - np.arange(h)) / (k + T - np.arange(h))))
    if h == T:
        return out
    rest = T - h
    distance = float((mapped[~odd].mean(axis=0) ** 2).sum()) / (1 + rest / k)
    return min(out, float(law.tail(distance * rest, finite(excess, rest))))


def schatten_norms(rows) -> np.ndarray:
    """(3,) Schatten 1-, 2- and 3-norms of the sample covariance of centred rows (R, l)."""
    if len(rows) < 2:
        return np.zeros(3)
    gram = (rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows) / (len(rows) - 1)
    powers = [np.trace(gram), (gram ** 2).sum(), ((gram @ gram) * gram).sum()]
    return np.maximum(powers, 0.0) ** (1 / np.array([1, 2, 3]))


def least_pvalue(k: int, T: int) -> float:
    """The smallest p-value of a batch of T rows whatever they are: of rows all alike and infinitely far out."""
    apart = np.full((1, 1), 1e9)
    pooled = pooled_pvalue(k, np.ones(3), 3.0, np.repeat(apart, min(T, MOST_VECTORS), axis=0), 1e18, T)
    from scipy.special import gammaln
    ways = float(np.exp(gammaln(k + 1) + gammaln(T + 1) - gammaln(k + T + 1))) if min(k, MOST_VECTORS) >= T else 0.0
    return max(pooled, ways)
