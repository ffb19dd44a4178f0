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
more of them p_k counts half of the probability of b_k itself, since what each p_k is too large by for being
discrete would add up (Lancaster 1961).  The larger of the two p-values is given.

Categories with smaller expected counts, levels never seen before among them, are pooled.  How the batch's rows are
spread within that group is tested separately: given the group's total the counts are hypergeometric again, and the
p-value is found by drawing: 999 draws, and 9,999 if fewer than ten of the first are as extreme; below what so many
draws can show, by exact tails.  The smaller of the two p-values is doubled (Bonferroni).
"""

import numpy as np

from hld.gchi2.three_moments import upper_gamma
from hld.tables.schemas.counts import hypergeometric_tail

LEAST_EXPECTED = 5.0
APPROXIMATE = 0.01  # down to which the chi-square law alone decides on three categories or more
BEYOND_DRAWS = 1e-5  # below which exact tails decide where counts are small
DRAWS, MORE_DRAWS, ENOUGH = 999, 9_999, 10
NEARLY_NORMAL = 1000.0  # variance of a count beyond which its tails are not computed
SMALLEST = 1e-300  # p-values that are added up are at least this
LARGEST = 10**9  # pooled rows that NumPy's sampler takes


def homogeneity_pvalue(reference: np.ndarray, batch: np.ndarray, rng: np.random.Generator) -> float:
    """p-value of "reference and batch have the same frequencies"; shapes reference, batch (K,)."""
    shown = reference + batch > 0
    reference, batch = reference[shown], batch[shown]
    n, T = int(reference.sum()), int(batch.sum())
    if not n or not T or len(batch) < 2:
        return 1.0
    least = (reference + batch) * (min(n, T) / (n + T))
    sparse = least < LEAST_EXPECTED
    if not sparse.any():
        return _law(reference, batch)
    # the group takes the rarest others until it is large enough itself
    order = np.argsort(least, kind="stable")
    size = max(int(sparse.sum()), int(np.searchsorted(np.cumsum(least[order]), LEAST_EXPECTED)) + 1)
    group = order[:size]
    rest = np.setdiff1d(np.arange(len(batch)), group)
    between = _law(
        np.append(reference[rest], reference[group].sum()),
        np.append(batch[rest], batch[group].sum()),
    )
    if size == 1:
        return between
    within = 1.0 if between < BEYOND_DRAWS else _within(reference[group], batch[group], rng)
    return min(1.0, 2 * min(between, within)) if len(rest) else within


def partition_pvalue(reference: np.ndarray, batch: np.ndarray) -> float:
    """p-value of "reference and batch have the same frequencies" by exact tails, one category after the other.

    Shapes: reference, batch (K,).
    """
    from statistics import NormalDist

    pooled, part = reference + batch, 0.5 if len(batch) > 2 else 1.0
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
    below, left = divmod(
        2 * K * T - j * N, N
    )  # what is as far on the other side, 2 E J - j, rounded down
    return min(
        1.0, _beyond(N, K, T, j, part) + _beyond(N, N - K, T, T - below, 1.0 if left else part)
    )


def _beyond(N: int, K: int, T: int, j: int, part: float) -> float:
    """P(J > j) + part P(J = j)."""
    tail = hypergeometric_tail(N, K, T, j)
    return tail if part == 1 else part * tail + (1 - part) * hypergeometric_tail(N, K, T, j + 1)


def _law(reference: np.ndarray, batch: np.ndarray) -> float:
    """By the chi-square law, and where that is not exact enough, not below the test by exact tails."""
    if len(batch) < 2:
        return 1.0
    squared = float(_pearson(reference + batch, batch[None], int(batch.sum()))[0])
    found = upper_gamma((len(batch) - 1) / 2, squared / 2)
    is_near = found >= APPROXIMATE and len(batch) > 2
    return found if is_near else max(found, partition_pvalue(reference, batch))


def _within(reference: np.ndarray, batch: np.ndarray, rng: np.random.Generator) -> float:
    """Of small counts: by draws, and by exact tails where there are two categories, or draws do not reach.

    With c = `BEYOND_DRAWS`, P(p <= u) is at most u below c by the test by exact tails, and c + (u - c) above.
    """
    if len(batch) == 2:
        return partition_pvalue(reference, batch)
    drawn = _drawn(reference, batch, rng)
    by_tails = partition_pvalue(reference, batch) if drawn * (1 + MORE_DRAWS) < ENOUGH else 1.0
    return by_tails if by_tails < BEYOND_DRAWS else min(1.0, drawn + BEYOND_DRAWS)


def _drawn(reference: np.ndarray, batch: np.ndarray, rng: np.random.Generator) -> float:
    """By draws of the batch's counts given the pooled ones."""
    pooled, T = reference + batch, int(batch.sum())
    if not 0 < T < pooled.sum() or pooled.sum() >= LARGEST:
        return 1.0
    found = _pearson(pooled, batch[None], T)[0] * (1 - 1e-12)
    for draws in (DRAWS, MORE_DRAWS):
        drawn = rng.multivariate_hypergeometric(pooled, T, size=draws)
        extreme = int((_pearson(pooled, drawn, T) >= found).sum())
        if extreme >= ENOUGH:
            break
    return (1 + extreme) / (1 + draws)


def _pearson(pooled: np.ndarray, batches: np.ndarray, T: int) -> np.ndarray:
    """(B,) Pearson's statistic of batches (B, K) of T rows out of pooled counts (K,)."""
    N = pooled.sum()
    share, rest = pooled * (T / N), pooled * ((N - T) / N)
    return (batches - share) ** 2 @ (1 / share + 1 / rest)
