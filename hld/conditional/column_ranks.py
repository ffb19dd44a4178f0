r"""Columns of few rows given the covariates: p-values by rank among rows of the reference.

A mean of five residuals or fewer has no law that three norms could tell (`hld.conditional.few_rows`), and a column by
itself has fewer values than a row: a level of one row in twenty is 4.4 standard deviations from the mean.  But k rows
of the reference and T of a batch without a shift are exchangeable.  With the T rows in descending order of how far
the residuals of a column are out, let K_h rows of the reference be as far out as the h-th of them, or farther.  Then

.. math:: p_h = P(\text{at least } h \text{ of } T \text{ rows drawn from } k + T \text{ are among } K_h + h), \qquad
          p = \min(1, T \min_h p_h),

where p_h is a hypergeometric tail, and T is for the choice of h.  Of 6 to 20 rows that is done where squared distances
s of all k + T rows vary more than the law has it, mean of s^2 > 3 (mean of s)^2: in other columns ranks by distance say
less than the law, as where two levels are as far from the mean as one another and all rows have one of them.

Distances are those of residuals when a row is left out of the regression, over the standard deviation that this has:
|r|^2 / (1 - h_i) in the reference, |r|^2 / (1 + h) in a batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hld.conditional.single_rows import MOST_LEVERAGE, TIE

MOST_RANKED = 299  # rows of the reference
FEW, MOST_ROWS = 5, 20  # rows of a batch whose columns are all ranked, or where tails are heavy
NORMAL = 3.0  # mean square of the squares of a normal variable
ROUNDED = 1e-6  # relative: distances are kept in single precision


def column_scores(
    found: np.ndarray, leverage: np.ndarray, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """How far out rows of the reference are in each column.

    Shapes: found (n, m), leverage (n,) -> (V, k).
    """
    kept = np.flatnonzero(leverage < MOST_LEVERAGE)
    kept = kept[np.linspace(0, len(kept) - 1, min(len(kept), MOST_RANKED)).astype(int)]
    scores = np.array(
        [(found[np.ix_(kept, part)] ** 2).sum(axis=1) / (1 - leverage[kept]) for part in parts]
    )
    return np.sort(scores.astype(np.float32), axis=1)


def least_pvalues(
    scores: np.ndarray, own: np.ndarray, leverages: np.ndarray, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """The p-value of each column by rank.

    Shapes: scores (V, k), own (T, m), leverages (T,) -> (V,).
    """
    T, k = len(own), scores.shape[1]
    result = np.zeros(len(parts))
    for v, (known, part) in enumerate(zip(scores.astype(np.float64), parts, strict=True)):
        away = np.sort((own[:, part] ** 2).sum(axis=1) / (1 + leverages))[::-1]
        pooled = np.concatenate([known, away])  # few reference rows may show none of what is rare
        if T > MOST_ROWS or (T > FEW and (pooled**2).mean() <= NORMAL * pooled.mean() ** 2):
            continue
        away *= 1 - ROUNDED - TIE
        farther = k - np.searchsorted(known, away, side="left")
        result[v] = min(
            1.0, T * min(_tail(k + T, int(K) + h, T, h) for h, K in enumerate(farther, 1))
        )
    return result


def _tail(N: int, K: int, T: int, h: int) -> float:
    """P(at least h of T rows drawn from N are among K of these)."""
    return sum(math.comb(K, i) * math.comb(N - K, T - i) for i in range(h, T + 1)) / math.comb(N, T)
