"""The verdict on a batch: the distance, and what is tested beside it (`hld.results.shared_level`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from hld.results.result import HLDResult
from hld.results.shared_level import combined, scaled_level


def with_quality(
    test: Callable[..., Any],
    quality: Any,
    alpha: float,
    largest: Mapping[str, Any] = MappingProxyType({}),
) -> HLDResult:
    """The result of a batch with its data quality, and all that is tested beside the distance in the p-value."""
    beside = (quality.missingness, quality.new_values, *largest.values())
    tested = [one for one in beside if one is not None and one.share]
    if not tested:
        return replace(test(alpha), data_quality=quality, **largest)
    rest = 1 - sum(one.share for one in tested)
    found = test(
        max(rest * scaled_level(alpha, *tested), math.ulp(0.0))
    )  # a part of the least level is no level
    pvalue = combined(found.pvalue, *tested)
    error = None if found.null_error is None else found.null_error / rest
    changes = {
        "pvalue": pvalue,
        "alpha": alpha,
        "reject": bool(pvalue <= alpha),
        "null_error": error,
    }
    if len(found.metrics) > 1:
        changes |= {
            "statistic": -math.log10(max(pvalue, 1e-300)) + 0.0,
            "threshold": -math.log10(alpha),
        }
    return replace(found, data_quality=quality, **largest, **changes)
