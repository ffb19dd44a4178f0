r"""Conformal test martingales, many at once: ranks of rows among earlier ones, and bets on them.

**One martingale.**  A number s(x) of a row is fixed.  The bag holds those of the reference rows and of the stream's
rows so far.  A new row enters the bag of N and gets its rank in it, ties divided at random,

.. math:: p_t = (\#\{s > s_t\} + U_t \#\{s = s_t\}) / N, \qquad U_t \text{ uniform on } (0, 1).

If reference and stream are exchangeable, p_1, p_2, ... are independent and uniform (Vovk, Gammerman and Shafer 2005),
whatever the law of the rows is and however few reference rows there are: no mean is estimated, so no estimation error
is bet on.  A density f on (0, 1) is a fair bet on p_t, and the product W_t of such factors, each chosen from earlier
p-values, reaches c with probability at most 1 / c, ever (Ville 1939).

**The bets.**  (0, 1) is divided into 18 cells of widths pi, narrow at the ends, and a fair bet is a density that is
constant on each.  Some are fixed: what a normal score becomes when its mean moves by theta or its spread is multiplied
by s, and what gross errors make, a share of ranks at one end,

.. math:: f(p) = P_{\theta, s}(c) / \pi_c .

Others are learned.  An expert counts the cells of earlier p-values, older ones with less weight, and bets

.. math:: f(p) = \frac{N_c + \kappa \pi_c}{(M + \kappa)\, \pi_c}, \qquad M = \sum_c N_c,

which integrates to one whatever the counts are: it finds tails, middles, or any other reshuffle, but must learn 18
numbers first.  A fifth of the money is not bet.  After row t a share 1 / (2 (t + 1)) of all money is collected and
given out again in the initial proportions, so that bets are alive when a shift comes late.

**Many.**  Each number has a race of its own with a weight w, and the weights sum to 1.  The alarm is raised when
w W >= 1 / alpha in one of them; by the union bound its probability, ever, is at most

    sum over races of P(W >= 1 / (alpha w))  <=  sum of alpha w  =  alpha.

Races need not know of each other, so the numbers of a row may be as dependent as they are.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

LOW_CUTS = [0.0005, 0.002, 0.01, 0.03, 0.07, 0.15, 0.25, 0.375]
CUTS = np.array([*LOW_CUTS, 0.5, *(1 - cut for cut in reversed(LOW_CUTS))])
WIDTHS = np.diff(CUTS, prepend=0.0, append=1.0)
MOVES = [(theta, 1.0) for theta in (-2.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0)]
SPREADS = [(0.0, s) for s in (0.5, 0.75, 1.5, 2.5)]
GROSS = (0.01, 0.05)  # of the ranks, evenly in the first or the last few cells
MOST_GROSS = 4  # cells
RATES = np.array([0.0, 1 / 64, 1 / 16])  # of forgetting
EXPERTS = ((6.0, 0), (40.0, 0), (40.0, 1), (6.0, 2))  # kappa, and the place of its rate
KAPPA = np.array([kappa for kappa, _ in EXPERTS])
RATE_OF = np.array([rate for _, rate in EXPERTS])


def _fixed_bets() -> np.ndarray:
    """(cells, bets) densities of the fixed bets."""
    normal = NormalDist()
    cuts = [normal.inv_cdf(1 - cut) for cut in CUTS]
    found = []
    for theta, s in MOVES + SPREADS:
        above = [1 - normal.cdf((cut - theta) / s) for cut in cuts]
        found.append(np.diff(above, prepend=0.0, append=1.0) / WIDTHS)
    for cells in range(1, MOST_GROSS + 1):
        odd = np.where(np.arange(len(WIDTHS)) < cells, 1 / CUTS[cells - 1], 0.0)
        found += [1 - share + share * one for share in GROSS for one in (odd, odd[::-1])]
    return np.stack(found, axis=1)


FIXED = _fixed_bets()
NUM_FIXED = FIXED.shape[1]
FIRST = np.array([0.2] + [0.4 / NUM_FIXED] * NUM_FIXED + [0.4 / len(EXPERTS)] * len(EXPERTS))
SHARE = 0.5
BLOCK = 1024  # uniform numbers made at a time


class Races(NamedTuple):
    """F races.

    Shapes: counts (F, BINS) of the bag, seen (F, 3, cells), money (F, bets) in shares of W, log (F,) of W.
    """

    counts: np.ndarray
    seen: np.ndarray
    money: np.ndarray
    log: np.ndarray

    def copy(self) -> Races:
        """The same numbers in arrays of their own."""
        return Races(*(array.copy() for array in self))


def first_races(counts: np.ndarray) -> Races:
    """Races that have not begun, with bags of reference rows; shapes counts (F, BINS)."""
    F = len(counts)
    return Races(
        counts.copy(),
        np.zeros((F, len(RATES), len(WIDTHS))),
        np.tile(FIRST, (F, 1)),
        np.zeros(F),
    )


def advance(
    bins: np.ndarray, uniforms: np.ndarray, races: Races, log_weights: np.ndarray, num_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Process rows, one after the other: the largest log w W after each, and the race that has it.

    Shapes: bins (n, F), uniforms (n,), log_weights (F,) -> (n,), (n,).
    O(F (BINS + 64)) a row.
    """
    every = np.arange(len(log_weights))
    evidence, leaders = np.empty(len(bins)), np.zeros(len(bins), np.int64)
    kept = (1.0 - RATES)[:, None]
    for t, row in enumerate(bins):
        races.counts[every, row] += 1
        below = np.cumsum(races.counts, axis=1)
        same, total = races.counts[every, row], below[:, -1]
        ranks = (total - below[every, row] + uniforms[t] * same) / total
        cells = np.searchsorted(CUTS, ranks, side="left")
        counts, sums = races.seen[every, :, cells], races.seen.sum(axis=2)
        width = WIDTHS[cells][:, None]
        paid = (counts[:, RATE_OF] + KAPPA * width) / ((sums[:, RATE_OF] + KAPPA) * width)
        races.money[:, 1 : 1 + NUM_FIXED] *= FIXED[cells]
        races.money[:, 1 + NUM_FIXED :] *= paid
        won = races.money.sum(axis=1)
        races.log[:] += np.log(won)
        moved = SHARE / (num_rows + t + 1.0)
        races.money[:] = races.money * ((1 - moved) / won)[:, None] + moved * FIRST
        races.seen[:] *= kept
        races.seen[every, :, cells] += 1
        weighted = races.log + log_weights
        leaders[t] = int(weighted.argmax())
        evidence[t] = weighted[leaders[t]]
    return evidence, leaders


def uniform_numbers(seed: int, first: int, n: int) -> np.ndarray:
    """(n,) U_t of the rows from `first` on, each a function of the seed and its own number."""
    blocks = range(first // BLOCK, (first + n - 1) // BLOCK + 1) if n else ()
    numbers = [np.random.default_rng([seed, 7, block]).random(BLOCK) for block in blocks]
    return np.concatenate([*numbers, np.zeros(0)])[first % BLOCK :][:n]
