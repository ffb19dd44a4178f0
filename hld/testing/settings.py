"""The options of a test that it keeps: each is checked by itself, then those that contradict each other are refused."""

from __future__ import annotations

from dataclasses import dataclass

from hld.nulls.named import NULLS, check_null_choice
from hld.references.rows import FROM_ROWS, REFERENCES
from pcircuit.arguments import check_choice, check_number, check_whole_number

SUMMED_OUT = (
    ("circuit", "exact"),
    ("circuit", "auto"),
)  # references and nulls with which holes are summed out
MISSING = ("complete", "exact", "available")


@dataclass(frozen=True)
class Settings:
    """The options of a test, checked; each attribute means what it means in `HLDTest`."""

    null: str
    reference: str
    num_train: int | None
    tolerance: float
    missing: str
    seed: int

    def __post_init__(self) -> None:
        for name, known in (("null", NULLS), ("reference", REFERENCES), ("missing", MISSING)):
            check_choice(getattr(self, name), name, tuple(known))
        if self.missing == "exact" and (self.reference, self.null) not in SUMMED_OUT:
            raise ValueError(
                "`missing` 'exact' needs reference='circuit' and null='exact' or 'auto', found "
                f"reference={self.reference!r} and null={self.null!r}"
            )
        if self.missing == "available" and (
            self.reference not in FROM_ROWS or not NULLS[self.null].is_checked
        ):
            raise ValueError(
                "`missing` 'available' needs a reference of rows and null='exact' or 'auto', found "
                f"reference={self.reference!r} and null={self.null!r}"
            )
        check_null_choice(self.null, self.reference, 1)
        check_whole_number(self.num_train, "num_train", 1, none="a reference that is exact")
        check_number(self.tolerance, "tolerance", least=0, below=1)
        check_whole_number(self.seed, "seed", 0)


def usual_missing(null: str, reference: str) -> str:
    """How rows with holes are compared unless it is said."""
    check_choice(null, "null", tuple(NULLS))
    check_choice(reference, "reference", tuple(REFERENCES))
    return "available" if reference in FROM_ROWS and NULLS[null].is_checked else "complete"
