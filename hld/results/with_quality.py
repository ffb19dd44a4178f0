"""The verdict on a batch: the tests of the distance, of missing and new values, of single counts and dependences."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from hld.results.result import HLDResult


def with_quality(test: Callable[..., Any], quality: Any, alpha: float,
                 largest: Mapping[str, Any] = MappingProxyType({})) -> HLDResult:
    """The result of a batch with its data quality, and all that is tested beside the distance in the p-value.

    Parameters
    ----------
    test : callable
        From a level to the `HLDResult` of the distance at that level.
    quality : hld.DataQuality
    alpha : float
        Level of all together.
    largest : mapping, optional
        What was tested by itself (`hld.results.largest.largest_of`), by the field of the result that holds it.

    Returns
    -------
    HLDResult
        Its threshold is that of the part of the level that the distance has.
    """
    beside = (quality.missingness, quality.new_values, *largest.values())
    tested = [one for one in beside if one is not None and one.share]
    if not tested:
        return replace(test(alpha), data_quality=quality, **largest)
    rest = 1 - sum(one.share for one in tested)
    found = test(alpha * rest)
    pvalue = combined(found.pvalue, *tested)
    error = None if found.null_error is None else found.null_error / rest
    changes = {"pvalue": pvalue, "alpha": alpha, "reject": bool(pvalue <= alpha), "null_error": error}
    if len(found.metrics) > 1:
        changes |= {"statistic": -math.log10(max(pvalue, 1e-300)) + 0.0, "threshold": -math.log10(alpha)}
    return replace(found, data_quality=quality, **largest, **changes)


def combined(pvalue: float, *tests: Any) -> float:
    """The p-value of the distance and of tests that have shares of its level, together.

    Parameters
    ----------
    pvalue : float
    *tests : objects with `pvalue` and `share`

    Returns
    -------
    float
        min(p / (1 - sum of shares), p_i / share_i, 1).

    Examples
    --------
    >>> from hld.schemas.missingness import compare_missing
    >>> combined(0.45, compare_missing(1000, [0, 300], 50, [0, 15]))         # as many as in training
    0.5
    >>> combined(0.45, compare_missing(1000, [0, 300], 50, [0, 50])) < 1e-20
    True
    >>> combined(0.45, compare_missing(1000, [0, 0], 50, [0, 0]))            # nothing is missing anywhere
    0.45
    """
    rest = 1 - sum(one.share for one in tests)
    return min(pvalue / rest, 1.0, *(one.pvalue / one.share for one in tests if one.share))
