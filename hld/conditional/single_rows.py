r"""Single rows given their covariates: p-values by rank among the rows of the reference.

The law of `hld.conditional.conditional_test` is that of a mean of many residuals.  The residuals of one row have their
own, with few values where columns have few, or far from its mean in a tenth of the rows and near in all others, which
three norms do not tell.  So a row is judged as each of the k rows of the reference is when it is left out, and

.. math:: p = \frac{1 + |\{i : p_i \le p_{law}\}|}{1 + k}

is its p-value where that is larger: a row of the same kind is as likely to be the oddest as each of them.

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


def single_pvalues(judge: Judge, found: np.ndarray, shown: np.ndarray, leverage: np.ndarray) -> np.ndarray:
    """(k,) p-values of rows of the reference, each as if it had not been among them; ascending.

    Parameters
    ----------
    judge : callable
        The p-values (G,) by the law of the residuals (G, T, m) of G batches, which nodes they show (G, T, m), and their
        leverages (G,).
    found, shown : (n, m) float, bool arrays
        Residuals after the regression on these rows, and which nodes each row shows.
    leverage : (n,) float array
        h_i.

    Returns
    -------
    (k,) float array

    Examples
    --------
    >>> single_pvalues(lambda rows, shown, h: np.exp(-rows.max(axis=(1, 2))), np.array([[1.0], [0.5], [7.0]]),
    ...                np.ones((3, 1), bool), np.array([0.5, 0.0, 1.0])).round(4)
    array([0.1353, 0.6065])
    """
    kept = np.flatnonzero(leverage < MOST_LEVERAGE)
    kept = kept[np.linspace(0, len(kept) - 1, min(len(kept), MOST_ROWS)).astype(int)]
    return left_out_pvalues(judge, found, shown, kept[:, None], leverage[kept, None, None])


def left_out_pvalues(judge: Judge, found: np.ndarray, shown: np.ndarray, groups: np.ndarray,
                     hats: np.ndarray) -> np.ndarray:
    """p-values of groups of rows of the reference, each as if its rows had not been among them; ascending.

    Parameters
    ----------
    judge, found, shown
        As in `single_pvalues`.
    groups : (G, T) int array
        Rows.
    hats : (G, T, T) float array
        The parts H_SS of the projection on the functions.

    Returns
    -------
    (N,) float array
        N <= G: those that alone decide what is subtracted from them have none.
    """
    (G, T), m = groups.shape, found.shape[1]
    if not G:
        return np.zeros(0)
    left = np.eye(T) - (hats + hats.swapaxes(1, 2)) / 2
    kept = np.linalg.eigvalsh(left)[:, 0] > 1 - MOST_LEVERAGE
    without, groups = np.linalg.inv(left[kept]), groups[kept]
    leverages, step = (without.sum(axis=(1, 2)) - T) / T ** 2, max(1, BLOCK_VALUES // max(T * m, 1))
    return np.sort(np.concatenate([np.zeros(0)] + [
        judge(without[block] @ found[groups[block]], shown[groups[block]], leverages[block])
        for block in (slice(start, start + step) for start in range(0, len(groups), step))]))


def by_rank(pvalue: float, singles: np.ndarray) -> float:
    """The p-value of a single row, no smaller than its rank among those of the reference.

    Parameters
    ----------
    pvalue : float
        By the law.
    singles : (k,) float array
        Ascending; none leaves the p-value as it is.

    Returns
    -------
    float

    Examples
    --------
    >>> by_rank(0.01, np.array([0.005, 0.2, 0.7])), by_rank(0.9, np.array([0.95])), by_rank(0.01, np.zeros(0))
    (0.5, 0.9, 0.01)
    """
    if not len(singles):
        return pvalue
    odder = int(np.searchsorted(singles, pvalue * (1 + TIE), side="right"))
    return max(pvalue, (1 + odder) / (1 + len(singles)))
