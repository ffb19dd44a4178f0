"""Units one by one, the way text formats list them, before they become regions (`pcircuit.formats.graph`).

A few bytes can stand for a large table: an indicator of one among a million categories, a binomial.  Indicators are
kept as the category that they are of.  Where a table must be made, its entries are counted first, against the size of
the file, so that no file of some kilobytes fills the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pcircuit.regions import StructureError

MOST_ENTRIES = 16  # for each byte of a file: entries of tables that it does not write out, and
SPARE_ENTRIES = 2**23  # so many more


@dataclass(frozen=True)
class Indicator:
    """The table that is one at `value` and zero at all other categories, which are `size` together."""

    value: int
    size: int

    def __len__(self) -> int:
        return self.size


@dataclass
class Graph:
    """Units in an order in which children come before their parents; filled by the readers of formats."""

    num_bytes: int = 0
    units: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    spent: int = 0  # entries of tables so far that the file does not write out

    def add_input(self, label: str, variable: int, probs: np.ndarray) -> int:
        """Append an input unit with the given probabilities of its categories; its position."""
        return self._add(label, ("input", variable, probs))

    def add_indicator(self, label: str, variable: int, value: int, num_categories: int) -> int:
        """Append an input unit that is one at a single category; its position."""
        return self._add(label, ("input", variable, Indicator(value, num_categories)))

    def spend(self, entries: int) -> None:
        """Count entries of a table that the file does not write out, before it is made; refuse too many."""
        self.spent += entries
        allowed = MOST_ENTRIES * self.num_bytes + SPARE_ENTRIES
        if self.spent > allowed:
            raise StructureError(
                f"the tables of its input units would have more than {allowed} entries that the file "
                f"of {self.num_bytes} bytes does not write out: such a circuit is not read"
            )

    def add_product(self, label: str, children: Sequence[int]) -> int:
        """Append a product; its position."""
        return self._add(label, ("product", tuple(children)))

    def add_sum(self, label: str, children: Sequence[int], weights: Sequence[float]) -> int:
        """Append a weighted sum; its position."""
        return self._add(label, ("sum", tuple(children), tuple(weights)))

    def _add(self, label: Any, unit: Any) -> int:
        self.units.append(unit)
        self.labels.append(label)
        return len(self.units) - 1
