r"""Batches of few rows given their covariates: ranks among reference rows, and rows beyond all of these.

The law of `conditional.conditional_test` is that of a mean of many residuals.  Those of rare levels, or of counts that
are mostly zero, are no mean of many in a few rows, and of more rows the law still knows nothing of what the reference
happens not to show.

**Ranks.**  The residuals of one row have a law of their own, with few values where columns have few, or far from its
mean in a tenth of the rows and near in all others, which three norms do not tell.  So a row is judged by the law, as is
each of the k rows of the reference when it is left out, and

.. math:: p_t = \max\Bigl(p_{law}, \frac{1 + |\{i : p_i \le p_{law}\}|}{1 + k}\Bigr)

is its p-value: a row of the same kind is as likely to be the oddest as each of them.  Of two to five rows, too, those
of the reference and of a batch without a shift are exchangeable.  With the T rows in ascending order of p_t, let
K_h = p_h (k + 1) - 1 rows of the reference be as odd as the h-th of them, or odder.  Then the p-value of the batch is
no smaller than

.. math:: \min(1, T \min_h p_{(h)}), \qquad
          p_{(h)} = P(\text{at least } h \text{ of } T \text{ rows drawn from } k + T \text{ are among } K_h + h),

where p_(h) is a hypergeometric tail, and T is for the choice of h.

**Holes.**  A row that shows a node which few others show looks odd beside those that do not, whatever it is.  So it is
ranked among the rows of the reference that show every node that it shows.

**Left out.**  A row that took part in the regression has the residual :math:`(1 - h_i)` times that of a regression on
the others, whose leverage at it is :math:`h_i / (1 - h_i)`.  One that alone decides what is subtracted from it
(h_i = 1) has none, and is not among the k.

**Odd rows.**  If h rows of a batch are farther out in a metric than all of the reference, and the others alone give no
alarm, the p-value of the metric is at least the probability that so many exchangeable rows are all in the batch,

    p_out = prod_{i<h} (T - i) / (k + T - i),

as in `hld.laws.ranks.confirmation`.  A row's distance is that of its residual when it is left out, over the standard
deviation that this has: |r|^2 / (1 - h_i) in the reference, |r|^2 / (1 + h) in a batch.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

MOST_TOGETHER = 5  # rows of a batch that are ranked
MOST_ROWS = 1_000  # of the reference that are judged
MOST_LEVERAGE = 0.999
TIE = 1e-9  # relative: values that differ by rounding alone

Judge = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def single_pvalues(
    judge: Judge, found: np.ndarray, shown: np.ndarray, leverage: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """p-values of rows of the reference, each as if it had not been among them, and which rows these are.

    Shapes: found, shown (n, m), leverage (n,) -> (k,).
    """
    kept = np.flatnonzero(leverage < MOST_LEVERAGE)
    kept = kept[np.linspace(0, len(kept) - 1, min(len(kept), MOST_ROWS)).astype(int)]
    rest = 1 - leverage[kept]
    pvalues = judge((found[kept] / rest[:, None])[:, None], shown[kept][:, None], 1 / rest - 1)
    order = np.argsort(pvalues, kind="stable")
    return pvalues[order], kept[order]


def rank_of_single(
    pvalue: float, singles: np.ndarray, bits: np.ndarray, shown: np.ndarray
) -> float:
    """The p-value of a single row, no smaller than its rank among the rows of the reference that show what it shows.

    Shapes: singles (k,), shown (m,).
    """
    alike = singles[(np.packbits(shown) & ~bits == 0).all(axis=1)]
    odder = int(np.searchsorted(alike, pvalue * (1 + TIE), side="right"))
    return max(pvalue, (1 + odder) / (1 + len(alike)))


def together(pvalues: np.ndarray, k: int) -> float:
    """The p-value of a few rows, from those of single rows (T,) that were ranked among the same k rows."""
    return rank_pvalue(np.ceil(np.sort(pvalues) * (k + 1) * (1 - TIE)) - 1, k)


def rank_pvalue(farther: np.ndarray, k: int) -> float:
    """The p-value of T rows, of which the h-th has K_h of k others as far out as it or farther; shapes farther (T,)."""
    T = len(farther)
    tails = [_tail(k + T, int(K) + h, T, h) for h, K in enumerate(farther, 1)]
    return min(1.0, T * min(tails))


def _tail(N: int, K: int, T: int, h: int) -> float:
    """P(at least h of T rows drawn from N are among K of these)."""
    return sum(math.comb(K, i) * math.comb(N - K, T - i) for i in range(h, T + 1)) / math.comb(N, T)


def farthest_rows(metrics: Any, found: np.ndarray, leverage: np.ndarray) -> tuple[int, np.ndarray]:
    """How many rows of the reference are compared with those of batches, and how far out they are at most.

    Shapes: found (n, m), leverage (n,).
    """
    kept = leverage < MOST_LEVERAGE
    scaled = found[kept] / np.sqrt(1 - leverage[kept])[:, None]
    return len(scaled), np.array([metric.squared(scaled).max(initial=0.0) for metric in metrics])


def with_odd_rows(
    pvalues: np.ndarray, odd: np.ndarray, k: int, of_others: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The p-value of each metric, no smaller than what rows beyond all of the reference allow.

    Shapes: pvalues (q,), odd (q, T) -> (q,).
    """
    result, T = pvalues.copy(), odd.shape[1]
    for i, rows in enumerate(odd):
        h = np.arange(rows.sum())
        least = float(np.prod((T - h) / (k + T - h)))
        if 0 < len(h) < T and least > pvalues[i]:
            least = min(least, float(of_others(~rows)[i]))
        if len(h):
            result[i] = max(result[i], least)
    return result


def odd_rows(
    metrics: Any, own: np.ndarray, leverages: np.ndarray, farthest: np.ndarray
) -> np.ndarray:
    """(q, T) bool, which rows of a batch are farther out than all of the reference.

    Shapes: own (T, m), leverages (T,), farthest (q,) -> (q, T).
    """
    scaled = own / np.sqrt(1 + leverages)[:, None]
    squared = np.stack([metric.squared(scaled) for metric in metrics])
    return np.asarray(squared > farthest[:, None] * (1 + TIE))
