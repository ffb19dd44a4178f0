"""One column of many: exact power of the test of single counts with its share of the level, beside Holm's procedure.

    python -m benchmarks.power.sparse

Binary columns, each 1 in half of n = 2,000 reference rows; in a batch of T = 200 one column has another share.  Both
tests see its count alone, which is binomial: so their powers are sums, and nothing is drawn.  Holm's procedure rejects
something if the smallest p-value times the number of columns is at most the level, as Bonferroni's does.
"""

from __future__ import annotations

import numpy as np

from hld.results.largest_count import SHARE
from hld.schemas.counts.missingness import hypergeometric_tail

ALPHA, ROWS, T = 0.05, 2_000, 200
SHARES = (0.55, 0.6, 0.62, 0.64, 0.66, 0.68, 0.7, 0.75)


def main():
    """Print the powers."""
    from scipy.stats import binom, chi2_contingency

    half, counts = ROWS // 2, np.arange(T + 1)
    by_columns = np.array(
        [chi2_contingency([[half, half], [h, T - h]], correction=False).pvalue for h in counts]
    )
    tails = [
        (
            hypergeometric_tail(ROWS + T, half + h, T, h),
            hypergeometric_tail(ROWS + T, half + T - h, T, T - h),
        )
        for h in counts.tolist()
    ]
    exact = np.minimum(1.0, 2 * np.min(tails, axis=1))
    print(
        "| columns | test | "
        + " | ".join(map(str, SHARES))
        + " |\n"
        + "|---" * (2 + len(SHARES))
        + "|"
    )
    for V in (10, 100, 1_000):
        for name, rejects in (
            ("Holm, chi-square", by_columns * V <= ALPHA),
            ("single counts", exact * V <= ALPHA * SHARE),
        ):
            powers = [f"{binom.pmf(counts, T, share)[rejects].sum():.2f}" for share in SHARES]
            print(f"| {V} | {name} | {' | '.join(powers)} |")


if __name__ == "__main__":
    main()
