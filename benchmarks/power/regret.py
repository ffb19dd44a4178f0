r"""What no test can do: to be close to the best of several special tests, each of which looks where the others do not.

    python -m benchmarks.power.regret

Let k statistics be independent and standard normal without a shift, and let shift j move the j-th alone, by mu.  The
best test for shift j looks at that statistic only and has power b = Phi(mu - z_alpha).  Whatever a test of level alpha
does, the largest of its losses against these k tests is at least the mean loss, and the mean of its powers is at most
the power against a shift drawn at random, which Neyman and Pearson's test has,

.. math:: \sum_j \exp(\mu x_j) > c, \qquad
          \max_j (b - E_j \phi) \ge b - \frac{1}{k} \sum_j E_j \phi \ge b - P_1\Bigl(\sum_j \exp(\mu x_j) > c\Bigr).

That test even knows mu and the k directions.  Printed is the bound for the mu at which it is largest: where a table of
powers has kinds of shifts each of which one statistic alone sees, independent of the others, and sizes at which it
sees them two times out of three, a test for all of them is behind one of the special ones by this much or more, in at
least one cell.  Statistics of real tables are neither quite independent nor quite blind, so this is a yardstick there.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

ALPHA, DRAWS = 0.05, 1_000_000
KINDS = (2, 3, 4, 5, 8)
SHIFTS = np.arange(1.0, 4.01, 0.25)


def main():
    """Print the bound for some numbers of kinds, with the standard error of the draws."""
    print(
        "| kinds of shifts | largest loss at least | where a special test has power | standard error |"
    )
    print("|---|---|---|---|")
    for kinds in KINDS:
        found = [least_regret(kinds, mu) for mu in SHIFTS]
        i = int(np.argmax(found))
        error = np.sqrt(0.25 / DRAWS) * 2  # of the power, and of the level by c
        print(
            f"| {kinds} | {found[i]:.2f} | {best_power(SHIFTS[i]):.2f} | {error:.3f} |", flush=True
        )


def least_regret(kinds, mu, draws=DRAWS, seed=0):
    """The power that any test must lose against one of `kinds` special tests, for shifts by mu."""
    rng = np.random.default_rng(seed)
    null, shifted = np.zeros(draws), np.exp(mu * (rng.standard_normal(draws) + mu))
    for j in range(kinds):
        null += np.exp(mu * rng.standard_normal(draws))
        if j:
            shifted += np.exp(mu * rng.standard_normal(draws))
    return best_power(mu) - float((shifted > np.quantile(null, 1 - ALPHA)).mean())


def best_power(mu):
    """Power of the test that looks at the shifted statistic alone."""
    return float(norm.cdf(mu - norm.isf(ALPHA)))


if __name__ == "__main__":
    main()
