r"""How large a shift is: the share of the rows of a batch that would have to be others for it to be none.

**The unit.**  The rows of a batch have a distribution within total variation epsilon of that of the reference exactly
if they can be had from T rows of the reference by giving each, with probability epsilon, another value: then

.. math:: M \sim \mathrm{Bin}(T, \epsilon)

of them are others.  A column times 1,000 in every row has the effect 1, a new level in one row of twenty 0.05.

**How many rows.**  Each witness i with a share w_i of the joint level says how large its p-value can get if r rows of
the batch are others, `after(r)`: a count moves by at most r rows, a mean by r / T times the range of what is averaged.
So

.. math:: s(r) = \min_i \frac{\mathrm{after}_i(r)}{w_i}

is no less than the joint p-value of any batch that differs from this one in r rows (`hld.witnesses.witnesses`).  Two
things are neglected, both of the distance alone: that its check by the batch's own rows may raise its p-value more in
the other batch, and that holes or new values which only the other batch has would take a part of its level.

* The effect is R / T with the least R for which s(R) exceeds one half: so many rows are more than chance explains.
* Its interval is [low, 1].  Let R be the least r with s(r) > 0.8 alpha.  If the distribution is within epsilon, the
  rows of the reference behind the batch give p <= 0.8 alpha with probability at most 0.8 alpha, and otherwise M >= R.
  So low, the epsilon with P(M >= R) = 0.2 alpha (Clopper and Pearson 1934), exceeds it with probability at most alpha.
* Where the test rejects, but only just, R = 0, and the epsilon with P(M >= 1) = alpha - p is taken for the same reason.
  So low is above 0 exactly where the batch is rejected.
* There is no upper end below 1: a shift that no witness hears may be of any size.

**Tolerance.**  Where a share tau of the rows may be others, the hypothesis is that the distribution is within tau of
that of the reference.  By the same reasoning it is rejected where P(M > r) <= 0.2 alpha and s(r) <= 0.8 alpha for some
r, so that

.. math:: p = \min_r \max\bigl(5 \, P(M > r), \; 1.25 \, s(r)\bigr), \qquad M \sim \mathrm{Bin}(T, \tau),

is a p-value: the least alpha of all r, as more rows make the one larger and the other smaller.

References: C. J. Clopper and E. S. Pearson (1934), The use of confidence or fiducial limits illustrated in the case of
the binomial, Biometrika 26, 404; total variation as a coupling: D. A. Levin and Y. Peres (2017), Markov Chains and
Mixing Times, proposition 4.7.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

OF_TEST = 0.8  # of alpha: the rest is for the number of rows that are others
CHANCE = 0.5  # p-value that chance explains
LEAST = 1e-6  # of what is left for the number of rows
# p-value over share of a witness, by the rows that are others
Left: TypeAlias = Callable[[int], float]


class Effect(NamedTuple):
    """The share of rows that are others, and the least share that is sure at the level of the test."""

    size: float
    low: float


def effect_of(lefts: Sequence[Left], pvalue: float, alpha: float, T: int) -> Effect:
    """The effect of a batch of T rows, by what each witness leaves of a p-value where r of them are others."""
    sure, low, rest = 0, 0.0, (1 - OF_TEST) * alpha
    if pvalue <= alpha:
        from scipy.special import betaincinv  # as long as all of a test: only where it is needed

        sure = least_rows(lefts, OF_TEST * alpha, T)
        rows, level = (sure, rest) if sure else (1, max(min(alpha - pvalue, rest), LEAST * rest))
        low = float(betaincinv(rows, T - rows + 1, level))
    size = least_rows(lefts, CHANCE, T, sure) / T if pvalue <= CHANCE else 0.0
    return Effect(max(size, low), low)


def least_rows(lefts: Sequence[Left], level: float, T: int, least: int = 0) -> int:
    """The least number of rows, at most T, that have to be others for every witness to leave more than a level."""
    for left in lefts:
        if left(least) <= level:
            least = _first(least + 1, T, partial(_leaves_more, left, level))
    return least


def _leaves_more(left: Left, level: float, rows: int) -> bool:
    """Whether a witness leaves more than a level."""
    return left(rows) > level


def _first(low: int, high: int, is_enough: Callable[[int], bool]) -> int:
    """The first of some numbers that is enough, as all beyond it are; `high` if none is."""
    return bisect_left(range(high), True, min(low, high), key=is_enough)


def tolerant_pvalue(lefts: Sequence[Left], T: int, tolerance: float) -> float:
    """The p-value where a share of the rows may be others."""
    from scipy.special import bdtrc

    def left(rows: int) -> float:
        return min(1.0, *(one(rows) for one in lefts)) / OF_TEST

    def more(rows: int) -> float:
        return float(bdtrc(rows, T, tolerance)) / (1 - OF_TEST)

    # from `rows` on the first is no less than the second
    rows = _first(0, T, lambda rows: left(rows) >= more(rows))
    return min(1.0, left(rows), more(rows - 1) if rows else 1.0)


def allowed_rows(T: int, tolerance: float, alpha: float) -> tuple[int, float]:
    """How many rows of T may be others at a level, and the level that is left for the test."""
    if not tolerance:
        return 0, alpha
    from scipy.stats import binom

    return int(binom.isf((1 - OF_TEST) * alpha, T, tolerance)), OF_TEST * alpha
