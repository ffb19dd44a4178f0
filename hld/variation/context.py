"""What the result of a batch among others like it says besides the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hld.answers.words import least_text


@dataclass(frozen=True)
class GroupContext:
    """The groups that a batch was compared with."""

    kind: str
    num_groups: int
    least_pvalue: float
    times: float
    effect: float
    effective_rows: float
    has_law: bool = False
    most_rows: int | None = None

    @property
    def procedure(self) -> str:
        """Where the adjusted p-values of columns come from."""
        return f"ranks among {'groups' if self.kind == 'groups' else 'stretches of time'}"

    def lines(self) -> list[str]:
        """For people."""
        least = least_text(self.least_pvalue)
        least = (
            f"p-values go by rank down to {least} and by a normal law below"
            if self.has_law
            else f"no p-value is below {least}"
        )
        return [
            f"among {self.num_groups} {self._others()}: {self.times:.2g} times their typical distance; the rows "
            f"are worth {self.effective_rows:.3g} independent ones; {least}"
        ]

    def _others(self) -> str:
        """What the batch was compared with, by their size."""
        if self.kind == "groups":
            return (
                "groups of this size"
                if self.most_rows is None
                else f"groups of at most {self.most_rows} rows"
            )
        return (
            "stretches of time of this size"
            if self.most_rows is None
            else f"stretches of time of {self.most_rows} rows, scaled to this size"
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)
