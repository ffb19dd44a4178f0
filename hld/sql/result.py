"""What a test by counts says: one frozen object with the interface of `hld.HLDResult`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from hld.answers.evidence import Evidence
from hld.results.largest_count import LargestCount
from hld.results.largest_dependence import LargestDependence
from hld.results.result import OfColumns
from hld.schemas.quality import DataQuality


@dataclass(frozen=True, eq=False, repr=False)
class CountsResult(OfColumns):
    """The outcome of a test of a table in a database."""

    pvalue: float
    reject: bool
    alpha: float
    num_samples: int
    metrics: tuple[str, ...]
    pvalues: tuple[float, ...]
    parts: tuple[float, ...]
    effect: float
    num_missing: int
    num_queries: int
    evidence: Evidence = field(repr=False)
    data_quality: DataQuality = field(repr=False)
    largest_count: LargestCount | None = None
    largest_dependence: LargestDependence | None = None
    context = None  # no covariates, groups or stretches of time
    effect_interval = None

    @property
    def statistic(self) -> float:
        """-log10 of the p-value."""
        return self._log(self.pvalue)

    @property
    def threshold(self) -> float:
        """-log10 of the level."""
        return self._log(self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain Python values, ready for JSON: the fields of `HLDResult.to_dict`, and the parts."""
        names = (
            "statistic",
            "threshold",
            "pvalue",
            "reject",
            "alpha",
            "num_samples",
            "num_missing",
            "effect",
            "effect_interval",
            "num_queries",
        )
        values = {name: getattr(self, name) for name in names} | {
            "null": "counts",
            "inflation": 1.0,
            "null_error": None,
        }
        values |= {name: list(getattr(self, name)) for name in ("metrics", "pvalues", "parts")}
        return values | self.parts_to_dict()

    @staticmethod
    def _log(number: float) -> float:
        """-log10 of a number that may be 0."""
        return -math.log10(max(number, 1e-300)) + 0.0
