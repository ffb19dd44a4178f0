r"""Do two sets of rows show the categories of a column equally often?  One p-value, valid where counts are small.

n reference rows have counts r_k, T rows of a batch b_k.  Given the pooled counts m_k = r_k + b_k, exchangeable rows
make the b_k multivariate hypergeometric, whatever the frequencies are.  Pearson's statistic is

.. math:: X^2 = \sum_k \frac{(b_k - T m_k / N)^2}{T m_k / N} + \sum_k \frac{(r_k - n m_k / N)^2}{n m_k / N},
          \qquad N = n + T,

and has the chi-square law with K - 1 degrees of freedom where all expected counts are at least five (Cochran 1954).
Categories with smaller ones, levels never seen before among them, are pooled for it.  How the batch's rows are
spread within that group is tested separately: given the group's total the counts are hypergeometric again, and the
p-value is found by drawing: 999 draws, and 9,999 if fewer than ten of the first are as extreme.  The smaller of the two
p-values is doubled (Bonferroni).
"""
from __future__ import annotations

import numpy as np

LEAST_EXPECTED = 5.0
DRAWS, MORE_DRAWS, ENOUGH = 999, 9_999, 10
LARGEST = 10 ** 9  # pooled rows that NumPy's sampler takes


def homogeneity_pvalue(reference: np.ndarray, batch: np.ndarray, rng: np.random.Generator) -> float:
    """p-value of "reference and batch have the same frequencies".

    Parameters
    ----------
    reference, batch : (K,) int arrays
        Counts of the same categories.
    rng : numpy.random.Generator
        Used for small counts only.

    Returns
    -------
    float
        1 where nothing can be said: one of them is empty, or all rows show one category.

    References
    ----------
    Cochran (1954), Some methods for strengthening the common chi-square tests, Biometrics 10, 417.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> round(homogeneity_pvalue(np.array([500, 500]), np.array([50, 50]), rng), 3)
    1.0
    >>> homogeneity_pvalue(np.array([500, 500, 0]), np.array([50, 45, 5]), rng) < 0.01
    True
    """
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
    between = _law(np.append(reference[rest], reference[group].sum()), np.append(batch[rest], batch[group].sum()))
    if size == 1:
        return between
    within = 1.0 if between * (1 + MORE_DRAWS) < 1 else _drawn(reference[group], batch[group], rng)
    return min(1.0, 2 * min(between, within)) if len(rest) else within


def _law(reference: np.ndarray, batch: np.ndarray) -> float:
    """By the chi-square law."""
    from scipy.special import chdtrc
    if len(batch) < 2:
        return 1.0
    return float(chdtrc(len(batch) - 1, _pearson(reference + batch, batch[None], int(batch.sum()))[0]))


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
    return ((batches - share) ** 2 @ (1 / share + 1 / rest))
