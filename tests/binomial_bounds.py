"""How often something may happen by chance: the bounds of the statistical tests, computed and never guessed.

A test with a fixed seed passes or fails for good; a right program leaves the two bounds for one seed in a million.
The rejections of an exact test of level alpha in independent trials are binomial.  A test by B drawn batches has, given
these, a level that is Beta(k, B + 1 - k) with k = alpha (B + 1), so its rejections are beta-binomial.
"""

from __future__ import annotations

from scipy.stats import betabinom, binom

SURE = 5e-7  # probability that one bound is left by chance


def at_most(trials, rate, sure=SURE):
    """The largest count that `trials` independent events of probability `rate`, or less, explain."""
    return binom.isf(sure, trials, rate)


def at_least(trials, rate, sure=SURE):
    """The smallest count that events of probability `rate`, or more, explain."""
    return binom.ppf(sure, trials, rate)


def drawn(trials, alpha, B):
    """The law of the number of rejections at level `alpha` by one set of B drawn batches."""
    return betabinom(trials, alpha * (B + 1), (1 - alpha) * (B + 1))
