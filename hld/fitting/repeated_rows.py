r"""Does a table repeat whole rows more often than independent rows would?

The test counts every row as a draw of its own.  Where each row was written twice, a row that is held out has its copy
among those that were learned from, and k held-out rows tell no more than k / 2: p-values of later batches, whose rows
are new, are too small.  Few levels make independent rows equal, too, so that copies alone say nothing; how many rows
occur once, twice, three times, ... does.  Let f_k be the number of different rows that occur k times.  If n rows are
independent draws of any distribution whatever, and lambda_x is the expected count of row x, then, as nearly as counts
are Poisson,

.. math:: a_k = k!\, E f_k = \sum_x \lambda_x^k e^{-\lambda_x}

are moments of one measure, and by the inequality of Cauchy and Schwarz

.. math:: a_k^2 \le a_{k-1} a_{k+1}, \qquad (E f_k)^2 \le \frac{k+1}{k}\, E f_{k-1}\, E f_{k+1}.

Rows of which all occur twice break it at k = 2: many pairs, and none alone.  Each expectation is bounded by Chernoff's
inequality for sums of independent indicators; a fixed n makes an event at most e sqrt(n) times as likely as the Poisson
law does, and the bounds of all k together fail with a probability of at most `CHANCE`.

References
----------
Good (1953), The population frequencies of species and the estimation of population parameters, Biometrika 40, 237.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

CHANCE = 1e-4  # probability of a warning about independent rows


def warn_of_repeated(rows: np.ndarray) -> None:
    """A warning if rows occur together that independent rows would not, so that p-values are too small.

    Shapes: rows (n, V).
    """
    counts = multiplicities(rows)
    if is_repeated(counts):
        warnings.warn(
            f"`table` has copies of rows: of {len(rows):,} rows {len(counts):,} are different (numbers by "
            "their bins), and they are repeated as independent rows are not; copies count as rows of their "
            "own, so p-values are too small: leave out those that are errors, and keep one row of each "
            "customer",
            UserWarning,
            stacklevel=4,
        )


def multiplicities(rows: np.ndarray) -> np.ndarray:
    """How often each of the different rows occurs.

    Shapes: rows (n, V) -> (number of different rows,).
    O(n V + n log n).  Rows are told apart by a sum of their entries with random weights, modulo 2^64.
    """
    rng, sums = np.random.default_rng(0), np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        sums += column.astype(np.int64).view(np.uint64) * rng.integers(2**64, dtype=np.uint64)
    return np.unique(sums, return_counts=True)[1]


def is_repeated(counts: np.ndarray) -> bool:
    """Whether rows occur so often as no independent rows do, but for a probability of at most `CHANCE`.

    Shapes: counts (number of different rows,).
    """
    found = np.bincount(counts, minlength=2)
    for k in (np.flatnonzero(found[2:]) + 2).tolist():
        sure = math.log(3 * k * (k - 1) / CHANCE) + 1 + math.log(int(counts.sum())) / 2
        after = int(found[k + 1]) if k + 1 < len(found) else 0
        around = _most(int(found[k - 1]), sure) * _most(after, sure)
        if _least(int(found[k]), sure) ** 2 > (k + 1) / k * around:
            return True
    return False


def _least(count: int, sure: float) -> float:
    """The smallest expectation of a count that has more than a probability of exp(-sure)."""
    return max(count - math.sqrt(2 * count * sure), 0.0)


def _most(count: int, sure: float) -> float:
    """The largest one."""
    if not count:
        return sure
    return ((math.sqrt(2 * sure) + math.sqrt(2 * sure + 4 * count)) / 2) ** 2
