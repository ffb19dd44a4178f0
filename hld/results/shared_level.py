r"""Several tests share one level: of the distance, of missing and new values, of witnesses (`hld.results.witnesses`).

The distance has a p-value p_0, each test beside it one p_i and a part w_i of the level, w_0 = 1 - sum w_i.  With

.. math:: s = \min_i \frac{p_i}{w_i}

min(1, s) would be a p-value (Bonferroni).  But counts take few values, and a test of them with the level x finds
something with a probability a_i(x) that may be far below x, or 0: in a single row no count can be conspicuous.  What
the a_i are is known from the counts of batch and held-out rows together, before one looks which are whose.  So

.. math:: p = w_0 s + \sum_{i \ge 1} a_i(w_i s) \;\le\; s

is a p-value, too: it rises with s, and P(s <= t) <= w_0 t + sum a_i(w_i t) without a shift.  The parts of the level
that no test can use go back to the distance: to a single row all of it.  The a_i are computed in
`schemas.counts`; as in Fisher's exact test, all is given the counts of all rows together.

The tests of counts are exact given these counts.  The distance is taken to keep its level given them, too, which no
null distribution does exactly: rows with a hole, or with a new value, may be more or less far from the mean than
others.  That this does not cost level is measured, not proved (``docs/calibration.md``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

POINTS, ROUNDS = (
    101,
    5,
)  # of the interval that holds the level of the distance, which gets a hundred times shorter
LEAST_REST = 0.01  # of the level: less is left where there is no distance


def combined(pvalue: float, *tests: Any) -> float:
    """The p-value of the distance and of tests that have shares of its level, together."""
    tests = tuple(one for one in tests if one.share)
    own = pvalue / _rest(tests) if math.isfinite(pvalue) else math.inf
    return float(_together(min(own, *(one.pvalue / one.share for one in tests), math.inf), tests))


def scaled_level(alpha: float, *tests: Any) -> float:
    """The largest s whose p is at most a level: test i finds something where p_i <= w_i s."""
    tests = tuple(one for one in tests if one.share)
    low, high = alpha, alpha / max(_rest(tests), LEAST_REST)
    for _ in range(ROUNDS):
        points = np.linspace(low, high, POINTS)
        kept = int(np.flatnonzero(_together(points, tests) <= alpha).max(initial=0))
        low, high = float(points[kept]), float(points[min(kept + 1, POINTS - 1)])
    return low


def _rest(tests: tuple[Any, ...]) -> float:
    """w_0."""
    total = sum(one.share for one in tests)
    if total > 1:
        raise ValueError(
            f"`share` of all witnesses is {total:.0%} of the level together, expected at most 100%: lower that of "
            "those that were added"
        )
    return 1 - total


def _together(s: Any, tests: tuple[Any, ...]) -> Any:
    """p of s."""
    return np.minimum(
        np.minimum(1.0, s), _rest(tests) * s + sum(one.attained(one.share * s) for one in tests)
    )
