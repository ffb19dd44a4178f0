r"""Which columns moved given the covariates: the residuals of the circuit's units of one column at a time.

The input units of a column v see its value alone, so the residuals of their likelihoods, l(y_v) - E[l(Y_v) | x], have
mean zero where P(Y_v | x) is as learned, whatever the covariates do.  Their mean Z_v over a batch, with what functions
of the covariates explain taken off, has the covariance S_v (1/T + h) of `conditional.conditional_test`, between
that of the reference and that of the batch's own rows.  Of the reference's S_v the trace is known, and its Frobenius
norm and largest eigenvalue are taken to be as large as that allows: Z_v^t Z_v then has the widest law with this trace,
and p-values are too large rather than too small, but for few rows of columns with rare levels, which are judged by rank
as well.  Covariates have no p-value: they may move.

**Few rows.**  A mean of five residuals or fewer has no law that three norms could tell (`conditional.few_rows`),
and a column by itself has fewer values than a row: a level of one row in twenty is 4.4 standard deviations from the
mean.  So the rows of a batch are ranked by how far their residuals of the column are out, as whole rows are there.
Of 6 to 20 rows that is done where squared distances
s of all k + T rows vary more than the law has it, mean of s^2 > 3 (mean of s)^2: in other columns ranks by distance say
less than the law, as where two levels are as far from the mean as one another and all rows have one of them.

Distances are those of residuals when a row is left out of the regression, over the standard deviation that this has:
|r|^2 / (1 - h_i) in the reference, |r|^2 / (1 + h) in a batch.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hld.answers.frequencies import holm
from hld.gchi2.three_moments import ThreeMoments
from hld.laws.ranks.confirmation import excess_of, sample_norms
from hld.testing.conditional.few_rows import MOST_LEVERAGE, TIE, rank_pvalue

MOST_RANKED = 299  # rows of the reference
FEW, MOST_ROWS = 5, 20  # rows of a batch whose columns are all ranked, or where tails are heavy
NORMAL = 3.0  # mean square of the squares of a normal variable
ROUNDED = 1e-6  # relative: distances are kept in single precision


def column_scores(
    found: np.ndarray, leverage: np.ndarray, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """How far out rows of the reference are in each column; shapes found (n, m), leverage (n,) -> (V, k)."""
    kept = np.flatnonzero(leverage < MOST_LEVERAGE)
    kept = kept[np.linspace(0, len(kept) - 1, min(len(kept), MOST_RANKED)).astype(int)]
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
        if T > MOST_ROWS or (T > FEW and (pooled**2).mean() <= NORMAL * pooled.mean() ** 2):
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
    least: np.ndarray | None = None,
) -> np.ndarray:
    """p-values of the columns given the covariates.

    Shapes: rows (r, m), difference (m,), stds (m,), spread (float, float, float), least (V,) -> (2, V).
    """
    found = np.full((2, len(parts)), np.nan)
    tested = [v for v, part in enumerate(parts) if len(part)]
    if tested:
        found[0, tested] = [
            _pvalue(
                rows[:, parts[v]], difference[parts[v]], float((stds[parts[v]] ** 2).sum()), spread
            )
            for v in tested
        ]
        if least is not None:
            found[0, tested] = np.maximum(found[0, tested], least[tested])
        found[1, tested] = holm(found[0, tested])
    return found


def _pvalue(
    rows: np.ndarray, difference: np.ndarray, total: float, spread: tuple[float, float, float]
) -> Any:
    """That of one column, whose residuals in the reference have the trace `total`."""
    share, width, finite = spread
    trace, frobenius, largest = share * sample_norms(rows) + (1 - share) * total
    fourth = share * float(((rows**2).sum(axis=1) ** 2).mean()) + (1 - share) * 3 * total**2
    stretch = max(1.0, 1.0 + float(excess_of(trace, frobenius, fourth)) * finite)
    law = ThreeMoments(trace, frobenius**2, largest)
    return float(law.tail(float(difference @ difference) / width, stretch))
