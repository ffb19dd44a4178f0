r"""Batches of few rows given their covariates: ranks among groups of reference rows, and rows beyond all of these.

The law of `conditional.conditional_test` is that of a mean of many residuals.  Single rows have ranks of their own
(below); two to five rows of rare levels, or of counts that are mostly zero, are no mean of many
either, and of more rows the law still knows nothing of what the reference happens not to show.

**Groups.**  As many rows of the reference as the batch has, drawn without replacement, are judged as if they had not
been in the reference: a share f = (1 + |{i : p_i <= p}|) / (1 + N) of N such groups and the batch is as odd as it.
Rows S that took part in the regression have the residuals, and their mean the leverage,

.. math:: (I - H_{SS})^{-1} r_S, \qquad \frac{1}{T^2} 1^t H_{SS} (I - H_{SS})^{-1} 1,
          \qquad H = \Phi (\Phi^t \Phi)^+ \Phi^t,

when they are left out of it (Cook and Weisberg 1982, section 2.2).  Groups that alone decide what is subtracted from
them are none of the N.  Without a shift the batch is any T of all k + T rows, and some of the other ways to choose T
rows share odd ones with it: if h rows make it odd, all of them are chosen with probability

    p_out = prod_{i<h} (T - i) / (k + T - i).

So p >= f + max_h min(p_out, p_rest), with p_rest the p-value of the other T - h rows by themselves, h = 1, ..., T.
For a batch of two of which one is odd that is 2 / (k + 2) at least, and no test of exchangeable rows can do better.

**Odd rows.**  Of more rows, if h are farther out in a metric than all of the reference, and the others alone give no
alarm, the p-value of the metric is at least p_out, as in `hld.laws.ranks.confirmation`.  A row's distance is that of
its residual when it is left out, over the standard deviation that this has: |r|^2 / (1 - h_i) in the reference,
|r|^2 / (1 + h) in a batch.

**Single rows.**  The residuals of one row have a law of their own, with few values where columns have few, or far from
its mean in a tenth of the rows and near in all others, which three norms do not tell.  So a row is judged as each of
the k rows of the reference is when it is left out, and

.. math:: p = \frac{1 + |\{i : p_i \le p_{law}\}|}{1 + k}

is its p-value where that is larger: a row of the same kind is as likely to be the oddest as each of them.

**Holes.**  A row that shows a node which few others show looks odd beside those that do not, whatever it is.  So it is
ranked among the rows of the reference that show every node that it shows.

**Left out.**  A row that took part in the regression has the residual :math:`(1 - h_i)` times that of a regression on
the others, whose leverage at it is :math:`h_i / (1 - h_i)`.  One that alone decides what is subtracted from it
(h_i = 1) has none, and is not among the k.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hld.laws.ranks.confirmation import ASKED_BELOW

MOST_TOGETHER = 5  # rows of a batch that is ranked among groups
NUM_GROUPS = 299
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
    if not len(singles):
        return pvalue
    alike = singles[(np.packbits(shown) & ~bits == 0).all(axis=1)]
    return by_rank(pvalue, alike) if len(alike) else 1.0


def by_rank(pvalue: float, singles: np.ndarray) -> float:
    """The p-value of a single row, no smaller than its rank among those of the reference; shapes singles (k,)."""
    if not len(singles):
        return pvalue
    odder = int(np.searchsorted(singles, pvalue * (1 + TIE), side="right"))
    return max(pvalue, (1 + odder) / (1 + len(singles)))


def group_pvalues(
    judge: Judge,
    sides: tuple[np.ndarray, np.ndarray],
    found: np.ndarray,
    shown: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, ...]:
    """p-values of groups of 2 to `MOST_TOGETHER` rows of the reference, each as if it had not been among them.

    Shapes: found, shown (n, m).
    """
    result, n = [], len(found)
    for T in range(2, MOST_TOGETHER + 1):
        groups = [rng.choice(n, T, replace=False) for _ in range(NUM_GROUPS if n > T else 0)]
        some = np.array(groups, dtype=np.int64).reshape(-1, T)
        hats = sides[1][some] @ sides[0][some].swapaxes(1, 2)
        result.append(np.sort(left_out_pvalues(judge, found, shown, some, hats)[0]))
    return tuple(result)


def among_groups(
    pvalue: float, groups: np.ndarray, T: int, k: int, of_rows: Callable[[list[int]], float]
) -> float:
    """The p-value of a batch of few rows, no smaller than exchangeable rows allow; shapes groups (N,)."""
    share = by_rank(pvalue, groups)
    if not len(groups) or share > ASKED_BELOW:
        return share
    left, out, least = list(range(T)), 1.0, 0.0
    for h in range(T):
        out *= (T - h) / (k + T - h)
        if out <= least:
            break
        ways = [left[:i] + left[i + 1 :] for i in range(len(left))]
        rest, left = (
            max(((of_rows(rows), rows) for rows in ways), key=lambda one: one[0])
            if h < T - 1
            else (1.0, [])
        )
        least = max(least, min(out, rest))
    return max(pvalue, min(share + least, 1.0))


def farthest_rows(metrics: Any, found: np.ndarray, leverage: np.ndarray) -> tuple[int, np.ndarray]:
    """How many rows of the reference are compared with those of batches, and how far out they are at most.

    Shapes: found (n, m), leverage (n,).
    """
    kept = leverage < MOST_LEVERAGE
    scaled = found[kept] / np.sqrt(1 - leverage[kept])[:, None]
    return len(scaled), np.array(
        [(metric.apply(scaled) ** 2).sum(axis=1).max(initial=0.0) for metric in metrics]
    )


def with_odd_rows(
    pvalues: tuple[float, ...],
    odd: np.ndarray,
    k: int,
    of_others: Callable[[np.ndarray, int], float],
) -> tuple[float, ...]:
    """The p-value of each metric, no smaller than what rows beyond all of the reference allow; shapes odd (q, T)."""
    result, T = [], odd.shape[1]
    for i, (value, rows) in enumerate(zip(pvalues, odd, strict=True)):
        h = int(rows.sum())
        if h:
            least = float(np.prod((T - np.arange(h)) / (k + T - np.arange(h))))
            value = max(
                value, least if h == T or value >= least else min(least, of_others(~rows, i))
            )
        result.append(value)
    return tuple(result)


def odd_rows(
    metrics: Any, own: np.ndarray, leverages: np.ndarray, farthest: np.ndarray
) -> np.ndarray:
    """(q, T) bool, which rows of a batch are farther out than all of the reference.

    Shapes: own (T, m), leverages (T,), farthest (q,) -> (q, T).
    """
    scaled = own / np.sqrt(1 + leverages)[:, None]
    return np.stack(
        [
            (metric.apply(scaled) ** 2).sum(axis=1) > most * (1 + TIE)
            for metric, most in zip(metrics, farthest, strict=True)
        ]
    )
