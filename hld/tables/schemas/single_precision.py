"""Numbers that have lost digits on their way: the same number in eight bytes and in four.

A table that was learned from a file of text holds 0.1, and a batch from a feature store the same number in four bytes,
0.10000000149...; by the last digit it would be a level that was never seen, or, where 0.1 is the largest value, one
beyond the training range.  So a level, an edge and the ends of a range are taken with all numbers that rounding to
four bytes, there or here, can have made of them,

    |x - v| <= 2^-23 |v|,

which is twice the largest rounding error; where that of two numbers would overlap, each has its side of the middle.
Whole numbers are exact in four bytes up to 2^24, and are taken as they are, and so is what lies so close together that
four bytes cannot tell it apart.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

ROUNDING = 2.0**-23  # relative
EXACT = 2.0**24  # up to which four bytes hold every whole number
SMALLEST, LARGEST = 2.0**-126, 2.0**127  # magnitudes between which they round by no more than that


def spans(numbers: Sequence[Any]) -> list[tuple[float, float]]:
    """For each of n numbers the smallest and the largest one that is taken for it."""
    found = [(float(one), float(one)) if isinstance(one, int) else _span(one) for one in numbers]
    order = sorted(range(len(found)), key=lambda i: numbers[i])
    close = [(i, j) for i, j in pairwise(order) if found[i][1] >= found[j][0]]
    alike = {k for i, j in close if _rounded(numbers[i]) == _rounded(numbers[j]) for k in (i, j)}
    for i, j in close:
        middle = _middle(float(numbers[i]), float(numbers[j]))
        found[i] = found[i][0], min(found[i][1], math.nextafter(middle, -math.inf))
        found[j] = max(found[j][0], middle), found[j][1]
    return [(float(one), float(one)) if i in alike else found[i] for i, one in enumerate(numbers)]


def in_four_bytes(number: float) -> float:
    """What four bytes make of a number that is not whole; the number itself where they hold none like it."""
    if number.is_integer() or not SMALLEST <= abs(number) <= LARGEST:
        return number
    return float(np.float32(number))


def _rounded(number: float) -> float:
    """A number in four bytes, whole or not; infinite where it is too large for these."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(number))


def _middle(smaller: float, larger: float) -> float:
    """The number in the middle of two; the larger of neighbours."""
    middle = smaller + (larger - smaller) / 2
    return middle if middle > smaller else larger


def _span(number: float) -> tuple[float, float]:
    """The smallest and the largest number that is taken for one, whatever is near."""
    far = 0.0 if abs(number) <= EXACT and number == int(number) else ROUNDING * abs(number)
    return max(number - far, -sys.float_info.max), min(number + far, sys.float_info.max)
