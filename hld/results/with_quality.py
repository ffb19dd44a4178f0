"""The verdict on a batch: the test of the distance and that of the missing values in one result."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hld.results.result import HLDResult


def with_quality(test: Callable[..., Any], quality: Any, alpha: float) -> HLDResult:
    """The result of a batch with its data quality, and the missing values in its p-value.

    Parameters
    ----------
    test : callable
        From a level to the `HLDResult` of the distance at that level.
    quality : hld.DataQuality
    alpha : float
        Level of both together.

    Returns
    -------
    HLDResult
        Its threshold is that of the part of the level that the distance has.
    """
    missing = quality.missingness
    if missing is None or not missing.share:
        return replace(test(alpha), data_quality=quality)
    found = test(alpha * (1 - missing.share))
    pvalue = missing.combined(found.pvalue)
    error = None if found.null_error is None else found.null_error / (1 - missing.share)
    changes = {"pvalue": pvalue, "alpha": alpha, "reject": bool(pvalue <= alpha), "null_error": error}
    if len(found.metrics) > 1:
        changes |= {"statistic": -math.log10(max(pvalue, 1e-300)) + 0.0, "threshold": -math.log10(alpha)}
    return replace(found, data_quality=quality, **changes)
