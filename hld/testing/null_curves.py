"""The distance of a batch beside the distances that arise by chance: one curve for each metric of a test.

The law of the squared distance d^2 gives the distance x(p) that chance exceeds with probability p.  Between two
neighbouring levels lies their difference in probability, so the density of d is about -dp/dx.  The batch stands at x of
its own p-value: the area beyond is what the result reports.  Lengths are given in multiples of x(alpha), so that
metrics of different units share one axis and the critical value is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hld.nulls.limit_law import LimitLaw
    from hld.results.result import HLDResult
    from hld.testing.goodness_of_fit import HLDTest

LEVELS = np.concatenate(
    [[0.9999, 0.999, 0.995], np.linspace(0.99, 0.02, 41), [0.01, 0.005, 0.001, 1e-4]]
)
LEAST = 1e-12  # smaller p-values are beyond any axis


@dataclass(frozen=True, eq=False)
class NullCurve:
    """The law of a distance under the null hypothesis.

    Shapes: x, density (n,).
    """

    metric: str
    x: np.ndarray
    density: np.ndarray
    observed: float | None
    pvalue: float


def null_curves(test: HLDTest, result: HLDResult) -> list[Any]:
    """A curve for each metric of a test."""
    laws = test.calibration.null.laws
    if len(laws) != len(result.pvalues):
        return []
    curves = []
    for law, name, pvalue in zip(laws, result.metrics, result.pvalues, strict=True):
        critical = _distance(law, result.alpha, result.num_samples)
        if not 0 < critical < np.inf:
            return []
        x = np.array([_distance(law, level, result.num_samples) for level in LEVELS]) / critical
        x, first = np.unique(x, return_index=True)
        x, first = (
            x[np.isfinite(x)],
            first[np.isfinite(x)],
        )  # the smallest levels are beyond what few draws reach
        if len(x) < 3:
            return []
        middle, width = (x[1:] + x[:-1]) / 2, np.diff(x)
        density = -np.diff(LEVELS[first]) / width
        observed = (
            _distance(law, min(pvalue, LEVELS[0]), result.num_samples) / critical
            if pvalue >= LEAST
            else None
        )
        curves.append(NullCurve(name, middle, density / density.max(), observed, float(pvalue)))
    return curves


def _distance(law: LimitLaw, level: float, T: int) -> float:
    """The distance that chance exceeds with some probability."""
    return float(np.sqrt(max(law.threshold(level, T), 0.0)))
