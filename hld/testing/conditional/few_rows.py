r"""Batches given their covariates, row by row and column by column: ranks among reference rows, and columns that moved.

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

**Columns.**  The input units of a column v see its value alone, so the residuals of their likelihoods, l(y_v) -
E[l(Y_v) | x], have mean zero where P(Y_v | x) is as learned, whatever the covariates do. Their mean Z_v over a batch,
with what functions of the covariates explain taken off, has the covariance S_v (1/T + h) of
`conditional.conditional_test`, between that of the reference and that of the batch's own rows. Of the reference's S_v
the trace is known, and its Frobenius norm and largest eigenvalue are taken to be as large as that allows: Z_v^t Z_v
then has the widest law with this trace, and p-values are too large rather than too small, but for few rows of columns
with rare levels, which are judged by rank as well. Covariates have no p-value: they may move.

**Columns of few rows.**  A mean of five residuals or fewer has no law that three norms could tell, and a column by
itself has fewer values than a row: a level of one row in twenty is 4.4 standard deviations from the mean.  So the rows
of a batch are ranked by how far their residuals of the column are out, by the distances above.  Of 6 to 20 rows that is
done where squared distances s of all k + T rows vary more than the law has it, mean of s^2 > 3 (mean of s)^2: in other
columns ranks by distance say less than the law, as where two levels are as far from the mean as one another and all
rows have one of them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hld.answers.adjust import holm
from hld.laws.ranks.confirmation import excess_of, sample_norms, widest_tail

MOST_TOGETHER = 5  # rows of a batch that are ranked
MOST_JUDGED = 1_000  # of the reference that are judged
MOST_LEVERAGE = 0.999
TIE = 1e-9  # relative: values that differ by rounding alone
MOST_RANKED = 299  # rows of the reference
MOST_BY_COLUMN = 20  # rows of a batch that are ranked in columns where tails are heavy
NORMAL = 3.0  # mean square of the squares of a normal variable
ROUNDED = 1e-6  # relative: distances are kept in single precision

Judge = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def single_pvalues(
    judge: Judge, found: np.ndarray, shown: np.ndarray, leverage: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """p-values of rows of the reference, each as if it had not been among them, and which rows these are.

    Shapes: found, shown (n, m), leverage (n,) -> (k,).
    """
    kept = _left_out(leverage, MOST_JUDGED)
    rest = 1 - leverage[kept]
    pvalues = judge((found[kept] / rest[:, None])[:, None], shown[kept][:, None], 1 / rest - 1)
    order = np.argsort(pvalues, kind="stable")
    return pvalues[order], kept[order]


def _left_out(leverage: np.ndarray, most: int) -> np.ndarray:
    """Rows of the reference that can be left out of the regression, of many some, evenly spread."""
    kept = np.flatnonzero(leverage < MOST_LEVERAGE)
    return kept[np.linspace(0, len(kept) - 1, min(len(kept), most)).astype(int)]


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


def column_scores(
    found: np.ndarray, leverage: np.ndarray, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """How far out rows of the reference are in each column; shapes found (n, m), leverage (n,) -> (V, k)."""
    kept = _left_out(leverage, MOST_RANKED)
    scores = np.array(
        [(found[np.ix_(kept, part)] ** 2).sum(axis=1) / (1 - leverage[kept]) for part in parts]
    )
    return np.sort(scores.astype(np.float32), axis=1)


def least_pvalues(
    scores: np.ndarray, own: np.ndarray, leverages: np.ndarray, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """The p-value of each column by rank; shapes scores (V, k), own (T, m), leverages (T,) -> (V,)."""
    T, k = len(own), scores.shape[1]
    result = np.zeros(len(parts))
    for v, (known, part) in enumerate(zip(scores.astype(np.float64), parts, strict=True)):
        away = np.sort((own[:, part] ** 2).sum(axis=1) / (1 + leverages))[::-1]
        pooled = np.concatenate([known, away])  # few reference rows may show none of what is rare
        if T > MOST_BY_COLUMN or (
            T > MOST_TOGETHER and (pooled**2).mean() <= NORMAL * pooled.mean() ** 2
        ):
            continue
        away *= 1 - ROUNDED - TIE
        result[v] = rank_pvalue(k - np.searchsorted(known, away, side="left"), k)
    return result


def column_pvalues(
    rows: np.ndarray,
    difference: np.ndarray,
    stds: np.ndarray,
    parts: Sequence[np.ndarray],
    spread: tuple[float, float, float],
    least: np.ndarray,
) -> np.ndarray:
    """p-values of the columns given the covariates, NaN for those without a part.

    Shapes: rows (r, m), difference (m,), stds (m,), spread (float, float, float), least (V,) -> (2, V).
    """
    found, (share, width, finite) = np.full((2, len(parts)), np.nan), spread
    tested = [v for v, part in enumerate(parts) if len(part)]
    for v in tested:
        part = parts[v]
        own, total = rows[:, part], float((stds[part] ** 2).sum())
        norms = share * sample_norms(own) + (1 - share) * total
        fourth = share * ((own**2).sum(axis=1) ** 2).mean() + (1 - share) * 3 * total**2
        squared = float(difference[part] @ difference[part]) / width
        found[0, v] = max(float(law_tail(norms, fourth, finite, squared)), least[v])
    found[1, tested] = holm(found[0, tested])
    return found


def law_tail(norms: np.ndarray, fourth: Any, finite: Any, squared: Any) -> Any:
    """P(Q >= squared) for the widest law with norms (..., 3), its variance stretched by what is left of the excess."""
    trace, frobenius, largest = np.moveaxis(norms, -1, 0)
    stretch = np.maximum(1.0, 1.0 + excess_of(trace, frobenius, fourth) * finite)
    return widest_tail(trace, frobenius, largest, squared, stretch)
