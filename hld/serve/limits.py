"""What a service allows a request to cost: bytes, rows, seconds, and how many requests at a time.

Every number bounds something that a stranger could otherwise make large.  Bodies are counted while they arrive, rows
and cells while they are read: with the limits as they come, a body takes less than 256 MB and 5 s of a thread.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from pcircuit.arguments import check_number, check_whole_number

CELLS = 10  # for each row of `max_rows`, that a table may have
SPARE_COLUMNS = 1000  # that a table may have beside twice those of training
BODIES = 8  # of the largest size that may wait in memory together


@dataclass(frozen=True)
class Limits:
    """Bounds of a service."""

    max_bytes: int = 2**23
    max_rows: int = 100_000
    seconds: float = 30.0
    body_seconds: float = 30.0
    head_seconds: float = 10.0
    workers: int = 0
    queue: int = 64
    connections: int = 512

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_rows", "connections"):
            check_whole_number(getattr(self, name), name, 1)
        for name in ("workers", "queue"):
            check_whole_number(getattr(self, name), name, 0)
        for name in ("seconds", "body_seconds", "head_seconds"):
            check_number(getattr(self, name), name, above=0)

    @property
    def threads(self) -> int:
        """`workers`, or one for each processor that this process may use."""
        has_affinity = hasattr(os, "sched_getaffinity")
        return self.workers or (
            len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        )

    @property
    def most_cells(self) -> int:
        """Cells that a table may have."""
        return CELLS * self.max_rows

    def most_columns(self, fitted: int) -> int:
        """Columns that a table may have for a model of `fitted` columns."""
        return 2 * fitted + SPARE_COLUMNS
