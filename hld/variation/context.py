"""What the result of a batch among others like it says besides the verdict."""
from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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
        The smallest p-value by rank, 1 / (G + 1).
    times : float
        Distance of the batch from the mean of the groups over the typical distance of a group, in the plain norm.
    effect : float
        Distance of the batch over the typical distance of one row, less what groups differ by on average.
    effective_rows : float
        Independent rows of one distribution that would vary by as much as the batch does by nature.
    """

    kind: str
    num_groups: int
    least_pvalue: float
    times: float
    effect: float
    effective_rows: float

    @property
    def procedure(self) -> str:
        """Where the adjusted p-values of columns come from."""
        return f"ranks among {'groups' if self.kind == 'groups' else 'stretches of time'}"

    def lines(self) -> list[str]:
        """For people."""
        like = "groups" if self.kind == "groups" else "stretches of time"
        return [f"among {self.num_groups} {like} of this size: {self.times:.2g} times their typical distance; the rows "
                f"are worth {self.effective_rows:.3g} independent ones; smallest p-value by rank "
                f"{self.least_pvalue:.2g}"]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)
