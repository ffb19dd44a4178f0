"""The level, the seed and the verdict of a test."""
from __future__ import annotations

import math

import numpy as np

import pcircuit


def check_alpha(alpha: float) -> float:
    """The level of a test as a float, refused unless it is strictly between 0 and 1.

    Examples
    --------
    >>> check_alpha(1)
    Traceback (most recent call last):
    ValueError: `alpha` must be a finite number above 0 and below 1, found 1
    """
    return pcircuit.check_number(alpha, "alpha", above=0, below=1)


def check_verdict(statistic: float, pvalue: float) -> None:
    """Raise unless a statistic is a number and its p-value a probability: nothing else may become a verdict.

    Infinity is a number here: the distance of a batch that is impossible under the circuit.

    Parameters
    ----------
    statistic : float
    pvalue : float

    Raises
    ------
    ArithmeticError
        If they are none.

    Examples
    --------
    >>> check_verdict(float("nan"), 1.0)
    Traceback (most recent call last):
    ArithmeticError: the statistic is nan with p = 1.0, which is no verdict: please report the circuit and the batch
    """
    if math.isnan(statistic) or not 0.0 <= pvalue <= 1.0:
        raise ArithmeticError(f"the statistic is {statistic!r} with p = {pvalue!r}, which is no verdict: please report "
                              "the circuit and the batch")


def seed_of(rng: int | np.random.Generator | None) -> int:
    """The one number below 2^53 that everything drawn later depends on; equal seeds give equal numbers."""
    return int(pcircuit.check_generator(rng).integers(2 ** 53))
