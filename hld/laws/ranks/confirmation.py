r"""An alarm against few reference rows, checked by the batch's own rows.

The mean and covariance of k reference rows are estimates.  A law made from them knows nothing of what these rows happen
not to show: a level that one row in fifty has, a row far from all others.  The batch has rows, too, and if nothing has
shifted they are as good as the reference's.  So before a batch is called shifted, its p-value is raised to the larger
of two others.

**Pooled.**  Under the null hypothesis all N = k + T rows are exchangeable, and given the rows, the covariance of the
difference of the two means over all ways to divide them is S_N (1/T + 1/k), with S_N the sample covariance of all N:

    (N - 1) S_N = (k - 1) S_ref + (T - 1) S_batch + (k T / N) Z Z^t.

The p-value is that of a law for its eigenvalues as the metric shows them: the widest one with their sum, their sum of
squares and their largest (`hld.gchi2.three_moments`).  All three are powers of norms, which obey the triangle
inequality |A + B| <= |A| + |B|, with equality if A and B are proportional, as they are without a shift: so nothing
but three numbers of the reference is needed, and the law is never too narrow.  Its variance is stretched by

    v = 1 + excess (1/T^3 + 1/k^3) / (1/T + 1/k)^2,        excess = (E|y|^4 - tr^2) / (2 tr S^2) - 1 of all N rows.

A row that makes the difference large makes S_N and its excess large as well, wherever it stands: the pooled test keeps
its level where rows are few or tails are heavy, and loses little where neither is so.

**Odd rows.**  Let h rows of the batch be farther out than every reference row.  Among N exchangeable rows the h
farthest are all in the batch with probability

    p_out = prod_{i<h} (T - i) / (N - i).

Where the other T - h rows alone give no alarm, the p-value must not be below this probability: p >= min(p_out, p_rest).
For a single row that is 1 / (k + 1), the smallest p-value that exchangeability allows.  With holes k is the number of
rows that show what the odd ones differ by.
"""

import math
from typing import Any

import numpy as np

from hld.gchi2.three_moments import ThreeMoments
from hld.laws.ranks.monte_carlo import TIE
from hld.references.kept_rows import KeptRows

ASKED_BELOW = 0.25  # larger p-values are not checked
MOST_VECTORS = 500  # rows of a batch that its covariance is computed from
DISTANCES = 400  # of batches, among which the smallest p-value is looked for


def confirmed(
    kept: KeptRows,
    metrics: tuple[Any, ...],
    vectors: np.ndarray,
    squared: np.ndarray,
    T: int,
    held: np.ndarray | None = None,
) -> tuple[Any, ...]:
    """For each metric the p-value that the batch's own rows allow; shapes vectors (R, m), squared (q,), held (R,)."""
    k, N, result = kept.num_rows, kept.num_rows + T, []
    for metric, norms, fourth, farthest, square in zip(
        metrics, kept.norms, kept.fourth, kept.farthest, squared, strict=True
    ):
        mapped = metric.apply(vectors)
        center = mapped.mean(axis=0)
        own = float((((mapped - T / N * center) ** 2).sum(axis=1) ** 2).mean())
        batch = float(np.linalg.norm(center)), square, T
        own_norms = sample_norms(mapped - center)
        value = float(widest_tail(*pooled_law(k, norms, fourth, own_norms, own, batch)))
        if len(vectors) == T <= k:
            value = max(value, odd_rows_pvalue(k, norms, fourth, farthest, mapped, held))
        result.append(value)
    return tuple(result)


def pooled_law(
    k: float, norms: Any, fourth: Any, own_norms: Any, own: Any, batch: tuple[Any, ...]
) -> tuple[Any, ...]:
    """What `widest_tail` takes: the norms of all rows, what is compared with their law, and its stretch.

    From sums over the rows of the batch; shapes norms, own_norms (3,), batch (float, float, int).
    """
    distance, squared, T = batch
    N, square = k + T, distance * distance
    trace, frobenius, largest = (
        ((k - 1.0) * ours + (T - 1.0) * theirs + k * T / N * square) / (N - 1.0)
        for ours, theirs in zip(norms, own_norms, strict=True)
    )
    all_rows = (k * (fourth**0.25 + T / N * distance) ** 4.0 + T * own) / N
    both = 1.0 / T + 1.0 / k
    stretch = excess_of(trace, frobenius, all_rows) * (1.0 / T**3.0 + 1.0 / k**3.0) / both**2.0
    return trace, frobenius, largest, squared / both, np.maximum(1.0, 1.0 + stretch)


def odd_rows_pvalue(
    k: int,
    norms: np.ndarray,
    fourth: float,
    farthest: float,
    mapped: np.ndarray,
    held: np.ndarray | None = None,
) -> float:
    """The bound on the p-value of one metric that rows beyond all reference rows give; 0 where there are none.

    Shapes: norms (3,), mapped (T, l), held (T,).
    """
    T = len(mapped)
    odd = (mapped**2).sum(axis=1) > farthest * (1 + TIE)
    h = int(odd.sum())
    if h == 0:
        return 0.0
    compared = k if held is None else float(held[odd].mean())
    out = float(np.prod((T - np.arange(h)) / (compared + T - np.arange(h))))
    if h == T:
        return out
    rest = T - h
    scaled = float((mapped[~odd].mean(axis=0) ** 2).sum()) / (1 / rest + 1 / k)
    stretch = max(1.0 + excess_of(norms[0], norms[1], fourth) / rest, 1.0)
    trace, frobenius, largest = norms
    return min(out, float(widest_tail(trace, frobenius, largest, scaled, stretch)))


def excess_of(trace: Any, frobenius: Any, fourth: Any) -> Any:
    """By how much the variance of a row's squared distance exceeds that of a normal row, relative."""
    square = np.maximum(2.0 * frobenius * frobenius, np.finfo(float).tiny)
    excess = (fourth - trace * trace) / square - 1.0
    return np.where(frobenius > 0.0, excess, 0.0)


def sample_norms(rows: np.ndarray) -> np.ndarray:
    """(..., 3) trace, Frobenius norm and largest eigenvalue of the sample covariance of centred rows (..., R, l)."""
    if rows.shape[-2] < 2:
        return np.zeros((*rows.shape[:-2], 3))
    return gram_norms(rows) / (rows.shape[-2] - 1)


def gram_norms(rows: np.ndarray) -> np.ndarray:
    """(..., 3) trace, Frobenius norm and largest eigenvalue of Y^t Y for rows Y (..., R, l), at least one."""
    turned = rows.swapaxes(-1, -2)
    values = np.linalg.eigvalsh(
        rows @ turned if rows.shape[-2] <= rows.shape[-1] else turned @ rows
    )
    found = np.empty((*values.shape[:-1], 3))
    found[..., 0], found[..., 1] = values.sum(axis=-1), (values * values).sum(axis=-1) ** 0.5
    found[..., 2] = values[..., -1]
    return np.maximum(found, 0.0, out=found)


def widest_tail(trace: Any, frobenius: Any, largest: Any, x: Any, v: Any) -> Any:
    """P(Q >= x) for the widest laws with these norms, with their variances times v."""
    return ThreeMoments(trace, frobenius**2, largest).tail(x, v)


def least_pvalue(k: int, T: int) -> float:
    """The smallest p-value of a batch of T rows whatever they are: of rows all alike, as far out as makes it smallest.

    That is not infinitely far if T is small beside k: rows far from all others make the tails of all N heavy.
    """
    share, far = k / (k + T), np.geomspace(0.1, 1e9, DISTANCES)
    alike = (
        (k - 1) / k
    ) ** 2  # the fourth power of rows that are all as far from their mean, whose tails are lightest
    law = pooled_law(k, np.ones(3), alike, np.zeros(3), (share * far) ** 4, (far, far**2, T))
    pooled = float(widest_tail(*law).min())
    log_ways = math.lgamma(k + T + 1) - math.lgamma(k + 1) - math.lgamma(T + 1)
    ways = math.exp(-log_ways) if min(k, MOST_VECTORS) >= T else 0.0
    return max(pooled, ways)
