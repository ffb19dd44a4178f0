"""The Monte Carlo test, which every null of this package that draws uses.

If B statistics are drawn in the way that the observed one arises without a shift, all B + 1 are exchangeable, so

    p = (1 + #{b : d_b >= d}) / (1 + B)

is at most a with probability at most a, whatever their law is (Phipson and Smyth 2010).  Equal batches may differ in
the last digits: a drawn statistic that is smaller by a relative TIE counts as a tie.
"""

from __future__ import annotations

import math

import numpy as np

from pcircuit.arguments import check_fraction, check_numbers

TIE = 1e-9


def monte_carlo_pvalue(null: np.ndarray, statistic: float, slack: float = 0.0) -> float:
    """(1 + #{null >= statistic}) / (1 + B); shapes null (B,)."""
    exceeding = len(null) - int(np.searchsorted(null, statistic * (1 - TIE) - slack, side="left"))
    return (1 + exceeding) / (1 + len(null))


def rejection_threshold(null: np.ndarray, alpha: float) -> float:
    """Largest statistic that a Monte Carlo test does not reject: (1 + #{null >= statistic}) / (1 + B) > alpha.

    Shapes: null (B,).
    """
    alpha = check_fraction(alpha, "alpha")
    null = check_numbers(null, "null", "at least one number", finite=False)
    if null.ndim != 1 or not null.size or np.isnan(null).any():
        raise ValueError(
            f"`null` must be a sequence of at least one number, none of them NaN, found {null!r}"
        )
    allowed = (
        int(np.floor(alpha * (1 + len(null)) + 1e-9)) - 1
    )  # null statistics that may exceed a rejected one
    if allowed < 0:
        return float("inf")
    return float(null[len(null) - 1 - allowed]) if allowed < len(null) else float("-inf")


def monte_carlo_error(pvalue: float, B: int) -> float:
    """Standard error of a Monte Carlo p-value."""
    return math.sqrt(pvalue * (1 - pvalue) / B)
