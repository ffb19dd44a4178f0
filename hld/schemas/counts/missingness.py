r"""Is as much missing as in training?  An exact test for each column, and one p-value for all.

Holes say nothing about the values of a row as long as they arise as in training; whether they do is a hypothesis
of its own.  In column v, k_v of the n training rows and j_v of the T rows of a batch have no value.  If nothing has
shifted, all n + T rows are exchangeable, and given that K = k_v + j_v of them have a hole, the number in the batch is
hypergeometric whatever the share of holes may be:

.. math:: P(J \ge j) = \sum_{i \ge j} \binom{K}{i} \binom{n + T - K}{T - i} \Big/ \binom{n + T}{T}.

The p-value of a column is twice the smaller tail (Fisher's exact test); that of the table is the probability that a
column has one as small as the smallest, at most (`hld.schemas.counts.smallest_of_tests`), however columns depend on one
another.

**Together with the distance.**  Given the K of all columns, every column's test is exact, and the test of the distance
is taken to keep its level, as measurements say it does.  So the level may be divided in a way that depends on the K
(`hld.results.shared_level`).  Where
nothing is missing in training and batch, all of it goes to the distance; elsewhere at most a tenth (`SHARE`) goes to
the holes.  Tables without holes do not pay for those with.

References: R. A. Fisher (1935), The logic of inductive inference, J. Royal Statistical Society 98.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hld.schemas.counts.smallest_of_tests import SmallestLaw, smallest_law

SHARE = 0.1  # of the level, where anything is missing
_BLOCK = 4096  # terms of a tail added at a time
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True)
class CountTest:
    """The outcome of comparing a count of each column, as of missing or of new values, with those of other rows."""

    pvalue: float
    pvalues: tuple[Any, ...]
    share: float
    law: SmallestLaw | None = field(default=None, repr=False, compare=False)

    def attained(self, level: Any) -> Any:
        """How often `pvalue` is at most a level without a shift, given what was counted in all rows."""
        return level if self.law is None else self.law.attained(level)


def compare_missing(
    num_train: int,
    train_missing: list[int] | tuple[int, ...],
    num_rows: int,
    missing: list[int],
    tolerance: float = 0.0,
) -> CountTest:
    """Compare the missing values of a batch with those of training.

    Shapes: train_missing (V,), missing (V,).
    """
    pvalues = tuple(
        _pvalue(num_train, int(k), num_rows, int(j), tolerance)
        for k, j in zip(train_missing, missing, strict=True)
    )
    counts = np.add(train_missing, missing, dtype=np.int64)
    n, T = (np.full(len(counts), rows) for rows in (num_train, num_rows))
    return of_columns(pvalues, n + T, counts, T, SHARE)


def of_columns(
    pvalues: tuple[float, ...],
    N: np.ndarray,
    K: np.ndarray,
    T: np.ndarray,
    share: float,
    *,
    is_two_sided: bool = True,
) -> CountTest:
    """The tests of all columns as one.

    Shapes: N, K, T (V,).
    """
    some = K > 0
    if not some.any():
        return CountTest(1.0, pvalues, 0.0)
    law = smallest_law(N[some], K[some], T[some], is_two_sided=is_two_sided)
    return CountTest(law.pvalue(min(pvalues)), pvalues, share, law)


def _pvalue(n: int, k: int, T: int, j: int, tolerance: float) -> float:
    """Twice the smaller tail of the number of holes in the batch, at most 1."""
    K, N = k + j, n + T
    if K in (0, N):
        return 1.0
    expected = T * K / N
    slack = tolerance * T * math.sqrt(K / N * (1 - K / N))
    if abs(j - expected) <= slack:
        return 1.0
    above = j > expected
    j = math.floor(j - slack) if above else math.ceil(j + slack)
    if (
        (j < expected) if above else (j > expected)
    ):  # no hole where one in a hundred is expected is not one hole
        return 1.0
    return min(
        1.0, 2 * min(hypergeometric_tail(N, K, T, j), hypergeometric_tail(N, N - K, T, T - j))
    )


def hypergeometric_tail(N: int, K: int, T: int, j: int) -> float:
    """P(J >= j) for the number J of marked balls among T drawn without replacement from N, of which K are marked.

    Small tails are right to about N log(N) / 10^16, relative.
    """
    lowest, highest = max(0, K + T - N), min(K, T)
    if j <= lowest:
        return 1.0
    if j > highest:
        return 0.0
    if j > K * T / N:  # past the mean the terms fall
        return min(1.0, _falling_terms(N, K, T, j, highest))
    return 1.0 - min(1.0, _falling_terms(N, N - K, T, T - j + 1, T - lowest))


def _falling_terms(N: int, K: int, T: int, j: int, highest: int) -> float:
    """The sum of P(J = i) from j on, each term from the one before."""
    up, down = (K, N - K, T, N - T), (j, K - j, T - j, N - K - T + j, N)
    term = math.exp(
        sum(math.lgamma(one + 1) for one in up) - sum(math.lgamma(one + 1) for one in down)
    )
    total = 0.0
    while j <= highest:
        i = np.arange(j, min(j + _BLOCK, highest + 1), dtype=np.float64)
        ratios = (K - i) * (T - i) / ((i + 1) * (N - K - T + i + 1))
        terms = term * np.cumprod(np.append(1.0, ratios[:-1]))
        total += float(terms.sum())
        if terms[-1] <= _NEGLIGIBLE * total:
            break
        term, j = float(terms[-1] * ratios[-1]), j + _BLOCK
    return total
