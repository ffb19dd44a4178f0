"""What the result of a test given covariates says besides the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hld.answers.words import p_text


@dataclass(frozen=True)
class CovariateContext:
    """Which part of the distribution moved."""

    kind: str
    moved: str
    conditional_pvalue: float
    covariate_pvalue: float
    effect: float
    procedure = "given the covariates, Holm"

    def lines(self) -> list[str]:
        """The context in words."""
        said = {
            "nothing": "neither the covariates nor the rest given them moved",
            "covariates": "the covariates moved, the rest given them is as learned (covariate shift)",
            "conditional": "the rest given the covariates changed (concept drift), the covariates are as learned",
            "both": "the covariates moved, and the rest given them changed (concept drift)",
        }[self.moved]
        return [
            f"{said}: rest given covariates {p_text(self.conditional_pvalue)}, covariates "
            f"{p_text(self.covariate_pvalue)}"
        ]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)
