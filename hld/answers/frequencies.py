r"""Do two sets of rows show the categories of a column equally often?  One p-value, valid where counts are small.

n reference rows have counts r_k, T rows of a batch b_k.  Given the pooled counts m_k = r_k + b_k, exchangeable rows
make the b_k multivariate hypergeometric, whatever the frequencies are.  Pearson's statistic is

.. math:: X^2 = \sum_k \frac{(b_k - T m_k / N)^2}{T m_k / N} + \sum_k \frac{(r_k - n m_k / N)^2}{n m_k / N},
          \qquad N = n + T,

and has about the chi-square law with K - 1 degrees of freedom where all expected counts are at least five (Cochran
1954).  "About" is good enough at 0.01, not for the small levels that a correction for thousands of columns asks for:
at an expected count of 5.6, p-values below 1e-5 come five times too often.  There, and for two categories, whose X^2
takes so few values that p-values below 0.1 come in 13 of a hundred batches of 12 rows, a second test, by exact tails,
has to agree.  Take the categories one after the other, the rarest first: among the rows of category k and of those not
yet taken, b_k is hypergeometric given all that came before.  With two-sided p-values p_k of these,

.. math:: \sum_{k < K} F_1^{-1}(1 - p_k), \qquad F_1 \text{ of chi-square with one degree of freedom},

is compared with chi-square with K - 1 degrees of freedom (Lancaster 1949).  For two categories this is exact.  For
more than three p_k counts half of the probability of b_k itself, since what each p_k is too large by for being
discrete would add up (Lancaster 1961).  The larger of the two p-values is given.

Categories with smaller expected counts, levels never seen before among them, are pooled.  How the batch's rows are
spread within that group, given its total, is tested separately, by exact tails.  The smaller of the two p-values is
doubled (Bonferroni).

p-values of m tests are adjusted for their number.  With p_(1) <= ... <= p_(m):

    Holm (1979)                      max over k <= i of  (m - k + 1) p_(k)       bounds P(any false call)
    Benjamini and Hochberg (1995)    min over k >= i of  m p_(k) / k             bounds the share of false calls
    Benjamini and Yekutieli (2001)   the same times 1 + 1/2 + ... + 1/m          ... under any dependence

each at most 1.  A test is rejected at level a if its adjusted p-value is at most a.
"""

from typing import Any

import numpy as np

from hld.gchi2.three_moments import upper_gamma
from hld.tables.schemas.counts import hypergeometric_tail

LEAST_EXPECTED = 5.0
APPROXIMATE = 0.01  # down to which the chi-square law alone decides on three categories or more
NEARLY_NORMAL = 1000.0  # variance of a count beyond which its tails are not computed
SMALLEST = 1e-300  # p-values that are added up are at least this


def homogeneity_pvalue(reference: np.ndarray, batch: np.ndarray) -> float:
    """p-value of "reference and batch have the same frequencies"; shapes reference, batch (K,)."""
    shown = reference + batch > 0
    reference, batch = reference[shown], batch[shown]
    n, T = int(reference.sum()), int(batch.sum())
    if not n or not T or len(batch) < 2:
        return 1.0
    least = (reference + batch) * (min(n, T) / (n + T))
    num_sparse = int((least < LEAST_EXPECTED).sum())
    if not num_sparse:
        return _law(reference, batch)
    # the group takes the rarest others until it is large enough itself
    order = np.argsort(least, kind="stable")
    size = max(num_sparse, int(np.searchsorted(np.cumsum(least[order]), LEAST_EXPECTED)) + 1)
    group, rest = order[:size], order[size:]
    between = _law(
        np.append(reference[rest], reference[group].sum()),
        np.append(batch[rest], batch[group].sum()),
    )
    if len(group) == 1:
        return between
    within = partition_pvalue(reference[group], batch[group])
    return min(1.0, 2 * min(between, within)) if len(rest) else within


def partition_pvalue(reference: np.ndarray, batch: np.ndarray) -> float:
    """p-value of "reference and batch have the same frequencies" by exact tails, one category after the other.

    Shapes: reference, batch (K,).
    """
    from statistics import NormalDist

    pooled, part = reference + batch, 0.5 if len(batch) > 3 else 1.0
    order = np.argsort(pooled, kind="stable")
    total, N, T = 0.0, int(pooled.sum()), int(batch.sum())
    for k in order[:-1].tolist():
        if not 0 < T < N:  # all that is left is on one side
            break
        K, j = int(pooled[k]), int(batch[k])
        mean = K * T / N
        variance = mean * (1 - K / N) * (N - T) / (N - 1)
        if variance > NEARLY_NORMAL:
            total += (j - mean) ** 2 / variance
        else:
            tail = max(_two_sided(N, K, T, j, part), SMALLEST) / 2
            total += NormalDist().inv_cdf(tail) ** 2
        N, T = N - K, T - j
    return upper_gamma((len(batch) - 1) / 2, total / 2)


def _two_sided(N: int, K: int, T: int, j: int, part: float) -> float:
    """P(|J - E J| > d) + part P(|J - E J| = d), d = |j - E J|, for J of K marked balls among T drawn from N."""
    if j * N < K * T:  # then the unmarked ones are more than expected
        K, j = N - K, T - j
    if j * N == K * T:
        return 1.0
    # what is as far on the other side, 2 E J - j, rounded down
    below, left = divmod(2 * K * T - j * N, N)
    other = _beyond(N, N - K, T, T - below, 1.0 if left else part)
    return min(1.0, _beyond(N, K, T, j, part) + other)


def _beyond(N: int, K: int, T: int, j: int, part: float) -> float:
    """P(J > j) + part P(J = j)."""
    tail = hypergeometric_tail(N, K, T, j)
    return tail if part == 1 else part * tail + (1 - part) * hypergeometric_tail(N, K, T, j + 1)


def _law(reference: np.ndarray, batch: np.ndarray) -> float:
    """By the chi-square law, and where that is not exact enough, not below the test by exact tails."""
    if len(batch) < 2:
        return 1.0
    pooled, T, N = reference + batch, batch.sum(), reference.sum() + batch.sum()
    share, rest = pooled * (T / N), pooled * ((N - T) / N)
    squared = (batch - share) ** 2 @ (1 / share + 1 / rest)
    found = upper_gamma((len(batch) - 1) / 2, float(squared) / 2)
    is_near = found >= APPROXIMATE and len(batch) > 2
    return found if is_near else max(found, partition_pvalue(reference, batch))


def holm(pvalues: Any, total: int = 0) -> np.ndarray:
    """(m,) p-values adjusted by Holm's step-down procedure."""
    pvalues = np.asarray(pvalues, dtype=np.float64)
    order, m = np.argsort(pvalues, kind="stable"), len(pvalues)
    stepped = np.maximum.accumulate(pvalues[order] * (max(total, m) - np.arange(m)))
    return _in_order(order, stepped)


def benjamini_hochberg(pvalues: Any) -> np.ndarray:
    """(m,) p-values adjusted by the step-up procedure of Benjamini and Hochberg."""
    pvalues = np.asarray(pvalues, dtype=np.float64)
    order, m = np.argsort(pvalues, kind="stable"), len(pvalues)
    # m / k first: it is 1 for the largest of them, where p m / m may be another number than p
    stepped = np.minimum.accumulate((pvalues[order] * (m / np.arange(1, m + 1)))[::-1])[::-1]
    return _in_order(order, stepped)


def benjamini_yekutieli(pvalues: Any) -> np.ndarray:
    """(m,) p-values adjusted by the step-up procedure of Benjamini and Yekutieli."""
    m = len(pvalues)
    return np.minimum(benjamini_hochberg(pvalues) * (1 / np.arange(1, m + 1)).sum(), 1.0)


def _in_order(order: np.ndarray, stepped: np.ndarray) -> np.ndarray:
    """Adjusted p-values (m,) from the order of their size to that of the tests."""
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
