"""Missing values of a batch: drawn from the circuit, given the rest of their row.

If a row follows the circuit and its holes do not depend on the values in them, the row with its holes filled by draws
from the circuit's conditional distribution follows the circuit as well.  So a test of completed rows keeps its level
exactly, whatever the pattern of the holes; it loses power, since drawn values cannot show a shift.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

import pcircuit
from pcircuit.evidence import check_evidence


def complete(
    circuit: pcircuit.Circuit, rows: ArrayLike, seed: int, *, name: str = "batch"
) -> tuple[np.ndarray, int]:
    """Fill missing entries by draws from the circuit's conditional distribution.

    Shapes: rows (T, V) -> (T, V).
    A row whose observed part is impossible under the circuit has no conditional distribution; its holes are filled from
    an independent draw.
    """
    rows = check_rows(circuit, rows, name=name)
    if rows.dtype.kind != "i" or rows.min() >= 0:
        return rows, 0
    missing = rows < 0
    rng = np.random.default_rng([seed, len(rows)])
    filled = pcircuit.sample(circuit, len(rows), rng=rng)
    holes = missing.any(axis=1)
    possible = holes.copy()
    possible[holes] = pcircuit.log_likelihood(circuit, rows[holes]) > -np.inf
    if possible.any():
        filled[possible] = pcircuit.sample(circuit, evidence=rows[possible], rng=rng)
    return np.where(missing, filled, rows), int(missing.sum())


def check_rows(circuit: pcircuit.Circuit, rows: ArrayLike, *, name: str = "batch") -> np.ndarray:
    """Evidence (T, V) for a circuit, with at least one row.

    Shapes: rows (T, V) -> (T, V).
    """
    rows = check_evidence(circuit, rows, name=name)
    if not len(rows):
        raise ValueError(f"`{name}` has no rows: at least one is needed")
    return rows
