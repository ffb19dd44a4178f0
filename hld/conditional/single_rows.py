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


def single_pvalues(judge: Callable[[np.ndarray, np.ndarray, float], float], found: np.ndarray, shown: np.ndarray,
                   leverage: np.ndarray) -> np.ndarray:
    """(k,) p-values of rows of the reference, each as if it had not been among them; ascending.

    Parameters
    ----------
    judge : callable
        The p-value by the law of residuals (1, m), which nodes are shown (1, m), and a leverage.
    found, shown : (n, m) float, bool arrays
        Residuals after the regression on these rows, and which nodes each row shows.
    leverage : (n,) float array
        h_i.

    Returns
    -------
    (k,) float array

    Examples
    --------
    >>> single_pvalues(lambda row, shown, h: float(np.exp(-row.max())), np.array([[1.0], [0.5], [7.0]]),
    ...                np.ones((3, 1), bool), np.array([0.5, 0.0, 1.0])).round(4)
    array([0.1353, 0.6065])
    """
    kept = np.flatnonzero(leverage < MOST_LEVERAGE)
    kept = kept[np.linspace(0, len(kept) - 1, min(len(kept), MOST_ROWS)).astype(int)]
    without = 1 - leverage
    return np.sort(np.array([judge(found[i:i + 1] / without[i], shown[i:i + 1], float(leverage[i] / without[i]))
                             for i in kept.tolist()], dtype=np.float64))


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
