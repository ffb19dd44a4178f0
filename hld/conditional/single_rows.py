r"""Single rows given their covariates: p-values by rank among the rows of the reference.

The law of `hld.conditional.conditional_test` is that of a mean of many residuals.  The residuals of one row have their
own, with few values where columns have few, or far from its mean in a tenth of the rows and near in all others, which
three norms do not tell.  So a row is judged as each of the k rows of the reference is when it is left out, and

.. math:: p = \frac{1 + |\{i : p_i \le p_{law}\}|}{1 + k}

is its p-value where that is larger: a row of the same kind is as likely to be the oddest as each of them.

**Holes.**  A row that shows a node which few others show looks odd beside those that do not, whatever it is.  So it is
ranked among the rows of the reference that show every node that it shows.

**Left out.**  A row that took part in the regression has the residual :math:`(1 - h_i)` times that of a regression on
the others, whose leverage at it is :math:`h_i / (1 - h_i)`.  One that alone decides what is subtracted from it
(h_i = 1) has none, and is not among the k.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MOST_ROWS = 1_000  # of the reference that are judged
MOST_LEVERAGE = 0.999
TIE = 1e-9  # relative: values that differ by rounding alone
BLOCK_VALUES = 1_000_000  # residuals of groups that are judged at a time

Judge = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def single_pvalues(
    judge: Judge, found: np.ndarray, shown: np.ndarray, leverage: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """p-values of rows of the reference, each as if it had not been among them, and which rows these are.

    Shapes: found, shown (n, m), leverage (n,) -> (k,).
    """
    kept = np.flatnonzero(leverage < MOST_LEVERAGE)
    kept = kept[np.linspace(0, len(kept) - 1, min(len(kept), MOST_ROWS)).astype(int)]
    pvalues, groups = left_out_pvalues(
        judge, found, shown, kept[:, None], leverage[kept, None, None]
    )
    order = np.argsort(pvalues, kind="stable")
    return pvalues[order], groups[order, 0]


def left_out_pvalues(
    judge: Judge, found: np.ndarray, shown: np.ndarray, groups: np.ndarray, hats: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """p-values of groups of rows of the reference, each as if its rows had not been among them, and these groups.

    Shapes: groups (G, T), hats (G, T, T) -> (N,).
    """
    (G, T), m = groups.shape, found.shape[1]
    if not G:
        return np.zeros(0), groups
    left = np.eye(T) - (hats + hats.swapaxes(1, 2)) / 2
    kept = np.linalg.eigvalsh(left)[:, 0] > 1 - MOST_LEVERAGE
    without, groups = np.linalg.inv(left[kept]), groups[kept]
    leverages, step = (without.sum(axis=(1, 2)) - T) / T**2, max(1, BLOCK_VALUES // max(T * m, 1))
    pvalues = [
        judge(without[block] @ found[groups[block]], shown[groups[block]], leverages[block])
        for block in (slice(start, start + step) for start in range(0, len(groups), step))
    ]
    return np.concatenate([np.zeros(0), *pvalues]), groups


def rank_of_single(
    pvalue: float, singles: np.ndarray, bits: np.ndarray, shown: np.ndarray
) -> float:
    """The p-value of a single row, no smaller than its rank among the rows of the reference that show what it shows.

    Shapes: singles (k,), shown (m,).
    """
    if len(singles) and len(bits):
        singles = singles[(np.packbits(shown) & ~bits == 0).all(axis=1)]
        if not len(singles):
            return 1.0
    return by_rank(pvalue, singles)


def by_rank(pvalue: float, singles: np.ndarray) -> float:
    """The p-value of a single row, no smaller than its rank among those of the reference.

    Shapes: singles (k,).
    """
    if not len(singles):
        return pvalue
    odder = int(np.searchsorted(singles, pvalue * (1 + TIE), side="right"))
    return max(pvalue, (1 + odder) / (1 + len(singles)))
