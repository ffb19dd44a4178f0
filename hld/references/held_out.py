"""Which rows a detector learns from, and which it keeps for the reference.

A batch and rows that nothing was learned from are exchangeable as long as there is no shift; a batch and the rows that
the circuit was fitted to are not, since it fits these better.  So half of the rows are held out, unless the user asks
for something else or there are too few.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FEWEST_ROWS = 4  # so that two are held out


def split_rows(num_rows: int, reference: str, rng: np.random.Generator) -> tuple[Any, ...]:
    """Positions of the rows to learn from and of those of the reference."""
    if reference == "auto":
        reference = "held-out" if num_rows >= FEWEST_ROWS else "training"
    if reference != "held-out":
        return np.arange(num_rows), np.arange(num_rows) if reference == "training" else None
    if num_rows < FEWEST_ROWS:
        raise ValueError(
            f"`table` has {num_rows} rows: with reference='held-out' half of them are held out, "
            f"which needs at least {FEWEST_ROWS}"
        )
    rows = rng.permutation(num_rows)
    return np.sort(rows[num_rows // 2 :]), np.sort(rows[: num_rows // 2])
