r"""Conformal test martingales, many at once: ranks of rows among earlier ones, and bets on them.

**One martingale.**  A score s(x) is fixed.  The bag holds the scores of the reference rows and of the stream's rows so
far.  A new row enters the bag of N and gets its rank in it, ties divided at random,

.. math:: p_t = (\#\{s > s_t\} + U_t \#\{s = s_t\}) / N, \qquad U_t \text{ uniform on } (0, 1).

If reference and stream are exchangeable, p_1, p_2, ... are independent and uniform (Vovk, Gammerman and Shafer 2005),
whatever the law of the rows is and however few reference rows there are: no mean is estimated, so no estimation error
is bet on.  A factor f >= 0 with integral 1 over (0, 1) is a fair bet on p_t, and the product W_t of such
factors, each chosen from earlier p-values, reaches c with probability at most 1 / c, ever (Ville 1939).

**The bets.**  For thresholds q and stakes lambda

    1 - lambda + lambda [p <= q] / q,        1 - lambda + lambda [p > q] / (1 - q),        and cash.

After row t a share 1 / (2 (t + 1)) of all money is collected and given out again in the initial proportions, so that
bets are alive when a shift comes late.

**Many.**  Each score has a race of its own with a weight w, and the weights of all races that ever start sum to at most
1.  The alarm is raised when w W >= 1 / alpha in one of them; by the union bound its probability, ever, is at most

    sum over races of P(W >= 1 / (alpha w))  <=  sum of alpha w  <=  alpha.

Races need not know of each other, and a race may start late with a score made from earlier rows of the stream, if its
bag begins with the reference rows alone: given the rows that made the score, reference and later rows are exchangeable.

Scores are counted in bins whose edges come from rows of their own, so that a bag is one row of counts.  What is below
or above all of these rows, as a missing cell or a new level may be, has a bin at either end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BINS = 64
THRESHOLDS = np.array([0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98])
STAKES = np.array([0.9, 0.3])
CASH, SHARE = 0.3, 0.5
BLOCK = 1024  # uniform numbers made at a time
NUM_BETS = 1 + 2 * len(THRESHOLDS) * len(STAKES)
FIRST = np.array([CASH, *np.full(NUM_BETS - 1, (1 - CASH) / (NUM_BETS - 1))])


def _factors() -> np.ndarray:
    """(8, NUM_BETS) what each bet pays for p in (0, 0.02], (0.02, 0.1], ..., (0.98, 1)."""
    below = np.arange(len(THRESHOLDS) + 1)[:, None] <= np.arange(len(THRESHOLDS))
    up, down = below / THRESHOLDS, ~below / (1 - THRESHOLDS)
    return np.concatenate(
        [
            np.ones((len(below), 1)),
            *(1 - stake + stake * won for won in (up, down) for stake in STAKES),
        ],
        axis=1,
    )


FACTORS = _factors()


class Races(NamedTuple):
    """K races; a race with the weight 0 is not run."""

    edges: np.ndarray  # (K, BINS - 1) of the bins, ascending, infinite at the end
    counts: np.ndarray  # (K, BINS) int, the bag
    money: np.ndarray  # (K, NUM_BETS) in units of the race's total
    log: np.ndarray  # (K,) log W
    ages: np.ndarray  # (K,) int, rows of the stream
    log_weights: np.ndarray  # (K,) log w, -inf where none is run

    def copy(self) -> Races:
        """The same numbers in arrays of their own."""
        return Races(*(array.copy() for array in self))


def no_races(K: int) -> Races:
    """K places for races, none of which is run."""
    return Races(
        np.full((K, BINS - 1), np.inf),
        np.zeros((K, BINS), np.int64),
        np.tile(FIRST, (K, 1)),
        np.zeros(K),
        np.zeros(K, np.int64),
        np.full(K, -np.inf),
    )


def start(
    races: Races, k: int, trained: np.ndarray, reference: np.ndarray, log_weight: float
) -> None:
    """Start race k: bins from the scores `trained`, the bag from the scores `reference`.

    Shapes: trained (n,), reference (r,).
    """
    edges = bin_edges(trained)
    races.edges[k] = np.inf
    races.edges[k, : len(edges)] = edges
    races.counts[k] = np.bincount(np.searchsorted(edges, reference, side="right"), minlength=BINS)
    races.money[k], races.log[k], races.ages[k], races.log_weights[k] = FIRST, 0.0, 0, log_weight


def bin_edges(scores: np.ndarray) -> np.ndarray:
    """At most BINS - 1 edges between different scores: between all where they are few, else near quantiles.

    The first and the last are beyond all scores, so that what none of these rows showed is in bins of its own.
    """
    values = np.unique(scores)
    if len(values) > BINS - 2:
        values = np.unique(np.quantile(scores, np.linspace(0, 1, BINS - 2), method="inverted_cdf"))
    apart = 1e-9 * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    middles = ((values[1:] + values[:-1]) / 2)[np.diff(values) > apart]
    return np.concatenate([values[:1] - apart, middles, values[-1:] + apart])


def advance(
    scores: np.ndarray,
    uniforms: np.ndarray,
    races: Races,
    evidence: np.ndarray,
    leaders: np.ndarray,
) -> None:
    """Process rows, one after the other.

    Shapes: scores (n, K), uniforms (n,), evidence, leaders (n,).
    O(K (BINS + NUM_BETS)) a row.  `hld.streams.kernel` is the compiled twin.
    """
    every = np.arange(len(races.log))
    for t, row in enumerate(scores):
        bins = (row[:, None] >= races.edges).sum(axis=1)
        races.counts[every, bins] += 1
        total, same = races.counts.sum(axis=1), races.counts[every, bins]
        above = total - np.cumsum(races.counts, axis=1)[every, bins]
        parts = np.searchsorted(
            THRESHOLDS, (above + uniforms[t] * same) / np.maximum(total, 1), side="left"
        )
        races.money[:] *= FACTORS[parts]
        won = races.money.sum(axis=1)
        races.log[:] += np.log(won)
        moved = SHARE / (races.ages + 1.0)
        races.money[:] = races.money * ((1 - moved) / won)[:, None] + moved[:, None] * FIRST
        races.ages[:] += 1
        weighted = races.log + races.log_weights
        leaders[t] = int(weighted.argmax())
        evidence[t] = weighted[leaders[t]]


def uniform_numbers(seed: int, first: int, n: int) -> np.ndarray:
    """(n,) U_t of the rows from `first` on, each a function of the seed and its own number.

    Returns (n,).
    """
    blocks = range(first // BLOCK, (first + n - 1) // BLOCK + 1) if n else ()
    numbers = [np.random.default_rng([seed, 7, block]).random(BLOCK) for block in blocks]
    return np.concatenate([*numbers, np.zeros(0)])[first % BLOCK :][:n]
