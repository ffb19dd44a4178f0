r"""The smallest p-value of many exact tests of counts: how often it is that small, and which levels it can reach.

Each test compares how many of T rows have something with how many of N - T others do.  Given that K of all N have it,
the number j in the batch is hypergeometric, and the p-value q_e of test e takes few values: with K = 1 only one below
1, T / N.  Bonferroni's bound, q times the number of tests, counts each test with the whole q even if it cannot be that
small.  Given all K, the probability that some test is at q or below is at most

.. math:: F(q) = \sum_e P(q_e \le q) \;\le\; q \cdot \text{number of tests},

and F of the smallest p-value is a p-value of all tests together, never larger than Bonferroni's, under any dependence
(Tarone 1990 leaves out the tests that cannot reach q; here the others count with what they do reach, too).

F is a step function, and the p-value of all together takes few values as well.  The largest of them that is at most x,
`attained`, is the probability of finding something at the level x, and often much smaller than x.  What is left of the
level goes to the tests beside (`hld.results.shared_level`): for a single row, in which no count can be conspicuous, all
of it.

Tests with more than `MOST_VALUES` possible counts are taken to reach every q, which is safe and nearly true.

Reference: R. E. Tarone (1990), A modified Bonferroni method for discrete data, Biometrics 46.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_VALUES = 40  # of a count whose p-values are listed, less one
SLACK = 1e-5  # relative: two computations of one probability differ by less; values that are this close count as one


@dataclass(frozen=True, eq=False)
class SmallestLaw:
    """How often the smallest p-value of some exact tests is how small, at most.

    Shapes: points (k,), totals (k,).
    """

    points: np.ndarray
    totals: np.ndarray
    num_dense: int

    def pvalue(self, smallest: float) -> float:
        """F(q), at most 1."""
        if smallest >= 1:
            return 1.0
        k = int(np.searchsorted(self.points, smallest * (1 + SLACK), side="right"))
        return min(1.0, self.num_dense * smallest + (float(self.totals[k - 1]) if k else 0.0))

    def attained(self, level: Any) -> np.ndarray:
        """The largest value of F(q) that is at most a level, or what F approaches from below."""
        k = np.searchsorted(
            self.num_dense * self.points + self.totals, level * (1 + SLACK), side="right"
        )
        reached = np.append(0.0, self.totals)[k]
        if self.num_dense:
            reached = reached + self.num_dense * np.append(self.points, np.inf)[k]
        return np.minimum(level, reached)


def smallest_law(N: Any, K: Any, T: Any, *, is_two_sided: bool = True) -> SmallestLaw:
    """The law of the smallest p-value of exact tests of counts, given their margins.

    Shapes: N, K, T (e,).
    O(e log e) and `MOST_VALUES` for each triple that is different.
    """
    N, K, T = (np.atleast_1d(np.asarray(one, dtype=np.int64)) for one in (N, K, T))
    odd, few = np.minimum(K, N - K), np.minimum(T, N - T)
    varies = np.minimum(odd, few) > 0
    is_listed = varies & (np.minimum(odd, few) <= MOST_VALUES)
    num_dense = int(varies.sum() - is_listed.sum())
    if not is_listed.any():
        return SmallestLaw(np.zeros(0), np.zeros(0), num_dense)
    N, odd, few, is_mirrored, times = _different(
        N[is_listed], odd[is_listed], few[is_listed], ((odd < K) != (few < T))[is_listed]
    )
    points, masses = _tails(N, odd, few, is_mirrored, is_two_sided)
    masses = masses * times[:, None]
    points, masses = points[points <= 1], masses[points <= 1]
    order = np.argsort(points)
    return SmallestLaw(points[order], np.cumsum(masses[order]), num_dense)


def _different(*margins: np.ndarray) -> tuple[np.ndarray, ...]:
    """The different margins, and how often each occurs."""
    order = np.lexsort([one for one in margins if (one != one[0]).any()] or [margins[0]])
    margins = tuple(one[order] for one in margins)
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = np.any([one[1:] != one[:-1] for one in margins], axis=0)
    starts = np.flatnonzero(is_new)
    return *(one[starts] for one in margins), np.diff(np.append(starts, len(order)))


def _tails(
    N: np.ndarray, a: np.ndarray, b: np.ndarray, is_mirrored: np.ndarray, is_two_sided: bool
) -> tuple[np.ndarray, np.ndarray]:
    """p-values that counts lead to, and the probabilities of the counts; those on the other side are above 1.

    The count is that of the rarer side among the smaller part, 0 ... min(a, b); it falls where the count in the batch
    rises if one of the two, but not both, is the other way round.
    """
    most = int(np.minimum(a, b).max())
    j, (N, a, b) = (
        np.arange(most + 1, dtype=float),
        (one[:, None].astype(float) for one in (N, a, b)),
    )
    few, many = np.minimum(a, b), np.maximum(a, b)
    i = j[:-1]
    # P(0), at least 2^-40
    none = np.where(i < few, (N - many - i) / np.maximum(N - i, 1), 1.0).prod(axis=1, keepdims=True)
    ratios = np.maximum((a - i) * (b - i), 0.0) / ((i + 1) * (N - a - b + i + 1))
    p = np.concatenate([none, none * np.cumprod(np.where(i < few, ratios, 0.0), axis=1)], axis=1)
    above, below = np.cumsum(p[:, ::-1], axis=1)[:, ::-1], np.cumsum(p, axis=1)
    if is_two_sided:
        return np.where(j <= few, 2 * np.minimum(above, below), np.inf), p
    return np.where(j <= few, np.where(is_mirrored[:, None], below, above), np.inf), p
