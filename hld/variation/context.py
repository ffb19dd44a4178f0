"""What the result of a batch among others like it says besides the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hld.answers.words import least_text


@dataclass(frozen=True)
class GroupContext:
    """The groups that a batch was compared with.

    Attributes
    ----------
    kind : str
        "groups", or "time" for stretches of time.
    num_groups : int
        G.
    least_pvalue : float
        The smallest p-value by rank: 1 / (G + 1), and more where stretches of time are still dependent
        (`hld.variation.time_test`).
    times : float
        Distance of the batch from the mean of the groups over the typical distance of a group, in the plain norm.
    effect : float
        Distance of the batch over the typical distance of one row, less what groups differ by on average.
    effective_rows : float
        Independent rows of one distribution that would vary by as much as the batch does by nature.
    has_law : bool
        Whether a batch that is odder than all may have a smaller p-value than `least_pvalue`, by a normal law.
    most_rows : int or None
        Rows of the largest group, or of the longest stretch, where the batch has more; else None.
    """

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
